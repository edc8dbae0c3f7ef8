"""Finding what a path names; what the asker may not see is not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forewarn.core.fleet import NAME, VM, Fleet, Group, GroupKind, key
from forewarn.core.maintenance import Maintenance
from forewarn.ports import Snapshot
from forewarn.server.arm.asked import Asked
from forewarn.server.arm.errors import Refusal
from forewarn.server.control.reach import vm_for, vms_for

#: The kinds of groups that are resources of their own.
TYPES: Mapping[GroupKind, str] = {
    GroupKind.SCALE_SET: "virtualMachineScaleSets",
    GroupKind.AVAILABILITY_SET: "availabilitySets",
}

#: What stands between the ids of the maintenances in that of an operation.
JOINT = "."
MOST_AT_ONCE = 100  # VMs that are asked for in one request
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A VM, with the group that it is in."""

    vm: VM
    group: Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """A group that is a resource of its own, with its VMs."""

    group: Group
    machines: tuple[Machine, ...]


def find_machine(asked: Asked, snapshot: Snapshot, name: str) -> Machine:
    """Find the VM called `name` where the path looks for it."""
    part = _part(snapshot, vm=name)
    for vm in part.vms.values():
        own = vm_for(asked.holder, vm)
        if own is not None and _is_at(asked, own):
            return Machine(vm=own, group=part.groups[vm.group])
    raise _missing(asked, f"virtualMachines/{name}")


def find_set(asked: Asked, snapshot: Snapshot, name: str, kind: GroupKind) -> Set:
    """Find the group called `name`, which is of `kind`, where the path looks for it."""
    part = _part(snapshot, group=name)
    for group in part.groups.values():
        if key(group.name) != key(name) or group.kind is not kind:
            continue
        if not _may_see(asked, group.name):
            continue
        members = [each for each in part.vms.values() if each.group == group.name]
        vms = [vm for each in members if (vm := vm_for(asked.holder, each))]
        here = tuple(Machine(vm=vm, group=group) for vm in vms if _is_at(asked, vm))
        if here or not vms:
            return Set(group=group, machines=here)
    raise _missing(asked, f"{TYPES[kind]}/{name}")


def find_member(asked: Asked, snapshot: Snapshot, instance: str) -> Machine:
    """Find the VM of a scale set by its instance id, or by its whole name."""
    found = find_set(asked, snapshot, asked.path.group, GroupKind.SCALE_SET)
    machine = choose(found, instance)
    if machine is None:
        what = f"virtualMachineScaleSets/{asked.path.group}/virtualMachines/{instance}"
        raise _missing(asked, what)
    return machine


def choose(found: Set, instance: str) -> Machine | None:
    """Choose the VM of a scale set that `instance` means; None: there is none."""
    names = (key(instance), key(f"{found.group.name}_{instance}"))
    for machine in found.machines:
        if key(machine.vm.name) in names:
            return machine
    like = [
        each for each in found.machines if key(instance_id(each.vm)) == key(instance)
    ]
    if len(like) > 1:
        said = ", ".join(each.vm.name for each in like)
        raise Refusal(409, f"{instance} may be any of {said}; give the whole name")
    return like[0] if like else None


def find_operation(asked: Asked, snapshot: Snapshot) -> Sequence[Maintenance]:
    """Find what was asked for: its id is made of those of its maintenances."""
    ids = asked.path.operation.upper().split(JOINT)
    found = [_maintenance(asked, snapshot, each) for each in ids[:MOST_AT_ONCE]]
    there = [each for each in found if each is not None]
    if len(there) < len(ids):
        raise Refusal(404, f"there is no operation {asked.path.operation}", "NotFound")
    return there


def every_machine(asked: Asked, snapshot: Snapshot, after: str) -> Iterator[Machine]:
    """Find the VMs of a subscription or resource group, by name, after `after`."""
    while page := vms_for(asked.holder, snapshot, after=after, limit=_PAGE):
        groups = snapshot.part_of_fleet(vms=[each.name for each in page]).groups
        for vm in page:
            if _is_at(asked, vm):
                yield Machine(vm=vm, group=groups[vm.group])
        after = page[-1].name


def instance_id(vm: VM) -> str:
    """Tell a VM of a scale set from the others: by what its name ends with."""
    return vm.name.rpartition("_")[2]


def _maintenance(asked: Asked, snapshot: Snapshot, wanted: str) -> Maintenance | None:
    found = snapshot.maintenance(wanted) if NAME.fullmatch(wanted) else None
    if found is None or found.id != wanted:
        return None
    return found if any(_may_see(asked, each.group) for each in found.events) else None


def _may_see(asked: Asked, group: str) -> bool:
    return asked.holder.group in (None, group)


def _part(snapshot: Snapshot, *, vm: str = "", group: str = "") -> Fleet:
    if not NAME.fullmatch(vm or group):
        return Fleet()
    return snapshot.part_of_fleet(
        vms=[vm] if vm else [], groups=[group] if group else []
    )


def _is_at(asked: Asked, vm: VM) -> bool:
    """Whether `vm` may be where the path looks; many do not say where they are."""
    path = asked.path
    places = (
        (path.subscription, vm.subscription),
        (path.resource_group, vm.resource_group),
    )
    return all(
        not wanted or own is None or key(wanted) == key(own) for wanted, own in places
    )


def _missing(asked: Asked, what: str) -> Refusal:
    where = f"under resource group '{asked.path.resource_group}'"
    return Refusal(
        404, f"The Resource 'Microsoft.Compute/{what}' {where} was not found."
    )
