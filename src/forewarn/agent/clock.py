"""Service clock of the agent."""

import time
from datetime import UTC, datetime

from forewarn.client.reckoning import Reckoning, tighter


class ServiceClock:
    """Estimates the service's time from the dates of its responses; thread-safe.

    Before the first date, it is this machine's time.
    """

    def __init__(self) -> None:
        """Start with this machine's time."""
        here = datetime.now(UTC)  # noqa: TID251  # no better clock is known yet
        self._reckoning = Reckoning(date=here, at=time.monotonic())
        self._heard: Reckoning | None = None  # None before the first response

    def hear(self, reckoning: Reckoning) -> None:
        """Use the estimate from a response, unless an earlier one is more precise."""
        self._reckoning = self._heard = tighter(self._heard, reckoning)

    @property
    def rate(self) -> float:
        """Service seconds per real second; 0 for a manual clock."""
        return self._reckoning.rate

    def now(self) -> datetime:
        """Return the service's time."""
        return self._reckoning.now(time.monotonic())

    def seconds_until(self, moment: datetime) -> float:
        """Return the service's seconds until `moment`."""
        return self._reckoning.seconds_until(moment, time.monotonic())

    def wait_until(self, moment: datetime) -> float | None:
        """Return real seconds until `moment`; None if a manual clock is before it."""
        return self._reckoning.wait_until(moment, time.monotonic())

    def real(self, seconds: float) -> float:
        """Convert the service's seconds to real ones."""
        return seconds / self.rate if self.rate else seconds
