"""Commands that change the fleet."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from forewarn.core import changes, fleet_file
from forewarn.core.changes import Difference
from forewarn.core.fleet import VM, Fleet, Group, Host, key
from forewarn.core.maintenance import Phase, Slice
from forewarn.core.settling import Step
from forewarn.engine.documents import FIRST_VM
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import every
from forewarn.engine.once import Once, keep_answer
from forewarn.errors import Conflict, NotFound
from forewarn.ports import Snapshot, Transaction

#: The digest of the fleet file that was applied last; empty after another change of
#: the whole fleet.
DIGEST = "fleet"

_T = TypeVar("_T")
_Named = TypeVar("_Named", VM, Group, Host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a change of the fleet did."""

    difference: Difference
    warnings: tuple[str, ...] = ()


class Fleets:
    """Changes of the fleet, each in one transaction."""

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
        once: Once[Applied] | None = None,
    ) -> Applied:
        """Make `desired` the whole truth; `digest` names the file it came from."""
        first = next(iter(desired.vms), "")
        with self._engine.writing(once) as (transaction, now):
            current = transaction.fleet()
            found = changes.difference(current, desired)
            if not remove:
                changes.refuse_large_removal(current, found)
            if found or digest:
                transaction.keep(FIRST_VM, first)
            step = self._change(transaction, current, found, by)
            transaction.keep(DIGEST, digest)
            warnings = (*fleet_file.warnings(desired), *changes.consequences(step))
            applied = Applied(difference=found, warnings=warnings)
            keep_answer(transaction, once, applied, now)
        return applied

    def is_applied(self, digest: str) -> bool:
        """Whether the file with this digest was the last one applied."""
        with self._engine.store.snapshot() as snapshot:
            return snapshot.setting(DIGEST) == digest

    def put_vm(self, vm: VM, *, by: str, once: Once[VM] | None = None) -> VM:
        """Add a VM, or change it."""

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
        self, group: Group, *, by: str, once: Once[Group] | None = None
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

    def put_host(self, host: Host, *, by: str, once: Once[Host] | None = None) -> Host:
        """Add a host."""
        return self._alter(
            lambda snapshot: snapshot.part_of_fleet(hosts=[host.name]),
            lambda current: replace(current, hosts=_put(current.hosts, host)),
            by,
            once,
            lambda after: _find(after.hosts, host.name, "host"),
        )

    def remove_vm(self, name: str, *, by: str, once: Once[None] | None = None) -> None:
        """Take a VM out of the fleet, without an event."""

        def change(current: Fleet) -> Fleet:
            gone = _find(current.vms, name, "VM")
            vms = {each: vm for each, vm in current.vms.items() if each != gone.name}
            return _joined(replace(current, vms=vms), f"VM {name}")

        self._alter(
            lambda snapshot: snapshot.part_of_fleet(vms=[name]),
            change,
            by,
            once,
            lambda after: None,
        )

    def remove_group(
        self, name: str, *, by: str, once: Once[None] | None = None
    ) -> None:
        """Take an empty group out of the fleet."""

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
        self, name: str, *, by: str, once: Once[None] | None = None
    ) -> None:
        """Take an empty host out of the fleet."""

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
        once: Once[_T] | None,
        result: Callable[[Fleet], _T],
    ) -> _T:
        """Change a part of the fleet; the rest stays as it is."""
        with self._engine.writing(once) as (transaction, now):
            current = part(transaction)
            found = changes.difference(current, change(current))
            self._change(transaction, current, found, by)
            altered = result(part(transaction))
            keep_answer(transaction, once, altered, now)
        return altered

    def _change(
        self, transaction: Transaction, current: Fleet, found: Difference, by: str
    ) -> Step:
        engine = self._engine
        now, epoch = engine.now(transaction), engine.new_epoch()
        return engine.decide(
            transaction,
            _concerned(transaction, found),
            lambda slice_: changes.change(
                slice_, found, by=by, epoch=epoch, now=now, rules=engine.rules
            ),
            now,
            lambda slice_: _with_fleet(slice_, current, found),
        )


def _concerned(snapshot: Snapshot, found: Difference) -> frozenset[str]:
    """The groups that are touched, and those with maintenance of a host that goes."""
    gone = {old.name for old, new in found.hosts if old and not new}
    if not gone:
        return found.groups_touched
    live = every(snapshot, Phase.SCHEDULED, Phase.STARTED)
    bound = [each for each in live if each.host in gone]
    return found.groups_touched.union(*(each.groups for each in bound))


def _with_fleet(slice_: Slice, current: Fleet, found: Difference) -> Slice:
    """Put into the slice what is about to change."""
    hosts = {old.name: old for old, _ in found.hosts if old}
    touched = found.groups_touched
    vms = {vm.name: vm for vm in current.vms.values() if vm.group in touched}
    return replace(slice_, hosts=hosts, vms=vms)


def _joined(fleet: Fleet, origin: str) -> Fleet:
    """Check a part of the fleet; drop groups that were there only for a lone VM."""
    used = {vm.group for vm in fleet.vms.values()}
    groups: Iterable[Group] = [
        group for group in fleet.groups.values() if group.declared or group.name in used
    ]
    return fleet_file.join(fleet.hosts.values(), groups, fleet.vms.values(), origin)


def _put(named: Mapping[str, _Named], thing: _Named) -> dict[str, _Named]:
    """Put `thing` last, in the place of what has its name in any case.

    What is known by a name keeps it as it was first written.
    """
    known = next((each for each in named if key(each) == key(thing.name)), thing.name)
    kept = {name: each for name, each in named.items() if name != known}
    return {**kept, known: replace(thing, name=known)}


def _find(named: Mapping[str, _Named], name: str, noun: str) -> _Named:
    for each in named.values():
        if key(each.name) == key(name):
            return each
    raise NotFound(f"there is no {noun} {name}")


def _refuse_if_used(what: str, members: list[str]) -> None:
    if members:
        shown = ", ".join(sorted(members)[:5])
        raise Conflict(
            f"{what} still has {len(members)} VMs ({shown}); move them first"
        )
