"""Announcements: notice, defaults, refusals and immediate starts."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    an_order,
)

from forewarn.core.fleet import VM, AutoApproval, Enabling, Group
from forewarn.core.lifecycle import announcements
from forewarn.core.lifecycle.facts import Announced, Approved, Published, Started
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import InvalidInput, TooSoon
from forewarn.protocol.types import EventSource, EventType


def announce(
    order: announcements.Order,
    *vms: VM,
    groups: Iterable[Group] = (),
    maintenances: Iterable[Maintenance] = (),
    now: datetime = NOON,
) -> Step:
    """Announce `order` for `vms`, or for vm0 of group0."""
    machines = vms or (a_vm(),)
    return announcements.announce(
        a_slice(groups=groups, vms=machines, maintenances=maintenances),
        a_context(now),
        order,
        machines,
    )


def announced(step: Step) -> list[Maintenance]:
    """Return what was announced, in its state at the end of the step."""
    return [
        step.slice.maintenance(fact.maintenance)
        for fact in step.facts
        if isinstance(fact, Announced)
    ]


def the_one(step: Step) -> Maintenance:
    (maintenance,) = announced(step)
    return maintenance


# --- notice ------------------------------------------------------------------

MINIMUM = {
    EventType.FREEZE: 15 * MINUTE,
    EventType.REBOOT: 15 * MINUTE,
    EventType.REDEPLOY: 10 * MINUTE,
    EventType.PREEMPT: 30 * SECOND,
    EventType.TERMINATE: 5 * MINUTE,
}


@pytest.mark.parametrize(("type_", "notice"), MINIMUM.items())
def test_notice_defaults_to_the_minimum(type_: EventType, notice: timedelta) -> None:
    assert the_one(announce(an_order(type_))).not_before == NOON + notice


@pytest.mark.parametrize(("type_", "notice"), MINIMUM.items())
def test_longer_notice_is_allowed(type_: EventType, notice: timedelta) -> None:
    more = notice + 3 * SECOND
    by_notice = the_one(announce(an_order(type_, notice=more)))
    by_time = the_one(announce(an_order(type_, not_before=NOON + more)))
    assert by_notice.not_before == by_time.not_before == NOON + more


@pytest.mark.parametrize(("type_", "notice"), MINIMUM.items())
def test_shorter_notice_is_refused_with_the_earliest_time(
    type_: EventType, notice: timedelta
) -> None:
    with pytest.raises(TooSoon, match="2026-01-05T12:") as by_notice:
        announce(an_order(type_, notice=notice - SECOND))
    with pytest.raises(TooSoon) as by_time:
        announce(an_order(type_, not_before=NOON + notice - SECOND))
    assert by_notice.value.earliest == by_time.value.earliest == NOON + notice


@pytest.mark.parametrize("past", [-SECOND, -HOUR])
def test_a_time_in_the_past_is_refused(past: timedelta) -> None:
    with pytest.raises(TooSoon):
        announce(an_order(notice=past))
    with pytest.raises(TooSoon):
        announce(an_order(not_before=NOON + past))


def test_a_terminate_has_the_notice_of_its_group() -> None:
    group = a_group(terminate_notice=600)
    order = an_order(EventType.TERMINATE)
    assert the_one(announce(order, groups=[group])).not_before == NOON + 10 * MINUTE
    with pytest.raises(TooSoon):
        announce(an_order(EventType.TERMINATE, notice=9 * MINUTE), groups=[group])


def test_terminate_notice_affects_no_other_type() -> None:
    group = a_group(terminate_notice=600)
    preempt = the_one(announce(an_order(EventType.PREEMPT), groups=[group]))
    assert preempt.not_before == NOON + 30 * SECOND


@pytest.mark.parametrize("fraction", [1, 500_000, 999_999])
def test_not_before_is_rounded_up_to_whole_seconds(fraction: int) -> None:
    now = NOON + timedelta(microseconds=fraction)
    by_default = the_one(announce(an_order(), now=now))
    by_notice = the_one(announce(an_order(notice=15 * MINUTE), now=now))
    by_time = the_one(announce(an_order(not_before=now + 15 * MINUTE), now=now))
    whole = NOON + 15 * MINUTE + SECOND
    assert by_default.not_before == by_notice.not_before == by_time.not_before == whole


def test_the_earliest_time_is_rounded_up_to_whole_seconds() -> None:
    with pytest.raises(TooSoon) as refused:
        announce(an_order(notice=MINUTE), now=NOON + timedelta(microseconds=1))
    assert refused.value.earliest == NOON + 15 * MINUTE + SECOND


@pytest.mark.parametrize("type_", MINIMUM)
def test_a_rehearsal_may_give_short_notice_and_then_promises_it(
    type_: EventType,
) -> None:
    short, long = 15 * SECOND, 20 * MINUTE
    given = the_one(announce(an_order(type_, notice=short, short_notice=True)))
    assert (given.phase, given.at_once) == (Phase.SCHEDULED, False)
    assert (given.not_before, given.promised) == (NOON + short, 15)
    given = the_one(announce(an_order(type_, notice=long, short_notice=True)))
    assert given.promised == MINIMUM[type_].total_seconds()


@pytest.mark.parametrize(
    ("order", "error"),
    [
        (an_order(short_notice=True), "requires a notice"),
        (an_order(short_notice=True, notice=0 * SECOND), "requires a notice"),
        (
            an_order(short_notice=True, notice=SECOND, emergency=True, reason="fire"),
            "an emergency can have any notice",
        ),
    ],
)
def test_short_notice_needs_a_notice_and_no_emergency(
    order: announcements.Order, error: str
) -> None:
    with pytest.raises(InvalidInput, match=error):
        announce(order)


def test_notice_is_limited_to_ten_years() -> None:
    with pytest.raises(InvalidInput, match="ten years"):
        announce(an_order(notice=timedelta(days=3651)))
    with pytest.raises(InvalidInput, match="ten years"):
        announce(an_order(not_before=NOON + timedelta(days=3651)))


# --- defaults ----------------------------------------------------------------

PLATFORM, USER = EventSource.PLATFORM, EventSource.USER

MAINTENANCE = "Host server is undergoing maintenance."
RESTART = "Virtual machine is going to be restarted as requested by authorized user."
REDEPLOYMENT = (
    "Virtual machine is going to be redeployed as requested by authorized user."
)


@pytest.mark.parametrize(
    ("type_", "given", "source", "cause", "description", "duration"),
    [
        (EventType.FREEZE, None, PLATFORM, Cause.PLATFORM, MAINTENANCE, 9),
        (EventType.REBOOT, None, PLATFORM, Cause.PLATFORM, MAINTENANCE, -1),
        (EventType.REDEPLOY, None, PLATFORM, Cause.PLATFORM, MAINTENANCE, -1),
        (EventType.PREEMPT, None, PLATFORM, Cause.EVICTION, "", -1),
        (EventType.TERMINATE, None, USER, Cause.SCALE_IN, "", -1),
        (EventType.REBOOT, USER, USER, Cause.USER_RESTART, RESTART, -1),
        (EventType.REDEPLOY, USER, USER, Cause.USER_REDEPLOY, REDEPLOYMENT, -1),
        (EventType.PREEMPT, USER, USER, Cause.EVICTION, "", -1),
        (EventType.TERMINATE, PLATFORM, PLATFORM, Cause.SCALE_IN, "", -1),
    ],
)
def test_defaults_follow_from_type_and_source(
    type_: EventType,
    given: EventSource | None,
    source: EventSource,
    cause: Cause,
    description: str,
    duration: int,
) -> None:
    maintenance = the_one(announce(an_order(type_, source=given)))
    assert (maintenance.type, maintenance.source, maintenance.cause) == (
        type_,
        source,
        cause,
    )
    assert (maintenance.description, maintenance.duration) == (description, duration)


def test_given_values_are_kept() -> None:
    order = an_order(EventType.FREEZE, duration=0, description="", reason="a disk")
    maintenance = the_one(announce(order))
    assert (maintenance.duration, maintenance.description, maintenance.reason) == (
        0,
        "",
        "a disk",
    )
    assert (maintenance.announced_by, maintenance.announced_at) == ("ops", NOON)


def test_an_emergency_is_described_as_a_repair() -> None:
    maintenance = the_one(announce(an_order(emergency=True, reason="smoke")))
    assert maintenance.description == "Host server is undergoing an emergency repair."


@pytest.mark.parametrize("emergency", [False, True])
def test_a_live_migration_has_azures_description_and_duration(emergency: bool) -> None:
    order = an_order(
        EventType.FREEZE, live_migration=True, emergency=emergency, reason="a disk"
    )
    maintenance = the_one(announce(order))
    assert (maintenance.description, maintenance.duration) == (
        "Virtual machine is being paused because of a memory-preserving Live Migration"
        " operation.",
        5,
    )


def test_given_values_override_those_of_a_live_migration() -> None:
    order = an_order(
        EventType.FREEZE, live_migration=True, duration=0, description="moving"
    )
    maintenance = the_one(announce(order))
    assert (maintenance.description, maintenance.duration) == ("moving", 0)


# --- refusals ----------------------------------------------------------------


def test_only_a_freeze_can_be_a_live_migration() -> None:
    order = an_order(EventType.REDEPLOY, live_migration=True)
    with pytest.raises(InvalidInput, match="requires a Freeze"):
        announce(order)


@pytest.mark.parametrize(
    "order",
    [
        announcements.Order(type=EventType.REBOOT),
        an_order(vms=("vm0",), host="host0"),
        an_order(vms=("vm0",), group="group0"),
        an_order(host="host0", group="group0"),
        an_order(vms=("vm0",), host="host0", group="group0"),
    ],
)
def test_an_order_names_exactly_one_of_vms_host_and_group(
    order: announcements.Order,
) -> None:
    with pytest.raises(InvalidInput, match="exactly one of vms, host and group"):
        announcements.check_order(order)


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        (an_order(notice=HOUR, not_before=NOON + HOUR), "not both"),
        (an_order(EventType.FREEZE, source=USER), "Freeze"),
        (an_order(emergency=True), "reason"),
        (an_order(emergency=True, reason=""), "reason"),
        (an_order(emergency=True, reason="  "), "reason"),
        (an_order(ignore_blockers=True), "ignore_blockers"),
        (an_order(ignore_blockers=True, reason="haste"), "ignore_blockers"),
        (an_order(duration=-2), "duration_seconds"),
        (an_order(duration=3651 * 24 * 3600), "duration_seconds"),
    ],
)
def test_a_contradictory_order_is_refused(
    order: announcements.Order, complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        announcements.check_order(order)
    with pytest.raises(InvalidInput, match=complaint):
        announce(order)


# --- immediate starts --------------------------------------------------------


SILENT = a_group(enabled=Enabling.ON_DEMAND)
AUTO_APPROVING = a_group(
    auto_approve=(AutoApproval.USER_REBOOT, AutoApproval.USER_REDEPLOY)
)


@pytest.mark.parametrize("type_", [EventType.REBOOT, EventType.REDEPLOY])
def test_a_user_operation_in_an_enabled_group_gets_its_notice(
    type_: EventType,
) -> None:
    maintenance = the_one(announce(an_order(type_, source=USER)))
    assert (maintenance.phase, maintenance.at_once) == (Phase.SCHEDULED, False)
    assert maintenance.not_before == NOON + MINIMUM[type_]


@pytest.mark.parametrize("type_", [EventType.REBOOT, EventType.REDEPLOY])
def test_a_user_operation_in_a_disabled_group_starts_immediately(
    type_: EventType,
) -> None:
    step = announce(an_order(type_, source=USER), groups=[SILENT])
    maintenance = the_one(step)
    assert (maintenance.phase, maintenance.at_once) == (Phase.STARTED, True)
    assert maintenance.not_before == maintenance.started_at == NOON
    assert maintenance.events[0].approved_at is None


@pytest.mark.parametrize("type_", [EventType.REBOOT, EventType.REDEPLOY])
def test_an_auto_approved_user_operation_starts_immediately(type_: EventType) -> None:
    step = announce(an_order(type_, source=USER), groups=[AUTO_APPROVING])
    maintenance = the_one(step)
    assert (maintenance.phase, maintenance.at_once) == (Phase.STARTED, True)
    assert [type(fact) for fact in step.facts] == [
        Announced,
        Approved,
        Started,
        Published,
    ]
    assert maintenance.events[0].approved_via is Via.POLICY
    assert maintenance.events[0].approved_by is None


def test_only_the_operations_that_the_group_lists_are_auto_approved() -> None:
    group = a_group(auto_approve=(AutoApproval.USER_REDEPLOY,))
    maintenance = the_one(announce(an_order(source=USER), groups=[group]))
    assert (maintenance.phase, maintenance.events[0].approved_at) == (
        Phase.SCHEDULED,
        None,
    )


@pytest.mark.parametrize("type_", MINIMUM)
@pytest.mark.parametrize("group", [SILENT, AUTO_APPROVING])
def test_platform_operations_ignore_enabled_state_and_auto_approval(
    type_: EventType, group: Group
) -> None:
    maintenance = the_one(announce(an_order(type_, source=PLATFORM), groups=[group]))
    assert (maintenance.phase, maintenance.at_once) == (Phase.SCHEDULED, False)
    assert maintenance.not_before == NOON + MINIMUM[type_]


@pytest.mark.parametrize(
    ("ago", "phase"),
    [(24 * HOUR - SECOND, Phase.SCHEDULED), (24 * HOUR, Phase.STARTED)],
)
def test_a_group_is_disabled_after_a_day_without_requests(
    ago: timedelta, phase: Phase
) -> None:
    group = a_group(enabled=Enabling.ON_DEMAND, last_request=NOON - ago)
    assert the_one(announce(an_order(source=USER), groups=[group])).phase is phase


def test_an_emergency_without_notice_starts_immediately() -> None:
    maintenance = the_one(announce(an_order(emergency=True, reason="smoke")))
    assert (maintenance.phase, maintenance.at_once) == (Phase.STARTED, True)
    assert maintenance.not_before == NOON


@pytest.mark.parametrize(
    "order",
    [
        an_order(emergency=True, reason="smoke", notice=MINUTE),
        an_order(emergency=True, reason="smoke", not_before=NOON + MINUTE),
    ],
)
def test_an_emergency_may_give_less_notice_than_the_minimum(
    order: announcements.Order,
) -> None:
    maintenance = the_one(announce(order))
    assert (maintenance.phase, maintenance.at_once) == (Phase.SCHEDULED, False)
    assert maintenance.not_before == NOON + MINUTE


@pytest.mark.parametrize("group", [SILENT, AUTO_APPROVING])
def test_an_emergency_does_not_delay_an_immediate_user_operation(
    group: Group,
) -> None:
    order = an_order(source=USER, emergency=True, reason="smoke", notice=MINUTE)
    maintenance = the_one(announce(order, groups=[group]))
    assert (maintenance.phase, maintenance.at_once) == (Phase.STARTED, True)
    assert maintenance.not_before == NOON


def test_an_emergency_cannot_start_in_the_past() -> None:
    with pytest.raises(TooSoon):
        announce(an_order(emergency=True, reason="smoke", notice=-SECOND))


def test_a_blocked_emergency_stays_scheduled() -> None:
    running = a_maintenance(
        "m0", phase=Phase.STARTED, events=[an_event(update_domain=1)]
    )
    maintenance = the_one(
        announce(an_order(emergency=True, reason="smoke"), maintenances=[running])
    )
    assert (maintenance.phase, maintenance.at_once) == (Phase.SCHEDULED, True)
    assert maintenance.not_before == NOON


def test_an_emergency_that_ignores_blockers_starts_immediately_and_records_it() -> None:
    running = a_maintenance(
        "m0", phase=Phase.STARTED, events=[an_event(update_domain=1)]
    )
    order = an_order(emergency=True, ignore_blockers=True, reason="smoke")
    step = announce(order, maintenances=[running])
    assert the_one(step).phase is Phase.STARTED
    (fact,) = [fact for fact in step.facts if isinstance(fact, Announced)]
    assert fact.announced.ignore_blockers
