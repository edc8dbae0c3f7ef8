"""Which events of a tape were shown, and which of them were approved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from forewarn.errors import UnknownEvent
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Somebody has approved an event of the tape."""

    at: datetime  # by the tape's clock
    vm: str
    event: ScheduledEvent  # as it was last shown
    is_in_time: bool  # it was waiting for that


class TapeEvents:
    """All events so far; safe from any thread."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = Lock()
        self._known: dict[str, ScheduledEvent] = {}
        self._waiting: set[str] = set()
        self._has_waited: dict[str, None] = {}  # in the order of their coming
        self._approved: set[str] = set()

    def show(self, document: Document) -> None:
        """Take in what is shown from now on."""
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
        """Approve events that were shown, all or none of them."""
        with self._lock:
            for each in event_ids:
                if each not in self._known:
                    raise UnknownEvent(f"{each} is not an event of this VM")
            made = [
                Approval(
                    at=at,
                    vm=vm,
                    event=self._known[each],
                    is_in_time=each in self._waiting,
                )
                for each in event_ids
            ]
            self._approved |= self._waiting.intersection(event_ids)
        return made

    @property
    def unapproved(self) -> Sequence[ScheduledEvent]:
        """Those that have waited for approval, and did not get it in time."""
        with self._lock:
            ids = [each for each in self._has_waited if each not in self._approved]
            return [self._known[each] for each in ids]
