"""A maintenance, the events that groups see of it, and the slice the core works on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from forewarn.core.fleet import VM, Audience, Group, Host
from forewarn.core.outages import Outage
from forewarn.errors import NotFound
from forewarn.protocol.types import EventSource, EventType


class Phase(StrEnum):
    """Where a maintenance is in its life; nothing leaves the last three."""

    #: Announced; the notice is running, or a gate is shut.
    SCHEDULED = "SCHEDULED"
    #: The driver may act.
    STARTED = "STARTED"
    #: The work is done and the event gone.
    COMPLETED = "COMPLETED"
    #: Called off before it started.
    CANCELED = "CANCELED"
    #: Started, and given up by the operator.
    FAILED = "FAILED"

    @property
    def is_live(self) -> bool:
        """Whether events of this phase are on the wire."""
        return self in (Phase.SCHEDULED, Phase.STARTED)


class Cause(StrEnum):
    """What led to a maintenance."""

    #: Planned work on the platform.
    PLATFORM = "platform"
    #: Hardware that is predicted to fail.
    DEGRADED = "degraded"
    #: Hardware that has failed.
    HOST_FAILURE = "host-failure"
    #: A user asked for a restart.
    USER_RESTART = "user-restart"
    #: A user asked for a redeploy.
    USER_REDEPLOY = "user-redeploy"
    #: A spot VM is taken back.
    EVICTION = "eviction"
    #: A VM is deleted.
    SCALE_IN = "scale-in"
    #: A VM gets a new image.
    REIMAGE = "reimage"


class Via(StrEnum):
    """By which way an approval came."""

    #: A VM's POST to the metadata endpoint.
    METADATA = "metadata"
    #: The operator's API.
    CONTROL = "control"
    #: The Azure Resource Manager dialect.
    ARM = "arm"
    #: A setting of the group.
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One group's share of a maintenance."""

    id: str
    group: str
    resources: tuple[str, ...]
    paas: tuple[str, ...] = ()  # those of `resources` that are PaaS
    update_domain: int | None = None  # None: its VMs are in none
    approved_by: str | None = None  # a VM's or a token's name
    approved_via: Via | None = None  # None: nobody has approved
    approved_at: datetime | None = None
    withdrawn_at: datetime | None = None  # None: some of its VMs are still there
    silent: bool = False  # whether its group was silent when it was announced


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """One act on the fleet."""

    id: str
    type: EventType
    source: EventSource
    cause: Cause
    host: str | None = None  # None: announced for VMs or a group
    vms: tuple[str, ...]
    not_before: datetime
    at_once: bool = False  # no notice: NotBefore is blank on the wire
    promised: int = 0  # seconds that an outage must not take from the notice
    duration: int = -1  # seconds; -1: unknown
    description: str = ""
    reason: str | None = None
    emergency: bool = False
    ignore_gates: bool = False
    announced_at: datetime
    announced_by: str | None = None
    phase: Phase = Phase.SCHEDULED
    started_at: datetime | None = None
    ended_at: datetime | None = None
    coupled: tuple[str, ...] = ()  # Terminates that an approved one waits for
    attempt: int = 0  # how often the driver was called
    tries: int = 0  # those of them since somebody asked for it
    done: tuple[str, ...] = ()  # VMs whose work is reported done
    left: tuple[str, ...] = ()  # VMs that have left the fleet, or the host in time
    stuck_since: datetime | None = None
    removes: bool = False  # its VMs leave the fleet when it completes
    completed_by: str | None = None  # who said `complete`: work and duration are over
    events: tuple[Event, ...]

    @property
    def live_events(self) -> tuple[Event, ...]:
        """The events that are not withdrawn."""
        return tuple(each for each in self.events if each.withdrawn_at is None)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that see this maintenance, each once."""
        return tuple(dict.fromkeys(event.group for event in self.live_events))

    @property
    def unapproved(self) -> tuple[Event, ...]:
        """The events that somebody may still approve."""
        return tuple(each for each in self.live_events if each.approved_at is None)

    @property
    def is_approved(self) -> bool:
        """Whether nobody is left to approve."""
        return not self.unapproved

    @property
    def to_do(self) -> tuple[str, ...]:
        """The VMs whose work is not reported done; what has failed needs none."""
        if self.completed_by is not None or self.cause is Cause.HOST_FAILURE:
            return ()
        over = {*self.done, *self.left}
        return tuple(vm for vm in self.vms if vm not in over)

    def event(self, event_id: str) -> Event:
        """Find the event `event_id`."""
        for event in self.events:
            if event.id == event_id:
                return event
        raise NotFound(f"maintenance {self.id} has no event {event_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What a command may look at and change.

    Holds some groups with all their SCHEDULED and STARTED maintenances, in the
    order of announcement, and of the VMs and hosts what the command needs.
    """

    hosts: Mapping[str, Host] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    vms: Mapping[str, VM] = field(default_factory=dict)
    audiences: Mapping[str, Audience] = field(default_factory=dict)
    maintenances: Mapping[str, Maintenance] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()  # as far back as anything in here reaches

    def maintenance(self, maintenance_id: str) -> Maintenance:
        """Find the maintenance `maintenance_id`."""
        found = self.maintenances.get(maintenance_id)
        if found is None:
            raise NotFound(f"there is no maintenance {maintenance_id}")
        return found

    def with_maintenance(self, maintenance: Maintenance) -> "Slice":
        """Put `maintenance` in the place of its earlier self, or last."""
        changed = {**self.maintenances, maintenance.id: maintenance}
        return replace(self, maintenances=changed)

    def live_in(self, group: str) -> tuple[Maintenance, ...]:
        """The live maintenances that `group` sees."""
        return tuple(
            each
            for each in self.maintenances.values()
            if each.phase.is_live and group in each.groups
        )
