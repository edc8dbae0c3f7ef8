"""VMs that leave the fleet or their host during an announced maintenance."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
)

from forewarn.core.fleet import VM, Fleet, Group, GroupKind
from forewarn.core.lifecycle import commands, fleet_changes
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import InUse
from forewarn.protocol.types import EventType

#: Two VMs of one group on host-a, and one of another group.
VMS = (
    a_vm("web-0", group="web", host="host-a"),
    a_vm("web-1", group="web", host="host-a"),
    a_vm("db-0", group="db", host="host-a"),
)
WEB = an_event("e-web", group="web", resources=("web-0", "web-1"))
DB = an_event("e-db", group="db", resources=("db-0",))


def of_host(*, phase: Phase = Phase.SCHEDULED, web: bool = False) -> Slice:
    """Return a slice with a maintenance of host-a, approved by group web if `web`."""
    events = (replace(WEB, approved_at=NOON) if web else WEB, DB)
    maintenance = a_maintenance("m0", host="host-a", phase=phase, events=events)
    return a_slice(vms=VMS, maintenances=[maintenance])


def change(slice_: Slice, *vms: VM, groups: Sequence[Group] | None = None) -> Step:
    """Change the fleet so that `vms` are its only VMs."""
    sets = [*slice_.groups.values()] if groups is None else groups
    current = Fleet(hosts=slice_.hosts, groups=slice_.groups, vms=slice_.vms)
    desired = Fleet(
        hosts=slice_.hosts,
        groups={item.name: item for item in sets},
        vms={item.name: item for item in vms},
    )
    diff = fleet_changes.difference(current, desired)
    return fleet_changes.change(slice_, a_context(), diff)


def kinds(step: Step) -> list[str]:
    return [type(fact).__name__ for fact in step.facts]


def the_one(step: Step) -> Maintenance:
    return step.slice.maintenances["m0"]


def test_a_vm_that_left_the_fleet_stays_listed_but_is_not_worked_on() -> None:
    step = change(of_host(), *VMS[1:])
    assert the_one(step).event("e-web").resources == ("web-0", "web-1")
    assert the_one(step).to_do == ("web-1", "db-0")
    assert kinds(step) == ["FleetChanged", "VmsLeft"]


def test_a_moved_vm_is_not_affected_by_its_old_host() -> None:
    step = change(of_host(), replace(VMS[0], host="host-b"), *VMS[1:])
    assert the_one(step).left == ("web-0",)


def test_a_move_does_not_change_maintenance_of_vms() -> None:
    maintenance = a_maintenance("m0", events=[WEB, DB])
    slice_ = a_slice(vms=VMS, maintenances=[maintenance])
    step = change(slice_, replace(VMS[0], host="host-b"), *VMS[1:])
    assert the_one(step) == maintenance


def test_a_move_does_not_change_started_maintenance() -> None:
    slice_ = of_host(phase=Phase.STARTED)
    step = change(slice_, replace(VMS[0], host="host-b"), *VMS[1:])
    assert the_one(step) == slice_.maintenances["m0"]


def test_an_event_whose_vms_have_all_left_is_withdrawn() -> None:
    step = change(of_host(), *VMS[:2])
    assert the_one(step).phase is Phase.SCHEDULED
    assert the_one(step).groups == ("web",)
    assert the_one(step).event("e-db").withdrawn_at == NOON
    assert kinds(step) == ["FleetChanged", "VmsLeft", "Withdrawn", "Published"]


def test_the_approval_of_a_withdrawn_event_is_not_needed() -> None:
    step = change(of_host(web=True), *VMS[:2])
    assert the_one(step).phase is Phase.STARTED


def test_a_maintenance_without_events_is_canceled() -> None:
    step = change(of_host())
    assert the_one(step).phase is Phase.CANCELED
    canceled = [
        candidate for candidate in step.facts if isinstance(candidate, f.Canceled)
    ]
    assert [(fact.by, fact.reason) for fact in canceled] == [
        (None, "all its VMs have left")
    ]


def test_a_withdrawn_event_cannot_be_approved() -> None:
    slice_ = change(of_host(), *VMS[:2]).slice
    via = Via.METADATA
    step = commands.approve(slice_, a_context(by="db-0"), ["e-db"], via=via)
    assert step.facts == ()


def test_work_does_not_wait_for_a_vm_that_left() -> None:
    step = change(of_host(phase=Phase.STARTED), *VMS[:2])
    assert the_one(step).to_do == ("web-0", "web-1")
    assert the_one(step).event("e-db").withdrawn_at is None


@pytest.mark.parametrize(
    "changed", [replace(VMS[0], update_domain=1), replace(VMS[0], group="db")]
)
def test_group_and_update_domain_cannot_change_during_maintenance(changed: VM) -> None:
    with pytest.raises(InUse, match="m0"):
        change(of_host(), changed, *VMS[1:])


def test_a_declared_group_cannot_be_removed_during_maintenance() -> None:
    with pytest.raises(InUse, match="m0"):
        change(of_host(), *VMS[:2], groups=[a_group("web")])


def test_a_change_lists_its_consequences_for_announced_maintenance() -> None:
    assert [*fleet_changes.consequences(change(of_host(), *VMS[1:]))] == [
        "m0 no longer affects web-0"
    ]
    assert [*fleet_changes.consequences(change(of_host()))] == [
        "m0 no longer affects web-0, web-1, db-0",
        "event e-web of group web is withdrawn: all its VMs have left",
        "event e-db of group db is withdrawn: all its VMs have left",
        "m0 is canceled: all its VMs have left",
    ]


# --- deleted VMs -------------------------------------------------------------

LONE = replace(a_group("lone", kind=GroupKind.STANDALONE), declared=False)


def deleting(*others: Maintenance) -> Slice:
    """Return a slice in which the deletion of VM `lone` is about to complete."""
    mine = an_event("e-del", group="lone", resources=("lone",), update_domain=None)
    delete = a_maintenance(
        "del",
        type_=EventType.TERMINATE,
        phase=Phase.STARTED,
        events=[mine],
        done=("lone",),
    )
    return a_slice(groups=[LONE], maintenances=[replace(delete, removes=True), *others])


def test_a_deleted_vm_leaves_the_fleet_together_with_its_own_group() -> None:
    step = commands.tick(deleting(), a_context(NOON + 5 * SECOND))
    assert kinds(step) == ["Completed", "FleetChanged", "FleetChanged"]
    assert not step.slice.vms
    assert not step.slice.groups
    assert not step.slice.audiences


def test_deleting_a_vm_cancels_its_scheduled_maintenance() -> None:
    its = an_event("e1", group="lone", resources=("lone",), update_domain=None)
    step = commands.tick(
        deleting(a_maintenance("m1", events=[its])), a_context(NOON + 5 * SECOND)
    )
    assert step.slice.maintenances["m1"].phase is Phase.CANCELED
    assert not step.slice.groups


def test_the_group_of_a_deleted_vm_stays_until_started_maintenance_ends() -> None:
    its = an_event("e1", group="lone", resources=("lone",), update_domain=None)
    other = a_maintenance(
        "m1", phase=Phase.STARTED, started_at=NOON + 4 * SECOND, events=[its]
    )
    step = commands.tick(deleting(other), a_context(NOON + 5 * SECOND))
    assert not step.slice.vms
    assert step.slice.groups.keys() == {"lone"}
    step = commands.tick(step.slice, a_context(NOON + 9 * SECOND))
    assert step.slice.maintenances["m1"].phase is Phase.COMPLETED
    assert not step.slice.groups


def test_the_group_of_a_vm_that_returned_stays() -> None:
    its = an_event("e1", group="lone", resources=("lone",), update_domain=None)
    other = a_maintenance("m1", phase=Phase.STARTED, events=[its], done=("lone",))
    back = replace(other, left=("lone",))
    slice_ = a_slice(groups=[LONE], maintenances=[back])
    step = commands.tick(slice_, a_context(NOON + 5 * SECOND))
    assert step.slice.maintenances["m1"].phase is Phase.COMPLETED
    assert step.slice.groups.keys() == {"lone"}


def test_a_vm_stays_if_its_deletion_is_closed() -> None:
    slice_ = deleting()
    stuck = replace(slice_.maintenances["del"], done=(), stuck_since=NOON)
    step = commands.close(
        slice_.with_maintenance(stuck), a_context(NOON + MINUTE), "del", reason=None
    )
    assert step.slice.vms.keys() == {"lone"}
