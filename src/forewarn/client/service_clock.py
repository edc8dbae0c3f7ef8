"""Clock estimate: the service's time, derived from its responses.

A VM's own clock may be wrong or may be set while a program runs. The remaining time is
therefore computed from the service's `Date` header and the monotonic time since then. A
service whose clock runs faster or is advanced manually reports its rate.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

_GRAIN = 1.0  # seconds; the resolution of a Date header
_SLACK = 1.0  # real seconds that a response may be in transit
_MAX_AGE = 600.0  # real seconds after which two clocks may have drifted apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockEstimate:
    """The service's clock, as known from one response."""

    date: datetime  # from the Date header
    at: float  # when the response arrived, on the monotonic clock
    rate: float = 1.0  # service seconds per real second; 0 for a manual clock

    def now(self, monotonic: float) -> datetime:
        """Return the service's time, capped at `datetime.max`."""
        try:
            return self.date + timedelta(seconds=(monotonic - self.at) * self.rate)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)

    def seconds_until(self, moment: datetime, monotonic: float) -> float:
        """Return the service clock's seconds until `moment`, negative if past."""
        return (moment - self.now(monotonic)).total_seconds()

    def wait_until(self, moment: datetime, monotonic: float) -> float | None:
        """Return the seconds of real time until `moment`.

        Return None if a manual clock has not reached `moment`.
        """
        seconds = self.seconds_until(moment, monotonic)
        if seconds <= 0:
            return 0.0
        return seconds / self.rate if self.rate else None


def better_estimate(
    previous: ClockEstimate | None, latest: ClockEstimate
) -> ClockEstimate:
    """Return the better of two estimates of the same service's clock.

    A Date header has whole seconds and takes time to arrive, so the true time is never
    earlier. If two estimates nearly agree, the later time is closer to the truth.
    Otherwise, the clock was set, and the newer estimate counts.
    """
    if previous is None or previous.rate != latest.rate:
        return latest
    ahead = (previous.now(latest.at) - latest.date).total_seconds()
    is_near = 0 < ahead < _GRAIN + _SLACK * latest.rate
    return previous if is_near and latest.at - previous.at < _MAX_AGE else latest


class ServiceClock:
    """Estimates the service's time from the dates in its responses; thread-safe.

    Until the first response, the clock shows this machine's time.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Create a clock that shows this machine's time."""
        self._monotonic = monotonic
        self._lock = Lock()
        self._received: ClockEstimate | None = None  # None before the first response

    def update(self, estimate: ClockEstimate) -> None:
        """Use the estimate from a response, unless an earlier one is more precise."""
        with self._lock:
            self._received = better_estimate(self._received, estimate)

    @property
    def rate(self) -> float:
        """Service seconds per real second; 0 for a manual clock."""
        return self._estimate.rate

    def now(self) -> datetime:
        """Return the service's time."""
        return self._estimate.now(self._monotonic())

    def seconds_until(self, moment: datetime) -> float:
        """Return the seconds on the service's clock until `moment`."""
        return self._estimate.seconds_until(moment, self._monotonic())

    def wait_until(self, moment: datetime) -> float | None:
        """Return the seconds of real time until `moment`.

        Return None if a manual clock has not reached `moment`.
        """
        return self._estimate.wait_until(moment, self._monotonic())

    def real(self, seconds: float) -> float:
        """Convert service seconds to real seconds; a manual clock changes nothing."""
        return seconds / self.rate if self.rate else seconds

    @property
    def _estimate(self) -> ClockEstimate:
        if self._received is not None:
            return self._received
        here = datetime.now(UTC)  # noqa: TID251  # no better clock is known yet
        return ClockEstimate(date=here, at=self._monotonic())
