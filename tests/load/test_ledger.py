"""The journal checker of the load test: accepts correct journals, reports wrong
ones.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from benchmarks.journal_replay import JournalReplay

NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:15:00.5Z"
QUARTER_PAST = "2026-01-01T12:15:00Z"
EVENT = {"id": "E", "group": "web", "resources": ["web-0"]}
ANNOUNCED = {
    "id": "M",
    "type": "Reboot",
    "source": "Platform",
    "cause": "platform",
    "not_before": QUARTER_PAST,
    "description": "",
    "duration_seconds": -1,
    "events": [EVENT],
}


Fact = tuple[str, str, dict[str, Any]]  # kind, time, and further fields


def a_journal(*facts: Fact) -> list[Any]:
    return [
        {"position": number, "at": at, "fact": kind, "maintenance": "M", **more}
        for number, (kind, at, more) in enumerate(facts, 1)
    ]


def published(incarnation: int, at: str) -> Fact:
    more = {"audience": "web", "epoch": "e", "incarnation": incarnation}
    return "Published", at, more


A_LIFE: Sequence[Fact] = (
    ("Announced", NOON, {"announced": ANNOUNCED}),
    published(1, NOON),
    ("Seen", NOON, {"sights": [{"event": "E", "vm": "web-0"}]}),
    ("Started", LATER, {}),
    published(2, LATER),
    ("Completed", LATER, {}),
    published(3, LATER),
)
STATE = [{"id": "M", "phase": "COMPLETED"}]


def test_correct_journal_gets_no_complaints() -> None:
    ledger = JournalReplay(a_journal(*A_LIFE))
    assert ledger.compare(STATE, {"web": ("e", 3)}) == []
    assert ledger.fates() == {"timed out": 1}
    assert ledger.seen == {"E"}


def test_gap_is_reported() -> None:
    journal = a_journal(*A_LIFE)
    del journal[2]
    assert "gaps" in JournalReplay(journal).complaints[0]


def test_times_that_go_back_are_reported() -> None:
    late = ("Announced", LATER, {"announced": ANNOUNCED})
    assert "go back" in JournalReplay(a_journal(late, published(1, NOON))).complaints[0]


def test_start_before_its_time_is_reported() -> None:
    ledger = JournalReplay(a_journal(A_LIFE[0], ("Started", NOON, {})))
    assert "before its NotBefore" in ledger.complaints[0]


def test_approved_start_may_be_early() -> None:
    approval = ("Approved", NOON, {"event": "E"})
    ledger = JournalReplay(a_journal(A_LIFE[0], approval, ("Started", NOON, {})))
    assert ledger.complaints == []


@pytest.mark.parametrize(
    "fact",
    [
        ("Announced", LATER, {"announced": ANNOUNCED}),
        ("Started", LATER, {}),
        ("Completed", LATER, {}),
        ("Canceled", LATER, {}),
    ],
)
def test_change_of_finished_maintenance_is_reported(
    fact: Fact,
) -> None:
    ledger = JournalReplay(a_journal(*A_LIFE, fact))
    assert "which was COMPLETED" in ledger.complaints[0]


def test_second_approval_is_reported() -> None:
    approval = ("Approved", NOON, {"event": "E"})
    ledger = JournalReplay(a_journal(A_LIFE[0], approval, approval))
    assert "twice" in ledger.complaints[0]


def test_skipped_incarnation_is_reported() -> None:
    ledger = JournalReplay(a_journal(published(1, NOON), published(3, NOON)))
    assert "not the next" in ledger.complaints[0]


def test_state_that_differs_from_the_journal_is_reported() -> None:
    ledger = JournalReplay(a_journal(*A_LIFE))
    assert ledger.compare([{"id": "M", "phase": "STARTED"}], {})
    assert ledger.compare(STATE, {"web": ("e", 2)})
