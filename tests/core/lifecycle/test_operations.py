"""User operations, evictions, deletions and host failures."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    counting,
)

from forewarn.core.fleet import Enabling, Group, GroupKind
from forewarn.core.lifecycle import announcements, commands, operations
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import Conflict, InvalidInput, TooMany
from forewarn.protocol.types import EventSource, EventType

DAY = timedelta(days=1)
VM_0 = a_vm("vm0", host="host-a")
VM_1 = a_vm("vm1", group="group1", host="host-a")
SLICE = a_slice(vms=[VM_0, VM_1])


def operate(
    operation: VmOperation,
    group: Group | None = None,
    *,
    spot: bool = False,
    slice_: Slice | None = None,
    rules: Rules = RULES,
    by_group: bool = False,
    details: Mapping[str, Any] | None = None,
) -> Maintenance:
    """Run `operation` on vm0 and return the maintenance it announces."""
    vm = a_vm("vm0", spot=spot)
    slice_ = slice_ or a_slice(groups=[group or a_group()], vms=[vm])
    order = operations.order_for(operation, "vm0")
    step = operations.operate(
        slice_,
        a_context(rules=rules),
        operation,
        replace(order, **(details or {})),
        [vm],
        by_group=by_group,
    )
    return step.slice.maintenances["ID1"]


# --- VMs ---------------------------------------------------------------------


def test_several_vms_get_one_maintenance_each() -> None:
    order = operations.order_for(VmOperation.RESTART, "vm0")
    step = operations.operate(
        SLICE, a_context(), VmOperation.RESTART, order, [VM_0, VM_1]
    )
    maintenances = step.slice.maintenances.values()
    assert [maintenance.vms for maintenance in maintenances] == [("vm0",), ("vm1",)]


def test_an_operation_on_several_vms_is_all_or_nothing() -> None:
    with pytest.raises(Conflict, match="vm1 is not a spot VM"):
        operations.operate(
            SLICE,
            a_context(),
            VmOperation.EVICT,
            operations.order_for(VmOperation.EVICT, "vm0"),
            [replace(VM_0, spot=True), VM_1],
        )


def test_a_vm_named_twice_is_not_deleted_twice() -> None:
    with pytest.raises(Conflict, match="already being deleted"):
        operations.operate(
            SLICE,
            a_context(),
            VmOperation.DELETE,
            operations.order_for(VmOperation.DELETE, "vm0"),
            [VM_0, VM_0],
        )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("restart", (EventType.REBOOT, EventSource.USER, Cause.USER_RESTART, 900)),
        ("redeploy", (EventType.REDEPLOY, EventSource.USER, Cause.USER_REDEPLOY, 600)),
        ("reimage", (EventType.REBOOT, EventSource.USER, Cause.REIMAGE, 900)),
    ],
)
def test_user_operations_give_notice_to_an_enabled_group(
    operation: str, expected: tuple[EventType, EventSource, Cause, int]
) -> None:
    maintenance = operate(VmOperation(operation))
    type_, source, cause, seconds = expected
    assert (maintenance.type, maintenance.source, maintenance.cause) == (
        type_,
        source,
        cause,
    )
    assert maintenance.not_before == NOON + seconds * SECOND
    assert maintenance.phase is Phase.SCHEDULED


@pytest.mark.parametrize("operation", ["restart", "redeploy", "reimage"])
def test_user_operations_start_immediately_in_a_disabled_group(operation: str) -> None:
    maintenance = operate(VmOperation(operation), a_group(enabled=Enabling.ON_DEMAND))
    assert maintenance.phase is Phase.STARTED
    assert maintenance.at_once
    assert maintenance.events[0].disabled


def test_a_reimage_by_the_platform_is_planned() -> None:
    order = operations.order_for(VmOperation.REIMAGE, "vm0")
    step = announcements.announce(
        a_slice(groups=[a_group(enabled=Enabling.ON_DEMAND)], vms=[a_vm()]),
        a_context(),
        replace(order, source=EventSource.PLATFORM),
        [a_vm()],
    )
    assert step.slice.maintenances["ID1"].phase is Phase.SCHEDULED


def test_a_spot_vm_is_evicted_with_thirty_seconds_notice() -> None:
    maintenance = operate(VmOperation.EVICT, spot=True)
    assert (maintenance.type, maintenance.source) == (
        EventType.PREEMPT,
        EventSource.PLATFORM,
    )
    assert maintenance.not_before == NOON + 30 * SECOND


def test_only_spot_vms_are_evicted() -> None:
    with pytest.raises(Conflict, match="vm0 is not a spot VM"):
        operate(VmOperation.EVICT)


def test_a_scale_set_gives_its_terminate_notice() -> None:
    group = a_group(kind=GroupKind.SCALE_SET, terminate_notice=420)
    maintenance = operate(VmOperation.DELETE, group)
    assert maintenance.not_before == NOON + 420 * SECOND
    assert maintenance.phase is Phase.SCHEDULED
    assert maintenance.removes


@pytest.mark.parametrize(
    ("group", "spot"),
    [
        (a_group(kind=GroupKind.SCALE_SET), False),
        (a_group(kind=GroupKind.SCALE_SET, terminate_notice=420), True),
        (a_group(terminate_notice=420), False),
    ],
    ids=["no notice is set", "a spot VM", "no scale set"],
)
def test_other_vms_are_deleted_immediately(group: Group, spot: bool) -> None:
    maintenance = operate(VmOperation.DELETE, group, spot=spot)
    assert maintenance.at_once
    assert maintenance.phase is Phase.STARTED
    assert maintenance.removes


def test_a_vm_being_deleted_cannot_be_deleted_again() -> None:
    deleting = replace(
        a_maintenance("del", type_=EventType.TERMINATE, phase=Phase.STARTED),
        removes=True,
    )
    with pytest.raises(Conflict, match="Terminate del"):
        operate(VmOperation.DELETE, slice_=a_slice(maintenances=[deleting]))


# --- limits ------------------------------------------------------------------

USER_OPERATIONS = (VmOperation.RESTART, VmOperation.REDEPLOY, VmOperation.REIMAGE)


def of_a_user(
    maintenance_id: str = "FIRST",
    *,
    vm: str = "vm0",
    group: str = "group0",
    phase: Phase = Phase.SCHEDULED,
) -> Maintenance:
    event = an_event(f"e-{maintenance_id}", group=group, resources=(vm,))
    return a_maintenance(
        maintenance_id,
        source=EventSource.USER,
        cause=Cause.USER_RESTART,
        events=[event],
        phase=phase,
    )


@pytest.mark.parametrize("operation", USER_OPERATIONS)
@pytest.mark.parametrize(
    ("phase", "when"),
    [
        (Phase.SCHEDULED, "not before 2026-01-05T12:15:00Z"),
        (Phase.STARTED, "started at 2026-01-05T12:00:00Z"),
    ],
)
def test_a_vm_has_one_user_operation_at_a_time(
    operation: VmOperation, phase: Phase, when: str
) -> None:
    with pytest.raises(TooMany) as refusal:
        operate(operation, slice_=a_slice(maintenances=[of_a_user(phase=phase)]))
    for part in ("vm0", "Reboot", "Reboot FIRST", when):
        assert part in str(refusal.value)
    assert refusal.value.per == "vm"


@pytest.mark.parametrize(
    "other",
    [
        of_a_user(phase=Phase.COMPLETED),
        of_a_user(vm="vm1"),
        replace(of_a_user(), left=("vm0",)),
        replace(of_a_user(), source=EventSource.PLATFORM),
    ],
    ids=["over", "of another VM", "of a VM that left", "of the platform"],
)
def test_other_maintenance_allows_a_user_operation(other: Maintenance) -> None:
    operate(VmOperation.RESTART, slice_=a_slice(vms=[VM_0], maintenances=[other]))


def test_a_vm_with_a_user_operation_can_be_evicted_and_deleted_once() -> None:
    slice_ = a_slice(maintenances=[of_a_user()])
    for operation, state in (
        (VmOperation.EVICT, "is already being evicted"),
        (VmOperation.DELETE, "is already being deleted"),
    ):
        first = operate(operation, spot=True, slice_=slice_)
        again = slice_.with_maintenance(first)
        with pytest.raises(TooMany, match=rf"vm0 {state}: .* m-1,"):
            operate(operation, spot=True, slice_=again)


def test_a_group_s_token_schedules_a_limited_number_of_user_operations() -> None:
    own = [of_a_user(f"own{n}", vm=f"vm{n}") for n in (1, 2)]
    others = [of_a_user(f"other{n}", vm=f"o{n}", group="group1") for n in range(9)]
    slice_ = a_slice(vms=[a_vm("vm0")], maintenances=[*own, *others])
    rules = Rules(user_operations=3)
    operate(VmOperation.RESTART, slice_=slice_, rules=rules, by_group=True)
    rules = Rules(user_operations=2)
    with pytest.raises(
        TooMany, match=r"group0 already has 2 .* maximum is 2"
    ) as refusal:
        operate(VmOperation.RESTART, slice_=slice_, rules=rules, by_group=True)
    assert "9" not in str(refusal.value)
    assert refusal.value.per == "group"
    operate(VmOperation.RESTART, slice_=slice_, rules=rules)  # an operator


def test_immediate_user_operations_are_not_limited() -> None:
    silent = a_group(enabled=Enabling.ON_DEMAND)
    rules = Rules(user_operations=0)
    maintenance = operate(VmOperation.RESTART, silent, rules=rules, by_group=True)
    assert maintenance.phase is Phase.STARTED


def test_deletions_are_not_limited() -> None:
    group = a_group(kind=GroupKind.SCALE_SET, terminate_notice=420)
    rules = Rules(user_operations=0)
    maintenance = operate(VmOperation.DELETE, group, rules=rules, by_group=True)
    assert maintenance.phase is Phase.SCHEDULED


@pytest.mark.parametrize("operation", VmOperation)
@pytest.mark.parametrize(
    ("most", "more", "message"),
    [
        ({"duration": 900}, {"duration": 901}, "duration_seconds can be at most 900"),
        ({"notice": 7 * DAY}, {"notice": 7 * DAY + SECOND}, "within 7 d"),
        (
            {"not_before": NOON + 7 * DAY},
            {"not_before": NOON + 7 * DAY + SECOND},
            "within 7 d",
        ),
    ],
)
def test_a_group_s_token_sets_limited_durations_and_times(
    operation: VmOperation,
    most: Mapping[str, object],
    more: Mapping[str, object],
    message: str,
) -> None:
    operate(operation, spot=True, by_group=True, details=most)
    with pytest.raises(InvalidInput, match=message):
        operate(operation, spot=True, by_group=True, details=more)
    operate(operation, spot=True, details=more)  # an operator


# --- hosts -------------------------------------------------------------------


def run_host_command(
    command: Callable[..., Step],
    slice_: Slice = SLICE,
    *,
    now: datetime = NOON,
    rules: Rules = RULES,
    duration: int | None = None,
) -> Step:
    """Run a host command on host-a."""
    return command(
        slice_,
        a_context(
            now,
            rules=rules,
            new_id=counting() if slice_ is SLICE else counting_from(slice_),
        ),
        replace(operations.order_for_host("host-a"), duration=duration),
        [VM_0, VM_1],
    )


def counting_from(slice_: Slice) -> Callable[[], str]:
    new_id = counting()
    return lambda: f"{len(slice_.maintenances)}-{new_id()}"


def announced(step: Step) -> list[Maintenance]:
    """Return what `step` announces, as it was announced."""
    return [fact.announced for fact in step.facts if isinstance(fact, f.Announced)]


def degrade(fails_by: datetime | None = None) -> Callable[..., Step]:
    return partial(operations.degrade, fails_by=fails_by)


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
    maintenances = announced(run_host_command(degrade(fails_by)))
    assert [item.groups for item in maintenances] == [("group0",), ("group1",)]
    for maintenance in maintenances:
        assert maintenance.not_before == not_before
        assert maintenance.type is EventType.REDEPLOY
        assert (maintenance.cause, maintenance.host) == (Cause.DEGRADED, "host-a")


@pytest.mark.parametrize("fails_by", [None, NOON + 3 * DAY, NOON + 4 * DAY])
def test_a_prediction_that_is_no_worse_changes_nothing(
    fails_by: datetime | None,
) -> None:
    first = run_host_command(degrade(NOON + 3 * DAY)).slice
    assert run_host_command(degrade(fails_by), first, now=NOON + HOUR).facts == ()


def test_a_prediction_with_a_fraction_of_a_second_is_recognized() -> None:
    fails_by = NOON + 3 * DAY + timedelta(microseconds=1)
    first = run_host_command(degrade(fails_by)).slice
    assert run_host_command(degrade(fails_by), first, now=NOON + HOUR).facts == ()


def test_a_worse_prediction_is_announced_again() -> None:
    first = run_host_command(degrade()).slice
    step = run_host_command(degrade(NOON + DAY), first)
    assert {item.phase for item in step.slice.maintenances.values()} == {
        Phase.CANCELED,
        Phase.SCHEDULED,
    }
    assert all(
        step.slice.maintenances[old].phase is Phase.CANCELED
        for old in first.maintenances
    )
    assert [item.not_before for item in announced(step)] == [NOON + DAY] * 2


def test_a_host_failure_is_announced_as_started() -> None:
    maintenance = run_host_command(operations.fail).slice.maintenances["ID1"]
    assert (maintenance.type, maintenance.cause) == (
        EventType.REBOOT,
        Cause.HOST_FAILURE,
    )
    assert maintenance.phase is Phase.STARTED
    assert maintenance.at_once


def test_the_event_type_of_a_host_failure_is_configurable() -> None:
    rules = Rules(host_failure=EventType.REDEPLOY)
    maintenance = run_host_command(operations.fail, rules=rules).slice.maintenances[
        "ID1"
    ]
    assert maintenance.type is EventType.REDEPLOY


def test_a_host_failure_cancels_only_the_host_s_own_schedule() -> None:
    mine = a_maintenance("mine", host="host-a", events=[an_event("e1")])
    other = a_maintenance("other", events=[an_event("e2")])
    step = run_host_command(
        operations.fail, a_slice(vms=[VM_0, VM_1], maintenances=[mine, other])
    )
    assert step.slice.maintenances["mine"].phase is Phase.CANCELED
    assert step.slice.maintenances["other"].phase is Phase.SCHEDULED


def test_a_host_failure_skips_vms_already_being_worked_on() -> None:
    mine = a_maintenance("mine", host="host-a", phase=Phase.STARTED)
    step = run_host_command(
        operations.fail, a_slice(vms=[VM_0, VM_1], maintenances=[mine])
    )
    (maintenance,) = announced(step)
    assert maintenance.vms == ("vm1",)


def test_a_host_failure_notifies_vms_that_left_the_running_work() -> None:
    mine = a_maintenance("mine", host="host-a", phase=Phase.STARTED)
    slice_ = a_slice(vms=[VM_0, VM_1], maintenances=[replace(mine, left=("vm0",))])
    (maintenance,) = announced(run_host_command(operations.fail, slice_))
    assert maintenance.vms == ("vm0", "vm1")


def test_a_second_failure_right_after_recovery_is_announced_again() -> None:
    recovered = run_host_command(
        operations.recover, run_host_command(operations.fail).slice
    ).slice
    assert recovered.maintenances["ID1"].phase is Phase.STARTED  # still shown
    step = run_host_command(operations.fail, recovered, now=NOON + SECOND)
    (maintenance,) = announced(step)
    later = commands.tick(step.slice, a_context(NOON + HOUR)).slice
    assert later.maintenances["ID1"].phase is Phase.COMPLETED
    assert later.maintenances[maintenance.id].phase is Phase.STARTED


def test_a_failure_has_no_driver_and_does_not_end_on_its_own() -> None:
    slice_ = run_host_command(operations.fail).slice
    maintenance = slice_.maintenances["ID1"]
    assert not commands.is_work_open(maintenance, NOON + HOUR, RULES)
    assert commands.tick(slice_, a_context(NOON + 30 * DAY)).facts == ()


def test_a_failure_ends_after_its_duration_if_it_has_one() -> None:
    slice_ = run_host_command(operations.fail, duration=60).slice
    assert commands.tick(slice_, a_context(NOON + 59 * SECOND)).facts == ()
    step = commands.tick(slice_, a_context(NOON + 60 * SECOND))
    assert step.slice.maintenances["ID1"].phase is Phase.COMPLETED


def test_recovery_ends_the_failure_and_cancels_the_degradation() -> None:
    degraded = run_host_command(degrade()).slice
    failed = run_host_command(operations.fail, SLICE).slice.maintenances["ID1"]
    slice_ = degraded.with_maintenance(replace(failed, id="failed"))
    step = run_host_command(operations.recover, slice_, now=NOON + HOUR)
    for maintenance in degraded.maintenances:
        assert step.slice.maintenances[maintenance].phase is Phase.CANCELED
    assert step.slice.maintenances["failed"].phase is Phase.COMPLETED


def test_recovery_keeps_other_maintenance_of_the_host() -> None:
    mine = a_maintenance("mine", host="host-a")
    slice_ = a_slice(vms=[VM_0, VM_1], maintenances=[mine])
    assert run_host_command(operations.recover, slice_).facts == ()
