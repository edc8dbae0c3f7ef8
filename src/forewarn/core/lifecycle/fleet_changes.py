"""Fleet changes: differences between fleets and changes that live events block."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name
from forewarn.core.lifecycle.facts import Canceled, FleetChanged, VmsLeft, Withdrawn
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice
from forewarn.core.lifecycle.settlement import (
    Context,
    Step,
    StepBuilder,
    record_leaving,
)
from forewarn.errors import Conflict, InUse
from forewarn.formats import join_names

#: The largest number of hosts, groups or VMs in one fact.
_CHUNK = 1000

_Named = TypeVar("_Named", Host, Group, VM)
_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The differences between two fleets, as pairs of an old and a new item.

    The old item is None for an addition, and the new item is None for a removal.
    """

    hosts: tuple[tuple[Host | None, Host | None], ...] = ()
    groups: tuple[tuple[Group | None, Group | None], ...] = ()
    vms: tuple[tuple[VM | None, VM | None], ...] = ()

    def __bool__(self) -> bool:
        """Return whether the fleets differ."""
        return bool(self.hosts or self.groups or self.vms)

    @property
    def groups_touched(self) -> frozenset[str]:
        """Every group that differs or has a VM that differs."""
        names = {version.name for pair in self.groups for version in pair if version}
        names |= {version.group for pair in self.vms for version in pair if version}
        return frozenset(names)


def difference(current: Fleet, desired: Fleet) -> Difference:
    """Return what must change for `current` to become `desired`."""
    groups = {
        name: _as_it_listens(current.groups.get(name), group)
        for name, group in desired.groups.items()
    }
    vms = {
        name: _as_it_runs(current.vms.get(name), vm) for name, vm in desired.vms.items()
    }
    return Difference(
        hosts=tuple(_pairs(current.hosts, desired.hosts)),
        groups=tuple(_pairs(current.groups, groups)),
        vms=tuple(_pairs(current.vms, vms)),
    )


def _as_it_listens(current: Group | None, desired: Group) -> Group:
    if current is None:
        return desired
    return replace(
        desired,
        enabled_since=current.enabled_since,
        last_request=current.last_request,
    )


def _as_it_runs(current: VM | None, desired: VM) -> VM:
    if current is None:
        return desired
    return replace(desired, deallocated=current.deallocated)


def _pairs(
    current: Mapping[str, _Named], desired: Mapping[str, _Named]
) -> Iterator[tuple[_Named | None, _Named | None]]:
    for name, old in current.items():
        if name not in desired:
            yield old, None
    for name, new in desired.items():
        before = current.get(name)
        if before != new:
            yield before, new


def refuse_large_removal(current: Fleet, changes: Difference) -> None:
    """Raise `Conflict` if the change would remove more than a tenth of the VMs."""
    removed = sum(1 for _, new in changes.vms if new is None)
    if removed * 10 > len(current.vms):
        raise Conflict(
            f"this would remove {removed} of {len(current.vms)} VMs, more than a"
            " tenth; to confirm, use --remove (remove=true in the API)"
        )


def change(slice_: Slice, context: Context, changes: Difference) -> Step:
    """Apply the differences in `changes` to the fleet."""
    _refuse_under_events(slice_, changes)
    builder = StepBuilder(slice_, context)
    builder.record(*_facts(_without_busy(slice_, changes), context))
    record_leaving(
        builder,
        {old.name for old, new in changes.vms if old and not new},
        {
            (old.name, old.host)
            for old, new in changes.vms
            if old and new and old.host is not None and old.host != new.host
        },
    )
    return builder.finish()


def consequences(step: Step) -> Iterator[str]:
    """Describe how a fleet change affects announced maintenance."""
    for fact in step.facts:
        if isinstance(fact, VmsLeft):
            gone = join_names(fact.vms)
            label = step.slice.maintenance(fact.maintenance).label
            yield f"{label} no longer affects {gone}"
        elif isinstance(fact, Withdrawn):
            yield (
                f"event {fact.event} of group {fact.group} is withdrawn: all its VMs"
                " have left"
            )
        elif isinstance(fact, Canceled) and fact.by is None:
            label = step.slice.maintenance(fact.maintenance).label
            yield f"{label} is canceled: {fact.reason}"


def _without_busy(slice_: Slice, changes: Difference) -> Difference:
    """Keep a standalone VM's group until the VM's started maintenance has ended."""

    groups = tuple(
        (old, new)
        for old, new in changes.groups
        if new is not None or old is None or not _started_in(slice_, old)
    )
    return replace(changes, groups=groups)


def _started_in(slice_: Slice, group: Group) -> list[Maintenance]:
    live = slice_.live_in(group.name)
    return [maintenance for maintenance in live if maintenance.phase is Phase.STARTED]


def _facts(changes: Difference, context: Context) -> Iterator[FleetChanged]:
    at, by, epoch = context.now, context.by, context.new_epoch()

    def fact(**parts: tuple[object, ...]) -> FleetChanged:
        return FleetChanged(at=at, by=by, epoch=epoch, **parts)  # type: ignore[arg-type]  # the keys below

    gone = [old for old, new in changes.vms if old and not new]
    for vms in _chunks(gone):
        yield fact(
            removed_vms=tuple(vm.name for vm in vms),
            removed_from=tuple(vm.group for vm in vms),
        )
    for groups in _chunks([old.name for old, new in changes.groups if old and not new]):
        yield fact(removed_groups=groups)
    for hosts in _chunks([old.name for old, new in changes.hosts if old and not new]):
        yield fact(removed_hosts=hosts)
    for new_hosts in _chunks([new for _, new in changes.hosts if new]):
        yield fact(hosts=new_hosts)
    for new_groups in _chunks([new for _, new in changes.groups if new]):
        yield fact(groups=new_groups)
    for new_vms in _chunks([new for _, new in changes.vms if new]):
        yield fact(vms=new_vms)


def _chunks(things: Sequence[_Thing]) -> Iterator[tuple[_Thing, ...]]:
    rest = iter(things)
    while chunk := tuple(islice(rest, _CHUNK)):
        yield chunk


def _refuse_under_events(slice_: Slice, changes: Difference) -> None:
    """Raise `InUse` if a live event blocks the change."""
    for old_vm, new_vm in changes.vms:
        if old_vm is not None and new_vm is not None:
            _refuse_if_listed(slice_, old_vm, new_vm)
    for old_host, new_host in changes.hosts:
        if old_host is not None and new_host is None:
            _refuse_if_announced_for(slice_, old_host)
    for old_group, new_group in changes.groups:
        if old_group is not None and new_group is None and old_group.declared:
            live = slice_.live_in(old_group.name)
            _refuse(live, f"group {old_group.name} cannot be removed")
    _refuse_other_spelling(slice_, changes)


def _refuse_other_spelling(slice_: Slice, changes: Difference) -> None:
    """Refuse a new group whose name differs only in case from a group still in use."""
    new_names = {fold_name(new.name) for old, new in changes.groups if new and not old}
    for old, new in changes.groups:
        if old is not None and new is None and fold_name(old.name) in new_names:
            _refuse(
                _started_in(slice_, old),
                f"the spelling of group {old.name} cannot be changed",
            )


def _refuse_if_listed(slice_: Slice, old: VM, new: VM) -> None:
    if (old.group, old.update_domain) == (new.group, new.update_domain):
        return
    listing = [
        maintenance
        for maintenance in slice_.live_in(old.group)
        if old.name in maintenance.vms and old.name not in maintenance.left
    ]
    _refuse(listing, f"VM {old.name} cannot change its group or update domain")


def _refuse_if_announced_for(slice_: Slice, host: Host) -> None:
    bound = [
        maintenance
        for maintenance in slice_.maintenances.values()
        if maintenance.phase.is_live and maintenance.host == host.name
    ]
    _refuse(bound, f"host {host.name} cannot be removed")


def _refuse(listing: Iterable[Maintenance], what: str) -> None:
    in_order = sorted(listing, key=lambda maintenance: maintenance.number)
    ids = ", ".join(maintenance.label for maintenance in in_order)
    if ids:
        raise InUse(f"{what} while maintenance is announced for it: {ids}")
