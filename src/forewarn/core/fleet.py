"""The fleet: VMs, the groups that share a document, and the hosts they run on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.outages import Outage, time_lost
from forewarn.core.serialization import FORMERLY

#: Scheduled Events is disabled for a group after this long without a request.
_SILENCE = timedelta(hours=24)

#: Valid names of VMs, groups, hosts and tokens.
NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")

#: Valid names of new VMs, groups and hosts. Driver scripts receive them as arguments
#: and may use them in paths, so they must not look like options or directories.
NEW_NAME = re.compile(rf"(?!-|\.\.?$){NAME.pattern}")

_DIGITS = re.compile(r"(\d+)")


class GroupKind(StrEnum):
    """The kind of a group: what its VMs have in common."""

    #: VMs spread over update domains.
    AVAILABILITY_SET = "availability-set"
    #: Role instances of a classic cloud service.
    CLOUD_SERVICE = "cloud-service"
    #: One placement group of a scale set.
    SCALE_SET = "scale-set"
    #: A single VM.
    STANDALONE = "standalone"


class Enabling(StrEnum):
    """When Scheduled Events is enabled for a group."""

    #: From the first request of the group until 24 h pass without a request.
    ON_DEMAND = "on-demand"
    #: Always, even if the group never sends a request.
    ALWAYS = "always"


class AutoApproval(StrEnum):
    """User operations that a group approves in advance."""

    #: A restart requested by a user.
    USER_REBOOT = "user-reboot"
    #: A redeploy requested by a user.
    USER_REDEPLOY = "user-redeploy"


class EvictionPolicy(StrEnum):
    """What happens to a spot VM when its Preempt completes."""

    #: The VM leaves the fleet.
    DELETE = "delete"
    #: The VM stays in the fleet, deallocated, until it is started again.
    DEALLOCATE = "deallocate"

    @property
    def azure_name(self) -> str:
        """Azure's spelling in `evictionPolicy`."""
        return self.value.capitalize()


class OperatingSystem(StrEnum):
    """The operating system of a VM."""

    LINUX = "linux"
    WINDOWS = "windows"

    @property
    def azure_name(self) -> str:
        """Azure's spelling in `osType`."""
        return self.value.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class VM:
    """One virtual machine; the protocol calls it a resource."""

    name: str
    group: str
    host: str | None = None  # None if unknown
    update_domain: int | None = None  # None if it has none
    fault_domain: int | None = None
    zone: str | None = None
    addresses: tuple[str, ...] = ()
    spot: bool = False
    eviction_policy: EvictionPolicy | None = None  # None to use the group's
    deallocated: bool = False  # evicted and not started since; not on any host
    paas: bool = False
    os: OperatingSystem = OperatingSystem.LINUX
    tags: Mapping[str, str] = field(default_factory=dict)
    size: str | None = None
    location: str | None = None
    resource_group: str | None = None
    subscription: str | None = None
    vm_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The VMs that share a document."""

    name: str
    kind: GroupKind = GroupKind.STANDALONE
    enabled: Enabling = field(
        default=Enabling.ON_DEMAND, metadata={FORMERLY: "listening"}
    )
    terminate_notice: int | None = None  # seconds; None without a terminate notice
    auto_approve: tuple[AutoApproval, ...] = ()
    eviction_policy: EvictionPolicy | None = None  # for its spot VMs; None for delete
    isolated: bool = False  # each VM sees only its own events
    declared: bool = True  # False if created for a VM without a group
    # None if it never sent a request.
    enabled_since: datetime | None = field(
        default=None, metadata={FORMERLY: "listening_since"}
    )
    last_request: datetime | None = None

    def is_enabled(self, now: datetime, outages: Iterable[Outage] = ()) -> bool:
        """Return whether Scheduled Events is enabled for the group at `now`.

        A group enabled on demand must have sent a request in the last 24 h, not
        counting outages.
        """
        if self.enabled is Enabling.ALWAYS:
            return True
        return self.last_request is not None and not is_silence(
            self.last_request, now, outages
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine that VMs run on."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The VMs that share one document: a group, or a single VM of an isolated group."""

    name: str
    group: str
    vm: str | None = None  # None for the whole group
    epoch: str
    incarnation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All hosts, groups and VMs by name, in the order in which they were declared."""

    hosts: Mapping[str, Host] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    vms: Mapping[str, VM] = field(default_factory=dict)


def eviction_policy_of(vm: VM, group: Group) -> EvictionPolicy | None:
    """Return the eviction policy of `vm`, which defaults to that of its group.

    Return None if `vm` is not a spot VM.
    """
    if not vm.spot:
        return None
    return vm.eviction_policy or group.eviction_policy or EvictionPolicy.DELETE


def is_silence(since: datetime, now: datetime, outages: Iterable[Outage]) -> bool:
    """Return whether 24 h, not counting outages, passed between `since` and `now`."""
    silence = now - since
    return silence >= _SILENCE and silence - time_lost(outages, since, now) >= _SILENCE


def fold_name(name: str) -> str:
    """Fold the case of `name`, because names are case-insensitive."""
    return name.lower()


def natural_order(name: str) -> tuple[object, ...]:
    """Return a sort key for natural order: web-2 before web-10.

    Keys of different names never compare equal.
    """
    parts = _DIGITS.split(name.lower())
    numbered = ((0, int(part)) if part.isdigit() else (1, part) for part in parts)
    return (*numbered, (2, name))


def audiences_of(group: Group, vms: Iterable[VM], epoch: str) -> Iterator[Audience]:
    """Create the audiences of `group`."""
    if not group.isolated:
        yield Audience(name=group.name, group=group.name, epoch=epoch)
        return
    for vm in vms:
        yield audience_of(group, vm.name, epoch)


def audience_name(group: Group, vm: str) -> str:
    """Return the name of the audience that `vm` in `group` belongs to."""
    return f"{group.name}/{vm}" if group.isolated else group.name


def audience_of(group: Group, vm: str, epoch: str = "") -> Audience:
    """Create the audience that `vm` in `group` belongs to."""
    own, name = vm if group.isolated else None, audience_name(group, vm)
    return Audience(name=name, group=group.name, vm=own, epoch=epoch)
