"""The words of the wire: event types, statuses, sources, and the document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class EventType(StrEnum):
    """What is going to happen to the machine."""

    #: Paused for seconds; memory and open files are kept.
    FREEZE = "Freeze"
    #: Restarted; memory is lost.
    REBOOT = "Reboot"
    #: Moved to another host; ephemeral disks are lost.
    REDEPLOY = "Redeploy"
    #: A spot machine is taken away.
    PREEMPT = "Preempt"
    #: The machine is deleted.
    TERMINATE = "Terminate"


class EventStatus(StrEnum):
    """How far the event is; the wire knows only these two."""

    #: Announced, not yet under way.
    SCHEDULED = "Scheduled"
    #: Under way.
    STARTED = "Started"


class EventSource(StrEnum):
    """Who caused the event."""

    #: Whoever runs the hosts.
    PLATFORM = "Platform"
    #: Whoever owns the machine.
    USER = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledEvent:
    """One entry of the document.

    `type`, `status` and `source` are plain text where a server sends a word that
    is not known here; `raw` keeps all that was received, also unknown fields.
    """

    id: str
    type: EventType | str
    status: EventStatus | str
    resources: tuple[str, ...]
    not_before: datetime | None = None  # None: blank, the event has started
    description: str = ""
    source: EventSource | str | None = None  # None: the version does not tell
    duration: int | None = None  # seconds; None: unknown or not told
    paas: frozenset[str] = frozenset()  # resources that are PaaS role instances
    raw: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a GET answers: everything that is coming, and a counter of changes."""

    incarnation: int
    events: tuple[ScheduledEvent, ...] = ()
