"""What an event does to this VM, measured: restarts, and times in which nothing ran.

No single clock sees everything, so three are compared:

1. A thread that is to run four times a second runs late (`Pulse`): nothing ran
   meanwhile, or the VM was suspended.
2. The service's clock has got ahead of ours (`Ahead`): the VM stood still with all its
   clocks, as it may when a hypervisor pauses it.
3. A file was last touched before a restart (`Alive`): nothing ran until now.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from forewarn.agent.lives import Impact
from forewarn.client.reckoning import Reckoning

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
EVERY = 0.25  # seconds between two ticks
LATE = 0.5  # seconds that a busy machine, or an answer, may be late
_TOUCH_EVERY = 1.0  # seconds
_FEWEST, _MOST = 2, 16  # dates that are compared with


def boot_id(path: Path = BOOT_ID) -> str:
    """Say which boot of the machine this is; empty if it is not told."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def lasting(seconds: float) -> Impact:
    """Say that nothing ran for so many `seconds`."""
    return Impact(seconds=seconds, total=seconds)


# --- a thread that runs late ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One look at both clocks of this machine."""

    monotonic: float
    boottime: float  # goes on while the machine is suspended


def look() -> Tick:
    """Look at both clocks."""
    return Tick(
        monotonic=time.monotonic(), boottime=time.clock_gettime(time.CLOCK_BOOTTIME)
    )


def gap(before: Tick, after: Tick) -> float:
    """Count the seconds in which nothing ran between two ticks."""
    ran = after.monotonic - before.monotonic
    late = max(after.boottime - before.boottime, ran) - EVERY
    return late if late > LATE else 0.0


class Pulse:
    """A thread that ticks while somebody watches, and notes when it could not."""

    def __init__(
        self,
        alive: "Alive",
        look: Callable[[], Tick] = look,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        """Touch `alive`; `look` at the clocks and `wait` for the next tick."""
        self._alive = alive
        self._look = look
        self._wait = wait
        self._lock = threading.Lock()
        self._last: Tick | None = None  # None: nobody watches
        self._felt = Impact()
        self._resting = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self) -> None:
        """Begin to tick, unless it ticks already."""
        if self._thread is not None:
            return
        self._alive.touch()
        self._last, self._felt = self._look(), Impact()
        self._resting.clear()
        thread = threading.Thread(target=self._tick, name="pulse", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no memory, or too many tasks: again next time
            self._last = None
        else:
            self._thread = thread

    def rest(self) -> None:
        """Stop ticking."""
        if self._thread is not None:
            self._resting.set()
            self._thread.join()
            self._thread = self._last = None

    def taken(self) -> Impact:
        """Say what was felt since `watch`, or since this was last asked."""
        self._note()
        with self._lock:
            felt, self._felt = self._felt, Impact()
        return felt

    def _tick(self) -> None:
        touched = self._look().boottime
        while not self._wait(self._resting, EVERY):
            self._note()
            now = self._look().boottime
            if now - touched >= _TOUCH_EVERY:
                self._alive.touch()
                touched = now

    def _note(self) -> None:
        with self._lock:
            if self._last is None:
                return
            tick = self._look()
            if missed := gap(self._last, tick):
                self._felt += lasting(missed)
            self._last = tick


# --- clocks that stood still ---------------------------------------------------


class Ahead:
    """Hears the service's dates, and tells when it got ahead of our clock.

    An answer may be late, but never early: so what counts is the answer, of the last
    ones, that was late the least. One that is ahead of it tells that we stood still.
    """

    def __init__(self) -> None:
        """Begin with no date."""
        self._rate = 0.0
        self._zeros: deque[datetime] = deque(maxlen=_MOST)  # the service's, at our 0

    def heard(self, reckoning: Reckoning, felt: Impact) -> Impact:
        """Add to what was `felt` since the last date what only this one tells."""
        rate = reckoning.rate
        if rate != self._rate:
            self._zeros.clear()
            self._rate = rate
        if not rate:
            return felt  # a hand moves it
        zero = reckoning.date - timedelta(seconds=reckoning.at * rate)
        unfelt = self._ahead(zero) - felt.total
        if unfelt <= 1 / rate + LATE:  # dates have whole seconds
            self._zeros.append(zero)
            return felt
        self._zeros.clear()
        self._zeros.append(zero)
        return felt + lasting(unfelt)

    def _ahead(self, zero: datetime) -> float:
        if len(self._zeros) < _FEWEST:
            return 0.0
        return (zero - max(self._zeros)).total_seconds() / self._rate


# --- the time before a restart -------------------------------------------------


class Alive:
    """A file whose date says when this machine last ran.

    Only dates of this file are compared with each other: they are of one clock.
    """

    def __init__(self, path: Path) -> None:
        """Use the file `path`."""
        self._path = path

    def touch(self) -> None:
        """Say that it runs; a disk that refuses is no reason to stop."""
        with suppress(OSError):
            self._path.touch(mode=0o600)

    def seconds_since(self) -> float:
        """Count the seconds since the last touch, and touch it; 0 if there was none."""
        last = self._date()
        self.touch()
        now = self._date()
        return 0.0 if last is None or now is None else downtime(last, now)

    def _date(self) -> float | None:
        try:
            return self._path.stat().st_mtime
        except OSError:
            return None


def downtime(alive_at: float, now: float) -> float:
    """Count the seconds in which the machine was down; none if its clock went back."""
    return max(now - alive_at, 0.0)
