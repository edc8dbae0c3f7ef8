"""What happened, in the past tense.

Facts are complete: `lifecycle.apply` rebuilds the state from them alone. Each has
a version, raised when its fields change their meaning, so that old journals can
still be read.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias

from forewarn.core.fleet import VM, Group, Host
from forewarn.core.maintenance import Maintenance, Via
from forewarn.core.outages import Outage
from forewarn.core.tokens import Refusal, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChanged:
    """Hosts, groups and VMs came, changed or left."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    epoch: str  # of the audiences that came into being
    hosts: tuple[Host, ...] = ()
    groups: tuple[Group, ...] = ()
    vms: tuple[VM, ...] = ()
    removed_hosts: tuple[str, ...] = ()
    removed_groups: tuple[str, ...] = ()
    removed_vms: tuple[str, ...] = ()
    removed_from: tuple[str, ...] = ()  # the group of each of `removed_vms`


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningBegan:
    """A silent group asked for events; its counter starts anew."""

    version: ClassVar[int] = 1
    at: datetime
    group: str
    epoch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """A maintenance was announced."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    maintenance: str
    announced: Maintenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """Somebody let an event go ahead."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    via: Via
    maintenance: str
    event: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VmsLeft:
    """VMs of a live maintenance left the fleet, or the host it is for."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """An event went away because all of its VMs have left."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    event: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A maintenance started; the driver may act."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBegan:
    """The driver is about to be called."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDone:
    """The driver did its work on some VMs."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFailed:
    """The driver failed; the maintenance is stuck."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPrinted:
    """The driver's call ended, and left this to read."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    attempt: int
    output: str  # the end of it


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRetried:
    """There is to be another attempt at what is still to do."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None  # None: the service, by its settings
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEnded:
    """The operator said that the work is done and the duration over."""

    version: ClassVar[int] = 1
    at: datetime
    by: str
    maintenance: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A maintenance is over; its events are gone."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Canceled:
    """A maintenance was called off before it started."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    maintenance: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The operator gave a stuck maintenance up."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    maintenance: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An audience has a new document."""

    version: ClassVar[int] = 1
    at: datetime
    audience: str
    group: str
    epoch: str
    incarnation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One VM was shown one event for the first time."""

    event: str
    vm: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """VMs were shown events for the first time."""

    version: ClassVar[int] = 1
    at: datetime
    sights: tuple[Sight, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageEnded:
    """The service was away for a while; that was nobody's notice."""

    version: ClassVar[int] = 1
    at: datetime
    outage: Outage


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCreated:
    """Somebody was given a token."""

    version: ClassVar[int] = 1
    at: datetime
    by: str
    token: str  # its id, which opens nothing
    name: str
    role: Role
    group: str | None = None  # None: for all groups
    expires_at: datetime | None = None  # None: never


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked:
    """A token is good for nothing any more."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None  # None: the service, as its group was removed
    token: str
    name: str
    group: str | None = None  # None: it was for all groups


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRefused:
    """Tokens were shown that are none, or none any more; they are not kept."""

    version: ClassVar[int] = 1
    at: datetime
    refusals: tuple[Refusal, ...]


Fact: TypeAlias = (
    FleetChanged
    | ListeningBegan
    | Announced
    | Approved
    | VmsLeft
    | Withdrawn
    | Started
    | WorkBegan
    | WorkDone
    | WorkFailed
    | WorkPrinted
    | WorkRetried
    | WorkEnded
    | Completed
    | Canceled
    | Closed
    | Published
    | Seen
    | OutageEnded
    | TokenCreated
    | TokenRevoked
    | AccessRefused
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A fact at its place in the journal."""

    position: int
    fact: Fact
