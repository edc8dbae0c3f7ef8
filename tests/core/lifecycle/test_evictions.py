"""Eviction policies: spot VMs that leave the fleet or are deallocated."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

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

from forewarn.core.fleet import (
    VM,
    EvictionPolicy,
    Fleet,
    Group,
    GroupKind,
    eviction_policy_of,
)
from forewarn.core.lifecycle import announcements, commands, fleet_changes, operations
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.lifecycle.transitions import apply
from forewarn.errors import Conflict
from forewarn.protocol.types import EventType

DELETE, DEALLOCATE = EvictionPolicy.DELETE, EvictionPolicy.DEALLOCATE

SPOT = a_vm(spot=True, host="host-a")
KEPT = replace(SPOT, eviction_policy=DEALLOCATE)
STOPPED = replace(KEPT, deallocated=True)
OVER = NOON + 5 * SECOND  # when a Preempt that started at noon is over


def evict(vm: VM, group: Group | None = None) -> Maintenance:
    """Return the Preempt of `vm`."""
    slice_ = a_slice(groups=[group or a_group()], vms=[vm])
    order = operations.order_for(VmOperation.EVICT, vm.name)
    step = operations.operate(slice_, a_context(), VmOperation.EVICT, order, [vm])
    return step.slice.maintenances["ID1"]


def evicted(vm: VM, *others: Maintenance) -> Step:
    """Complete the Preempt of `vm`, while `others` are live."""
    preempt = replace(evict(vm), phase=Phase.STARTED, started_at=NOON, done=(vm.name,))
    slice_ = a_slice(vms=[vm], maintenances=[preempt, *others])
    return commands.tick(slice_, a_context(OVER))


def kinds(step: Step) -> list[str]:
    return [type(fact).__name__ for fact in step.facts]


# --- the policy --------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_group", "policy"),
    [
        (None, None, DELETE),
        (None, DELETE, DELETE),
        (None, DEALLOCATE, DEALLOCATE),
        (DEALLOCATE, None, DEALLOCATE),
        (DEALLOCATE, DELETE, DEALLOCATE),
        (DELETE, DEALLOCATE, DELETE),
    ],
)
def test_policy_of_the_vm_overrides_that_of_its_group(
    own: EvictionPolicy | None,
    of_group: EvictionPolicy | None,
    policy: EvictionPolicy,
) -> None:
    vm, group = replace(SPOT, eviction_policy=own), a_group(eviction_policy=of_group)
    assert eviction_policy_of(vm, group) is policy
    preempt = evict(vm, group)
    assert preempt.removes is (policy is DELETE)
    assert preempt.deallocates is (policy is DEALLOCATE)


def test_announced_preempt_of_a_spot_vm_applies_its_policy() -> None:
    order = an_order(EventType.PREEMPT, vms=("vm0",))
    step = announcements.announce(a_slice(vms=[KEPT]), a_context(), order, [KEPT])
    assert step.slice.maintenances["ID1"].deallocates


def test_preempt_of_another_vm_has_no_policy() -> None:
    group = a_group(eviction_policy=DEALLOCATE)
    order, vm = an_order(EventType.PREEMPT, vms=("vm0",)), a_vm()
    slice_ = a_slice(groups=[group], vms=[vm])
    preempt = announcements.announce(
        slice_, a_context(), order, [vm]
    ).slice.maintenances["ID1"]
    assert not preempt.removes
    assert not preempt.deallocates


# --- the end of a Preempt ----------------------------------------------------


def test_evicted_vm_leaves_the_fleet() -> None:
    step = evicted(SPOT)
    assert kinds(step) == ["Completed", "FleetChanged", "Published"]
    assert not step.slice.vms


def test_evicted_vm_is_deallocated_in_the_step_that_completes_its_preempt() -> None:
    step = evicted(KEPT)
    assert kinds(step) == ["Completed", "FleetChanged", "Published"]
    assert step.slice.vms == {"vm0": STOPPED}


@pytest.mark.parametrize("isolated", [False, True])
def test_deallocation_keeps_the_document_of_the_vm(isolated: bool) -> None:
    group = a_group(isolated=isolated)
    preempt = replace(evict(KEPT, group), phase=Phase.STARTED, started_at=NOON)
    slice_ = a_slice(
        groups=[group], vms=[KEPT], maintenances=[replace(preempt, done=("vm0",))]
    )
    after = commands.tick(slice_, a_context(OVER)).slice
    assert after.vms["vm0"].deallocated
    assert [(old.name, old.epoch) for old in slice_.audiences.values()] == [
        (new.name, new.epoch) for new in after.audiences.values()
    ]


def test_preempt_announced_by_an_earlier_version_changes_no_vm() -> None:
    preempt = replace(
        evict(SPOT),
        removes=False,
        phase=Phase.STARTED,
        started_at=NOON,
        done=("vm0",),
    )
    step = commands.tick(a_slice(vms=[SPOT], maintenances=[preempt]), a_context(OVER))
    assert step.slice.maintenances["ID1"].phase is Phase.COMPLETED
    assert step.slice.vms == {"vm0": SPOT}


def test_vm_stays_as_it_is_if_its_eviction_is_closed() -> None:
    stuck = replace(evict(KEPT), phase=Phase.STARTED, started_at=NOON, stuck_since=NOON)
    slice_ = a_slice(vms=[KEPT], maintenances=[stuck])
    step = commands.close(slice_, a_context(OVER), "ID1", reason=None)
    assert step.slice.vms == {"vm0": KEPT}


def test_deallocation_cancels_scheduled_maintenance_of_the_vm() -> None:
    its = a_maintenance("m1", events=[an_event("e1")])
    step = evicted(KEPT, its)
    assert step.slice.maintenances["m1"].phase is Phase.CANCELED
    assert step.slice.maintenances["m1"].left == ("vm0",)


def test_started_maintenance_does_not_wait_for_a_deallocated_vm() -> None:
    both = an_event("e1", resources=("vm0", "vm1"))
    its = a_maintenance("m1", phase=Phase.STARTED, events=[both])
    step = evicted(KEPT, its)
    assert step.slice.maintenances["m1"].to_do == ("vm1",)


@pytest.mark.parametrize("phase", [Phase.SCHEDULED, Phase.STARTED])
def test_deletion_continues_when_the_vm_is_deallocated(phase: Phase) -> None:
    terminate = a_maintenance(
        "m1", type_=EventType.TERMINATE, cause=Cause.SCALE_IN, phase=phase
    )
    deletion = replace(terminate, removes=True)
    step = evicted(KEPT, deletion)
    assert step.slice.maintenances["m1"] == deletion
    assert step.slice.vms == {"vm0": STOPPED}
    started = replace(deletion, phase=Phase.STARTED, started_at=OVER, done=("vm0",))
    slice_ = step.slice.with_maintenance(started)
    after = commands.tick(slice_, a_context(OVER + MINUTE)).slice
    assert not after.vms


def test_standalone_group_of_a_deallocated_vm_stays() -> None:
    lone = replace(a_group("vm0", kind=GroupKind.STANDALONE), declared=False)
    vm = replace(KEPT, group="vm0")
    preempt = replace(evict(vm, lone), phase=Phase.STARTED, started_at=NOON)
    slice_ = a_slice(
        groups=[lone], vms=[vm], maintenances=[replace(preempt, done=("vm0",))]
    )
    step = commands.tick(slice_, a_context(OVER))
    assert step.slice.groups.keys() == {"vm0"}


# --- deallocated VMs ---------------------------------------------------------


def operate(operation: VmOperation, vm: VM) -> Step:
    order = operations.order_for(operation, vm.name)
    slice_ = a_slice(vms=[vm])
    return operations.operate(slice_, a_context(), operation, order, [vm])


@pytest.mark.parametrize("operation", [*VmOperation][:-1], ids=str)
def test_operation_on_a_deallocated_vm_is_refused(operation: VmOperation) -> None:
    with pytest.raises(Conflict, match=r"vm0 is deallocated; .* vm start vm0`"):
        operate(operation, STOPPED)


def test_deallocated_vm_can_be_deleted() -> None:
    (deletion,) = operate(VmOperation.DELETE, STOPPED).slice.maintenances.values()
    assert deletion.removes


def test_vm_that_is_being_evicted_can_be_deleted() -> None:
    slice_ = a_slice(vms=[SPOT], maintenances=[replace(evict(SPOT), id="preempt")])
    order = operations.order_for(VmOperation.DELETE, "vm0")
    step = operations.operate(slice_, a_context(), VmOperation.DELETE, order, [SPOT])
    assert len(step.slice.maintenances) == 2


def test_announcement_that_names_a_deallocated_vm_is_refused() -> None:
    vms = [STOPPED, a_vm("vm1")]
    order = an_order(vms=("vm0", "vm1"))
    with pytest.raises(Conflict, match="vm0 is deallocated"):
        announcements.announce(a_slice(vms=vms), a_context(), order, vms)


@pytest.mark.parametrize(
    "command",
    [
        announcements.announce,
        partial(operations.degrade, fails_by=None),
        operations.fail,
    ],
    ids=["planned", "degraded", "failed"],
)
def test_maintenance_of_a_host_does_not_affect_its_deallocated_vms(
    command: Callable[..., Step],
) -> None:
    vms = [STOPPED, a_vm("vm1", host="host-a")]
    order = operations.order_for_host("host-a")
    step = command(a_slice(vms=vms), a_context(), order, vms)
    (maintenance,) = step.slice.maintenances.values()
    assert maintenance.vms == ("vm1",)
    only = command(a_slice(vms=[STOPPED]), a_context(), order, [STOPPED])
    assert only.facts == ()


# --- starting ----------------------------------------------------------------


def test_started_vm_runs_again() -> None:
    slice_ = a_slice(vms=[STOPPED])
    step = operations.start(slice_, a_context(), [STOPPED])
    (fact,) = step.facts
    assert isinstance(fact, f.FleetChanged)
    assert fact.by == "ops"
    assert step.slice.vms == {"vm0": KEPT}
    assert step.slice.audiences == slice_.audiences
    assert operate(VmOperation.RESTART, step.slice.vms["vm0"]).facts


def test_start_of_a_running_vm_changes_nothing() -> None:
    assert operations.start(a_slice(vms=[KEPT]), a_context(), [KEPT]).facts == ()


def test_replayed_facts_give_the_same_vm() -> None:
    before = a_slice(
        vms=[KEPT],
        maintenances=[
            replace(evict(KEPT), phase=Phase.STARTED, started_at=NOON, done=("vm0",))
        ],
    )
    first = commands.tick(before, a_context(OVER))
    second = operations.start(
        first.slice, a_context(NOON + HOUR), [first.slice.vms["vm0"]]
    )
    replayed: Slice = before
    for fact in (*first.facts, *second.facts):
        replayed = apply(replayed, fact)
    assert replayed == second.slice


# --- fleet files -------------------------------------------------------------


def test_fleet_file_does_not_start_a_vm() -> None:
    current = Fleet(groups={"group0": a_group()}, vms={"vm0": STOPPED})
    same = replace(current, vms={"vm0": KEPT})
    assert not fleet_changes.difference(current, same)
    larger = replace(current, vms={"vm0": replace(KEPT, size="large")})
    changes = fleet_changes.difference(current, larger)
    step = fleet_changes.change(
        a_slice(vms=[STOPPED]), a_context(NOON + MINUTE), changes
    )
    assert step.slice.vms == {"vm0": replace(STOPPED, size="large")}


def test_vm_that_is_removed_and_added_again_runs() -> None:
    group = {"group0": a_group()}
    added = fleet_changes.difference(
        Fleet(groups=group), Fleet(groups=group, vms={"vm0": KEPT})
    )
    assert added.vms == ((None, KEPT),)
