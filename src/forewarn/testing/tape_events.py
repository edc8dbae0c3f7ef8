"""Events of a replay: which were shown, and which were approved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from forewarn.errors import UnknownEvent
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval of an event of the recording."""

    at: datetime  # on the replay's clock
    vm: str
    event: ScheduledEvent  # as last shown
    is_in_time: bool  # whether it was Scheduled then


class TapeEvents:
    """All events so far; thread-safe."""

    def __init__(self) -> None:
        """Start without any events."""
        self._lock = Lock()
        self._known: dict[str, ScheduledEvent] = {}
        self._waiting: set[str] = set()
        self._has_waited: dict[str, None] = {}  # in the order of their appearance
        self._approved: set[str] = set()

    def show(self, document: Document) -> None:
        """Record the document that is shown from now on."""
        with self._lock:
            self._waiting = set()
            for event in document.events:
                self._known[event.id.upper()] = event
                if event.status == EventStatus.SCHEDULED:
                    self._waiting.add(event.id.upper())
                    self._has_waited[event.id.upper()] = None

    def approve(
        self, vm: str, event_ids: Sequence[str], at: datetime
    ) -> Sequence[Approval]:
        """Approve events that have been shown: all of them or none."""
        with self._lock:
            for id_ in event_ids:
                if id_ not in self._known:
                    raise UnknownEvent(f"{id_} is not an event of this VM")
            approvals = [
                Approval(
                    at=at,
                    vm=vm,
                    event=self._known[id_],
                    is_in_time=id_ in self._waiting,
                )
                for id_ in event_ids
            ]
            self._approved |= self._waiting.intersection(event_ids)
        return approvals

    @property
    def unapproved(self) -> Sequence[ScheduledEvent]:
        """Events that were Scheduled and not approved in time."""
        with self._lock:
            ids = [id_ for id_ in self._has_waited if id_ not in self._approved]
            return [self._known[id_] for id_ in ids]
