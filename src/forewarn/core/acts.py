"""Splitting of VMs into maintenance operations and events.

1. One act is one maintenance. A host is one act. VMs named individually or by group are
   split by group and update domain.
2. No event ever lists VMs of two update domains.
3. User operations, Preempt and Terminate affect one VM each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from forewarn.core.fleet import VM, natural


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The VMs that one maintenance affects, split into its events."""

    host: str | None
    events: tuple[tuple[VM, ...], ...]


def acts(vms: Sequence[VM], *, host: str | None, is_one_by_one: bool) -> Iterator[Act]:
    """Split `vms` into acts.

    All VMs of a `host` are one act, unless `is_one_by_one`.
    """
    if not vms:
        return
    ordered = sorted(vms, key=lambda vm: (natural(vm.group), natural(vm.name)))
    if is_one_by_one:
        for vm in ordered:
            yield Act(host=None, events=((vm,),))
    elif host is not None:
        yield Act(host=host, events=tuple(_by_update_domain(ordered)))
    else:
        for together in _by_update_domain(ordered):
            if together[0].update_domain is not None:
                yield Act(host=None, events=(together,))
            else:
                yield from _by_host(together)


def _by_update_domain(ordered: Sequence[VM]) -> Iterator[tuple[VM, ...]]:
    """Split VMs, sorted by group, by group and update domain."""

    def domain(vm: VM) -> tuple[object, ...]:
        none = vm.update_domain is None
        return (natural(vm.group), none, vm.update_domain or 0)

    for _, together in groupby(sorted(ordered, key=domain), key=domain):
        yield tuple(together)


def _by_host(vms: Sequence[VM]) -> Iterator[Act]:
    shared: dict[str, list[VM]] = {}
    for vm in vms:
        place = f"vm {vm.name}" if vm.host is None else f"host {vm.host}"
        shared.setdefault(place, []).append(vm)
    for together in shared.values():
        yield Act(host=None, events=(tuple(together),))
