"""Clock estimate: the service's time, derived from its responses.

A VM's own clock may be wrong or set while a program runs. So the remaining time is
computed from the service's `Date` header and the monotonic time since. A service whose
clock runs faster, or stands still, reports its rate.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning:
    """The service's clock, as known from one response."""

    date: datetime  # from the Date header
    at: float  # when the response arrived, on the monotonic clock
    rate: float = 1.0  # service seconds per real second; 0 for a manual clock

    def now(self, monotonic: float) -> datetime:
        """Return the service's time, at most `datetime.max`."""
        try:
            return self.date + timedelta(seconds=(monotonic - self.at) * self.rate)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)

    def seconds_until(self, moment: datetime, monotonic: float) -> float:
        """Return the service's seconds until `moment`; negative if it has passed."""
        return (moment - self.now(monotonic)).total_seconds()

    def wait_until(self, moment: datetime, monotonic: float) -> float | None:
        """Return real seconds until `moment`; None if a manual clock is before it."""
        seconds = self.seconds_until(moment, monotonic)
        if seconds <= 0:
            return 0.0
        return seconds / self.rate if self.rate else None


_GRAIN = 1.0  # seconds; the resolution of a Date header
_SLACK = 1.0  # real seconds that a response may be in transit
_LONGEST = 600.0  # real seconds after which two clocks may have drifted apart


def tighter(known: Reckoning | None, heard: Reckoning) -> Reckoning:
    """Return the better of two estimates of the same service's clock.

    A Date header is cut to the whole second and then in transit, so the true time is
    never earlier. If two estimates nearly agree, the later time is closer to the truth.
    If they do not, the clock was set, and the newer estimate counts.
    """
    if known is None or known.rate != heard.rate:
        return heard
    ahead = (known.now(heard.at) - heard.date).total_seconds()
    is_near = 0 < ahead < _GRAIN + _SLACK * heard.rate
    return known if is_near and heard.at - known.at < _LONGEST else heard
