"""The service's time, as the agent knows it at any moment."""

import time
from datetime import UTC, datetime

from forewarn.client.reckoning import Reckoning, tighter


class ServiceClock:
    """Goes on from the last date that the service has told.

    Any thread may ask. Until a date is told, it is this machine's.
    """

    def __init__(self) -> None:
        """Begin with this machine's time."""
        here = datetime.now(UTC)  # noqa: TID251  # nobody has told a better one yet
        self._reckoning = Reckoning(date=here, at=time.monotonic())
        self._heard: Reckoning | None = None  # None: nothing was told yet

    def hear(self, reckoning: Reckoning) -> None:
        """Go on from what an answer has told, or from a former one that told more."""
        self._reckoning = self._heard = tighter(self._heard, reckoning)

    @property
    def rate(self) -> float:
        """How many of its seconds are in a real one; 0: it is moved by hand."""
        return self._reckoning.rate

    def now(self) -> datetime:
        """What time it is for the service."""
        return self._reckoning.now(time.monotonic())

    def seconds_until(self, moment: datetime) -> float:
        """Count the service's seconds until `moment`."""
        return self._reckoning.seconds_until(moment, time.monotonic())

    def wait_until(self, moment: datetime) -> float | None:
        """Count the real seconds until `moment`; None: nobody knows."""
        return self._reckoning.wait_until(moment, time.monotonic())

    def real(self, seconds: float) -> float:
        """Turn the service's seconds into real ones."""
        return seconds / self.rate if self.rate else seconds
