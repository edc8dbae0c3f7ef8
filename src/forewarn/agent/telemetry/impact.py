"""Impact measurement: restarts of this VM and periods in which nothing ran.

No single clock shows every interruption, so there are three detectors:

1. `FreezeDetector`: a thread that should run four times a second runs late if
   nothing ran in between or the VM was suspended.
2. `ClockJumpDetector`: the service's clock is ahead of this VM's clock. The VM and all
   its clocks were stopped, for example because a hypervisor paused the VM.
3. `AliveFile`: a file's modification time shows when the VM last ran before a restart.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from forewarn.agent.events.state import Impact
from forewarn.client.service_clock import ClockEstimate

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ALIVE_FILE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
EVERY = 0.25  # seconds between two ticks
LATE = 0.5  # seconds that a tick or response may be late on a busy machine
_TOUCH_EVERY = 1.0  # seconds
_FEWEST_DATES, _MOST_DATES = 2, 16  # number of dates to compare


def boot_id(path: Path = _BOOT_ID) -> str:
    """Return the ID of the machine's current boot, or an empty string if unknown."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def standstill(seconds: float) -> Impact:
    """Return the impact of a period of `seconds` in which nothing ran."""
    return Impact(seconds=seconds, total=seconds)


# --- late ticks --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """Both of this machine's clocks at one moment."""

    monotonic: float
    boottime: float  # keeps running while the machine is suspended


def read_clocks() -> ClockReading:
    """Read both clocks."""
    return ClockReading(
        monotonic=time.monotonic(), boottime=time.clock_gettime(time.CLOCK_BOOTTIME)
    )


def gap(before: ClockReading, after: ClockReading) -> float:
    """Return the seconds between two ticks in which nothing ran."""
    ran = after.monotonic - before.monotonic
    late = max(after.boottime - before.boottime, ran) - EVERY
    return late if late > LATE else 0.0


class FreezeDetector:
    """A thread that ticks while events are near and records late ticks."""

    def __init__(
        self,
        alive_file: "AliveFile",
        read_clocks: Callable[[], ClockReading] = read_clocks,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        """Create a detector that is off; while on, it touches `alive_file`."""
        self._alive_file = alive_file
        self._read_clocks = read_clocks
        self._wait = wait
        self._lock = threading.Lock()
        self._last: ClockReading | None = None  # None while off
        self._impact = Impact()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start ticking, unless already started."""
        if self._thread is not None:
            return
        self._alive_file.touch()
        self._last, self._impact = self._read_clocks(), Impact()
        self._stopped.clear()
        thread = threading.Thread(target=self._run, name="freeze-detector", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # out of memory, or too many threads: retried next time
            self._last = None
        else:
            self._thread = thread

    def stop(self) -> None:
        """Stop ticking."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = self._last = None

    def take(self) -> Impact:
        """Return the impact since `start` or since the previous call."""
        self._measure()
        with self._lock:
            impact, self._impact = self._impact, Impact()
        return impact

    def _run(self) -> None:
        touched = self._read_clocks().boottime
        while not self._wait(self._stopped, EVERY):
            self._measure()
            now = self._read_clocks().boottime
            if now - touched >= _TOUCH_EVERY:
                self._alive_file.touch()
                touched = now

    def _measure(self) -> None:
        with self._lock:
            if self._last is None:
                return
            tick = self._read_clocks()
            if missed := gap(self._last, tick):
                self._impact += standstill(missed)
            self._last = tick


# --- clocks that stood still -------------------------------------------------


class ClockJumpDetector:
    """Uses the service's dates to detect that this VM's clocks stood still.

    A response may be late but never early. The reference is therefore the recent
    response with the least delay. If a new response is ahead of this reference, this VM
    stood still.
    """

    def __init__(self) -> None:
        """Create a detector that has not received any dates."""
        self._rate = 0.0
        #: The service's time when the monotonic clock was 0, according to each
        #: response.
        self._zeros: deque[datetime] = deque(maxlen=_MOST_DATES)

    def add(self, estimate: ClockEstimate, impact: Impact) -> Impact:
        """Return `impact` plus any further impact detected from this estimate."""
        rate = estimate.rate
        if rate != self._rate:
            self._zeros.clear()
            self._rate = rate
        if not rate:
            return impact  # a manual clock
        zero = estimate.date - timedelta(seconds=estimate.at * rate)
        unmeasured = self._ahead(zero) - impact.total
        if unmeasured <= 1 / rate + LATE:  # dates have whole seconds
            self._zeros.append(zero)
            return impact
        self._zeros.clear()
        self._zeros.append(zero)
        return impact + standstill(unmeasured)

    def _ahead(self, zero: datetime) -> float:
        if len(self._zeros) < _FEWEST_DATES:
            return 0.0
        return (zero - max(self._zeros)).total_seconds() / self._rate


# --- the time before a restart -----------------------------------------------


class AliveFile:
    """A file whose modification time shows when this machine last ran.

    The file's times are compared only with each other, because they come from one
    clock.
    """

    def __init__(self, path: Path) -> None:
        """Create an instance for the file `path`."""
        self._path = path

    def touch(self) -> None:
        """Record that the machine is running; ignore disk failures."""
        with suppress(OSError):
            number = os.open(self._path, _ALIVE_FILE, 0o600)
            try:
                os.utime(number)
            finally:
                os.close(number)

    def seconds_since(self) -> float:
        """Touch the file; return the seconds since the previous touch, or 0."""
        last = self._date()
        self.touch()
        now = self._date()
        if last is None or now is None:
            return 0.0
        return max(now - last, 0.0)  # the clock may have moved backward

    def _date(self) -> float | None:
        try:
            return self._path.stat().st_mtime
        except OSError:
            return None
