"""Attends to a program: waits for what it does, and knows what it did."""

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
    """Waits for one program, in real time."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        onlooker: Onlooker,
        program: Program,
        *,
        deadline: float,
        patience: float,
    ) -> None:
        """Wait for `program` until `deadline`, which is monotonic.

        `patience` is how long it may take to ask, until that is known better.
        """
        self._rehearsal = rehearsal
        self._program = program
        self._deadline = deadline
        self.onlooker = onlooker
        self.patience = patience

    # --- what it did ---------------------------------------------------------

    @property
    def requests(self) -> Sequence[Asked]:
        """All that it asked."""
        vm = self._rehearsal.vm
        return [each for each in self._rehearsal.requests if each.vm == vm]

    @property
    def questions(self) -> Sequence[Asked]:
        """Its requests for the document, in the order of their coming."""
        asked = [e for e in self.requests if e.method == "GET" and is_events(e)]
        return sorted(asked, key=lambda each: each.since)

    @property
    def has_read(self) -> bool:
        """Whether it was given a document."""
        return any(map(_is_good, self.questions))

    @property
    def pause(self) -> float | None:
        """The longest time between two questions; None: it asked less than twice."""
        times = [each.since for each in self.questions]
        return max((after - before for before, after in pairwise(times)), default=None)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or there is no more time for it."""
        return not self._program.is_running or time.monotonic() >= self._deadline

    # --- what it is waited for -----------------------------------------------

    def shows(self, is_it: Callable[[Shown], bool], *, since: float) -> bool:
        """Wait until it was shown a document that `is_it`."""

        def is_shown() -> bool:
            return any(e.at >= since and is_it(e) for e in [*self.onlooker.shown])

        return self.wait(is_shown, self.patience)

    def meets(self, kind: FaultKind, seconds: float, *, since: float) -> bool:
        """Wait until a question of its meets a fault."""
        return self.wait(
            lambda: any(e.fault == kind and e.at >= since for e in self.questions),
            seconds,
        )

    def recovers(self, seconds: float) -> bool:
        """Wait until it asks again, and is answered."""
        since = time.monotonic()
        return self.wait(
            lambda: any(_is_good(e) and e.since >= since for e in self.questions),
            seconds,
        )

    def wait(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until `is_so`, or it has ended; answer whether it is."""
        left = max(0.0, self._deadline - time.monotonic())
        watching, program = self._rehearsal.watching, self._program
        watching.wait(lambda: is_so() or not program.is_running, min(seconds, left))
        return is_so()


def _is_good(asked: Asked) -> bool:
    return asked.status in (200, 304) and asked.fault is None
