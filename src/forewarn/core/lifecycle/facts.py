"""Facts: the kinds of journal entries, named in the past tense.

1. Facts are complete: `transitions.apply` rebuilds the state from facts alone.
2. Each kind has a version, which is incremented when the meaning of its fields changes,
   so that old journals can still be read.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias

from forewarn.core.fleet import VM, Group, Host
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.core.outages import Outage
from forewarn.core.tokens import RefusedToken, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChanged:
    """Hosts, groups and VMs were added, changed or removed."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    epoch: str  # of the audiences created by this fact
    hosts: tuple[Host, ...] = ()
    groups: tuple[Group, ...] = ()
    vms: tuple[VM, ...] = ()
    removed_hosts: tuple[str, ...] = ()
    removed_groups: tuple[str, ...] = ()
    removed_vms: tuple[str, ...] = ()
    removed_from: tuple[str, ...] = ()  # the group of each of `removed_vms`


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """A poll enabled Scheduled Events for a group, whose incarnation restarts at 0."""

    version: ClassVar[int] = 1
    at: datetime
    group: str
    epoch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """A maintenance operation was announced."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    maintenance: str
    announced: Maintenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """An event was approved."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    via: Via
    maintenance: str
    event: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VmsLeft:
    """VMs under live maintenance left the fleet or their host."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """An event was withdrawn because all of its VMs have left."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    event: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A maintenance operation started, and the driver may act."""

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
    """The driver finished its work on some VMs."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFailed:
    """The driver failed, so the maintenance is stuck."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    vms: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPrinted:
    """A driver call ended with this output."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str
    attempt: int
    output: str  # only the end of the output


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRetried:
    """The remaining work will be retried."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None  # None if retried automatically
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEnded:
    """The operator marked the work as done and the duration as elapsed."""

    version: ClassVar[int] = 1
    at: datetime
    by: str
    maintenance: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A maintenance operation completed, and its events are gone."""

    version: ClassVar[int] = 1
    at: datetime
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Canceled:
    """A maintenance operation was canceled before it started."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None
    maintenance: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The operator gave up on a stuck maintenance operation."""

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
    """A VM was shown an event for the first time."""

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
    """An outage of the service ended. Outages do not count as notice."""

    version: ClassVar[int] = 1
    at: datetime
    outage: Outage


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCreated:
    """A token was created."""

    version: ClassVar[int] = 1
    at: datetime
    by: str
    token: str  # the ID, which grants no access
    name: str
    role: Role
    group: str | None = None  # None if for all groups
    expires_at: datetime | None = None  # None if it never expires


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked:
    """A token was revoked."""

    version: ClassVar[int] = 1
    at: datetime
    by: str | None  # None if revoked because its group was removed
    token: str
    name: str
    group: str | None = None  # None if it was for all groups


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRefused:
    """Requests with invalid, expired or revoked tokens were rejected.

    The tokens themselves are not kept.
    """

    version: ClassVar[int] = 1
    at: datetime
    refusals: tuple[RefusedToken, ...]


#: Facts about one maintenance operation.
MaintenanceFact: TypeAlias = (
    Announced
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
)

Fact: TypeAlias = (
    FleetChanged
    | Enabled
    | MaintenanceFact
    | Published
    | Seen
    | OutageEnded
    | TokenCreated
    | TokenRevoked
    | AccessRefused
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A fact with its position in the journal."""

    position: int
    fact: Fact
