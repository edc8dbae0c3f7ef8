"""Blockers: why due maintenance does not start yet, and when it does."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_context,
    a_maintenance,
    a_slice,
    an_event,
)

from forewarn.core.lifecycle import commands, policy
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.settlement import Step, groups_to_settle
from forewarn.protocol.types import EventSource, EventType

PLANNED = [EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY]


def running(*events: Event) -> Maintenance:
    """Return a started maintenance, by default in update domain 0."""
    return a_maintenance("running", phase=Phase.STARTED, events=events)


def due(
    maintenance_id: str = "due",
    *events: Event,
    type_: EventType = EventType.REBOOT,
    source: EventSource = EventSource.PLATFORM,
    cause: Cause = Cause.PLATFORM,
) -> Maintenance:
    """Return a due maintenance, by default in update domain 1."""
    shares = events or (an_event(f"e-{maintenance_id}", update_domain=1),)
    return a_maintenance(
        maintenance_id,
        type_=type_,
        source=source,
        cause=cause,
        events=shares,
        not_before=NOON,
    )


def tick(*maintenances: Maintenance) -> Step:
    return commands.tick(a_slice(maintenances=maintenances), a_context())


def started(step: Step) -> list[str]:
    """Return what the step started, in order."""
    return [fact.maintenance for fact in step.facts if isinstance(fact, f.Started)]


# --- a: one update domain at a time ------------------------------------------


@pytest.mark.parametrize("type_", PLANNED)
def test_planned_maintenance_waits_for_another_update_domain(type_: EventType) -> None:
    assert started(tick(running(), due(type_=type_))) == []


@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.CANCELED, Phase.FAILED])
def test_finished_maintenance_blocks_nothing(phase: Phase) -> None:
    assert started(tick(a_maintenance("over", phase=phase), due())) == ["due"]


def test_maintenance_that_is_not_due_blocks_nothing() -> None:
    later = a_maintenance("later", not_before=NOON + MINUTE)
    assert started(tick(later, due())) == ["due"]


def test_maintenance_of_the_same_update_domain_does_not_wait() -> None:
    here = an_event("e1", update_domain=0, resources=("vm1",))
    assert started(tick(running(), due("due", here))) == ["due"]


def test_vms_without_update_domain_never_share_one() -> None:
    nowhere = an_event("e1", update_domain=None, resources=("vm1",))
    domainless = an_event("e0", update_domain=None)
    assert started(tick(running(domainless), due("due", nowhere))) == []


def test_only_one_update_domain_of_a_group_at_a_time() -> None:
    both = (
        an_event("e1", update_domain=0, resources=("vm1",)),
        an_event("e2", update_domain=1, resources=("vm2",)),
    )
    assert started(tick(running(), due("due", *both))) == []
    assert started(tick(running(*both), due("due", an_event("e0")))) == []


def test_maintenance_of_another_group_blocks_nothing() -> None:
    elsewhere = an_event("e0", group="group1", resources=("vm1",))
    assert started(tick(running(elsewhere), due())) == ["due"]


def test_a_blocker_in_one_group_blocks_the_maintenance_in_all_its_groups() -> None:
    shares = (
        an_event("e1", update_domain=1),
        an_event("e2", group="group1", update_domain=0, resources=("vm1",)),
    )
    step = tick(running(), due("due", *shares))
    assert step.slice.maintenance("due").phase is Phase.SCHEDULED


def test_update_domains_are_compared_per_group() -> None:
    mine = an_event("e1", update_domain=0)
    theirs = an_event("e2", group="group1", update_domain=7, resources=("vm1",))
    assert started(tick(running(), due("due", mine, theirs))) == ["due"]


@pytest.mark.parametrize(
    ("type_", "source", "cause"),
    [
        (EventType.REBOOT, EventSource.USER, Cause.USER_RESTART),
        (EventType.REDEPLOY, EventSource.USER, Cause.USER_REDEPLOY),
        (EventType.PREEMPT, EventSource.PLATFORM, Cause.EVICTION),
        (EventType.TERMINATE, EventSource.PLATFORM, Cause.SCALE_IN),
        (EventType.TERMINATE, EventSource.USER, Cause.SCALE_IN),
        (EventType.REBOOT, EventSource.PLATFORM, Cause.HOST_FAILURE),
    ],
)
def test_unplanned_maintenance_is_not_blocked(
    type_: EventType, source: EventSource, cause: Cause
) -> None:
    unplanned = due(type_=type_, source=source, cause=cause)
    assert started(tick(running(), unplanned)) == ["due"]


@pytest.mark.parametrize(
    ("type_", "source", "cause"),
    [
        (EventType.REBOOT, EventSource.USER, Cause.USER_RESTART),
        (EventType.PREEMPT, EventSource.PLATFORM, Cause.EVICTION),
        (EventType.TERMINATE, EventSource.USER, Cause.SCALE_IN),
        (EventType.REBOOT, EventSource.PLATFORM, Cause.HOST_FAILURE),
    ],
)
def test_unplanned_maintenance_blocks_planned_maintenance(
    type_: EventType, source: EventSource, cause: Cause
) -> None:
    unplanned = a_maintenance(
        "running", type_=type_, source=source, cause=cause, phase=Phase.STARTED
    )
    assert started(tick(unplanned, due())) == []


@pytest.mark.parametrize(
    ("type_", "source", "cause"),
    [
        (EventType.REBOOT, EventSource.USER, Cause.USER_RESTART),
        (EventType.PREEMPT, EventSource.PLATFORM, Cause.EVICTION),
        (EventType.TERMINATE, EventSource.USER, Cause.SCALE_IN),
    ],
)
@pytest.mark.parametrize("how", ["approved", "not before", "withdrawn"])
def test_a_group_s_operation_blocks_nothing_that_was_due_before_it(
    type_: EventType, source: EventSource, cause: Cause, how: str
) -> None:
    later = NOON + SECOND
    approved = an_event("e1", update_domain=1, approved_at=NOON)
    withdrawn = an_event("e2", group="group1", resources=("vm1",))
    planned = {
        "approved": a_maintenance("due", events=[approved]),
        "not before": due(),
        "withdrawn": a_maintenance(
            "due", events=[approved, replace(withdrawn, withdrawn_at=NOON)]
        ),
    }[how]
    for started_at, expected in ((NOON, []), (later, ["due"])):
        requested = a_maintenance(
            "requested",
            type_=type_,
            source=source,
            cause=cause,
            phase=Phase.STARTED,
            started_at=started_at,
        )
        slice_ = a_slice(maintenances=[requested, planned])
        step = commands.tick(slice_, a_context(later))
        assert started(step) == expected


def test_a_failed_host_blocks_maintenance_that_was_due_before() -> None:
    failed = a_maintenance(
        "failed",
        cause=Cause.HOST_FAILURE,
        phase=Phase.STARTED,
        started_at=NOON + SECOND,
    )
    slice_ = a_slice(maintenances=[failed, due()])
    assert started(commands.tick(slice_, a_context(NOON + SECOND))) == []


def test_degraded_hardware_counts_as_planned() -> None:
    assert started(tick(running(), due(cause=Cause.DEGRADED))) == []


def test_an_emergency_waits_unless_it_ignores_blockers() -> None:
    shares = [an_event("e1", update_domain=1)]
    patient = a_maintenance("due", events=shares, not_before=NOON, emergency=True)
    urgent = a_maintenance(
        "due", events=shares, not_before=NOON, emergency=True, ignore_blockers=True
    )
    assert started(tick(running(), patient)) == []
    assert started(tick(running(), urgent)) == ["due"]


def test_an_approval_does_not_lift_a_blocker() -> None:
    waiting = a_maintenance("due", events=[an_event("e1", update_domain=1)])
    slice_ = a_slice(maintenances=[running(), waiting])
    step = commands.approve(slice_, a_context(by="vm0"), ["e1"], via=Via.METADATA)
    assert step.slice.maintenance("due").is_approved
    assert started(step) == []


def test_a_completion_starts_the_next_in_the_same_step() -> None:
    ending = a_maintenance("running", phase=Phase.STARTED, done=("vm0",))
    now = NOON + 5 * SECOND
    step = commands.tick(a_slice(maintenances=[ending, due()]), a_context(now))
    assert [type(fact) for fact in step.facts] == [f.Completed, f.Started, f.Published]


def test_closing_a_stuck_maintenance_starts_the_next() -> None:
    stuck = a_maintenance("m0", phase=Phase.STARTED, stuck_since=NOON)
    slice_ = a_slice(maintenances=[stuck, due()])
    step = commands.close(slice_, a_context(), "m0", reason=None)
    assert started(step) == ["due"]


def test_a_wait_names_its_blocker() -> None:
    slice_ = a_slice(maintenances=[running(), due()])
    (blocker,) = policy.blockers(slice_, slice_.maintenance("due"), NOON)
    assert (blocker.kind, blocker.group) == ("update-domain", "group0")
    assert blocker.held_by is slice_.maintenance("running")
    assert blocker.opens_at is None


# --- the queue ---------------------------------------------------------------


def test_only_the_oldest_due_maintenance_starts() -> None:
    younger = a_maintenance(
        "younger", not_before=NOON - MINUTE, events=[an_event("e0", update_domain=0)]
    )
    older = a_maintenance(
        "older", not_before=NOON - 2 * MINUTE, events=[an_event("e1", update_domain=1)]
    )
    assert started(tick(younger, older)) == ["older"]


def test_ties_start_in_order_of_announcement() -> None:
    first = due("first", an_event("e0", update_domain=0))
    second = due("second", an_event("e1", update_domain=1))
    assert started(tick(first, second)) == ["first"]
    assert started(tick(second, first)) == ["second"]


def queue() -> Iterable[Maintenance]:
    """Return one running in group0, and an older one of both groups that it blocks."""
    older = a_maintenance(
        "older",
        not_before=NOON - MINUTE,
        events=[
            an_event("e1", update_domain=1),
            an_event("e2", group="group1", update_domain=0, resources=("vm1",)),
        ],
    )
    return running(), older


def test_younger_maintenance_queues_after_blocked_older_maintenance() -> None:
    younger = due("younger", an_event("e3", group="group1", resources=("vm1",)))
    assert started(tick(*queue(), younger)) == []


def test_unblocked_maintenance_still_queues_after_older_maintenance() -> None:
    harmless = due("harmless", an_event("e3", update_domain=0))
    assert started(tick(running(), harmless)) == ["harmless"]
    assert started(tick(*queue(), harmless)) == []


def test_the_queue_extends_across_groups() -> None:
    younger = due(
        "younger",
        an_event("e3", group="group1", resources=("vm1",)),
        an_event("e4", group="group2", resources=("vm2",)),
    )
    youngest = a_maintenance(
        "youngest",
        not_before=NOON,
        events=[an_event("e5", group="group2", resources=("vm2",))],
    )
    assert started(tick(*queue(), younger, youngest)) == []


def test_unplanned_maintenance_does_not_queue() -> None:
    preempt = due(
        "preempt",
        an_event("e3", group="group1", resources=("vm1",)),
        type_=EventType.PREEMPT,
        cause=Cause.EVICTION,
    )
    assert started(tick(*queue(), preempt)) == ["preempt"]


def test_nothing_queues_after_unplanned_maintenance() -> None:
    later, now = NOON + 15 * MINUTE, NOON + MINUTE
    coupled = a_maintenance(
        "coupled",
        type_=EventType.TERMINATE,
        not_before=NOON + 2 * MINUTE,
        events=[an_event("e1", approved_at=NOON)],
        coupled=("other",),
    )
    other = a_maintenance(
        "other",
        type_=EventType.TERMINATE,
        not_before=later,
        events=[an_event("e2", resources=("vm1",))],
    )
    approved = a_maintenance(
        "approved", not_before=later, events=[an_event("e3", approved_at=NOON)]
    )
    slice_ = a_slice(maintenances=[coupled, other, approved])
    assert started(commands.tick(slice_, a_context(now))) == ["approved"]


def test_maintenance_that_ignores_blockers_does_not_queue() -> None:
    urgent = a_maintenance(
        "urgent",
        not_before=NOON,
        emergency=True,
        ignore_blockers=True,
        events=[an_event("e3", group="group1", resources=("vm1",))],
    )
    assert started(tick(*queue(), urgent)) == ["urgent"]


def test_maintenance_that_is_not_due_does_not_hold_up_the_queue() -> None:
    waiting, older = queue()
    patient = a_maintenance("older", events=older.events)
    younger = due("younger", an_event("e3", group="group1", resources=("vm1",)))
    assert started(tick(waiting, patient, younger)) == ["younger"]


def test_canceling_the_first_in_the_queue_starts_the_next() -> None:
    younger = due("younger", an_event("e3", group="group1", resources=("vm1",)))
    slice_ = a_slice(maintenances=[*queue(), younger])
    step = commands.cancel(slice_, a_context(), "older", reason=None)
    assert started(step) == ["younger"]


def test_maintenance_waits_while_one_of_its_groups_is_not_loaded() -> None:
    whole = a_slice(maintenances=[due("due", *queue_shares())])
    part = Slice(
        groups={"group0": whole.groups["group0"]},
        vms=whole.vms,
        audiences=whole.audiences,
        maintenances=whole.maintenances,
    )
    assert started(commands.tick(part, a_context())) == []
    assert groups_to_settle(part, part, a_context()) == {"group0", "group1"}
    assert started(commands.tick(whole, a_context())) == ["due"]


def queue_shares() -> tuple[Event, Event]:
    return an_event("e1"), an_event("e2", group="group1", resources=("vm1",))
