"""Types of the wire protocol: event type, status, source and document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class EventType(StrEnum):
    """What will happen to the VM."""

    #: The VM pauses for a few seconds; memory and open files are kept.
    FREEZE = "Freeze"
    #: The VM restarts; memory is lost.
    REBOOT = "Reboot"
    #: The VM moves to another host; ephemeral disks are lost.
    REDEPLOY = "Redeploy"
    #: A spot VM is evicted.
    PREEMPT = "Preempt"
    #: The VM is deleted.
    TERMINATE = "Terminate"


class EventStatus(StrEnum):
    """The status of an event; the protocol has only these two."""

    #: Announced but not started.
    SCHEDULED = "Scheduled"
    #: In progress.
    STARTED = "Started"


class EventSource(StrEnum):
    """The cause of the event."""

    #: The operator of the hosts.
    PLATFORM = "Platform"
    #: The owner of the VM.
    USER = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledEvent:
    """One event in the document.

    `type`, `status` and `source` are plain strings if the server sent an unknown value.
    `raw` contains everything that was received, including unknown fields.
    """

    id: str
    type: EventType | str
    status: EventStatus | str
    resources: tuple[str, ...]
    not_before: datetime | None = None  # None if blank because the event has started
    description: str = ""
    source: EventSource | str | None = None  # None if the version lacks this field
    duration: int | None = None  # seconds; None if unknown or absent
    paas: frozenset[str] = frozenset()  # resources that are PaaS role instances
    raw: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The response to a GET: all scheduled events and a counter of changes."""

    incarnation: int
    events: tuple[ScheduledEvent, ...] = ()
