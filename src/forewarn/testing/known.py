"""What the steps of a scenario can speak of: its fleet, and what was announced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forewarn.agent.complaints import meant
from forewarn.core.fleet import Fleet, key
from forewarn.errors import InvalidInput

_FEW = 12  # names that are listed rather than guessed at: they are all alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What goes by a name: the step that gave it, and which VMs it touches."""

    step: int
    vms: frozenset[str] | None = None  # None: the step does not say, as it is faulty


@dataclass(slots=True, kw_only=True)
class Known:
    """All that a step can speak of; what is announced is added step by step."""

    fleet: Fleet | None = None  # None: it could not be read, so every name will do
    vm: str = ""  # whom the program speaks for
    called: dict[str, Told] = field(default_factory=dict)

    # --- the fleet -----------------------------------------------------------

    def vm_called(self, name: str) -> str:
        """Find a VM, whatever the case of its name."""
        return name if self.fleet is None else _found(name, self.fleet.vms, "VM")

    def host_called(self, name: str) -> str:
        """Find a host on which there is at least one VM."""
        if self.fleet is None:
            return name
        found = _found(name, self.fleet.hosts, "host")
        if not self.on_host(found):
            raise InvalidInput(f"there is no VM on {found}, so nobody would be told")
        return found

    def group_called(self, name: str) -> str:
        """Find a group in which there is at least one VM."""
        if self.fleet is None:
            return name
        found = _found(name, self.fleet.groups, "group")
        if not self.in_group(found):
            raise InvalidInput(f"there is no VM in {found}, so nobody would be told")
        return found

    def is_spot(self, vm: str) -> bool:
        """Whether `vm` may be evicted, as far as can be known."""
        return self.fleet is None or self.fleet.vms[vm].spot

    def on_host(self, host: str) -> frozenset[str] | None:
        """Name the VMs on `host`; None: nobody knows."""
        if self.fleet is None:
            return None
        vms = self.fleet.vms.values()
        return frozenset(vm.name for vm in vms if vm.host == host)

    def in_group(self, group: str) -> frozenset[str] | None:
        """Name the VMs of `group`; None: nobody knows."""
        if self.fleet is None:
            return None
        vms = self.fleet.vms.values()
        return frozenset(vm.name for vm in vms if vm.group == group)

    # --- what was announced --------------------------------------------------

    def event_called(self, name: str) -> str:
        """Find what an earlier step has given the name `name`."""
        if name in self.called:
            return name
        near = meant(name, self.called)
        instead = near or f"; {_listed(self.called)}"
        raise InvalidInput(
            f'no earlier step has announced anything as = "{name}"{instead}'
        )

    def sees(self, vm: str, event: str) -> bool:
        """Whether `vm` is told of what is called `event`, as far as can be known."""
        vms = self.called[event].vms
        if self.fleet is None or vms is None:
            return True
        groups = {self.fleet.vms[each].group for each in vms}
        own = self.fleet.vms[vm].group
        return vm in vms or (own in groups and not self.fleet.groups[own].isolated)


def _found(name: str, names: Iterable[str], noun: str) -> str:
    by_key = {key(each): each for each in names}
    if key(name) in by_key:
        return by_key[key(name)]
    known = [*by_key.values()]
    listed = f"; there are {', '.join(known)}"
    instead = listed if len(known) <= _FEW else meant(name, known)
    raise InvalidInput(f'there is no {noun} "{name}" in the fleet{instead}')


def _listed(called: Mapping[str, object]) -> str:
    return f"there are {', '.join(called)}" if called else "nothing has a name so far"
