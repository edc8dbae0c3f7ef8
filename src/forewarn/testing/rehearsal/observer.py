"""The observer of a rehearsal, which records requests, marks and commits.

Times are on the monotonic clock. Each observation wakes all waiting threads. They check
their conditions without holding the lock, so that the metadata loop never waits for a
store.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Condition

from forewarn.ports import Clock
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import TEXT, Response, error

#: The path to which programs POST marks.
MARKS = "/rehearsal/marks"

_LONGEST_MARK = 200
_LONGEST_WAIT = 3600.0  # seconds; longer waits could overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point in time that the program or the test has named."""

    name: str
    at: float


class RehearsalObserver:
    """All observations of a rehearsal."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Create an empty observer that reads the time from `monotonic`."""
        self._monotonic = monotonic
        self._changed = Condition()
        self._changes = 0
        self._requests: list[RequestRecord] = []
        self._arrivals: list[tuple[str | None, float]] = []
        self._marks: list[Mark] = []
        self._commits: list[tuple[int, float]] = []
        self._times: list[tuple[float, datetime]] = []
        self._clock: Clock | None = None  # None until the service is open
        self._before_requests: list[Callable[[], None]] = []

    # --- recording -----------------------------------------------------------

    def opened(self, clock: Clock, directory: Directory) -> None:
        """Read the service's time from `clock` from now on."""
        del directory
        self._clock = clock

    def before_requests(self, act: Callable[[], None]) -> None:
        """Call `act` before each request from now on, so that it records earlier marks.

        It must return at once.
        """
        self._before_requests.append(act)

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Handle a mark; return None for metadata-plane requests."""
        for act in self._before_requests:
            act()
        if request.path.rstrip("/") != MARKS:
            return None
        if request.method != "POST":
            return error(
                405, "Method not allowed; use POST to make a mark", Allow="POST"
            )
        name = body.decode(errors="replace").strip()
        if not 0 < len(name) <= _LONGEST_MARK:
            text = f"Bad request. A mark has 1 to {_LONGEST_MARK} characters"
            return error(400, text)
        self.mark(name)
        return Response(200, b"", TEXT)

    def started(self, vm: str | None, at: float) -> None:
        """Record the arrival of a request from `vm`."""
        with self._changed:
            self._arrivals.append((vm, at))
            self._wake()

    def finished(self, record: RequestRecord) -> None:
        """Record a finished request."""
        with self._changed:
            self._requests.append(record)
            self._wake(record.at)

    def mark(self, name: str) -> None:
        """Record the mark `name`."""
        with self._changed:
            at = self._monotonic()
            self._marks.append(Mark(name=name, at=at))
            self._wake(at)

    def committed(self, position: int) -> None:
        """Record a commit up to journal `position` before VMs can see the change."""
        with self._changed:
            at = self._monotonic()
            self._commits.append((position, at))
            self._record_time(at)

    def wake(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._wake()

    def _wake(self, at: float | None = None) -> None:
        self._changes += 1
        self._changed.notify_all()
        if at is not None:
            self._record_time(at)

    def _record_time(self, at: float) -> None:
        """Record the service's time if it has changed."""
        if self._clock is None:
            return
        time = self._clock.now()
        if not self._times or self._times[-1][1] != time:
            self._times.append((at, time))

    # --- reading -------------------------------------------------------------

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """All finished requests so far."""
        with self._changed:
            return (*self._requests,)

    @property
    def has_arrivals(self) -> bool:
        """Whether any request has arrived."""
        with self._changed:
            return bool(self._arrivals)

    def arrivals_of(self, vm: str) -> Sequence[float]:
        """Return the arrival times of all requests from `vm`, even unfinished ones."""
        with self._changed:
            return [at for who, at in self._arrivals if who == vm]

    @property
    def unanswered(self) -> Sequence[tuple[str | None, float]]:
        """The VM and arrival time of each request that has received no response."""
        with self._changed:
            answered = {entry.since for entry in self._requests}
            return [entry for entry in self._arrivals if entry[1] not in answered]

    @property
    def marks(self) -> Sequence[Mark]:
        """All marks so far."""
        with self._changed:
            return (*self._marks,)

    def committed_at(self, position: int) -> float:
        """Return when the journal entry at `position` was committed.

        The entry must exist.
        """
        with self._changed:
            known = next((at for to, at in self._commits if to >= position), None)
            if known is not None:
                return known
            at = self._monotonic()  # `committed` is about to be called
            self._commits.append((position, at))
            return at

    def now(self) -> float:
        """Return the real monotonic time."""
        return self._monotonic()

    def time_at(self, at: float) -> datetime | None:
        """Return the service's time at the monotonic time `at`, or None if unknown.

        Before the first observation, this is the time of that observation.
        """
        with self._changed:
            times = [time for since, time in self._times if since <= at]
            first = self._times[0][1] if self._times else None
        return times[-1] if times else first

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait at most `seconds` for `condition`; return whether it holds."""
        deadline = self._monotonic() + seconds
        while True:
            with self._changed:
                seen_changes = self._changes
            if condition():
                return True
            left = min(deadline - self._monotonic(), _LONGEST_WAIT)
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait_for(lambda k=seen_changes: self._changes != k, left)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
