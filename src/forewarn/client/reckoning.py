"""What time it is for the service, reckoned from its last answer.

A VM's own clock may be wrong, and is set while a program runs. So the time left is
counted from the service's `Date` and what has passed since on the monotonic clock. A
service whose clock runs faster, or stands still, says so.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning:
    """The service's clock, as heard at one moment."""

    date: datetime  # what the service said
    at: float  # when that was heard, on the monotonic clock
    rate: float = 1.0  # seconds of the service in a real one; 0: moved by hand

    def now(self, monotonic: float) -> datetime:
        """Say what time it is for the service."""
        return self.date + timedelta(seconds=(monotonic - self.at) * self.rate)

    def seconds_until(self, moment: datetime, monotonic: float) -> float:
        """Count the service's seconds until `moment`; negative if it has passed."""
        return (moment - self.now(monotonic)).total_seconds()

    def wait_until(self, moment: datetime, monotonic: float) -> float | None:
        """Count the real seconds until `moment`; None if only a hand moves it there."""
        seconds = self.seconds_until(moment, monotonic)
        if seconds <= 0:
            return 0.0
        return seconds / self.rate if self.rate else None
