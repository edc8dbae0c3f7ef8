"""Commands that change the fleet."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name
from forewarn.core.lifecycle import fleet_changes
from forewarn.core.lifecycle.fleet_changes import Difference
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.settlement import Context, Step
from forewarn.engine.engine import Engine
from forewarn.engine.idempotency import IdempotencyKey, keep_receipt
from forewarn.engine.lookup import every
from forewarn.engine.readers.documents import FIRST_VM
from forewarn.errors import Conflict, NotFound
from forewarn.ports import Snapshot, Transaction

#: The stored setting with the digest of the last fleet file applied; empty after any
#: other change of the whole fleet.
_DIGEST = "fleet"

_T = TypeVar("_T")
_Named = TypeVar("_Named", VM, Group, Host)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetApplied:
    """The result of a fleet change."""

    difference: Difference
    warnings: tuple[str, ...] = ()


class FleetCommands:
    """Fleet changes, each in one transaction."""

    def __init__(self, engine: Engine) -> None:
        """Change the fleet of `engine`."""
        self._engine = engine

    def apply(
        self,
        desired: Fleet,
        *,
        by: str,
        remove: bool = False,
        digest: str = "",
        once: IdempotencyKey[FleetApplied] | None = None,
    ) -> FleetApplied:
        """Replace the whole fleet with `desired`; `digest` identifies its file."""
        first = next(iter(desired.vms), "")
        with self._engine.writing(by, once) as (transaction, context):
            current = transaction.fleet()
            difference = fleet_changes.difference(current, desired)
            if not remove:
                fleet_changes.refuse_large_removal(current, difference)
            if difference or digest:
                transaction.keep(FIRST_VM, first)
            step = self._change(transaction, context, current, difference)
            transaction.keep(_DIGEST, digest)
            warnings = (
                *fleet_file.warnings(desired),
                *fleet_changes.consequences(step),
            )
            applied = FleetApplied(difference=difference, warnings=warnings)
            keep_receipt(transaction, once, applied, context.now)
        return applied

    def is_applied(self, digest: str) -> bool:
        """Whether the file with this digest was the last one applied."""
        with self._engine.store.snapshot() as snapshot:
            return snapshot.setting(_DIGEST) == digest

    def put_vm(self, vm: VM, *, by: str, once: IdempotencyKey[VM] | None = None) -> VM:
        """Add or change a VM."""

        def part(snapshot: Snapshot) -> Fleet:
            return snapshot.part_of_fleet(
                vms=[vm.name],
                groups=[vm.group],
                hosts=[vm.host] if vm.host else [],
                addresses=vm.addresses,
            )

        def change(current: Fleet) -> Fleet:
            vms = _put(current.vms, vm)
            return _joined(replace(current, vms=vms), f"VM {vm.name}")

        return self._alter(
            part, change, by, once, lambda after: _find(after.vms, vm.name, "VM")
        )

    def put_group(
        self, group: Group, *, by: str, once: IdempotencyKey[Group] | None = None
    ) -> Group:
        """Add a group, or change its settings."""

        def change(current: Fleet) -> Fleet:
            groups = _put(current.groups, group)
            return _joined(replace(current, groups=groups), f"group {group.name}")

        return self._alter(
            lambda snapshot: snapshot.part_of_fleet(groups=[group.name]),
            change,
            by,
            once,
            lambda after: _find(after.groups, group.name, "group"),
        )

    def put_host(
        self, host: Host, *, by: str, once: IdempotencyKey[Host] | None = None
    ) -> Host:
        """Add a host."""
        return self._alter(
            lambda snapshot: snapshot.part_of_fleet(hosts=[host.name]),
            lambda current: replace(current, hosts=_put(current.hosts, host)),
            by,
            once,
            lambda after: _find(after.hosts, host.name, "host"),
        )

    def remove_vm(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove a VM from the fleet, without an event."""

        def change(current: Fleet) -> Fleet:
            gone = _find(current.vms, name, "VM")
            vms = {other: vm for other, vm in current.vms.items() if other != gone.name}
            return _joined(replace(current, vms=vms), f"VM {name}")

        self._alter(
            lambda snapshot: snapshot.part_of_fleet(vms=[name]),
            change,
            by,
            once,
            lambda after: None,
        )

    def remove_group(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove an empty group from the fleet."""

        def change(current: Fleet) -> Fleet:
            gone = _find(current.groups, name, "group")
            members = [vm.name for vm in current.vms.values() if vm.group == gone.name]
            _refuse_if_used(f"group {gone.name}", members)
            groups = {n: g for n, g in current.groups.items() if n != gone.name}
            return replace(current, groups=groups)

        self._alter(
            lambda snapshot: snapshot.part_of_fleet(groups=[name]),
            change,
            by,
            once,
            lambda after: None,
        )

    def remove_host(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove an empty host from the fleet."""

        def change(current: Fleet) -> Fleet:
            gone = _find(current.hosts, name, "host")
            members = [vm.name for vm in current.vms.values() if vm.host == gone.name]
            _refuse_if_used(f"host {gone.name}", members)
            hosts = {n: h for n, h in current.hosts.items() if n != gone.name}
            return replace(current, hosts=hosts)

        self._alter(
            lambda snapshot: snapshot.part_of_fleet(hosts=[name]),
            change,
            by,
            once,
            lambda after: None,
        )

    def _alter(
        self,
        part: Callable[[Snapshot], Fleet],
        change: Callable[[Fleet], Fleet],
        by: str,
        once: IdempotencyKey[_T] | None,
        result: Callable[[Fleet], _T],
    ) -> _T:
        """Change a part of the fleet; the rest stays as it is."""
        with self._engine.writing(by, once) as (transaction, context):
            current = part(transaction)
            difference = fleet_changes.difference(current, change(current))
            self._change(transaction, context, current, difference)
            altered = result(part(transaction))
            keep_receipt(transaction, once, altered, context.now)
        return altered

    def _change(
        self,
        transaction: Transaction,
        context: Context,
        current: Fleet,
        changes: Difference,
    ) -> Step:
        return self._engine.decide(
            transaction,
            context,
            _affected_groups(transaction, changes),
            partial(fleet_changes.change, changes=changes),
            lambda slice_: _with_fleet(slice_, current, changes),
        )


def _affected_groups(snapshot: Snapshot, changes: Difference) -> frozenset[str]:
    """Return the changed groups, and those with maintenance of a removed host."""
    gone = {old.name for old, new in changes.hosts if old and not new}
    if not gone:
        return changes.groups_touched
    live = every(snapshot, Phase.SCHEDULED, Phase.STARTED)
    bound = [maintenance for maintenance in live if maintenance.host in gone]
    return changes.groups_touched.union(*(maintenance.groups for maintenance in bound))


def _with_fleet(slice_: Slice, current: Fleet, changes: Difference) -> Slice:
    """Add to the slice what is about to change."""
    hosts = {old.name: old for old, _ in changes.hosts if old}
    touched = changes.groups_touched
    vms = {vm.name: vm for vm in current.vms.values() if vm.group in touched}
    return replace(slice_, hosts=hosts, vms=vms)


def _joined(fleet: Fleet, origin: str) -> Fleet:
    """Check a part of the fleet; drop undeclared groups whose VM is gone."""
    used = {vm.group for vm in fleet.vms.values()}
    groups: Iterable[Group] = [
        group for group in fleet.groups.values() if group.declared or group.name in used
    ]
    return fleet_file.join(fleet.hosts.values(), groups, fleet.vms.values(), origin)


def _put(named: Mapping[str, _Named], thing: _Named) -> dict[str, _Named]:
    """Put `thing` last, replacing the one of the same name in any case.

    The spelling of the name stays as it was first declared.
    """
    spelling = next(
        (other for other in named if fold_name(other) == fold_name(thing.name)),
        thing.name,
    )
    kept = {name: other for name, other in named.items() if name != spelling}
    return {**kept, spelling: replace(thing, name=spelling)}


def _find(named: Mapping[str, _Named], name: str, noun: str) -> _Named:
    for thing in named.values():
        if fold_name(thing.name) == fold_name(name):
            return thing
    raise NotFound(f"there is no {noun} {name}")


def _refuse_if_used(what: str, members: list[str]) -> None:
    if members:
        shown = ", ".join(sorted(members)[:5])
        raise Conflict(
            f"{what} still has {len(members)} VMs ({shown}); move them first"
        )
