"""Checks of the fleet: groups and VMs that would miss events or fail together.

Each check names at most `NAMED` groups or VMs, so that the result is small for any
fleet.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.fleet import VM, Group, natural_order
from forewarn.core.outages import Outage

#: The maximum number of names per check.
NAMED = 10

#: A VM that has not polled for this long may miss an event.
QUIET_AFTER = timedelta(minutes=10)


class FleetCheck(StrEnum):
    """What a check found."""

    #: Groups without VMs.
    GROUP_WITHOUT_VMS = "group-without-vms"
    #: Groups for which Scheduled Events is disabled.
    GROUP_DISABLED = "group-disabled"
    #: Groups whose VMs are all in one update domain, or all in none. Groups of spot VMs
    #: are not checked.
    ONE_UPDATE_DOMAIN = "one-update-domain"
    #: VMs without a host, in a fleet with hosts.
    VM_WITHOUT_HOST = "vm-without-host"
    #: VMs without an address, although the service identifies VMs by their addresses.
    VM_WITHOUT_ADDRESS = "vm-without-address"
    #: VMs in enabled groups that have not polled for ten minutes.
    VM_NOT_POLLING = "vm-not-polling"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedVm:
    """A VM and its last request."""

    vm: VM
    last_request: datetime | None  # None if not since the service started


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFleet:
    """The part of a fleet that the caller may see."""

    hosts: int | None  # the number of hosts; None if hidden
    groups: Sequence[Group]
    vms: Sequence[CheckedVm]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedItem:
    """A group or VM that a check found."""

    name: str
    last_request: datetime | None  # None if unknown or never


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFinding:
    """The result of a check that found something."""

    check: FleetCheck
    count: int
    items: tuple[CheckedItem, ...]  # at most `NAMED`, in natural order


def check_fleet(
    fleet: CheckedFleet,
    now: datetime,
    *,
    started_at: datetime,
    outages: Iterable[Outage],
    is_open: bool,
) -> Sequence[FleetFinding]:
    """Return what is unusual about `fleet`, in the order of `FleetCheck`.

    The service started at `started_at`. If it is open, VMs need no addresses.
    """
    known = [*outages]
    active = [item for item in fleet.vms if not item.vm.deallocated]
    members: dict[str, list[VM]] = defaultdict(list)
    for item in fleet.vms:
        members[item.vm.group].append(item.vm)
    inhabited = [group for group in fleet.groups if members[group.name]]
    disabled = [group for group in inhabited if not group.is_enabled(now, known)]
    silent = {group.name for group in disabled}
    quiet_since = now - QUIET_AFTER
    found: dict[FleetCheck, Iterable[CheckedItem]] = {
        FleetCheck.GROUP_WITHOUT_VMS: _groups(
            group for group in fleet.groups if not members[group.name]
        ),
        FleetCheck.GROUP_DISABLED: _groups(disabled),
        FleetCheck.ONE_UPDATE_DOMAIN: _groups(
            group for group in inhabited if _is_in_one_domain(members[group.name])
        ),
        FleetCheck.VM_WITHOUT_HOST: _vms(
            item for item in active if fleet.hosts and item.vm.host is None
        ),
        FleetCheck.VM_WITHOUT_ADDRESS: _vms(
            item for item in fleet.vms if not is_open and not item.vm.addresses
        ),
        FleetCheck.VM_NOT_POLLING: _vms(
            item
            for item in active
            if item.vm.group not in silent
            and (item.last_request or started_at) <= quiet_since
        ),
    }
    return [*_findings(found)]


def _is_in_one_domain(vms: Sequence[VM]) -> bool:
    lasting = [vm for vm in vms if not vm.spot and not vm.deallocated]
    return len(lasting) > 1 and len({vm.update_domain for vm in lasting}) == 1


def _groups(groups: Iterable[Group]) -> Iterator[CheckedItem]:
    for group in groups:
        yield CheckedItem(name=group.name, last_request=group.last_request)


def _vms(vms: Iterable[CheckedVm]) -> Iterator[CheckedItem]:
    for item in vms:
        yield CheckedItem(name=item.vm.name, last_request=item.last_request)


def _findings(
    found: dict[FleetCheck, Iterable[CheckedItem]],
) -> Iterator[FleetFinding]:
    for check, results in found.items():
        items = sorted(results, key=lambda item: natural_order(item.name))
        if items:
            yield FleetFinding(
                check=check, count=len(items), items=tuple(items[:NAMED])
            )
