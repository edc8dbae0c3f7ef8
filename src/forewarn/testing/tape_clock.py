"""What time it is for a service that plays a tape."""

import time
from datetime import datetime, timedelta

from forewarn.clocks import END, SystemClock
from forewarn.ports import Bell
from forewarn.testing.reel import Reel

_LONGEST_WAIT = 1.0  # seconds; a tape has no deadlines


class TapeClock:
    """The system's clock until the tape begins, and then the tape's."""

    def __init__(self, reel: Reel) -> None:
        """Go as `reel` goes."""
        self.name = f"x{reel.speed:g}"
        self.rate = reel.speed
        self._reel = reel
        self._turn: tuple[datetime, float] | None = None  # None: has not begun

    def begin(self) -> datetime:
        """Begin a turn of the tape; answer when that is, in whole seconds."""
        now = self.now()
        start = now.replace(microsecond=0)
        if start < now:  # a clock is never set back
            start += timedelta(seconds=1)
        self._turn = start, time.monotonic()
        return start

    def now(self) -> datetime:
        """Where the tape is, counted from the beginning of this turn."""
        if self._turn is None:
            return SystemClock().now()
        start = self._turn[0]
        longest = (END - start).total_seconds()
        position = min(self._reel.position(self.elapsed()), longest)
        return start + timedelta(seconds=position)

    def elapsed(self) -> float:
        """How many real seconds this turn has lasted."""
        return 0.0 if self._turn is None else time.monotonic() - self._turn[1]

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell`, for a while."""
        del until
        bell.wait(_LONGEST_WAIT)
