"""The names that steps can use, from the fleet and earlier announcements."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forewarn.configfile.values import suggestion
from forewarn.core.fleet import Fleet, fold_name
from forewarn.errors import InvalidInput

_FEW = 12  # names to list; if there are more, only the nearest are suggested


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEvent:
    """A named announcement, with the step that set the name and the affected VMs."""

    step: int
    vms: frozenset[str] | None = None  # None if the step is invalid


@dataclass(slots=True, kw_only=True)
class StepNames:
    """All names that a step can use; each announcement can add a name."""

    fleet: Fleet | None = None  # if None (unreadable), any name is valid
    vm: str = ""  # the VM in which the program runs
    events: dict[str, NamedEvent] = field(default_factory=dict)

    # --- the fleet -----------------------------------------------------------

    def find_vm(self, name: str) -> str:
        """Find a VM, ignoring case."""
        return name if self.fleet is None else _find(name, self.fleet.vms, "VM")

    def find_host(self, name: str) -> str:
        """Find a host that has at least one VM."""
        if self.fleet is None:
            return name
        host = _find(name, self.fleet.hosts, "host")
        if not self.on_host(host):
            raise InvalidInput(
                f"host {host} has no VMs, so no event would be announced"
            )
        return host

    def find_group(self, name: str) -> str:
        """Find a group that has at least one VM."""
        if self.fleet is None:
            return name
        group = _find(name, self.fleet.groups, "group")
        if not self.in_group(group):
            raise InvalidInput(
                f"group {group} has no VMs, so no event would be announced"
            )
        return group

    def is_spot(self, vm: str) -> bool:
        """Return whether `vm` can be evicted, or True if the fleet is unknown."""
        return self.fleet is None or self.fleet.vms[vm].spot

    def on_host(self, host: str) -> frozenset[str] | None:
        """Return the VMs on `host`, or None if the fleet is unknown."""
        if self.fleet is None:
            return None
        vms = self.fleet.vms.values()
        return frozenset(vm.name for vm in vms if vm.host == host)

    def in_group(self, group: str) -> frozenset[str] | None:
        """Return the VMs in `group`, or None if the fleet is unknown."""
        if self.fleet is None:
            return None
        vms = self.fleet.vms.values()
        return frozenset(vm.name for vm in vms if vm.group == group)

    # --- announcements -------------------------------------------------------

    def find_event(self, name: str) -> str:
        """Return `name` after checking that an earlier step has set it."""
        if name in self.events:
            return name
        near = suggestion(name, self.events)
        instead = near or f"; {_listed(self.events)}"
        raise InvalidInput(f'no earlier step sets as = "{name}"{instead}')

    def sees(self, vm: str, event: str) -> bool:
        """Return whether `vm` sees the event with that name, or True if unknown."""
        vms = self.events[event].vms
        if self.fleet is None or vms is None:
            return True
        groups = {self.fleet.vms[name].group for name in vms}
        own = self.fleet.vms[vm].group
        return vm in vms or (own in groups and not self.fleet.groups[own].isolated)


def _find(name: str, names: Iterable[str], noun: str) -> str:
    by_key = {fold_name(own_name): own_name for own_name in names}
    if fold_name(name) in by_key:
        return by_key[fold_name(name)]
    all_names = [*by_key.values()]
    listed = f"; expected one of: {', '.join(all_names)}"
    instead = listed if len(all_names) <= _FEW else suggestion(name, all_names)
    raise InvalidInput(f'{noun} "{name}" is not in the fleet{instead}')


def _listed(events: Mapping[str, object]) -> str:
    if not events:
        return "no earlier step sets a name"
    return f"expected one of: {', '.join(events)}"
