"""Lookup of VMs, hosts, maintenance and events by name or ID; raises `NotFound`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from forewarn.core.fleet import VM, fold_name
from forewarn.core.lifecycle.announcements import Order, running
from forewarn.core.lifecycle.commands import PossibleCommand, possible_commands
from forewarn.core.lifecycle.model import Event, Maintenance, Phase, Slice, groups_of
from forewarn.core.lifecycle.policy import is_move
from forewarn.core.queries.phrases import describe
from forewarn.core.queries.visibility import shown_maintenance
from forewarn.errors import InvalidInput, NotFound
from forewarn.formats import count, join_names
from forewarn.ports import Snapshot

#: What the operation must be that a name stands for, by the command.
_NEEDED: Mapping[PossibleCommand | None, str] = {
    None: "scheduled or started",
    PossibleCommand.APPROVE: "unapproved",
    PossibleCommand.CANCEL: "scheduled",
    PossibleCommand.COMPLETE: "started",
    PossibleCommand.RETRY: "stuck",
    PossibleCommand.CLOSE: "stuck",
}

_PAGE = 1000
_LABEL = re.compile(r"M-([1-9][0-9]{0,17})")
_PREFIX = re.compile(r"[0-9A-F][0-9A-F-]{3,35}")
_NEAR = 200  # names that are compared with an unknown name, for each start
_LONGEST = 80  # characters of a name that is compared


def find_vm(snapshot: Snapshot, name: str, *, group: str | None = None) -> VM:
    """Find the VM `name`, ignoring case, in all groups or only in `group`."""
    for vm in snapshot.part_of_fleet(vms=[name]).vms.values():
        if group in (None, vm.group):
            return vm
    near = {
        vm.name
        for after in _starts(name)
        for vm in snapshot.vms(after=after, limit=_NEAR)
        if group in (None, vm.group)
    }
    raise NotFound(f"VM {name} not found{_suggestion(name, near)}")


def find_maintenance(
    snapshot: Snapshot,
    any_id: str,
    *,
    group: str | None = None,
    command: PossibleCommand | None = None,
) -> Maintenance:
    """Find a maintenance operation by its label, its ID, the ID of one of its events,
    the name of a VM, host or group that it affects, or a prefix of these IDs.

    A name identifies the only live operation there, or the only one that accepts
    `command`; it is never a prefix. If `group` is given, raise `NotFound` for
    maintenance not announced to that group.
    """
    text = any_id.strip().upper()
    exact = snapshot.maintenance(text)
    if exact is not None and _has_id(exact, text, group):
        return exact
    if match := _LABEL.fullmatch(text):
        numbered = snapshot.maintenance_number(int(match[1]))
        if numbered is not None and _events(numbered, group):
            return numbered
    matches, noun = _live_at(snapshot, any_id.strip(), group)
    if command is not None:
        matches = [
            item
            for item in matches
            if command in possible_commands(shown_maintenance(item, group))
        ]
    if noun is None and _PREFIX.fullmatch(text):
        like = snapshot.maintenances_like(text, group)
        matches = [item for item in like if _has_id(item, text, group)]
    if len(matches) > 1:
        listed = [
            f"{item.label} ({describe(shown_maintenance(item, group))})"
            for item in matches
        ]
        raise InvalidInput(f"{any_id} is ambiguous: {join_names(listed, 3)}")
    if not matches:
        raise NotFound(
            f"maintenance or event {any_id} not found"
            if noun is None
            else f"{noun} {any_id} has no {_NEEDED[command]} maintenance"
        )
    return matches[0]


def _events(maintenance: Maintenance, group: str | None) -> Sequence[Event]:
    return [event for event in maintenance.events if group in (None, event.group)]


def _has_id(maintenance: Maintenance, prefix: str, group: str | None) -> bool:
    own = _events(maintenance, group)
    ids = [maintenance.id, *(event.id for event in own)]
    return bool(own) and any(id_.startswith(prefix) for id_ in ids)


def _live_at(
    snapshot: Snapshot, name: str, group: str | None
) -> tuple[Sequence[Maintenance], str | None]:
    """Find live maintenance by the name of a VM, host or group; return the noun of what
    has this name, or None if nothing has it.
    """
    part = snapshot.part_of_fleet(vms=[name], hosts=[name], groups=[name])
    folded = fold_name(name)
    names: dict[str, set[str]] = {
        "VM": {vm.name for vm in part.vms.values() if group in (None, vm.group)},
        "host": {host for host in part.hosts if group is None},
        "group": {item for item in part.groups if group in (None, item)},
    }
    nouns = [noun for noun, known in names.items() if folded in map(fold_name, known)]
    if not nouns:
        return (), None
    groups = {*part.groups}
    if "host" in nouns:  # the VMs of its operations may have moved
        host = declared_name(name, names["host"], "host")
        groups |= groups_at_host(snapshot, host, ())
    return [
        item
        for item in snapshot.slice(sorted(groups)).maintenances.values()
        if _events(item, group)
        and folded in map(fold_name, _places(shown_maintenance(item, group)))
    ], nouns[0]


def _places(maintenance: Maintenance) -> Iterator[str]:
    """Yield the names of the VMs, groups and host that an operation still affects."""
    yield from (vm for vm in maintenance.vms if vm not in maintenance.left)
    yield from maintenance.groups
    yield from (maintenance.host,) if maintenance.host else ()


def find_event(
    snapshot: Snapshot, event_id: str, *, group: str | None = None
) -> tuple[Maintenance, Event]:
    """Find an event and its maintenance, in all groups or only in `group`.

    The ID or name of a maintenance operation identifies its only event.
    """
    maintenance = find_maintenance(snapshot, event_id, group=group)
    events = _events(maintenance, group)
    prefix = event_id.strip().upper()
    matches = [event for event in events if event.id.startswith(prefix)] or events
    if len(matches) > 1:
        raise InvalidInput(
            f"{event_id} identifies {count(len(matches), 'event')}; specify one of"
            f" their IDs: {join_names([event.id for event in matches], 3)}"
        )
    return maintenance, matches[0]


def find_targets(snapshot: Snapshot, order: Order) -> tuple[Order, Sequence[VM]]:
    """Find the VMs that `order` names; return the order with the declared spellings."""
    if order.host is not None:
        host, vms = find_host(snapshot, order.host)
        return replace(order, host=host), _not_empty(running(vms), f"host {host}")
    if order.group is not None:
        group, vms = find_group(snapshot, order.group)
        return replace(order, group=group), _not_empty(running(vms), f"group {group}")
    named = {vm.name: vm for vm in (find_vm(snapshot, name) for name in order.vms)}
    return order, [*named.values()]


def find_group(
    snapshot: Snapshot, name: str, visible: Collection[str] | None = None
) -> tuple[str, Sequence[VM]]:
    """Find the group `name`, ignoring case, and its VMs.

    If `visible` is given, other groups are not found.
    """
    part = snapshot.part_of_fleet(groups=[name])
    folded = fold_name(name)
    for group in part.groups:
        if fold_name(group) == folded and (visible is None or group in visible):
            return group, [vm for vm in part.vms.values() if vm.group == group]
    near = visible or {
        group.name
        for after in _starts(name)
        for group in snapshot.groups(after=after, limit=_NEAR)
    }
    raise NotFound(f"group {name} not found{_suggestion(name, near)}")


def find_host(snapshot: Snapshot, name: str) -> tuple[str, Sequence[VM]]:
    """Find the host `name`, ignoring case, and the VMs on it."""
    part = snapshot.part_of_fleet(hosts=[name])
    if not part.hosts:
        near = {
            host.name
            for after in _starts(name)
            for host in snapshot.hosts(after=after, limit=_NEAR)
        }
        raise NotFound(f"host {name} not found{_suggestion(name, near)}")
    host = declared_name(name, part.hosts, "host")
    return host, [vm for vm in part.vms.values() if vm.host == host]


def live_of_vm(snapshot: Snapshot, vm: VM) -> Sequence[Maintenance]:
    """Return the scheduled and started maintenance operations of `vm`."""
    return [
        maintenance
        for maintenance in snapshot.slice([vm.group]).live_in(vm.group)
        if vm.name in maintenance.vms and vm.name not in maintenance.left
    ]


def live_on_host(
    snapshot: Snapshot, host: str, vms: Sequence[VM]
) -> Sequence[Maintenance]:
    """Return the scheduled and started operations on a host, and those of its VMs."""
    names = {vm.name for vm in vms}
    groups = groups_at_host(snapshot, host, vms)
    return [
        maintenance
        for maintenance in snapshot.slice(groups).maintenances.values()
        if maintenance.host == host
        or not names.isdisjoint({*maintenance.vms} - {*maintenance.left})
    ]


def groups_at_host(snapshot: Snapshot, host: str, vms: Iterable[VM]) -> frozenset[str]:
    """Return the groups of the VMs on a host, and of operations that started there.

    The VMs of these operations may have moved in the meantime.
    """
    started = [item for item in every(snapshot, Phase.STARTED) if item.host == host]
    return groups_of(started).union(vm.group for vm in vms)


def every(snapshot: Snapshot, *phases: Phase) -> Iterator[Maintenance]:
    """Yield all maintenance operations in `phases`, in order of announcement."""
    after = 0
    while page := snapshot.maintenances(phases=phases, after=after, limit=_PAGE):
        yield from (maintenance for _, maintenance in page)
        after = page[-1][0]


def declared_name(name: str, names: Iterable[str], noun: str) -> str:
    """Return `name` as spelled in `names`, ignoring case."""
    for candidate in names:
        if fold_name(candidate) == fold_name(name):
            return candidate
    raise NotFound(f"{noun} {name} not found")


def _starts(name: str) -> Sequence[str]:
    """Return the names after which to look for names similar to `name`.

    The work is bounded, so that a wrong name is cheap even in a large fleet.
    """
    return [*dict.fromkeys(("", name[:1], name[:-2]))]


def _suggestion(name: str, near: Iterable[str]) -> str:
    """Return a suggestion to append to an error message, or ""."""
    spelled = {fold_name(other): other for other in near}
    matches = get_close_matches(fold_name(name)[:_LONGEST], spelled, n=2, cutoff=0.75)
    listed = " or ".join(spelled[match] for match in matches)
    return f"; did you mean {listed}?" if listed else ""


def _not_empty(vms: Sequence[VM], what: str) -> Sequence[VM]:
    if not vms:
        raise InvalidInput(
            f"{what} has no running VMs, so there is nothing to announce"
        )
    return vms


def with_leaving(snapshot: Snapshot, slice_: Slice) -> Slice:
    """Add to the slice the VMs that leave or have left the fleet or their host."""
    names = {
        vm
        for maintenance in slice_.maintenances.values()
        if maintenance.phase is Phase.STARTED
        and (
            maintenance.removes
            or maintenance.deallocates
            or maintenance.left
            or is_move(maintenance)
        )
        for vm in maintenance.vms
    }
    if not names:
        return slice_
    vms = snapshot.part_of_fleet(vms=sorted(names)).vms
    return replace(slice_, vms={**vms, **slice_.vms})
