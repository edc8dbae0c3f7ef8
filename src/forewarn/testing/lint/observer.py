"""Request observer of a lint, which can also serve a document of a future version."""

import json
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from forewarn.protocol.codec import plain_event
from forewarn.protocol.types import EventSource, EventStatus, ScheduledEvent
from forewarn.protocol.versions import VERSIONS, ApiVersion
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.faults.model import FaultKind
from forewarn.server.metadata.faults.observer import RequestRecord, request_record
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response
from forewarn.testing.lint.evidence import ShownDocument, is_events
from forewarn.testing.rehearsal.observer import RehearsalObserver
from forewarn.testing.rehearsal.program import Program
from forewarn.testing.rehearsal.rehearsal import Rehearsal

#: Id of the only event in that document.
STRANGE_EVENT = "00000000-0000-4000-8000-000000000000"
STRANGE_TYPE = "Hibernate"

_STRANGE_FIELDS = {"EventScope": {"Zone": 1}, "Impacts": ["Network"], "Parent": None}
_OK = b"HTTP/1.1 200 OK"


class LintObserver:
    """Observes each request before and after its response.

    All methods run in the metadata loop. Another thread reads the attributes;
    `watching` wakes it after each change.
    """

    def __init__(
        self, watching: RehearsalObserver, directory: Directory, vm: str
    ) -> None:
        """Observe the program of `vm`; pass everything on to `watching`."""
        self._watching = watching
        self._directory = directory
        self._vm = vm
        self.shown: list[ShownDocument] = []
        self.forwarded = 0
        self.strange_since: datetime | None = None  # None: serve real documents

    # --- observing requests --------------------------------------------------

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Respond with the future document while it is active."""
        request.wait = None  # Azure is not known to support long polls
        self.forwarded += request.is_forwarded
        if self.strange_since is not None and request.has_metadata_header:
            since = time.monotonic()
            came = request_record(request, body, _OK, self._vm, since)
            version = VERSIONS.get(came.version)
            if version is not None and is_events(came):
                return self._strange(came, version, self.strange_since)
        return self._watching.intercept(request, body)

    def started(self, vm: str | None, at: float) -> None:
        """Pass an arrival on."""
        self._watching.started(vm, at)

    def finished(self, record: RequestRecord) -> None:
        """Record which document was sent."""
        is_given = record.status == 200 and record.fault is None
        if is_given and record.method == "GET" and is_events(record):
            self._show(record)
        self._watching.finished(record)

    # --- recording documents -------------------------------------------------

    def _show(self, asked: RequestRecord) -> None:
        entry, version = self._directory.find("", self._vm), VERSIONS.get(asked.version)
        if entry is None or version is None:
            return
        document = entry.cached.document
        events = [event for event in document.events if event.type in version.types]
        self.shown.append(
            ShownDocument(
                at=asked.at,
                incarnation=document.incarnation,
                scheduled=_ids(events, EventStatus.SCHEDULED),
                started=_ids(events, EventStatus.STARTED),
            )
        )

    def _strange(
        self, asked: RequestRecord, version: ApiVersion, since: datetime
    ) -> Response | None:
        if asked.method == "POST":
            is_meant = STRANGE_EVENT in asked.events
            if is_meant:
                self._watching.finished(asked)
            return Response(200) if is_meant else None
        entry = self._directory.find("", self._vm)
        last = 0 if entry is None else entry.cached.document.incarnation
        shown = ShownDocument(
            at=asked.at, incarnation=last + 1, scheduled=frozenset({STRANGE_EVENT})
        )
        self.shown.append(shown)
        self._watching.finished(asked)
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


class ProgramWait:
    """Observes one program and waits for it in real time."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        onlooker: LintObserver,
        program: Program,
        *,
        deadline: float,
        patience: float,
    ) -> None:
        """Wait for `program` until `deadline`, a monotonic time.

        `patience` is how many seconds a poll may take until the program's pace is
        known.
        """
        self._rehearsal = rehearsal
        self._program = program
        self._deadline = deadline
        self.onlooker = onlooker
        self.patience = patience

    # --- requests ------------------------------------------------------------

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """All requests of the program's VM."""
        vm = self._rehearsal.vm
        return [request for request in self._rehearsal.requests if request.vm == vm]

    @property
    def questions(self) -> Sequence[RequestRecord]:
        """Its requests for the document, ordered by arrival."""
        reads = [e for e in self.requests if e.method == "GET" and is_events(e)]
        return sorted(reads, key=lambda request: request.since)

    @property
    def has_read(self) -> bool:
        """Whether it has received a document."""
        return any(map(_is_good, self.questions))

    @property
    def pause(self) -> float | None:
        """Longest time between two polls, in seconds; None after fewer than two."""
        times = [request.since for request in self.questions]
        return max((after - before for before, after in pairwise(times)), default=None)

    @property
    def is_over(self) -> bool:
        """Whether it has ended or the deadline has passed."""
        return not self._program.is_running or time.monotonic() >= self._deadline

    # --- waiting -------------------------------------------------------------

    def shows(self, is_it: Callable[[ShownDocument], bool], *, since: float) -> bool:
        """Wait until it has received a document for which `is_it` is true."""

        def is_shown() -> bool:
            return any(e.at >= since and is_it(e) for e in [*self.onlooker.shown])

        return self.wait(is_shown, self.patience)

    def meets(self, kind: FaultKind, seconds: float, *, since: float) -> bool:
        """Wait until one of its polls is hit by a fault of this kind."""
        return self.wait(
            lambda: any(e.fault == kind and e.at >= since for e in self.questions),
            seconds,
        )

    def recovers(self, seconds: float) -> bool:
        """Wait until a new poll succeeds."""
        since = time.monotonic()
        return self.wait(
            lambda: any(_is_good(e) and e.since >= since for e in self.questions),
            seconds,
        )

    def wait(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until `is_so`, or the program has ended; return whether it is so."""
        left = max(0.0, self._deadline - time.monotonic())
        watching, program = self._rehearsal.watching, self._program
        watching.wait(lambda: is_so() or not program.is_running, min(seconds, left))
        return is_so()


def _is_good(asked: RequestRecord) -> bool:
    return asked.status in (200, 304) and asked.fault is None
