"""What users, evictions, deletions and hosts lead to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from tests.core.builders import (
    HOUR,
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    counting,
)

from forewarn.core import announcing, causes, commands
from forewarn.core import facts as f
from forewarn.core.causes import Operation
from forewarn.core.fleet import Group, GroupKind, Listening
from forewarn.core.maintenance import Cause, Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.core.settling import Step
from forewarn.errors import Conflict
from forewarn.protocol.types import EventSource, EventType

DAY = timedelta(days=1)
VM_0 = a_vm("vm0", host="host-a")
VM_1 = a_vm("vm1", group="group1", host="host-a")
SLICE = a_slice(vms=[VM_0, VM_1])


def operate(
    operation: Operation,
    group: Group | None = None,
    *,
    spot: bool = False,
    slice_: Slice | None = None,
    rules: Rules = RULES,
    scheduled: int = 0,
) -> Maintenance:
    """Carry `operation` out on vm0; answer what that announces."""
    vm = a_vm("vm0", spot=spot)
    slice_ = slice_ or a_slice(groups=[group or a_group()], vms=[vm])
    step = causes.operate(
        slice_,
        operation,
        causes.order_for(operation, "vm0"),
        [vm],
        by="ops",
        new_id=counting(),
        now=NOON,
        rules=rules,
        scheduled=scheduled,
    )
    return step.slice.maintenances["ID1"]


# --- VMs ---------------------------------------------------------------------


def on_both(slice_: Slice, operation: Operation, *, rules: Rules = RULES) -> Step:
    return causes.operate(
        slice_,
        operation,
        causes.order_for(operation, "vm0"),
        [VM_0, VM_1],
        by="ops",
        new_id=counting(),
        now=NOON,
        rules=rules,
    )


def test_several_vms_are_acted_on_one_by_one() -> None:
    made = on_both(SLICE, Operation.RESTART).slice.maintenances.values()
    assert [each.vms for each in made] == [("vm0",), ("vm1",)]


def test_if_one_of_several_vms_cannot_be_acted_on_none_is() -> None:
    with pytest.raises(Conflict, match="vm1 is not a spot VM"):
        causes.operate(
            SLICE,
            Operation.EVICT,
            causes.order_for(Operation.EVICT, "vm0"),
            [replace(VM_0, spot=True), VM_1],
            by="ops",
            new_id=counting(),
            now=NOON,
            rules=RULES,
        )


def test_several_vms_count_together_for_the_limit_of_user_operations() -> None:
    with pytest.raises(Conflict, match="no more than 1"):
        on_both(
            a_slice(
                groups=[a_group(), a_group("group1")],
                vms=[VM_0, VM_1],
            ),
            Operation.RESTART,
            rules=replace(RULES, user_operations=1),
        )


def test_a_vm_that_is_named_twice_is_not_deleted_twice() -> None:
    with pytest.raises(Conflict, match="being deleted already"):
        causes.operate(
            SLICE,
            Operation.DELETE,
            causes.order_for(Operation.DELETE, "vm0"),
            [VM_0, VM_0],
            by="ops",
            new_id=counting(),
            now=NOON,
            rules=RULES,
        )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("restart", (EventType.REBOOT, EventSource.USER, Cause.USER_RESTART, 900)),
        ("redeploy", (EventType.REDEPLOY, EventSource.USER, Cause.USER_REDEPLOY, 600)),
        ("reimage", (EventType.REBOOT, EventSource.USER, Cause.REIMAGE, 900)),
    ],
)
def test_what_users_ask_for_waits_for_a_group_that_listens(
    operation: str, expected: tuple[EventType, EventSource, Cause, int]
) -> None:
    made = operate(Operation(operation))
    type_, source, cause, seconds = expected
    assert (made.type, made.source, made.cause) == (type_, source, cause)
    assert made.not_before == NOON + seconds * SECOND
    assert made.phase is Phase.SCHEDULED


@pytest.mark.parametrize("operation", ["restart", "redeploy", "reimage"])
def test_what_users_ask_for_does_not_wait_for_a_silent_group(operation: str) -> None:
    made = operate(Operation(operation), a_group(listening=Listening.ON_DEMAND))
    assert made.phase is Phase.STARTED
    assert made.at_once
    assert made.events[0].silent


def test_an_image_that_the_platform_renews_is_planned() -> None:
    order = causes.order_for(Operation.REIMAGE, "vm0")
    step = announcing.announce(
        a_slice(groups=[a_group(listening=Listening.ON_DEMAND)], vms=[a_vm()]),
        replace(order, source=EventSource.PLATFORM),
        [a_vm()],
        by="ops",
        new_id=counting(),
        now=NOON,
        rules=RULES,
    )
    assert step.slice.maintenances["ID1"].phase is Phase.SCHEDULED


def test_a_spot_vm_is_evicted_after_thirty_seconds() -> None:
    made = operate(Operation.EVICT, spot=True)
    assert (made.type, made.source) == (EventType.PREEMPT, EventSource.PLATFORM)
    assert made.not_before == NOON + 30 * SECOND
    assert not made.removes


def test_only_spot_vms_are_evicted() -> None:
    with pytest.raises(Conflict, match="vm0 is not a spot VM"):
        operate(Operation.EVICT)


def test_a_scale_set_with_terminate_notice_gives_it() -> None:
    group = a_group(kind=GroupKind.SCALE_SET, terminate_notice=420)
    made = operate(Operation.DELETE, group)
    assert made.not_before == NOON + 420 * SECOND
    assert made.phase is Phase.SCHEDULED
    assert made.removes


@pytest.mark.parametrize(
    ("group", "spot"),
    [
        (a_group(kind=GroupKind.SCALE_SET), False),
        (a_group(kind=GroupKind.SCALE_SET, terminate_notice=420), True),
        (a_group(terminate_notice=420), False),
    ],
    ids=["no notice is set", "a spot VM", "no scale set"],
)
def test_any_other_vm_is_deleted_at_once(group: Group, spot: bool) -> None:
    made = operate(Operation.DELETE, group, spot=spot)
    assert made.at_once
    assert made.phase is Phase.STARTED
    assert made.removes


def test_a_vm_is_deleted_once() -> None:
    deleting = replace(
        a_maintenance("del", type_=EventType.TERMINATE, phase=Phase.STARTED),
        removes=True,
    )
    with pytest.raises(Conflict, match="by del"):
        operate(Operation.DELETE, slice_=a_slice(maintenances=[deleting]))


# --- the limit of user operations --------------------------------------------


def test_no_more_user_operations_are_scheduled_than_are_allowed() -> None:
    rules = Rules(user_operations=10)
    made = operate(Operation.RESTART, rules=rules, scheduled=9)
    assert made.phase is Phase.SCHEDULED
    with pytest.raises(Conflict, match="no more than 10"):
        operate(Operation.RESTART, rules=rules, scheduled=10)


def test_what_starts_at_once_is_not_limited() -> None:
    silent = a_group(listening=Listening.ON_DEMAND)
    rules = Rules(user_operations=0)
    assert operate(Operation.RESTART, silent, rules=rules).phase is Phase.STARTED


def test_deletions_are_not_limited() -> None:
    group = a_group(kind=GroupKind.SCALE_SET, terminate_notice=420)
    made = operate(Operation.DELETE, group, rules=Rules(user_operations=0))
    assert made.phase is Phase.SCHEDULED


# --- hosts -------------------------------------------------------------------


def befall(
    command: Callable[..., Step],
    slice_: Slice = SLICE,
    *,
    now: datetime = NOON,
    rules: Rules = RULES,
    duration: int | None = None,
) -> Step:
    """Let something befall host-a."""
    return command(
        slice_,
        replace(causes.order_for_host("host-a"), duration=duration),
        [VM_0, VM_1],
        by="ops",
        new_id=counting() if slice_ is SLICE else counting_from(slice_),
        now=now,
        rules=rules,
    )


def counting_from(slice_: Slice) -> Callable[[], str]:
    new_id = counting()
    return lambda: f"{len(slice_.maintenances)}-{new_id()}"


def announced(step: Step) -> list[Maintenance]:
    """What `step` announces, as it was announced."""
    return [each.announced for each in step.facts if isinstance(each, f.Announced)]


def degrade(fails_by: datetime | None = None) -> Callable[..., Step]:
    return partial(causes.degrade, fails_by=fails_by)


@pytest.mark.parametrize(
    ("fails_by", "not_before"),
    [
        (None, NOON + 7 * DAY),
        (NOON + 30 * DAY, NOON + 7 * DAY),
        (NOON + 3 * DAY, NOON + 3 * DAY),
        (NOON + MINUTE, NOON + 10 * MINUTE),
        (NOON - DAY, NOON + 10 * MINUTE),
    ],
)
def test_vms_leave_a_degraded_host_within_a_week_or_before_it_fails(
    fails_by: datetime | None, not_before: datetime
) -> None:
    made = befall(degrade(fails_by)).slice.maintenances["ID1"]
    assert made.not_before == not_before
    assert (made.type, made.cause) == (EventType.REDEPLOY, Cause.DEGRADED)
    assert made.groups == ("group0", "group1")


@pytest.mark.parametrize("fails_by", [None, NOON + 3 * DAY, NOON + 4 * DAY])
def test_a_prediction_that_is_no_worse_changes_nothing(
    fails_by: datetime | None,
) -> None:
    first = befall(degrade(NOON + 3 * DAY)).slice
    assert befall(degrade(fails_by), first, now=NOON + HOUR).facts == ()


def test_the_same_prediction_to_a_fraction_of_a_second_changes_nothing() -> None:
    fails_by = NOON + 3 * DAY + timedelta(microseconds=1)
    first = befall(degrade(fails_by)).slice
    assert befall(degrade(fails_by), first, now=NOON + HOUR).facts == ()


def test_a_worse_prediction_is_announced_anew() -> None:
    first = befall(degrade()).slice
    step = befall(degrade(NOON + DAY), first)
    phases = {each.phase: each for each in step.slice.maintenances.values()}
    assert phases[Phase.CANCELED].id == "ID1"
    assert phases[Phase.SCHEDULED].not_before == NOON + DAY


def test_a_host_that_fails_is_told_at_once() -> None:
    made = befall(causes.fail).slice.maintenances["ID1"]
    assert (made.type, made.cause) == (EventType.REBOOT, Cause.HOST_FAILURE)
    assert made.phase is Phase.STARTED
    assert made.at_once


def test_what_a_failure_does_to_vms_can_be_set() -> None:
    rules = Rules(host_failure=EventType.REDEPLOY)
    made = befall(causes.fail, rules=rules).slice.maintenances["ID1"]
    assert made.type is EventType.REDEPLOY


def test_a_host_that_fails_loses_what_was_scheduled_for_it_alone() -> None:
    mine = a_maintenance("mine", host="host-a", events=[an_event("e1")])
    other = a_maintenance("other", events=[an_event("e2")])
    step = befall(causes.fail, a_slice(vms=[VM_0, VM_1], maintenances=[mine, other]))
    assert step.slice.maintenances["mine"].phase is Phase.CANCELED
    assert step.slice.maintenances["other"].phase is Phase.SCHEDULED


def test_vms_that_the_host_is_working_on_are_not_told_again() -> None:
    mine = a_maintenance("mine", host="host-a", phase=Phase.STARTED)
    step = befall(causes.fail, a_slice(vms=[VM_0, VM_1], maintenances=[mine]))
    (made,) = announced(step)
    assert made.vms == ("vm1",)


def test_vms_that_have_left_the_work_on_the_host_are_told() -> None:
    mine = a_maintenance("mine", host="host-a", phase=Phase.STARTED)
    slice_ = a_slice(vms=[VM_0, VM_1], maintenances=[replace(mine, left=("vm0",))])
    (made,) = announced(befall(causes.fail, slice_))
    assert made.vms == ("vm0", "vm1")


def test_a_host_that_fails_again_right_after_it_recovered_is_told_again() -> None:
    recovered = befall(causes.recover, befall(causes.fail).slice).slice
    assert recovered.maintenances["ID1"].phase is Phase.STARTED  # it is still shown
    step = befall(causes.fail, recovered, now=NOON + SECOND)
    (made,) = announced(step)
    later = commands.tick(step.slice, NOON + HOUR, RULES).slice
    assert later.maintenances["ID1"].phase is Phase.COMPLETED
    assert later.maintenances[made.id].phase is Phase.STARTED


def test_a_failure_has_no_driver_and_no_end_by_itself() -> None:
    slice_ = befall(causes.fail).slice
    made = slice_.maintenances["ID1"]
    assert not commands.is_work_open(made, NOON + HOUR, RULES)
    assert commands.tick(slice_, NOON + 30 * DAY, RULES).facts == ()


def test_a_failure_ends_with_its_duration_if_one_was_given() -> None:
    slice_ = befall(causes.fail, duration=60).slice
    assert commands.tick(slice_, NOON + 59 * SECOND, RULES).facts == ()
    step = commands.tick(slice_, NOON + 60 * SECOND, RULES)
    assert step.slice.maintenances["ID1"].phase is Phase.COMPLETED


def test_a_host_that_recovers_ends_its_failure_and_is_no_longer_degraded() -> None:
    degraded = befall(degrade()).slice
    failed = befall(causes.fail, SLICE).slice.maintenances["ID1"]
    slice_ = degraded.with_maintenance(replace(failed, id="failed"))
    step = befall(causes.recover, slice_, now=NOON + HOUR)
    assert step.slice.maintenances["ID1"].phase is Phase.CANCELED
    assert step.slice.maintenances["failed"].phase is Phase.COMPLETED


def test_a_host_that_recovers_keeps_what_else_was_announced_for_it() -> None:
    mine = a_maintenance("mine", host="host-a")
    slice_ = a_slice(vms=[VM_0, VM_1], maintenances=[mine])
    assert befall(causes.recover, slice_).facts == ()
