"""Maintenance operations, their events, and the slice of state that commands use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from forewarn.core.fleet import VM, Audience, Group, Host
from forewarn.core.outages import Outage
from forewarn.core.serialization import FORMERLY
from forewarn.errors import NotFound
from forewarn.protocol.types import EventSource, EventType


class Phase(StrEnum):
    """The phase of a maintenance operation; the last three phases are final."""

    #: Announced: the notice period is running, or the start is blocked.
    SCHEDULED = "SCHEDULED"
    #: The driver may act.
    STARTED = "STARTED"
    #: The work is done and the event is gone.
    COMPLETED = "COMPLETED"
    #: Canceled before it started.
    CANCELED = "CANCELED"
    #: Started, but later given up by the operator.
    FAILED = "FAILED"

    @property
    def is_live(self) -> bool:
        """Return whether events in this phase are part of the document."""
        return self in (Phase.SCHEDULED, Phase.STARTED)


class Cause(StrEnum):
    """The cause of a maintenance operation."""

    #: Planned work on the platform.
    PLATFORM = "platform"
    #: Hardware that is predicted to fail.
    DEGRADED = "degraded"
    #: Hardware that has failed.
    HOST_FAILURE = "host-failure"
    #: A user requested a restart.
    USER_RESTART = "user-restart"
    #: A user requested a move to another host.
    USER_REDEPLOY = "user-redeploy"
    #: A spot VM is evicted.
    EVICTION = "eviction"
    #: A VM is deleted.
    SCALE_IN = "scale-in"
    #: A VM is reimaged.
    REIMAGE = "reimage"


class Via(StrEnum):
    """The channel of an approval."""

    #: A VM's POST to the metadata endpoint.
    METADATA = "metadata"
    #: The control API.
    CONTROL = "control"
    #: The Azure Resource Manager API.
    ARM = "arm"
    #: A setting of the group.
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The part of a maintenance operation that one audience sees.

    A group that became isolated after the announcement keeps its events.
    """

    id: str
    group: str
    resources: tuple[str, ...]
    paas: tuple[str, ...] = ()  # the PaaS VMs in `resources`
    update_domain: int | None = None  # None if its VMs have none
    approved_by: str | None = None  # name of a VM or token
    approved_via: Via | None = None  # None if not approved
    approved_at: datetime | None = None
    withdrawn_at: datetime | None = None  # None while any of its VMs remain
    #: Whether its group was disabled when the event was announced.
    disabled: bool = field(default=False, metadata={FORMERLY: "silent"})


def label_of(number: int) -> str:
    """Return the short ID of the maintenance operation with this number."""
    return f"m-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """One maintenance operation on the fleet."""

    id: str  # a GUID, unique across stores
    number: int = 0  # unique in a store; 0 if not saved
    type: EventType
    source: EventSource
    cause: Cause
    host: str | None = None  # None if announced for VMs or a group
    vms: tuple[str, ...]
    not_before: datetime
    at_once: bool = False  # immediate; NotBefore is blank in the document
    promised: int = 0  # seconds of notice, excluding outages
    duration: int = -1  # seconds; -1 if unknown
    description: str = ""
    reason: str | None = None
    emergency: bool = False
    ignore_blockers: bool = field(default=False, metadata={FORMERLY: "ignore_gates"})
    announced_at: datetime
    announced_by: str | None = None
    phase: Phase = Phase.SCHEDULED
    started_at: datetime | None = None
    ended_at: datetime | None = None
    coupled: tuple[str, ...] = ()  # IDs of Terminates that an approved one awaits
    attempt: int = 0  # number of driver calls
    tries: int = 0  # driver calls since the last manual retry
    done: tuple[str, ...] = ()  # VMs reported done
    left: tuple[str, ...] = ()  # VMs that left the fleet, or the host before the start
    stuck_since: datetime | None = None
    removes: bool = False  # VMs leave the fleet when it completes
    deallocates: bool = False  # VMs are deallocated when it completes
    completed_by: str | None = None  # who marked the work as done
    events: tuple[Event, ...]

    @property
    def label(self) -> str:
        """The short ID, which people and the API use."""
        return label_of(self.number) if self.number else self.id

    @property
    def live_events(self) -> tuple[Event, ...]:
        """The events that have not been withdrawn."""
        return tuple(event for event in self.events if event.withdrawn_at is None)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that see this maintenance, without duplicates."""
        return tuple(dict.fromkeys(event.group for event in self.live_events))

    @property
    def unapproved(self) -> tuple[Event, ...]:
        """The live events that have not been approved."""
        return tuple(event for event in self.live_events if event.approved_at is None)

    @property
    def is_approved(self) -> bool:
        """Return whether all live events have been approved."""
        return not self.unapproved

    @property
    def to_do(self) -> tuple[str, ...]:
        """The VMs not yet reported as done; always empty for a host failure."""
        if self.completed_by is not None or self.cause is Cause.HOST_FAILURE:
            return ()
        over = {*self.done, *self.left}
        return tuple(vm for vm in self.vms if vm not in over)

    def event(self, event_id: str) -> Event:
        """Return the event `event_id`."""
        for event in self.events:
            if event.id == event_id:
                return event
        raise NotFound(f"maintenance {self.id} has no event {event_id}")


def groups_of(maintenances: Iterable[Maintenance]) -> frozenset[str]:
    """Return the groups that see any of `maintenances`."""
    return frozenset(
        group for maintenance in maintenances for group in maintenance.groups
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The part of the state that a command may read and change.

    It contains some groups, all of their SCHEDULED and STARTED maintenance operations
    in order of announcement, and the VMs and hosts that the command needs.
    """

    hosts: Mapping[str, Host] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    vms: Mapping[str, VM] = field(default_factory=dict)
    audiences: Mapping[str, Audience] = field(default_factory=dict)
    maintenances: Mapping[str, Maintenance] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()  # all outages that overlap anything in this slice

    def maintenance(self, maintenance_id: str) -> Maintenance:
        """Return the maintenance `maintenance_id`."""
        maintenance = self.maintenances.get(maintenance_id)
        if maintenance is None:
            raise NotFound(f"maintenance {maintenance_id} not found")
        return maintenance

    def with_maintenance(self, maintenance: Maintenance) -> "Slice":
        """Return a copy with `maintenance` replaced, or appended if it is new."""
        changed = {**self.maintenances, maintenance.id: maintenance}
        return replace(self, maintenances=changed)

    def live_in(self, group: str) -> tuple[Maintenance, ...]:
        """Return the live maintenance operations that `group` sees."""
        return tuple(
            maintenance
            for maintenance in self.maintenances.values()
            if maintenance.phase.is_live and group in maintenance.groups
        )
