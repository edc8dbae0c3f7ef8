"""Coupling of Terminates: an approved one waits for the others of its group."""

from datetime import datetime

from tests.core.support.builders import (
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_context,
    a_maintenance,
    a_slice,
    an_event,
)

from forewarn.core.lifecycle import commands, policy
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.settlement import Step
from forewarn.protocol.types import EventSource, EventType


def a_terminate(
    number: int,
    *,
    group: str = "group0",
    not_before: datetime = NOON + 5 * MINUTE,
    approved_at: datetime | None = None,
) -> Maintenance:
    """Return Terminate t1 with event e1 of vm1, and so on."""
    return a_maintenance(
        f"t{number}",
        type_=EventType.TERMINATE,
        source=EventSource.USER,
        cause=Cause.SCALE_IN,
        not_before=not_before,
        events=[
            an_event(
                f"e{number}",
                group=group,
                resources=(f"vm{number}",),
                approved_at=approved_at,
            )
        ],
    )


def approve(slice_: Slice, *event_ids: str, now: datetime = NOON) -> Step:
    return commands.approve(
        slice_, a_context(now, by="vm0"), event_ids, via=Via.METADATA
    )


def started(step: Step) -> list[str]:
    return [fact.maintenance for fact in step.facts if isinstance(fact, f.Started)]


def test_a_lone_terminate_starts_with_its_approval() -> None:
    assert started(approve(a_slice(maintenances=[a_terminate(1)]), "e1")) == ["t1"]


def test_an_approved_terminate_waits_for_an_unapproved_one() -> None:
    slice_ = a_slice(maintenances=[a_terminate(1), a_terminate(2)])
    step = approve(slice_, "e1")
    assert started(step) == []
    (blocker,) = policy.blockers(step.slice, step.slice.maintenance("t1"), NOON)
    assert (blocker.kind, blocker.held_by) == (
        "terminate-coupling",
        step.slice.maintenance("t2"),
    )
    assert blocker.opens_at == NOON + 5 * MINUTE


def test_approving_the_last_terminate_starts_all() -> None:
    slice_ = a_slice(maintenances=[a_terminate(n) for n in (1, 2, 3)])
    first = approve(slice_, "e2")
    second = approve(first.slice, "e1")
    assert started(first) == started(second) == []
    assert started(approve(second.slice, "e3")) == ["t1", "t2", "t3"]


def test_all_may_be_approved_in_one_step() -> None:
    slice_ = a_slice(maintenances=[a_terminate(1), a_terminate(2)])
    assert started(approve(slice_, "e1", "e2")) == ["t1", "t2"]


def test_it_is_released_when_the_other_one_reaches_its_not_before() -> None:
    soon = a_terminate(2, not_before=NOON + MINUTE)
    slice_ = approve(a_slice(maintenances=[a_terminate(1), soon]), "e1").slice
    early = commands.tick(slice_, a_context(NOON + MINUTE - SECOND))
    assert started(early) == []
    assert sorted(started(commands.tick(slice_, a_context(NOON + MINUTE)))) == [
        "t1",
        "t2",
    ]


def test_it_is_released_when_the_other_one_is_canceled() -> None:
    slice_ = a_slice(maintenances=[a_terminate(1), a_terminate(2)])
    held = approve(slice_, "e1").slice
    step = commands.cancel(held, a_context(), "t2", reason=None)
    assert started(step) == ["t1"]


def test_it_never_waits_beyond_its_own_not_before() -> None:
    late = a_terminate(2, not_before=NOON + 60 * MINUTE)
    held = approve(a_slice(maintenances=[a_terminate(1), late]), "e1").slice
    at = NOON + 5 * MINUTE
    assert policy.next_moment(held.maintenance("t1"), NOON, RULES) == at
    assert started(commands.tick(held, a_context(at - SECOND))) == []
    assert started(commands.tick(held, a_context(at))) == ["t1"]


def test_a_terminate_announced_after_the_approval_does_not_block() -> None:
    slice_ = a_slice(maintenances=[a_terminate(1), a_terminate(2)])
    held = approve(slice_, "e1").slice
    more = held.with_maintenance(a_terminate(3))
    assert started(approve(more, "e2")) == ["t1"]  # t2 itself waits for t3


def test_a_terminate_approved_earlier_does_not_block() -> None:
    approved = a_terminate(2, approved_at=NOON)
    slice_ = a_slice(maintenances=[a_terminate(1), approved])
    assert started(approve(slice_, "e1")) == ["t1", "t2"]


def test_a_terminate_of_another_group_does_not_block() -> None:
    slice_ = a_slice(maintenances=[a_terminate(1), a_terminate(2, group="group1")])
    assert started(approve(slice_, "e1")) == ["t1"]


def test_only_terminates_are_coupled() -> None:
    reboot = a_maintenance("m0", events=[an_event("e0", update_domain=0)])
    slice_ = a_slice(maintenances=[a_terminate(1), reboot])
    assert started(approve(slice_, "e1")) == ["t1"]
    assert started(approve(slice_, "e0")) == ["m0"]


def test_a_started_terminate_does_not_block() -> None:
    running = a_maintenance(
        "t2",
        type_=EventType.TERMINATE,
        source=EventSource.USER,
        phase=Phase.STARTED,
        events=[an_event("e2", resources=("vm2",), update_domain=1)],
    )
    slice_ = a_slice(maintenances=[a_terminate(1), running])
    assert started(approve(slice_, "e1")) == ["t1"]
