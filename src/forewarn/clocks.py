"""The clocks: the system's, one that runs N times as fast, and one moved by hand."""

import re
import time
from datetime import UTC, datetime, timedelta

from forewarn.errors import CannotStart, InvalidInput
from forewarn.ports import Bell, Clock

#: Where time ends: notices and durations of ten years must still fit behind it.
END = datetime(9979, 1, 1, tzinfo=UTC)

_LONGEST_WAIT = 60.0  # seconds; the wall clock may be set while we sleep
_MANUAL_WAIT = 10.0  # seconds of real time: a manual clock still has a heartbeat
_FAST = re.compile(r"x([0-9]{1,6}(?:\.[0-9]{1,3})?)")


class SystemClock:
    """The time of the machine."""

    name = "system"
    rate = 1.0

    def now(self) -> datetime:
        """The time of the machine, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # this is the clock

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell` or for `until`, a minute at most."""
        _wait(bell, until, self.now(), self.rate)


class FastClock:
    """A clock that runs `rate` times as fast as real time."""

    def __init__(self, rate: float, start: datetime) -> None:
        """Begin to run at `start`."""
        self.name = f"x{rate:g}"
        self.rate = rate
        self._start = start
        self._longest = (END - start).total_seconds()
        self._origin = time.monotonic()

    def now(self) -> datetime:
        """The start and what has passed since, `rate` times over."""
        elapsed = (time.monotonic() - self._origin) * self.rate
        return self._start + timedelta(seconds=min(elapsed, self._longest))

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell` or for `until`, a minute of real time at most."""
        _wait(bell, until, self.now(), self.rate)


class ManualClock:
    """A clock that stands still until it is moved."""

    name = "manual"
    rate = 1.0

    def __init__(self, start: datetime) -> None:
        """Stand at `start`."""
        self.start = start
        self._now = start

    def now(self) -> datetime:
        """Where the clock stands."""
        return self._now

    def move_to(self, moment: datetime) -> None:
        """Stand at `moment`, which is not earlier than now."""
        if moment < self._now:
            raise InvalidInput("a clock is never set back")
        self._now = moment

    def leap_to(self, moment: datetime) -> None:
        """Stand at `moment`, as if nobody had been there until then."""
        self.move_to(moment)
        self.start = moment

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell`; moving this clock is the business of whoever moves it."""
        if until is None or until > self._now:
            bell.wait(_MANUAL_WAIT)


def _wait(bell: Bell, until: datetime | None, now: datetime, rate: float) -> None:
    seconds = _LONGEST_WAIT
    if until is not None:
        seconds = min(seconds, (until - now).total_seconds() / rate)
    if seconds > 0:
        bell.wait(seconds)


def make_clock(text: str, *, kept: datetime | None, last: datetime | None) -> Clock:
    """Make the clock that `text` names.

    A manual clock goes on where it was `kept`; neither that nor a fast one begins
    before `last`, the latest time in the store.
    """
    now = SystemClock().now()
    start = (kept or now.replace(microsecond=0)) if text == "manual" else now
    start = max(start, last or start)
    if start >= END:
        raise CannotStart(
            f"the clock would begin at {start.isoformat()}, and time ends with the year"
            f" {END.year - 1}: set the system's clock, or choose another store with"
            " --store"
        )
    if text == "system":
        return SystemClock()
    return ManualClock(start) if text == "manual" else FastClock(rate_of(text), start)


def rate_of(text: str) -> float:
    """Say how fast the clock runs that `text` names."""
    if text in ("system", "manual"):
        return 1.0
    match = _FAST.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise InvalidInput(
            f"no clock is called {text!r}; there are system, manual, x60"
        )
    return float(match[1])
