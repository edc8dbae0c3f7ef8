"""Automatic retries of the driver after a failure.

They run in real time and are kept in memory only. The state shows what to retry; the
pauses start over when the service restarts.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from forewarn.core.maintenance import Maintenance

_LONGEST = 300.0  # seconds
_DOUBLINGS = 64  # beyond `_LONGEST` for any practical first pause


class Retries:
    """The stuck maintenance operations that wait for a retry, with their pauses."""

    def __init__(
        self, first: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Wait `first` seconds after the first failure, then double it each time."""
        self._first = first
        self._monotonic = monotonic
        self._at: dict[str, float] = {}

    def keep(self, waiting: Iterable[Maintenance]) -> None:
        """Schedule a retry for all of `waiting`, and drop all others."""
        now = self._monotonic()
        self._at = {
            maintenance.id: self._at.get(
                maintenance.id, now + self.pause(maintenance.tries)
            )
            for maintenance in waiting
        }

    def take_due(self) -> Sequence[str]:
        """Return the ids whose retry is due, and remove them."""
        now = self._monotonic()
        due = [maintenance_id for maintenance_id, at in self._at.items() if at <= now]
        for maintenance_id in due:
            del self._at[maintenance_id]
        return due

    def seconds_left(self) -> float | None:
        """Return the seconds until the next retry; None if there is none."""
        if not self._at:
            return None
        return max(min(self._at.values()) - self._monotonic(), 0.0)

    def pause(self, tries: int) -> float:
        """Return the seconds to wait after `tries` attempts."""
        doubled = 2.0 ** min(max(tries - 1, 0), _DOUBLINGS)
        return min(self._first * doubled, _LONGEST)
