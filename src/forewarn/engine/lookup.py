"""Finding what a request names, or saying that there is no such thing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from forewarn.core.announcing import Order
from forewarn.core.fleet import VM, key
from forewarn.core.maintenance import Maintenance, Phase, Slice
from forewarn.errors import InvalidInput, NotFound
from forewarn.ports import Snapshot


def find_vm(snapshot: Snapshot, name: str) -> VM:
    """Find the VM `name`, whatever its case."""
    found = snapshot.part_of_fleet(vms=[name]).vms
    if not found:
        raise NotFound(f"there is no VM {name}")
    return next(iter(found.values()))


def find_maintenance(snapshot: Snapshot, any_id: str) -> Maintenance:
    """Find the maintenance with this id, or with an event of this id."""
    found = snapshot.maintenance(any_id.upper())
    if found is None:
        raise NotFound(f"there is no maintenance or event {any_id}")
    return found


def find_targets(snapshot: Snapshot, order: Order) -> tuple[Order, Sequence[VM]]:
    """Find the VMs that `order` names; answer it with names as they are written."""
    if order.host is not None:
        part = snapshot.part_of_fleet(hosts=[order.host])
        host = _exact(order.host, part.hosts, "host")
        vms = [vm for vm in part.vms.values() if vm.host == host]
        return replace(order, host=host), _not_empty(vms, f"host {host}")
    if order.group is not None:
        part = snapshot.part_of_fleet(groups=[order.group])
        group = _exact(order.group, part.groups, "group")
        vms = [vm for vm in part.vms.values() if vm.group == group]
        return replace(order, group=group), _not_empty(vms, f"group {group}")
    named = {vm.name: vm for vm in (find_vm(snapshot, each) for each in order.vms)}
    return order, [*named.values()]


def _exact(name: str, known: Iterable[str], noun: str) -> str:
    for each in known:
        if key(each) == key(name):
            return each
    raise NotFound(f"there is no {noun} {name}")


def _not_empty(vms: Sequence[VM], what: str) -> Sequence[VM]:
    if not vms:
        raise InvalidInput(f"{what} has no VMs; there is nobody to tell")
    return vms


def with_leaving(snapshot: Snapshot, slice_: Slice) -> Slice:
    """Put the VMs into the slice that are about to leave the fleet, or have left."""
    names = {
        vm
        for each in slice_.maintenances.values()
        if each.phase is Phase.STARTED and (each.removes or each.left)
        for vm in each.vms
    }
    if not names:
        return slice_
    vms = snapshot.part_of_fleet(vms=sorted(names)).vms
    return replace(slice_, vms={**vms, **slice_.vms})


def having(found: Maintenance) -> Callable[[Slice], Slice]:
    """Make sure that `found` can be looked at in a slice, also if it is over."""

    def complete(slice_: Slice) -> Slice:
        if found.id in slice_.maintenances:
            return slice_
        return slice_.with_maintenance(found)

    return complete
