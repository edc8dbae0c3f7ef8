"""Lookup of resources by path. Resources hidden from the caller are not found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from forewarn.core.fleet import NAME, VM, Fleet, Group, GroupKind, fold_name
from forewarn.core.lifecycle.model import Maintenance
from forewarn.ports import Snapshot
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.control.auth.permissions import vm_for, vms_for

#: Kinds of groups that are ARM resources.
TYPES: Mapping[GroupKind, str] = {
    GroupKind.SCALE_SET: "virtualMachineScaleSets",
    GroupKind.AVAILABILITY_SET: "availabilitySets",
}

#: Separates the maintenance IDs in an operation's ID.
ID_SEPARATOR = "."
MAX_AT_ONCE = 100  # VMs per request
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmVm:
    """A VM and its group."""

    vm: VM
    group: Group


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSet:
    """A group that is an ARM resource, with its VMs."""

    group: Group
    machines: tuple[ArmVm, ...]


def find_machine(request: ArmRequest, snapshot: Snapshot, name: str) -> ArmVm:
    """Return the VM `name`, if the path matches its location."""
    part = _part(snapshot, vm=name)
    for vm in part.vms.values():
        own = vm_for(request.holder, vm)
        if own is not None and _is_at(request, own):
            return ArmVm(vm=own, group=part.groups[vm.group])
    raise _missing(request, f"virtualMachines/{name}")


def find_set(
    request: ArmRequest, snapshot: Snapshot, name: str, kind: GroupKind
) -> ArmSet:
    """Return the group of `kind` named `name`, if the path matches its location."""
    part = _part(snapshot, group=name)
    for group in part.groups.values():
        if fold_name(group.name) != fold_name(name) or group.kind is not kind:
            continue
        if not _may_see(request, group.name):
            continue
        members = [member for member in part.vms.values() if member.group == group.name]
        vms = [vm for member in members if (vm := vm_for(request.holder, member))]
        here = tuple(ArmVm(vm=vm, group=group) for vm in vms if _is_at(request, vm))
        if here or not vms:
            return ArmSet(group=group, machines=here)
    raise _missing(request, f"{TYPES[kind]}/{name}")


def find_named_vm(request: ArmRequest, snapshot: Snapshot) -> ArmVm:
    """Return the VM that the path names, standalone or in a scale set."""
    path = request.path
    if not path.instance:
        return find_machine(request, snapshot, path.vm)
    scale_set = find_set(request, snapshot, path.group, GroupKind.SCALE_SET)
    machine = choose_member(scale_set, path.instance)
    if machine is None:
        what = f"virtualMachineScaleSets/{path.group}/virtualMachines/{path.instance}"
        raise _missing(request, what)
    return machine


def choose_member(scale_set: ArmSet, instance: str) -> ArmVm | None:
    """Return the VM that `instance` names in the scale set, or None."""
    return index_members(scale_set)(instance)


def index_members(scale_set: ArmSet) -> Callable[[str], ArmVm | None]:
    """Return a function like `choose_member` that is fast for sets of any size."""
    by_name = {fold_name(machine.vm.name): machine for machine in scale_set.machines}
    by_id: dict[str, list[ArmVm]] = {}
    for machine in scale_set.machines:
        by_id.setdefault(fold_name(instance_id(machine.vm)), []).append(machine)

    def choose(instance: str) -> ArmVm | None:
        for name in (instance, f"{scale_set.group.name}_{instance}"):
            if fold_name(name) in by_name:
                return by_name[fold_name(name)]
        matching = by_id.get(fold_name(instance), ())
        if len(matching) > 1:
            choices = ", ".join(candidate.vm.name for candidate in matching)
            message = f"{instance} is ambiguous; specify the full name: {choices}"
            raise ArmError(409, message)
        return matching[0] if matching else None

    return choose


def find_operation(request: ArmRequest, snapshot: Snapshot) -> Sequence[Maintenance]:
    """Return the maintenance operations whose IDs make up the operation's ID."""
    ids = request.path.operation.upper().split(ID_SEPARATOR)
    maintenances = [_maintenance(request, snapshot, item) for item in ids[:MAX_AT_ONCE]]
    existing = [item for item in maintenances if item is not None]
    if len(existing) < len(ids):
        raise ArmError(404, f"operation {request.path.operation} not found", "NotFound")
    return existing


def every_machine(
    request: ArmRequest, snapshot: Snapshot, after: str
) -> Iterator[ArmVm]:
    """Yield the VMs in a subscription or resource group, sorted by name.

    Only VMs whose names sort after `after` are included.
    """
    while page := vms_for(request.holder, snapshot, after=after, limit=_PAGE):
        groups = snapshot.part_of_fleet(vms=[listed.name for listed in page]).groups
        for vm in page:
            if _is_at(request, vm):
                yield ArmVm(vm=vm, group=groups[vm.group])
        after = page[-1].name


def instance_id(vm: VM) -> str:
    """Return a VM's ID in its scale set, which is the end of its name."""
    return vm.name.rpartition("_")[2]


def _maintenance(
    request: ArmRequest, snapshot: Snapshot, id_: str
) -> Maintenance | None:
    maintenance = snapshot.maintenance(id_) if NAME.fullmatch(id_) else None
    if maintenance is None or maintenance.id != id_:
        return None
    is_visible = any(_may_see(request, event.group) for event in maintenance.events)
    return maintenance if is_visible else None


def _may_see(request: ArmRequest, group: str) -> bool:
    return request.holder.group in (None, group)


def _part(snapshot: Snapshot, *, vm: str = "", group: str = "") -> Fleet:
    if not NAME.fullmatch(vm or group):
        return Fleet()
    return snapshot.part_of_fleet(
        vms=[vm] if vm else [], groups=[group] if group else []
    )


def _is_at(request: ArmRequest, vm: VM) -> bool:
    """Return whether `vm` may be at the path's location.

    A VM without a known location may be at any location.
    """
    path = request.path
    places = (
        (path.subscription, vm.subscription),
        (path.resource_group, vm.resource_group),
    )
    return all(
        not requested or own is None or fold_name(requested) == fold_name(own)
        for requested, own in places
    )


def _missing(request: ArmRequest, what: str) -> ArmError:
    where = f"under resource group '{request.path.resource_group}'"
    return ArmError(
        404, f"The Resource 'Microsoft.Compute/{what}' {where} was not found."
    )
