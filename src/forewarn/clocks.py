"""Clocks that show system time, a multiple of real time, or manually set time."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from forewarn.errors import CannotStart, InvalidInput
from forewarn.ports import Bell, Clock

#: The latest time of any clock; ten years of notice and duration still fit after it.
END = datetime(9979, 1, 1, tzinfo=UTC)

_LONGEST_WAIT = 60.0  # seconds; the system clock may be set in the meantime
_MANUAL_WAIT = 10.0  # seconds of real time; keeps the heartbeat going
_FAST = re.compile(r"x([0-9]{1,6}(?:\.[0-9]{1,3})?)")


class SystemClock:
    """The machine's own time."""

    name = "system"
    rate = 1.0

    def now(self) -> datetime:
        """Return the machine's time, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # this is the clock

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for `bell` or `until`, but at most one minute of real time."""
        seconds = _LONGEST_WAIT
        if until is not None:
            seconds = min(seconds, (until - self.now()).total_seconds() / self.rate)
        if seconds > 0:
            bell.wait(seconds)


class FastClock(SystemClock):
    """A clock that runs `rate` times as fast as real time."""

    def __init__(self, rate: float, start: datetime) -> None:
        """Create a clock that reads `start` now."""
        self.name = f"x{rate:g}"
        self.rate = rate
        self._start = start
        self._longest = (END - start).total_seconds()
        self._origin = time.monotonic()

    def now(self) -> datetime:
        """Return `start` plus `rate` times the real time elapsed since then."""
        elapsed = (time.monotonic() - self._origin) * self.rate
        return self._start + timedelta(seconds=min(elapsed, self._longest))


class ManualClock:
    """A clock that is paused until it is advanced."""

    name = "manual"
    rate = 1.0

    def __init__(self, start: datetime) -> None:
        """Create a clock that reads `start`."""
        self.start = start
        self._now = start

    def now(self) -> datetime:
        """Return the time to which the clock was last moved."""
        return self._now

    def move_to(self, moment: datetime) -> None:
        """Move the clock forward to `moment`."""
        if moment < self._now:
            raise InvalidInput("a clock cannot be set back")
        self._now = moment

    @contextmanager
    def moved_to(self, moment: datetime) -> Iterator[None]:
        """Move the clock to `moment` and back again if the block raises an error."""
        before = self._now
        self.move_to(moment)
        try:
            yield
        except BaseException:
            self._now = before
            raise

    def leap_to(self, moment: datetime) -> None:
        """Move the clock to `moment` as if the service had been down until then."""
        self.move_to(moment)
        self.start = moment

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait up to ten real seconds for `bell`, unless `until` has passed."""
        if until is None or until > self._now:
            bell.wait(_MANUAL_WAIT)


def make_clock(text: str, *, kept: datetime | None, last: datetime | None) -> Clock:
    """Create the clock named by `text`.

    A manual clock continues at `kept`. Neither a manual nor a fast clock starts before
    `last`, the latest time in the store.
    """
    now = SystemClock().now()
    start = (kept or now.replace(microsecond=0)) if text == "manual" else now
    start = max(start, last or start)
    if start >= END:
        raise CannotStart(
            f"the clock would start at {start.isoformat()}, but the latest supported"
            f" year is {END.year - 1}; set the system clock, or choose another store"
            " with --store"
        )
    if text == "system":
        return SystemClock()
    return ManualClock(start) if text == "manual" else FastClock(rate_of(text), start)


def rate_of(text: str) -> float:
    """Return the speed of the clock named by `text`, relative to real time."""
    if text in ("system", "manual"):
        return 1.0
    match = _FAST.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise InvalidInput(
            f"unknown clock {text!r}; expected system, manual, or a rate such as x60"
        )
    return float(match[1])
