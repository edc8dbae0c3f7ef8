"""The observer of a lint run, which records the documents the program receives."""

import json
import time
from datetime import datetime, timedelta

from forewarn.ports import Clock
from forewarn.protocol.codec import plain_event
from forewarn.protocol.types import EventSource, EventStatus, ScheduledEvent
from forewarn.protocol.versions import VERSIONS, ApiVersion
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.faults.observer import RequestRecord, request_record
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response
from forewarn.testing.lint.evidence import ShownDocument, is_for_events
from forewarn.testing.rehearsal.observer import RehearsalObserver
from forewarn.testing.rehearsal.rehearsal import Rehearsal

#: The ID of the only event in the future document.
FUTURE_EVENT = "00000000-0000-4000-8000-000000000000"
_FUTURE_TYPE = "Hibernate"

_FUTURE_FIELDS = {"EventScope": {"Zone": 1}, "Impacts": ["Network"], "Parent": None}
_OK = b"HTTP/1.1 200 OK"


class LintObserver(RehearsalObserver):
    """Records the documents that a program receives.

    The metadata loop records requests. Another thread reads the attributes and is
    notified after each change.
    """

    def __init__(self, vm: str) -> None:
        """Create an observer of the program that runs in `vm`."""
        super().__init__()
        self._vm = vm
        self.shown: list[ShownDocument] = []
        self.forwarded = 0
        self.future_since: datetime | None = None  # None: serve real documents

    # --- observing requests --------------------------------------------------

    def opened(self, clock: Clock, directory: Directory) -> None:
        """Read the documents in `directory` from now on."""
        super().opened(clock, directory)
        self._directory = directory

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Respond with a future version's document during its part of the course.

        The document's event can still be approved afterward, because preparation may
        take a long time.
        """
        request.wait = None  # Azure is not known to support long polls
        self.forwarded += request.is_forwarded
        record = request_record(request, body, _OK, self._vm, time.monotonic())
        version = VERSIONS.get(record.version)
        if (
            request.has_metadata_header
            and version is not None
            and is_for_events(record)
        ):
            if FUTURE_EVENT in record.events:
                super().finished(record)
                return Response(200)
            if record.method == "GET" and self.future_since is not None:
                return self._future_response(record, version, self.future_since)
        return super().intercept(request, body)

    def finished(self, record: RequestRecord) -> None:
        """Record the document that was sent."""
        is_given = record.status == 200 and record.fault is None
        if is_given and record.method == "GET" and is_for_events(record):
            self._record_document(record)
        super().finished(record)

    # --- recording documents -------------------------------------------------

    def _record_document(self, request: RequestRecord) -> None:
        entry = self._directory.find("", self._vm)
        version = VERSIONS.get(request.version)
        if entry is None or version is None:
            return
        document = entry.cached.document
        events = [event for event in document.events if event.type in version.types]
        self.shown.append(
            ShownDocument(
                at=request.at,
                incarnation=document.incarnation,
                scheduled=_ids(events, EventStatus.SCHEDULED),
                started=_ids(events, EventStatus.STARTED),
            )
        )

    def _future_response(
        self, request: RequestRecord, version: ApiVersion, since: datetime
    ) -> Response:
        entry = self._directory.find("", self._vm)
        last = 0 if entry is None else entry.cached.document.incarnation
        shown = ShownDocument(
            at=request.at, incarnation=last + 1, scheduled=frozenset({FUTURE_EVENT})
        )
        self.shown.append(shown)
        super().finished(request)
        body = _future_document(self._vm, last + 1, version, since)
        return Response(200, body, headers={"ETag": f'"strange.{last + 1}"'})


def _ids(events: list[ScheduledEvent], status: EventStatus) -> frozenset[str]:
    return frozenset(event.id.upper() for event in events if event.status is status)


def _future_document(
    vm: str, incarnation: int, version: ApiVersion, now: datetime
) -> bytes:
    """Build a document with the new fields and event type of a fictitious version."""
    event = ScheduledEvent(
        id=FUTURE_EVENT,
        type=_FUTURE_TYPE,
        status=EventStatus.SCHEDULED,
        resources=(vm,),
        not_before=now + timedelta(minutes=15),
        source=EventSource.PLATFORM,
    )
    plain = {**plain_event(event, version, version.date_form), **_FUTURE_FIELDS}
    document = {"DocumentIncarnation": incarnation, "Events": [plain], "Next": None}
    return json.dumps(document, separators=(",", ":")).encode()


class LintRehearsal(Rehearsal):
    """A rehearsal that also records the documents that the program receives."""

    observer: LintObserver

    def _make_observer(self) -> LintObserver:
        return LintObserver(self.vm)
