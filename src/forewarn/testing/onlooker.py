"""Looks at a program on behalf of a lint, and shows it what no version has yet."""

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

#: The one event of the document that no service would show.
STRANGE_EVENT = "00000000-0000-4000-8000-000000000000"
STRANGE_TYPE = "Hibernate"

_STRANGE_FIELDS = {"EventScope": {"Zone": 1}, "Impacts": ["Network"], "Parent": None}
_OK = b"HTTP/1.1 200 OK"


class Onlooker:
    """Sees each request before and after it is answered.

    All calls but those of properties come from the metadata loop. What is appended
    here is read by another thread, which is woken by `watching` afterwards.
    """

    def __init__(self, watching: Watching, directory: Directory, vm: str) -> None:
        """Look at the program that speaks for `vm`; `watching` takes all down."""
        self._watching = watching
        self._directory = directory
        self._vm = vm
        self.shown: list[Shown] = []
        self.forwarded = 0
        self.strange_since: datetime | None = None  # None: nothing strange is shown

    # --- the witness ---------------------------------------------------------

    def take(self, request: Request, body: bytes) -> Response | None:
        """Answer with the strange document while there is one."""
        request.wait = None  # Azure is not known to hold a question
        self.forwarded += request.is_forwarded
        if self.strange_since is not None and request.is_marked:
            since = time.monotonic()
            came = asked(request, body, _OK, self._vm, since)
            version = VERSIONS.get(came.version)
            if version is not None and is_events(came):
                return self._strange(came, version, self.strange_since)
        return self._watching.take(request, body)

    def came(self, vm: str | None, at: float) -> None:
        """Pass it on."""
        self._watching.came(vm, at)

    def answered(self, asked: Asked) -> None:
        """Take down which document was given."""
        is_given = asked.status == 200 and asked.fault is None
        if is_given and asked.method == "GET" and is_events(asked):
            self._show(asked)
        self._watching.answered(asked)

    # --- what it was shown ---------------------------------------------------

    def _show(self, asked: Asked) -> None:
        seat, version = self._directory.seat("", self._vm), VERSIONS.get(asked.version)
        if seat is None or version is None:
            return
        document = seat.shelf.document
        events = [each for each in document.events if each.type in version.types]
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
    return frozenset(each.id.upper() for each in events if each.status is status)


def _strange_document(
    vm: str, incarnation: int, version: ApiVersion, now: datetime
) -> bytes:
    """Write a document as a later version may have it: more fields, another type."""
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
