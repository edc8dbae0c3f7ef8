"""What time it is for the service, reckoned from its last answer.

A VM's own clock may be wrong, and is set while a program runs. So the time left is
counted from the service's `Date` and what has passed since on the monotonic clock. A
service whose clock runs faster, or stands still, says so.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning:
    """The service's clock, as heard at one moment."""

    date: datetime  # what the service said
    at: float  # when that was heard, on the monotonic clock
    rate: float = 1.0  # seconds of the service in a real one; 0: moved by hand

    def now(self, monotonic: float) -> datetime:
        """Say what time it is for the service; the calendar ends at some point."""
        try:
            return self.date + timedelta(seconds=(monotonic - self.at) * self.rate)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)

    def seconds_until(self, moment: datetime, monotonic: float) -> float:
        """Count the service's seconds until `moment`; negative if it has passed."""
        return (moment - self.now(monotonic)).total_seconds()

    def wait_until(self, moment: datetime, monotonic: float) -> float | None:
        """Count the real seconds until `moment`; None if only a hand moves it there."""
        seconds = self.seconds_until(moment, monotonic)
        if seconds <= 0:
            return 0.0
        return seconds / self.rate if self.rate else None


_GRAIN = 1.0  # seconds; a date tells no less
_SLACK = 1.0  # real seconds that an answer may be on its way
_LONGEST = 600.0  # real seconds after which two clocks may have drifted apart


def tighter(known: Reckoning | None, heard: Reckoning) -> Reckoning:
    """Choose which of two to go by, where both were heard of the same service.

    A date is cut off at the whole second and then on its way for a while, so that
    the true time is never earlier. Of two that nearly agree, the later time is
    nearer to the truth; if they do not, the clock was set, and the last word counts.
    """
    if known is None or known.rate != heard.rate:
        return heard
    ahead = (known.now(heard.at) - heard.date).total_seconds()
    is_near = 0 < ahead < _GRAIN + _SLACK * heard.rate
    return known if is_near and heard.at - known.at < _LONGEST else heard
