"""Finding what a request names, or saying that there is no such thing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from forewarn.core.announcing import Order, is_user_operation
from forewarn.core.fleet import VM, key
from forewarn.core.maintenance import Event, Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.errors import InvalidInput, NotFound
from forewarn.ports import Snapshot

_PAGE = 1000


def find_vm(snapshot: Snapshot, name: str, *, only: str | None = None) -> VM:
    """Find the VM `name`, whatever its case, if it is in the group `only`."""
    for found in snapshot.part_of_fleet(vms=[name]).vms.values():
        if only in (None, found.group):
            return found
    raise NotFound(f"there is no VM {name}")


def find_maintenance(
    snapshot: Snapshot, any_id: str, *, only: str | None = None
) -> Maintenance:
    """Find the maintenance with this id, or with an event of this id.

    If it is `only` for one group, what is not announced to it does not exist.
    """
    found = snapshot.maintenance(any_id.upper())
    if found is None or not _concerns(found, any_id.upper(), only):
        raise NotFound(f"there is no maintenance or event {any_id}")
    return found


def _concerns(found: Maintenance, any_id: str, only: str | None) -> bool:
    own = [each for each in found.events if only in (None, each.group)]
    return bool(own) and any_id in (found.id, *(each.id for each in own))


def find_event(
    snapshot: Snapshot, event_id: str, *, only: str | None = None
) -> tuple[Maintenance, Event]:
    """Find an event, if it is one of the group `only`, and its maintenance."""
    found = find_maintenance(snapshot, event_id, only=only)
    for event in found.events:
        if event.id == event_id.upper():
            return found, event
    raise NotFound(f"{event_id} is a maintenance; name one of its events")


def find_targets(snapshot: Snapshot, order: Order) -> tuple[Order, Sequence[VM]]:
    """Find the VMs that `order` names; answer it with names as they are written."""
    if order.host is not None:
        host, vms = find_host(snapshot, order.host)
        return replace(order, host=host), _not_empty(vms, f"host {host}")
    if order.group is not None:
        part = snapshot.part_of_fleet(groups=[order.group])
        group = _exact(order.group, part.groups, "group")
        vms = [vm for vm in part.vms.values() if vm.group == group]
        return replace(order, group=group), _not_empty(vms, f"group {group}")
    named = {vm.name: vm for vm in (find_vm(snapshot, each) for each in order.vms)}
    return order, [*named.values()]


def find_host(snapshot: Snapshot, name: str) -> tuple[str, Sequence[VM]]:
    """Find the host `name`, as it is written, and the VMs on it."""
    part = snapshot.part_of_fleet(hosts=[name])
    host = _exact(name, part.hosts, "host")
    return host, [vm for vm in part.vms.values() if vm.host == host]


def every(snapshot: Snapshot, *phases: Phase) -> Iterator[Maintenance]:
    """Find every maintenance in `phases`, in the order of announcement."""
    after = 0
    while page := snapshot.maintenances(phases=phases, after=after, limit=_PAGE):
        yield from (each for _, each in page)
        after = page[-1][0]


def count_user_operations(snapshot: Snapshot, rules: Rules) -> int:
    """Count the user operations that are scheduled, if there is a limit to them."""
    if rules.user_operations is None:
        return 0
    scheduled = every(snapshot, Phase.SCHEDULED)
    return sum(1 for each in scheduled if is_user_operation(each))


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
