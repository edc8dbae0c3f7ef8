"""When the driver is called again by itself, after it has failed.

On real time, and in memory alone: which maintenances are to be tried again is known
from the state; after a restart they wait anew.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from forewarn.core.maintenance import Maintenance

_LONGEST = 300.0  # seconds
_DOUBLINGS = 64  # more lead beyond `_LONGEST` from any first wait that matters


class Retries:
    """Knows which stuck maintenances wait for their next attempt, and how long."""

    def __init__(
        self, first: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Wait `first` seconds after the first failure, and then twice as long."""
        self._first = first
        self._monotonic = monotonic
        self._at: dict[str, float] = {}

    def keep(self, waiting: Iterable[Maintenance]) -> None:
        """Let all of `waiting` wait, and nobody else."""
        now = self._monotonic()
        self._at = {
            each.id: self._at.get(each.id, now + self.pause(each.tries))
            for each in waiting
        }

    def take_due(self) -> Sequence[str]:
        """Name those whose time has come; they wait no longer."""
        now = self._monotonic()
        due = [each for each, at in self._at.items() if at <= now]
        for each in due:
            del self._at[each]
        return due

    def seconds_left(self) -> float | None:
        """How long until the next is due; None: nobody waits."""
        if not self._at:
            return None
        return max(min(self._at.values()) - self._monotonic(), 0.0)

    def pause(self, tries: int) -> float:
        """How many seconds to wait after so many tries."""
        doubled = 2.0 ** min(max(tries - 1, 0), _DOUBLINGS)
        return min(self._first * doubled, _LONGEST)
