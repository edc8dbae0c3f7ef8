"""Commands that change the fleet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name
from forewarn.core.lifecycle import fleet_changes
from forewarn.core.lifecycle.fleet_changes import Difference
from forewarn.core.lifecycle.model import Phase, Slice, groups_of
from forewarn.core.lifecycle.settlement import Context, Step
from forewarn.engine.engine import Engine
from forewarn.engine.idempotency import IdempotencyKey, keep_receipt
from forewarn.engine.lookup import declared_name, every
from forewarn.engine.readers.documents import FIRST_VM
from forewarn.errors import Conflict
from forewarn.formats import count
from forewarn.ports import Snapshot, Transaction

#: The stored setting for the digest of the last fleet file applied. The setting is
#: empty after any other change to the whole fleet.
_DIGEST = "fleet"

#: The fields of a `Fleet` and the type of item in each.
_NOUNS: Mapping[str, str] = {"hosts": "host", "groups": "group", "vms": "VM"}

_Named = TypeVar("_Named", VM, Group, Host)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetApplied:
    """The result of a fleet change."""

    difference: Difference
    warnings: tuple[str, ...] = ()


class FleetCommands:
    """Fleet changes, each in one transaction."""

    def __init__(self, engine: Engine) -> None:
        """Create the commands that change the fleet of `engine`."""
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
        """Replace the whole fleet with `desired`. `digest` identifies its file."""
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
        """Return whether the file with this digest was the last one applied."""
        with self._engine.store.snapshot() as snapshot:
            return snapshot.setting(_DIGEST) == digest

    def put_vm(self, vm: VM, *, by: str, once: IdempotencyKey[VM] | None = None) -> VM:
        """Add or change a VM."""
        hosts = [vm.host] if vm.host else []
        near = {"groups": [vm.group], "hosts": hosts, "addresses": vm.addresses}
        return self._put("vms", vm, by, once, **near)

    def put_group(
        self, group: Group, *, by: str, once: IdempotencyKey[Group] | None = None
    ) -> Group:
        """Add a group or change its settings."""
        return self._put("groups", group, by, once)

    def put_host(
        self, host: Host, *, by: str, once: IdempotencyKey[Host] | None = None
    ) -> Host:
        """Add a host."""
        return self._put("hosts", host, by, once)

    def remove_vm(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove a VM from the fleet, without an event."""
        self._remove("vms", name, by, once)

    def remove_group(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove an empty group from the fleet."""
        self._remove("groups", name, by, once)

    def remove_host(
        self, name: str, *, by: str, once: IdempotencyKey[None] | None = None
    ) -> None:
        """Remove an empty host from the fleet."""
        self._remove("hosts", name, by, once)

    def _put(
        self,
        kind: str,
        thing: _Named,
        by: str,
        once: IdempotencyKey[_Named] | None,
        **near: Iterable[str],
    ) -> _Named:
        """Add or change `thing`. `near` names the items that `thing` may refer to."""
        names = {kind: [thing.name], **near}
        with self._engine.writing(by, once) as (transaction, context):
            current = transaction.part_of_fleet(**names)
            named = _put(getattr(current, kind), thing)
            self._replace(transaction, context, current, kind, named, thing.name)
            after = getattr(transaction.part_of_fleet(**names), kind)
            stored: _Named = after[declared_name(thing.name, after, _NOUNS[kind])]
            keep_receipt(transaction, once, stored, context.now)
        return stored

    def _remove(
        self, kind: str, name: str, by: str, once: IdempotencyKey[None] | None
    ) -> None:
        with self._engine.writing(by, once) as (transaction, context):
            current = transaction.part_of_fleet(**{kind: [name]})
            named = {**getattr(current, kind)}
            gone = named.pop(declared_name(name, named, _NOUNS[kind]))
            _refuse_if_used(current, gone)
            self._replace(transaction, context, current, kind, named, name)
            keep_receipt(transaction, once, None, context.now)

    def _replace(
        self,
        transaction: Transaction,
        context: Context,
        current: Fleet,
        kind: str,
        named: Mapping[str, _Named],
        name: str,
    ) -> None:
        """Replace all items of one kind in a part of the fleet; keep the rest."""
        changed = replace(current, **{kind: named})  # type: ignore[arg-type]  # a key of _NOUNS
        desired = _joined(changed, f"{_NOUNS[kind]} {name}")
        difference = fleet_changes.difference(current, desired)
        self._change(transaction, context, current, difference)

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
    """Return the changed groups and the groups with maintenance on a removed host."""
    gone = {old.name for old, new in changes.hosts if old and not new}
    if not gone:
        return changes.groups_touched
    live = every(snapshot, Phase.SCHEDULED, Phase.STARTED)
    bound = [maintenance for maintenance in live if maintenance.host in gone]
    return changes.groups_touched | groups_of(bound)


def _with_fleet(slice_: Slice, current: Fleet, changes: Difference) -> Slice:
    """Add to the slice the items that are about to change."""
    hosts = {old.name: old for old, _ in changes.hosts if old}
    touched = changes.groups_touched
    vms = {vm.name: vm for vm in current.vms.values() if vm.group in touched}
    return replace(slice_, hosts=hosts, vms=vms)


def _joined(fleet: Fleet, origin: str) -> Fleet:
    """Check a part of the fleet and drop undeclared groups whose VMs are gone."""
    used = {vm.group for vm in fleet.vms.values()}
    groups: Iterable[Group] = [
        group for group in fleet.groups.values() if group.declared or group.name in used
    ]
    return fleet_file.join(fleet.hosts.values(), groups, fleet.vms.values(), origin)


def _put(named: Mapping[str, _Named], thing: _Named) -> dict[str, _Named]:
    """Put `thing` last, replacing any item whose name differs only in case.

    The name keeps its first declared spelling.
    """
    spelling = next(
        (other for other in named if fold_name(other) == fold_name(thing.name)),
        thing.name,
    )
    kept = {name: other for name, other in named.items() if name != spelling}
    return {**kept, spelling: replace(thing, name=spelling)}


def _refuse_if_used(fleet: Fleet, gone: VM | Group | Host) -> None:
    """Raise `Conflict` if `gone` is a group or host that still has VMs."""
    if isinstance(gone, VM):
        return
    is_group = isinstance(gone, Group)
    members = [
        vm.name
        for vm in fleet.vms.values()
        if (vm.group if is_group else vm.host) == gone.name
    ]
    if members:
        what, shown = "group" if is_group else "host", ", ".join(sorted(members)[:5])
        raise Conflict(
            f"{what} {gone.name} still has {count(len(members), 'VM')} ({shown});"
            " move them first"
        )
