"""Monthly reports: counts, notice, approvals and failures."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    a_maintenance,
    an_event,
    an_outage,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.outages import Outage
from forewarn.core.queries.report import (
    MOST_APPROVERS,
    MOST_UNSEEN,
    ApprovalCount,
    BrokenPromise,
    MaintenanceCounts,
    MaintenanceHistory,
    MonthlyReport,
    OutageTime,
    Quantiles,
    SavedNotice,
    StartCounts,
    StuckTime,
    UnseenEvent,
    make_report,
    month_named,
    month_of,
    stuck_time,
)
from forewarn.protocol.types import EventType

MONTH = month_of(NOON)
LAST = month_named("2025-12")
LATER = NOON + 10 * HOUR


def a_start(after: timedelta = 15 * MINUTE, **more: Any) -> Maintenance:
    """Return a Reboot announced at noon for 12:15 and started `after` noon."""
    maintenance = a_maintenance(
        not_before=NOON + 15 * MINUTE,
        promised=900,
        phase=Phase.STARTED,
        started_at=NOON + after,
    )
    return replace(maintenance, **more)


def approved(at: datetime | None, by: str | None = "ops", group: str = "group0") -> Any:
    event = an_event(group=group, approved_at=at)
    via = None if at is None else Via.POLICY if by is None else Via.CONTROL
    return (replace(event, approved_by=by if at else None, approved_via=via),)


def report_of(
    *made: Maintenance,
    outages: Iterable[Outage] = (),
    group: str | None = None,
    month: Any = MONTH,
) -> MonthlyReport:
    lives = [MaintenanceHistory(maintenance=maintenance) for maintenance in made]
    return make_report(lives, [*outages], month, now=LATER, group=group)


# --- counts ------------------------------------------------------------------


def test_a_month_without_maintenance_is_empty() -> None:
    report = report_of()
    assert (report.maintenances, report.notice) == ((), None)
    assert report.starts == StartCounts()
    assert (report.broken_promises, report.never_shown.events) == ((), ())
    assert report.saved_seconds == SavedNotice(total=0, by_type={})


def test_maintenance_is_counted_by_type_and_cause() -> None:
    report = report_of(
        a_maintenance(),
        a_start(),
        replace(a_start(), phase=Phase.COMPLETED, ended_at=LATER),
        replace(a_start(), phase=Phase.FAILED, ended_at=LATER),
        a_maintenance(phase=Phase.CANCELED, type_=EventType.FREEZE),
        a_maintenance(cause=Cause.DEGRADED),
    )
    reboots, freezes, degraded = (
        MaintenanceCounts(
            type=EventType.REBOOT,
            cause=Cause.PLATFORM,
            announced=4,
            started=3,
            completed=1,
            failed=1,
        ),
        MaintenanceCounts(
            type=EventType.FREEZE, cause=Cause.PLATFORM, announced=1, canceled=1
        ),
        MaintenanceCounts(type=EventType.REBOOT, cause=Cause.DEGRADED, announced=1),
    )
    assert sorted(report.maintenances, key=repr) == sorted(
        (reboots, freezes, degraded), key=repr
    )


def test_withdrawn_events_are_counted() -> None:
    gone = replace(an_event(), withdrawn_at=NOON)
    (counts,) = report_of(a_maintenance(events=[gone, an_event("e1")])).maintenances
    assert (counts.announced, counts.withdrawn) == (1, 1)


def test_other_months_are_not_counted() -> None:
    ended = replace(a_start(), phase=Phase.COMPLETED, ended_at=LATER)
    early = replace(ended, announced_at=LAST.since, not_before=LAST.until - SECOND)
    (counts,) = report_of(early).maintenances
    assert (counts.announced, counts.started, counts.completed) == (0, 1, 1)
    (counts,) = report_of(early, month=LAST).maintenances
    assert (counts.announced, counts.started, counts.completed) == (1, 0, 0)


def test_a_report_on_one_group_omits_the_others() -> None:
    both = a_maintenance(events=[an_event(), an_event("e1", group="Group1")])
    report = report_of(a_maintenance(), both, group="GROUP1")
    assert [row.announced for row in report.maintenances] == [1]
    assert not report_of(a_maintenance(), group="group1").maintenances


# --- notice ------------------------------------------------------------------


def started(*, kept: int = 1, **counts: int) -> StartCounts:
    return StartCounts(total=1, kept=kept, **counts)


def minutes(least: int, median: int, longest: int) -> Quantiles:
    return Quantiles(
        least_seconds=60 * least,
        median_seconds=60 * median,
        longest_seconds=60 * longest,
    )


@pytest.mark.parametrize(
    ("maintenance", "way"),
    [
        (a_start(), started(whole_notice=1)),
        (a_start(20 * MINUTE), started(whole_notice=1)),
        (a_start(MINUTE, events=approved(NOON + MINUTE)), started(approved_early=1)),
        (a_start(events=approved(NOON + MINUTE)), started(whole_notice=1)),
        (a_start(0 * MINUTE, at_once=True, not_before=NOON), started(without_notice=1)),
        (a_start(MINUTE), started(kept=0, broken=1)),
    ],
)
def test_every_start_is_classified(maintenance: Maintenance, way: StartCounts) -> None:
    assert report_of(maintenance).starts == way


def test_a_broken_promise_is_named() -> None:
    report = report_of(a_start(14 * MINUTE), a_start())
    assert report.broken_promises == (
        BrokenPromise(
            maintenance="m0",
            type=EventType.REBOOT,
            groups=("group0",),
            started_at=NOON + 14 * MINUTE,
            too_soon_seconds=60.0,
        ),
    )
    assert (report.starts.kept, report.starts.total) == (1, 2)


def test_downtime_does_not_count_as_notice() -> None:
    outages = [an_outage(-20, -10), an_outage(1, 11)]
    assert report_of(a_start(), outages=outages).starts.broken == 1
    assert report_of(a_start(25 * MINUTE), outages=outages).starts.broken == 0


def test_notice_is_summarized_as_minimum_median_and_maximum() -> None:
    starts = [a_start(length * MINUTE) for length in (40, 16, 15, 90)]
    longer = a_start(HOUR, not_before=NOON + HOUR)
    notices = report_of(*starts, longer).notice
    assert notices is not None
    assert notices.promised == minutes(15, 15, 15)
    assert notices.given == minutes(15, 15, 60)
    assert notices.used == minutes(15, 40, 90)


def test_the_median_of_an_even_count_is_the_lower_one() -> None:
    notices = report_of(a_start(20 * MINUTE), a_start(30 * MINUTE)).notice
    assert notices is not None
    assert notices.used.median_seconds == 20 * 60


def test_immediate_starts_have_no_notice_summary() -> None:
    at_once = a_start(0 * MINUTE, at_once=True, not_before=NOON)
    assert report_of(at_once).notice is None


def test_time_saved_by_early_approval_is_summed_by_type() -> None:
    sooner = a_start(MINUTE, events=approved(NOON + MINUTE))
    freeze = replace(sooner, type=EventType.FREEZE)
    assert report_of(sooner, sooner, freeze, a_start()).saved_seconds == SavedNotice(
        total=42 * 60, by_type={EventType.REBOOT: 28 * 60, EventType.FREEZE: 14 * 60}
    )


# --- approvals and sightings -------------------------------------------------


def test_approvals_are_counted_by_approver_and_channel() -> None:
    report = report_of(
        *(a_maintenance(events=approved(NOON, by)) for by in ("b", "a", "a", None))
    )
    assert report.approvals.total == 4
    assert report.approvals.by_via == {Via.CONTROL: 3, Via.POLICY: 1}
    assert report.approvals.by_whom == (
        ApprovalCount(by="a", via=Via.CONTROL, approvals=2),
        ApprovalCount(by="b", via=Via.CONTROL, approvals=1),
        ApprovalCount(by=None, via=Via.POLICY, approvals=1),
    )


def test_approvals_from_another_month_are_not_counted() -> None:
    assert report_of(a_maintenance(events=approved(LAST.since))).approvals.total == 0


def test_only_the_most_frequent_approvers_are_named() -> None:
    report = report_of(
        *(a_maintenance(events=approved(NOON, f"vm{n}")) for n in range(20))
    )
    assert len(report.approvals.by_whom) == MOST_APPROVERS
    assert report.approvals.by_via == {Via.CONTROL: 20}


@pytest.mark.parametrize(
    ("seen_at", "is_unseen"),
    [(None, True), (NOON, False), (NOON + 15 * MINUTE, False), (LATER, True)],
)
def test_events_unseen_before_the_start_are_named(
    seen_at: datetime | None, is_unseen: bool
) -> None:
    seen = {} if seen_at is None else {"e0": seen_at}
    life = MaintenanceHistory(maintenance=a_start(), first_seen=seen)
    report = make_report([life], [], MONTH, now=LATER)
    unseen = UnseenEvent(
        event="e0",
        maintenance="m0",
        type=EventType.REBOOT,
        group="group0",
        started_at=NOON + 15 * MINUTE,
    )
    assert report.never_shown.events == ((unseen,) if is_unseen else ())
    assert report.never_shown.total == int(is_unseen)


def test_immediate_or_withdrawn_events_need_not_be_seen() -> None:
    at_once = a_start(0 * MINUTE, at_once=True, not_before=NOON)
    gone = a_start(events=(replace(an_event(), withdrawn_at=NOON),))
    assert report_of(at_once, gone).never_shown.total == 0


def test_the_list_of_unseen_events_is_limited() -> None:
    report = report_of(*[a_start()] * (MOST_UNSEEN + 5))
    assert len(report.never_shown.events) == MOST_UNSEEN
    assert report.never_shown.total == MOST_UNSEEN + 5


# --- stuck maintenance and outages -------------------------------------------


def failed(minutes: int) -> f.WorkFailed:
    return f.WorkFailed(at=NOON + minutes * MINUTE, maintenance="m0", vms=("vm0",))


def retried(minutes: int) -> f.WorkRetried:
    return f.WorkRetried(at=NOON + minutes * MINUTE, by="ops", maintenance="m0")


@pytest.mark.parametrize(
    ("facts", "length"),
    [
        ((), 0 * MINUTE),
        ((failed(0), failed(5), retried(10)), 10 * MINUTE),
        ((failed(0), retried(10), failed(20), retried(21)), 11 * MINUTE),
        ((failed(0), f.Closed(at=NOON + HOUR, by="o", maintenance="m0")), HOUR),
        ((failed(0), f.WorkEnded(at=NOON + HOUR, by="o", maintenance="m0")), HOUR),
        ((failed(0), f.Completed(at=NOON + HOUR, maintenance="m0")), HOUR),
        ((failed(0),), LATER - NOON),
        ((retried(3),), 0 * MINUTE),
    ],
)
def test_maintenance_is_stuck_until_an_operator_acts(
    facts: tuple[f.Fact, ...], length: timedelta
) -> None:
    assert stuck_time(facts, MONTH, LATER) == length


def test_only_the_stuck_time_within_the_month_counts() -> None:
    long_ago = f.WorkFailed(at=LAST.since, maintenance="m0", vms=())
    assert stuck_time([long_ago], LAST, LATER) == LAST.until - LAST.since
    assert stuck_time([long_ago], MONTH, LATER) == LATER - MONTH.since


def test_stuck_maintenance_is_counted_and_summed() -> None:
    lives = [
        MaintenanceHistory(maintenance=a_start(), facts=(failed(0), retried(10))),
        MaintenanceHistory(maintenance=a_start(), facts=(failed(0), retried(20))),
        MaintenanceHistory(maintenance=a_start()),
    ]
    report = make_report(lives, [], MONTH, now=LATER)
    assert report.stuck == StuckTime(maintenances=2, seconds=30 * 60)


def test_only_the_part_of_an_outage_within_the_month_counts() -> None:
    across = Outage(since=MONTH.since - HOUR, until=MONTH.since + HOUR)
    before = Outage(since=LAST.since, until=LAST.since + HOUR)
    report = report_of(outages=[before, across, an_outage(0, 10)])
    assert report.outages == OutageTime(total=2, seconds=70 * 60)
