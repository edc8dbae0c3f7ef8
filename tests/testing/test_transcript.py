"""A transcript tells what happened, and nothing of when the program looked."""

from datetime import UTC, datetime

from forewarn.core.facts import Entry, Fact, Seen, Sight, Started
from forewarn.testing.transcript import transcript

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE, TWO = (Started(at=NOON, maintenance=each) for each in ("m0", "m1"))
SIGHT = Sight(event="e0", vm="web-0", at=NOON)
LOOKED = Seen(at=NOON, sights=(SIGHT,))


def test_when_the_program_looked_makes_no_difference() -> None:
    assert told(ONE, LOOKED, TWO) == told(ONE, TWO, LOOKED)


def test_the_order_of_what_happened_does() -> None:
    assert told(ONE, TWO) != told(TWO, ONE)


def told(*facts: Fact) -> list[str]:
    entries = [
        Entry(position=number, fact=fact) for number, fact in enumerate(facts, start=1)
    ]
    return [*transcript("test", 1, [], entries, NOON)]
