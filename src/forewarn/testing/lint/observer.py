"""The observer of a lint run, which records the documents the program receives."""

import json
import time
from collections.abc import Sequence
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
        self._is_approved = False  # whether the future document's event is approved

    # --- observing requests --------------------------------------------------

    def opened(self, clock: Clock, directory: Directory) -> None:
        """Read the documents in `directory` from now on."""
        super().opened(clock, directory)
        self._directory = directory

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Respond with a future version's document during its part of the course.

        The document's event starts when it is approved. It can still be approved
        afterward, because preparation may take a long time.
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
                self._is_approved = True
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
        self.shown.append(_shown(request.at, document.incarnation, events))

    def _future_response(
        self, request: RequestRecord, version: ApiVersion, since: datetime
    ) -> Response:
        entry = self._directory.find("", self._vm)
        last = 0 if entry is None else entry.cached.document.incarnation
        incarnation = last + (2 if self._is_approved else 1)
        event = _future_event(self._vm, since, is_started=self._is_approved)
        self.shown.append(_shown(request.at, incarnation, [event]))
        super().finished(request)
        body = _future_document(event, incarnation, version)
        return Response(200, body, headers={"ETag": f'"strange.{incarnation}"'})


def _shown(
    at: float, incarnation: int, events: Sequence[ScheduledEvent]
) -> ShownDocument:
    return ShownDocument(
        at=at,
        incarnation=incarnation,
        scheduled=_ids(events, EventStatus.SCHEDULED),
        started=_ids(events, EventStatus.STARTED),
    )


def _ids(events: Sequence[ScheduledEvent], status: EventStatus) -> frozenset[str]:
    return frozenset(event.id.upper() for event in events if event.status is status)


def _future_event(vm: str, now: datetime, *, is_started: bool) -> ScheduledEvent:
    return ScheduledEvent(
        id=FUTURE_EVENT,
        type=_FUTURE_TYPE,
        status=EventStatus.STARTED if is_started else EventStatus.SCHEDULED,
        resources=(vm,),
        not_before=None if is_started else now + timedelta(minutes=15),
        source=EventSource.PLATFORM,
    )


def _future_document(
    event: ScheduledEvent, incarnation: int, version: ApiVersion
) -> bytes:
    """Build a document with the new fields and event type of a fictitious version."""
    plain = {**plain_event(event, version, version.date_form), **_FUTURE_FIELDS}
    document = {"DocumentIncarnation": incarnation, "Events": [plain], "Next": None}
    return json.dumps(document, separators=(",", ":")).encode()


class LintRehearsal(Rehearsal):
    """A rehearsal that also records the documents that the program receives."""

    observer: LintObserver

    def _make_observer(self) -> LintObserver:
        return LintObserver(self.vm)
