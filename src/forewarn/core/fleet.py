"""The fleet: VMs, the groups that share a document, and the hosts they run on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.outages import Outage, lost

#: How long a group may stay quiet before it counts as silent.
SILENCE = timedelta(hours=24)

#: What a VM, a group, a host or a token may be called.
NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")

_DIGITS = re.compile(r"(\d+)")


class GroupKind(StrEnum):
    """Why the VMs of a group belong together."""

    #: VMs spread over update domains.
    AVAILABILITY_SET = "availability-set"
    #: Role instances of a classic cloud service.
    CLOUD_SERVICE = "cloud-service"
    #: One placement group of a scale set.
    SCALE_SET = "scale-set"
    #: One VM alone.
    STANDALONE = "standalone"


class Listening(StrEnum):
    """When a group counts as listening."""

    #: After its first request, until 24 h pass without one.
    ON_DEMAND = "on-demand"
    #: Without ever asking.
    ALWAYS = "always"


class AutoApproval(StrEnum):
    """User operations that a group approves beforehand."""

    #: A restart asked for by a user.
    USER_REBOOT = "user-reboot"
    #: A redeploy asked for by a user.
    USER_REDEPLOY = "user-redeploy"


@dataclass(frozen=True, slots=True, kw_only=True)
class VM:
    """One virtual machine; its name is what the wire calls a resource."""

    name: str
    group: str
    host: str | None = None  # None: it is not said where it runs
    update_domain: int | None = None  # None: in none
    fault_domain: int | None = None
    zone: str | None = None
    addresses: tuple[str, ...] = ()
    spot: bool = False
    paas: bool = False
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
    listening: Listening = Listening.ON_DEMAND
    terminate_notice: int | None = None  # seconds; None: no terminate notice
    auto_approve: tuple[AutoApproval, ...] = ()
    isolated: bool = False  # each VM sees only its own events
    declared: bool = True  # False: exists only because a VM has no group
    listening_since: datetime | None = None  # None: has never asked
    last_request: datetime | None = None

    def is_listening(self, now: datetime, outages: Iterable[Outage] = ()) -> bool:
        """Whether the group has asked for events in the last 24 h."""
        if self.listening is Listening.ALWAYS:
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
    """Those who share one document: a group, or one VM of an isolated group."""

    name: str
    group: str
    vm: str | None = None  # None: the whole group
    epoch: str
    incarnation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All hosts, groups and VMs, each by name, in the order they were given."""

    hosts: Mapping[str, Host] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    vms: Mapping[str, VM] = field(default_factory=dict)


def is_silence(since: datetime, now: datetime, outages: Iterable[Outage]) -> bool:
    """Whether 24 h in which one could ask have passed without a request."""
    silence = now - since
    return silence >= SILENCE and silence - lost(outages, since, now) >= SILENCE


def key(name: str) -> str:
    """Fold `name` so that names differing only in case are the same."""
    return name.lower()


def natural(name: str) -> tuple[object, ...]:
    """Order names as people do: web-2 before web-10; different names never tie."""
    parts = _DIGITS.split(name.lower())
    numbered = ((0, int(part)) if part.isdigit() else (1, part) for part in parts)
    return (*numbered, (2, name))


def audiences_of(group: Group, vms: Iterable[VM], epoch: str) -> Iterator[Audience]:
    """Name those who share a document in `group`."""
    if not group.isolated:
        yield Audience(name=group.name, group=group.name, epoch=epoch)
        return
    for vm in vms:
        name = audience_name(group, vm.name)
        yield Audience(name=name, group=group.name, vm=vm.name, epoch=epoch)


def audience_name(group: Group, vm: str) -> str:
    """Name the audience that `vm` of `group` belongs to."""
    return f"{group.name}/{vm}" if group.isolated else group.name


def audience_of(group: Group, vm: str) -> Audience:
    """Say with whom `vm` of `group` shares a document, whatever its epoch."""
    own = vm if group.isolated else None
    return Audience(name=audience_name(group, vm), group=group.name, vm=own, epoch="")
