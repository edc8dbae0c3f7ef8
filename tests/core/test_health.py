"""Health: what makes the service unready, and what is only a warning."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core.health import (
    HEARTBEAT_LIMIT,
    ThreadHealth,
    Vitals,
    WriteHealth,
    judge,
    standstill_until,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = 1000.0  # seconds of real time
WELL = Vitals(
    now=NOW,
    writes=WriteHealth(),
    heartbeat_at=NOW,
    behind_since=None,
    threads=[ThreadHealth(name="timers")],
    standstill=None,
    clock_now=NOON,
)


def problems(vitals: Vitals) -> list[str]:
    return [str(problem) for problem in judge(vitals).problems]


def test_healthy_service_has_no_problems() -> None:
    assert judge(WELL).problems == []
    assert judge(WELL).warnings == ()


@pytest.mark.parametrize(
    ("vitals", "sentence"),
    [
        (
            replace(WELL, heartbeat_at=NOW - HEARTBEAT_LIMIT - 1),
            "no heartbeat (for 31 s)",
        ),
        (
            replace(WELL, behind_since=NOW - 65),
            "documents are behind the journal (for 1 min 5 s)",
        ),
        (
            replace(
                WELL,
                threads=[
                    ThreadHealth(name="works", failing_since=NOW - 10, reason="why")
                ],
            ),
            "thread works is failing: why (for 10 s)",
        ),
        (
            replace(WELL, threads=[ThreadHealth(name="works", is_alive=False)]),
            "thread works has stopped unexpectedly; restart forewarn (for 0 s)",
        ),
    ],
)
def test_lasting_problem_makes_the_service_unready(
    vitals: Vitals, sentence: str
) -> None:
    assert problems(vitals) == [sentence]


@pytest.mark.parametrize(
    "vitals",
    [
        replace(WELL, heartbeat_at=NOW - 20),
        replace(WELL, behind_since=NOW - 1),
        replace(WELL, threads=[ThreadHealth(name="works", failing_since=NOW - 1)]),
    ],
)
def test_brief_problem_does_not_make_the_service_unready(vitals: Vitals) -> None:
    assert problems(vitals) == []


# --- writes ------------------------------------------------------------------


def test_failed_writes_are_a_problem_until_a_probe_succeeds() -> None:
    failed = WriteHealth().failed("the disk is full", NOW - 12, is_damaged=False)
    again = failed.failed("the disk is broken", NOW - 2, is_damaged=False)
    assert again.failures == 2
    assert problems(replace(WELL, writes=again)) == [
        "writes are failing: the disk is broken (for 12 s)"
    ]
    assert again.succeeded() == again
    over = again.succeeded(is_probe=True)
    assert problems(replace(WELL, writes=over)) == []
    assert over == WriteHealth(failures=2, reason="the disk is broken")


def test_lost_connection_is_a_problem_until_a_write_succeeds() -> None:
    lost = WriteHealth().failed("away", NOW, is_damaged=False, is_lost=True)
    assert problems(replace(WELL, writes=lost)) == [
        "writes are failing: away (for 0 s)"
    ]
    assert problems(replace(WELL, writes=lost.succeeded())) == []
    full = lost.failed("full", NOW, is_damaged=False)
    assert full.failed("away", NOW, is_damaged=False, is_lost=True).needs_probe


def test_damage_is_a_problem_even_if_other_writes_succeed() -> None:
    damaged = WriteHealth().failed("restore a backup", NOW - 12, is_damaged=True)
    locked = damaged.succeeded().failed("locked", NOW - 1, is_damaged=False)
    later = locked.succeeded(is_probe=True)
    assert problems(replace(WELL, writes=later)) == [
        "writes are failing: restore a backup (for 12 s)"
    ]


# --- clock -------------------------------------------------------------------


def test_clock_far_behind_the_journal_is_a_warning() -> None:
    last = NOON + timedelta(hours=30)
    until = standstill_until(NOON, last)
    assert until == last
    health = judge(replace(WELL, standstill=until))
    assert health.problems == []
    (warning,) = health.warnings
    assert "is paused until 2026-01-02T18:00:00+00:00" in warning
    assert "1 d 6 h ahead" in warning
    assert "If the system clock is wrong, set it" in warning
    assert "wait, or restore an earlier backup" in warning


@pytest.mark.parametrize("ahead", [-60.0, 0.0, 0.5])
def test_small_correction_of_the_clock_is_not_reported(ahead: float) -> None:
    assert standstill_until(NOON, NOON + timedelta(seconds=ahead)) is None
    assert standstill_until(NOON, None) is None
