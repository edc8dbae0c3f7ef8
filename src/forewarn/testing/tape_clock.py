"""Clock of a replay."""

import time
from datetime import datetime, timedelta

from forewarn.clocks import END, SystemClock
from forewarn.ports import Bell
from forewarn.testing.reel import Reel

_LONGEST_WAIT = 1.0  # seconds; a recording has no deadlines


class TapeClock:
    """The system clock until the replay starts, then the recording's time."""

    def __init__(self, reel: Reel) -> None:
        """Follow the schedule in `reel`."""
        self.name = f"x{reel.speed:g}"
        self.rate = reel.speed
        self._reel = reel
        self._turn: tuple[datetime, float] | None = None  # None before the first turn

    def begin(self) -> datetime:
        """Start a turn and return its start time, in whole seconds."""
        now = self.now()
        start = now.replace(microsecond=0)
        if start < now:  # a clock never goes back
            start += timedelta(seconds=1)
        self._turn = start, time.monotonic()
        return start

    def now(self) -> datetime:
        """Return the recording's position, counted from the start of this turn."""
        if self._turn is None:
            return SystemClock().now()
        start = self._turn[0]
        longest = (END - start).total_seconds()
        position = min(self._reel.position(self.elapsed()), longest)
        return start + timedelta(seconds=position)

    def elapsed(self) -> float:
        """Return how many real seconds this turn has lasted."""
        return 0.0 if self._turn is None else time.monotonic() - self._turn[1]

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell`, for a limited time."""
        del until
        bell.wait(_LONGEST_WAIT)
