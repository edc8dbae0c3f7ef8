"""Request observer of a lint, which can also serve a document of a future version."""

import json
import time
from datetime import datetime, timedelta

from forewarn.protocol.codec import plain_event
from forewarn.protocol.types import EventSource, EventStatus, ScheduledEvent
from forewarn.protocol.versions import VERSIONS, ApiVersion
from forewarn.server.identity import Directory
from forewarn.server.requests import Request
from forewarn.server.responses import Response
from forewarn.server.witness import Asked, asked
from forewarn.testing.evidence import Shown, is_events
from forewarn.testing.watching import Watching

#: Id of the only event in that document.
STRANGE_EVENT = "00000000-0000-4000-8000-000000000000"
STRANGE_TYPE = "Hibernate"

_STRANGE_FIELDS = {"EventScope": {"Zone": 1}, "Impacts": ["Network"], "Parent": None}
_OK = b"HTTP/1.1 200 OK"


class Onlooker:
    """Observes each request before and after its response.

    All methods run in the metadata loop. Another thread reads the attributes;
    `watching` wakes it after each change.
    """

    def __init__(self, watching: Watching, directory: Directory, vm: str) -> None:
        """Observe the program of `vm`; pass everything on to `watching`."""
        self._watching = watching
        self._directory = directory
        self._vm = vm
        self.shown: list[Shown] = []
        self.forwarded = 0
        self.strange_since: datetime | None = None  # None: serve real documents

    # --- observing requests --------------------------------------------------

    def take(self, request: Request, body: bytes) -> Response | None:
        """Respond with the future document while it is active."""
        request.wait = None  # Azure is not known to support long polls
        self.forwarded += request.is_forwarded
        if self.strange_since is not None and request.is_marked:
            since = time.monotonic()
            came = asked(request, body, _OK, self._vm, since)
            version = VERSIONS.get(came.version)
            if version is not None and is_events(came):
                return self._strange(came, version, self.strange_since)
        return self._watching.take(request, body)

    def came(self, vm: str | None, at: float) -> None:
        """Pass an arrival on."""
        self._watching.came(vm, at)

    def answered(self, asked: Asked) -> None:
        """Record which document was sent."""
        is_given = asked.status == 200 and asked.fault is None
        if is_given and asked.method == "GET" and is_events(asked):
            self._show(asked)
        self._watching.answered(asked)

    # --- recording documents -------------------------------------------------

    def _show(self, asked: Asked) -> None:
        seat, version = self._directory.seat("", self._vm), VERSIONS.get(asked.version)
        if seat is None or version is None:
            return
        document = seat.shelf.document
        events = [event for event in document.events if event.type in version.types]
        self.shown.append(
            Shown(
                at=asked.at,
                incarnation=document.incarnation,
                scheduled=_ids(events, EventStatus.SCHEDULED),
                started=_ids(events, EventStatus.STARTED),
            )
        )

    def _strange(
        self, asked: Asked, version: ApiVersion, since: datetime
    ) -> Response | None:
        if asked.method == "POST":
            is_meant = STRANGE_EVENT in asked.events
            if is_meant:
                self._watching.answered(asked)
            return Response(200) if is_meant else None
        seat = self._directory.seat("", self._vm)
        last = 0 if seat is None else seat.shelf.document.incarnation
        shown = Shown(
            at=asked.at, incarnation=last + 1, scheduled=frozenset({STRANGE_EVENT})
        )
        self.shown.append(shown)
        self._watching.answered(asked)
        body = _strange_document(self._vm, last + 1, version, since)
        return Response(200, body, headers={"ETag": f'"strange.{last + 1}"'})


def _ids(events: list[ScheduledEvent], status: EventStatus) -> frozenset[str]:
    return frozenset(event.id.upper() for event in events if event.status is status)


def _strange_document(
    vm: str, incarnation: int, version: ApiVersion, now: datetime
) -> bytes:
    """Build a document as a future version might: more fields, a new event type."""
    event = ScheduledEvent(
        id=STRANGE_EVENT,
        type=STRANGE_TYPE,
        status=EventStatus.SCHEDULED,
        resources=(vm,),
        not_before=now + timedelta(minutes=15),
        source=EventSource.PLATFORM,
    )
    plain = {**plain_event(event, version, version.date_form), **_STRANGE_FIELDS}
    document = {"DocumentIncarnation": incarnation, "Events": [plain], "Next": None}
    return json.dumps(document, separators=(",", ":")).encode()
