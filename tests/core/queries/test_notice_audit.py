"""Notice audit: whether the promised notice was given."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_maintenance,
    an_event,
    an_outage,
)

from forewarn.core.lifecycle.model import Cause, Maintenance, Phase
from forewarn.core.queries.notice_audit import audit_notice

NOTICE = 15 * MINUTE
ZERO = timedelta(0)


def a_start(after: timedelta, *approved: datetime | None, **more: Any) -> Maintenance:
    """Return a Reboot that started `after` its announcement.

    `approved` holds the approval time of each group, None if it did not approve.
    """
    events = [
        an_event(f"e{n}", group=f"group{n}", resources=(f"vm{n}",), approved_at=when)
        for n, when in enumerate(approved or (None,))
    ]
    maintenance = a_maintenance(
        events=events,
        not_before=NOON + NOTICE,
        promised=900,
        phase=Phase.STARTED,
        started_at=NOON + after,
    )
    return replace(maintenance, **more)


def test_a_start_at_its_time_keeps_the_promise() -> None:
    notice = audit_notice(a_start(NOTICE), ())
    assert not notice.is_broken
    assert (notice.promised, notice.given, notice.used) == (NOTICE, NOTICE, NOTICE)
    assert notice.saved == ZERO
    assert notice.unapproved == ("group0",)


def test_an_unapproved_start_one_second_early_breaks_the_promise() -> None:
    assert audit_notice(a_start(NOTICE - SECOND), ()).is_broken


def test_approval_by_all_groups_saves_the_rest_of_the_notice() -> None:
    notice = audit_notice(a_start(5 * MINUTE, NOON + MINUTE, NOON + 5 * MINUTE), ())
    assert not notice.is_broken
    assert notice.saved == 10 * MINUTE
    assert notice.used == 5 * MINUTE
    assert notice.unapproved == ()


def test_approval_by_one_of_two_groups_is_not_enough() -> None:
    notice = audit_notice(a_start(5 * MINUTE, NOON + MINUTE, None), ())
    assert notice.is_broken
    assert notice.unapproved == ("group1",)
    assert notice.saved == ZERO


def test_an_approval_after_the_start_is_too_late() -> None:
    assert audit_notice(a_start(5 * MINUTE, NOON + 6 * MINUTE), ()).is_broken


def test_an_event_withdrawn_before_the_start_needs_no_approval() -> None:
    maintenance = a_start(5 * MINUTE, NOON + MINUTE, None)
    gone = replace(maintenance.events[1], withdrawn_at=NOON + 2 * MINUTE)
    notice = audit_notice(
        replace(maintenance, events=(maintenance.events[0], gone)), ()
    )
    assert not notice.is_broken
    assert notice.saved == 10 * MINUTE


def test_nothing_is_saved_if_a_blocker_held_it_for_longer() -> None:
    notice = audit_notice(a_start(20 * MINUTE, NOON + MINUTE), ())
    assert notice.saved == ZERO
    assert notice.used == 20 * MINUTE


def test_notice_lost_to_an_outage_is_still_owed() -> None:
    outage = an_outage(1, 4)
    assert audit_notice(a_start(NOTICE), [outage]).is_broken
    assert audit_notice(a_start(18 * MINUTE - SECOND), [outage]).is_broken
    late = audit_notice(a_start(18 * MINUTE), [outage])
    assert not late.is_broken
    assert late.away == 3 * MINUTE


def test_an_outage_does_not_matter_if_more_notice_was_given() -> None:
    outage = an_outage(1, 4)
    maintenance = a_start(30 * MINUTE, not_before=NOON + 30 * MINUTE)
    assert not audit_notice(maintenance, [outage]).is_broken


@pytest.mark.parametrize(
    "without",
    [
        {"at_once": True, "promised": 0, "not_before": NOON},
        {"cause": Cause.HOST_FAILURE, "promised": 0},
    ],
    ids=["at once", "host failure"],
)
def test_without_a_promise_nothing_is_broken(without: dict[str, Any]) -> None:
    assert not audit_notice(a_start(ZERO, **without), ()).is_broken


def test_an_emergency_with_notice_promises_only_its_not_before() -> None:
    soon: dict[str, Any] = {
        "emergency": True,
        "promised": 0,
        "not_before": NOON + MINUTE,
    }
    away = an_outage(0, 1)
    assert not audit_notice(a_start(MINUTE, **soon), [away]).is_broken
    assert audit_notice(a_start(59 * SECOND, **soon), [away]).is_broken


def test_maintenance_that_never_started_broke_no_promise() -> None:
    notice = audit_notice(a_maintenance(phase=Phase.CANCELED, promised=900), ())
    assert notice.used is None
    assert not notice.is_broken
    assert notice.saved == ZERO
