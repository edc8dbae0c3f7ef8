"""Health monitor: tracks the store and the clock through the outcome of each write."""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from threading import Lock

from forewarn.core.health import WriteHealth, describe_standstill, standstill_until
from forewarn.engine.readers.follower import FailureLog
from forewarn.errors import NotApplied, StoreDamaged, Unavailable
from forewarn.ports import Clock

_log = logging.getLogger(__name__)


class HealthMonitor:
    """Tracks whether writes succeed and whether the clock is running."""

    def __init__(
        self,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
        on_change: Callable[[], None] = lambda: None,
        *,
        is_quiet: bool = False,
    ) -> None:
        """Create a monitor that compares the journal's time with `clock`.

        `monotonic` is the clock that measures how long failures last.
        `on_change` is called when writes start or stop failing, or when the clock stops
        or starts running. If `is_quiet` is true, nothing is logged, because a failed
        start raises an exception that states the reason.
        """
        self._is_quiet = is_quiet
        self._on_change = on_change
        self.writes = WriteHealth()  # replaced, never modified
        self._clock = clock
        self._monotonic = monotonic
        self._lock = Lock()
        self._failures = FailureLog("store writes", "commands return 503", monotonic)
        self._last_fact: datetime | None = None  # None before the first write
        self._is_still = False

    @property
    def standstill(self) -> datetime | None:
        """The end of the standstill; None if the clock is running."""
        return standstill_until(self._clock.now(), self._last_fact)

    def is_failing(self) -> bool:
        """Return whether writes are failing and this has already been logged."""
        return self.writes.failing_since is not None

    def needs_probe(self) -> bool:
        """Return whether only a probe can show that writes succeed again."""
        return self.writes.needs_probe and not self.writes.is_damaged

    def write_failed(self, error: Unavailable) -> None:
        """Record a write that failed."""
        with self._lock:
            has_changed = self.writes.failing_since is None
            self.writes = self.writes.failed(
                str(error),
                self._monotonic(),
                is_damaged=isinstance(error, StoreDamaged),
                is_lost=isinstance(error, NotApplied),
            )
        if not self._is_quiet:
            self._failures.failed(error)
        if has_changed:
            self._on_change()

    def write_succeeded(
        self, last_fact: datetime | None, *, is_probe: bool = False
    ) -> None:
        """Record a write that succeeded. `last_fact` is the time of the last fact.

        If `is_probe`, the write covered all tables.
        """
        now = self._clock.now()
        until = standstill_until(now, last_fact)
        with self._lock:
            before = self.writes.failing_since, self._is_still
            self.writes = self.writes.succeeded(is_probe=is_probe)
            self._last_fact, self._is_still = last_fact, until is not None
            after = self.writes.failing_since, self._is_still
        if after[0] is None:
            self._failures.succeeded()
        if before == after or self._is_quiet:
            return
        if until is not None and not before[1]:
            _log.warning("%s", describe_standstill(until, now))
        elif until is None and before[1]:
            _log.info(
                "the system clock has caught up with the journal; the service's clock"
                " is running again"
            )
        self._on_change()
