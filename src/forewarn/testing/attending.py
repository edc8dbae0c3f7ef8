"""Observation of one program: what it requested, and waiting for what it does."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from forewarn.server.faults import FaultKind
from forewarn.server.witness import Asked
from forewarn.testing.evidence import Shown, is_events
from forewarn.testing.onlooker import Onlooker
from forewarn.testing.programs import Program
from forewarn.testing.rehearsal import Rehearsal


class Attending:
    """Observes one program and waits for it in real time."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        onlooker: Onlooker,
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
    def requests(self) -> Sequence[Asked]:
        """All requests of the program's VM."""
        vm = self._rehearsal.vm
        return [request for request in self._rehearsal.requests if request.vm == vm]

    @property
    def questions(self) -> Sequence[Asked]:
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

    def shows(self, is_it: Callable[[Shown], bool], *, since: float) -> bool:
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


def _is_good(asked: Asked) -> bool:
    return asked.status in (200, 304) and asked.fault is None
