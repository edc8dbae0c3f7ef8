"""The replay server: a metadata service that repeats recorded responses."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from threading import TIMEOUT_MAX, Event, Thread
from typing import Self

from forewarn.config.load import SettingSources, load
from forewarn.core.fleet import VM
from forewarn.engine.observations import PendingObservations
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.errors import InvalidInput
from forewarn.protocol.types import ScheduledEvent
from forewarn.recordings.file import read_recording
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    Recording,
)
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metadata.handler import MetadataHandler
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, ResponseHead, error
from forewarn.service.sockets import bound_address, connection_limits, listen
from forewarn.testing.replay.projection import (
    ReplayApproval,
    ReplayEvents,
    project,
    vms_of,
)
from forewarn.testing.replay.schedule import ReplayClock, ReplayFrame, schedule_of

_EVENTS = "/metadata/scheduledevents"
#: Failures that are replayed with the recorded status; all others become a 503.
_STATUSES = frozenset({"404", "410", "429", "500"})
_UNAVAILABLE = "503"
_SHORTEST_TURN = 0.01  # seconds; a one-line recording must not loop without a pause


class Replay:
    """A metadata service that replays a recording; use it in a `with` block."""

    def __init__(
        self,
        recording: Recording | Path | str,
        *,
        speed: float = 1.0,
        shown: float = 1.0,
        metadata: str = "127.0.0.1:0",
        vm: str | None = None,
        is_looped: bool = False,
        is_eager: bool = False,
        on_line: Callable[[Line, datetime], None] = lambda line, at: None,
        on_approval: Callable[[ReplayApproval], None] = lambda approval: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a replay at `speed` that treats requests as coming from `vm`.

        The default VM is the VM on which the recording was made. The replay starts with
        the first request, or immediately if `is_eager` is True. Each document is shown
        for at least `shown` real seconds.
        """
        if not isinstance(recording, Recording):
            recording = read_recording(Path(recording))
        self.recording = recording
        self.schedule = schedule_of(self.recording, speed=speed, shown=shown)
        self.vms = vms_of(self.recording, vm)
        self.is_over = Event()
        self.base = ""  # replaced by the actual address when the server opens
        self._first = self._first_document()
        self._config = load(
            SettingSources(flags={"metadata": metadata, "store": "memory"})
        )
        self._is_looped = is_looped
        self._is_eager = is_eager
        self._on_line = on_line
        self._on_approval = on_approval
        self._on_end = on_end
        self._clock = ReplayClock(self.schedule)
        self._notes = PendingObservations()
        self._events = ReplayEvents()
        self._begun = Event()
        self._closing = Event()
        self._turn = 0
        self._shift = timedelta()  # from the recording to the replay
        self._failure: str | None = None  # current failure, if any
        self._cleanup = ExitStack()

    # --- start and stop ------------------------------------------------------

    def open(self) -> None:
        """Start serving."""
        with ExitStack() as cleanup:
            sockets = [listen(address, cleanup) for address in self._config.metadata]
            directory = Directory(is_open=True, default_vm=self.vms[0].name)
            clock, most = self._clock, connection_limits(self._config)
            handler = MetadataHandler(
                directory, self._notes, ResponseHead(clock.now(), clock.name)
            )
            self._plane = InstrumentedPlane(
                sockets, handler, self, clock, most, observer=self
            )
            directory.update(_update(self._project(*self._first), self.vms))
            if self._is_eager:
                self._begin()
            self._plane.start()
            cleanup.callback(self._plane.stop)
            thread = Thread(target=self._play, name="replay", daemon=True)
            thread.start()
            cleanup.callback(thread.join)
            cleanup.callback(self._begun.set)
            cleanup.callback(self._closing.set)
            self.base = f"http://{bound_address(sockets[0])}"
            self._cleanup = cleanup.pop_all()

    def close(self) -> None:
        """Stop serving."""
        self._cleanup.close()

    def __enter__(self) -> Self:
        """Start serving."""
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop serving."""
        self.close()

    def endpoint_of(self, vm: str) -> str:
        """Return the endpoint of `vm`. The first VM's endpoint is `base`."""
        return f"{self.base}/vm/{vm}"

    @property
    def unapproved(self) -> Sequence[ScheduledEvent]:
        """Events that were Scheduled and not approved in time."""
        return self._events.unapproved

    # --- playing -------------------------------------------------------------

    def _play(self) -> None:
        self._begun.wait()
        while not self._closing.is_set():
            for number, frame in enumerate(self.schedule.frames):
                if self._wait_until(frame.starts):
                    return
                self._show(number, frame)
            if self._wait_until(max(self.schedule.ends, _SHORTEST_TURN)):
                return
            self.is_over.set()
            self._on_end()
            if not self._is_looped:
                return
            self._turn += 1
            self._begin_turn()

    def _wait_until(self, elapsed: float) -> bool:
        """Wait until the turn has lasted `elapsed` seconds; return True if closed."""
        seconds = elapsed - self._clock.elapsed()
        return self._closing.wait(min(max(seconds, 0.0), TIMEOUT_MAX))

    def _begin_turn(self) -> None:
        self._shift = self._clock.begin() - self.recording.header.began

    def _show(self, number: int, frame: ReplayFrame) -> None:
        line = frame.line
        if isinstance(line, RecordedFailure):
            self._failure = line.what
        elif isinstance(line, RecordedDocument):
            shown = self._project(number, line)
            self._events.show(shown.document)
            self._plane.apply_update(_update(shown))
        self._on_line(line, self._clock.now())

    def _project(self, number: int, line: RecordedDocument) -> AudienceView:
        return project(
            line, self.recording, number=number, turn=self._turn, by=self._shift
        )

    def _first_document(self) -> tuple[int, RecordedDocument]:
        for number, frame in enumerate(self.schedule.frames):
            if isinstance(frame.line, RecordedDocument):
                return number, frame.line
        raise InvalidInput("the recording has no documents to replay")

    # --- called by the metadata plane ----------------------------------------

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Start the replay on the first request; return the current failure, if any."""
        del body
        if not request.path.rstrip("/").lower().endswith(_EVENTS):
            return None
        if not self._begun.is_set():
            self._begin()
        if self._failure is None:
            return None
        status = self._failure if self._failure in _STATUSES else _UNAVAILABLE
        return error(int(status), f"Recorded failure: {self._failure}")

    def _begin(self) -> None:
        """Start the first turn so that the turn includes the current request."""
        self._begin_turn()
        handler, clock = self._plane.handler, self._clock
        handler.head = ResponseHead(clock.now(), clock.name)
        shown = self._project(*self._first)
        self._events.show(shown.document)
        handler.directory.update(_update(shown))
        self._begun.set()

    def started(self, vm: str | None, at: float) -> None:
        """Ignore the arrival of a request."""

    def finished(self, record: RequestRecord) -> None:
        """Discard a request's observations, because a replay has no journal."""
        del record
        self._notes.take()

    def listen(self, groups: Sequence[str]) -> None:
        """Do nothing, because the replay's group is always enabled."""

    def approve_as_vm(
        self, vm_name: str, event_ids: Sequence[str], *, are_shown: bool = True
    ) -> None:
        """Record an approval, which has no effect on the replay."""
        for approval in self._events.approve(vm_name, event_ids, self._clock.now()):
            self._on_approval(approval)


def _update(shown: AudienceView, placed: Sequence[VM] = ()) -> DocumentUpdate:
    return DocumentUpdate(position=0, shown=[shown], placed=placed)
