"""Watches a rehearsal: what was asked and answered, marked and committed, and when.

Times are monotonic. Whoever waits is woken by each of them, and looks for himself:
never while he holds the lock, as the metadata loop must not wait for a store.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Condition

from forewarn.server.requests import Request
from forewarn.server.responses import TEXT, Response, error
from forewarn.server.witness import Asked

#: Where programs say what they have done.
MARKS = "/rehearsal/marks"

_LONGEST_MARK = 200
_LONGEST_WAIT = 3600.0  # seconds, after which he looks again: some are too many


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that the program, or the test, has done."""

    name: str
    at: float


class Watching:
    """All that a rehearsal has seen."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Go by `monotonic`."""
        self._monotonic = monotonic
        self._changed = Condition()
        self._changes = 0
        self._asked: list[Asked] = []
        self._came: list[tuple[str | None, float]] = []
        self._marks: list[Mark] = []
        self._commits: list[tuple[int, float]] = []
        self._times: list[tuple[float, datetime]] = []
        #: The service's clock, once there is one.
        self.clock: Callable[[], datetime] | None = None

    # --- what is seen --------------------------------------------------------

    def take(self, request: Request, body: bytes) -> Response | None:
        """Take a mark; None: the request is for the VM."""
        if request.path.rstrip("/") != MARKS:
            return None
        if request.method != "POST":
            return error(405, "Method not allowed; POST a mark", Allow="POST")
        name = body.decode(errors="replace").strip()
        if not 0 < len(name) <= _LONGEST_MARK:
            text = f"Bad request. The body is the mark: 1 to {_LONGEST_MARK} characters"
            return error(400, text)
        self.mark(name)
        return Response(200, b"", TEXT)

    def came(self, vm: str | None, at: float) -> None:
        """Take down that `vm` asks."""
        with self._changed:
            self._came.append((vm, at))
            self._ring()

    def answered(self, asked: Asked) -> None:
        """Take down a request."""
        with self._changed:
            self._asked.append(asked)
            self._ring(asked.at)

    def mark(self, name: str) -> None:
        """Take down that `name` was done."""
        with self._changed:
            at = self._monotonic()
            self._marks.append(Mark(name=name, at=at))
            self._ring(at)

    def committed(self, position: int) -> None:
        """Take down that the journal goes to `position`, before VMs can see it."""
        with self._changed:
            at = self._monotonic()
            self._commits.append((position, at))
            self._note(at)

    def ring(self) -> None:
        """Let those who wait look again."""
        with self._changed:
            self._ring()

    def _ring(self, at: float | None = None) -> None:
        self._changes += 1
        self._changed.notify_all()
        if at is not None:
            self._note(at)

    def _note(self, at: float) -> None:
        """Take down what the service's clock shows, if it was moved."""
        if self.clock is None:
            return
        time = self.clock()
        if not self._times or self._times[-1][1] != time:
            self._times.append((at, time))

    # --- what was seen -------------------------------------------------------

    @property
    def asked(self) -> Sequence[Asked]:
        """Every request so far."""
        with self._changed:
            return (*self._asked,)

    def came_at(self, vm: str) -> Sequence[float]:
        """When `vm` asked, whether it was answered yet or not."""
        with self._changed:
            return [at for who, at in self._came if who == vm]

    @property
    def unanswered(self) -> Sequence[tuple[str | None, float]]:
        """Who asked, and when, and has no answer yet: he is held, or has gone."""
        with self._changed:
            answered = {each.since for each in self._asked}
            return [each for each in self._came if each[1] not in answered]

    @property
    def marks(self) -> Sequence[Mark]:
        """Every mark so far."""
        with self._changed:
            return (*self._marks,)

    def committed_at(self, position: int) -> float:
        """When the fact at `position`, which is there to read, was committed."""
        with self._changed:
            known = next((at for to, at in self._commits if to >= position), None)
            if known is not None:
                return known
            at = self._monotonic()  # just now: whoever did it is about to tell
            self._commits.append((position, at))
            return at

    def now(self) -> float:
        """Read the real clock."""
        return self._monotonic()

    def time_at(self, at: float) -> datetime | None:
        """What the service's clock showed then; None: that is not known."""
        with self._changed:
            known = [time for since, time in self._times if since <= at]
        return known[-1] if known else None

    def wait(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until `is_so`, for `seconds` of real time; answer whether it is."""
        deadline = self._monotonic() + seconds
        while True:
            with self._changed:
                known = self._changes
            if is_so():
                return True
            left = min(deadline - self._monotonic(), _LONGEST_WAIT)
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait_for(lambda k=known: self._changes != k, left)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
