"""Whether a promise of notice was kept."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.core.builders import MINUTE, NOON, SECOND, a_maintenance, an_event, an_outage

from forewarn.core.maintenance import Cause, Maintenance, Phase
from forewarn.core.promises import judge

NOTICE = 15 * MINUTE
ZERO = timedelta(0)


def a_start(after: timedelta, *approved: datetime | None, **more: Any) -> Maintenance:
    """A Reboot that started `after` its announcement; its groups `approved` when?"""
    events = [
        an_event(f"e{n}", group=f"group{n}", resources=(f"vm{n}",), approved_at=when)
        for n, when in enumerate(approved or (None,))
    ]
    made = a_maintenance(
        events=events,
        not_before=NOON + NOTICE,
        promised=900,
        phase=Phase.STARTED,
        started_at=NOON + after,
    )
    return replace(made, **more)


def test_what_starts_at_its_time_has_kept_its_promise() -> None:
    notice = judge(a_start(NOTICE), ())
    assert not notice.is_broken
    assert (notice.promised, notice.given, notice.used) == (NOTICE, NOTICE, NOTICE)
    assert notice.saved == ZERO
    assert notice.unapproved == ("group0",)


def test_what_starts_a_second_early_without_approval_is_broken() -> None:
    assert judge(a_start(NOTICE - SECOND), ()).is_broken


def test_approval_of_everybody_saves_what_is_left() -> None:
    notice = judge(a_start(5 * MINUTE, NOON + MINUTE, NOON + 5 * MINUTE), ())
    assert not notice.is_broken
    assert notice.saved == 10 * MINUTE
    assert notice.used == 5 * MINUTE
    assert notice.unapproved == ()


def test_approval_by_one_of_two_is_not_enough() -> None:
    notice = judge(a_start(5 * MINUTE, NOON + MINUTE, None), ())
    assert notice.is_broken
    assert notice.unapproved == ("group1",)
    assert notice.saved == ZERO


def test_an_approval_after_the_start_comes_too_late() -> None:
    assert judge(a_start(5 * MINUTE, NOON + 6 * MINUTE), ()).is_broken


def test_who_was_withdrawn_before_the_start_need_not_approve() -> None:
    made = a_start(5 * MINUTE, NOON + MINUTE, None)
    gone = replace(made.events[1], withdrawn_at=NOON + 2 * MINUTE)
    notice = judge(replace(made, events=(made.events[0], gone)), ())
    assert not notice.is_broken
    assert notice.saved == 10 * MINUTE


def test_a_gate_that_was_shut_for_long_saves_nothing() -> None:
    notice = judge(a_start(20 * MINUTE, NOON + MINUTE), ())
    assert notice.saved == ZERO
    assert notice.used == 20 * MINUTE


def test_what_an_outage_took_is_still_owed() -> None:
    outage = an_outage(1, 4)
    assert judge(a_start(NOTICE), [outage]).is_broken
    assert judge(a_start(18 * MINUTE - SECOND), [outage]).is_broken
    late = judge(a_start(18 * MINUTE), [outage])
    assert not late.is_broken
    assert late.away == 3 * MINUTE


def test_an_outage_takes_nothing_from_notice_that_was_longer_than_promised() -> None:
    outage = an_outage(1, 4)
    made = a_start(30 * MINUTE, not_before=NOON + 30 * MINUTE)
    assert not judge(made, [outage]).is_broken


@pytest.mark.parametrize(
    "without",
    [
        {"at_once": True, "promised": 0, "not_before": NOON},
        {"cause": Cause.HOST_FAILURE, "promised": 0},
    ],
    ids=["at once", "host failure"],
)
def test_what_promises_nothing_breaks_nothing(without: dict[str, Any]) -> None:
    assert not judge(a_start(ZERO, **without), ()).is_broken


def test_an_emergency_with_notice_promises_its_not_before_alone() -> None:
    soon: dict[str, Any] = {
        "emergency": True,
        "promised": 0,
        "not_before": NOON + MINUTE,
    }
    away = an_outage(0, 1)
    assert not judge(a_start(MINUTE, **soon), [away]).is_broken
    assert judge(a_start(59 * SECOND, **soon), [away]).is_broken


def test_what_never_started_broke_no_promise() -> None:
    notice = judge(a_maintenance(phase=Phase.CANCELED, promised=900), ())
    assert notice.used is None
    assert not notice.is_broken
    assert notice.saved == ZERO
