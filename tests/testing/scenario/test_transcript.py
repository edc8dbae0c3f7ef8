"""Transcript of a rehearsal: what happened, independent of when the program polled."""

from datetime import UTC, datetime

from forewarn.core.lifecycle.facts import Fact, JournalEntry, Seen, Sight, Started
from forewarn.testing.scenario.results import transcript

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE, TWO = (Started(at=NOON, maintenance=each) for each in ("m0", "m1"))
SIGHT = Sight(event="e0", vm="web-0", at=NOON)
LOOKED = Seen(at=NOON, sights=(SIGHT,))


def test_time_of_polls_makes_no_difference() -> None:
    assert render(ONE, LOOKED, TWO) == render(ONE, TWO, LOOKED)


def test_order_of_facts_makes_a_difference() -> None:
    assert render(ONE, TWO) != render(TWO, ONE)


def render(*facts: Fact) -> list[str]:
    entries = [
        JournalEntry(position=number, fact=fact)
        for number, fact in enumerate(facts, start=1)
    ]
    return [*transcript("test", 1, [], entries, NOON)]
