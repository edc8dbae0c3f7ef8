"""Hook call: its event and step, its deadline, and its cancellation."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock

from forewarn.agent.config.plan import HookPoint
from forewarn.protocol.types import ScheduledEvent


class Cancellation:
    """Cancels any number of hook calls, from any thread."""

    def __init__(self) -> None:
        """Start without a cancellation."""
        self._lock = RLock()  # a signal handler may interrupt its holder
        self._reason: str | None = None
        self._wake_fds: set[int] = set()

    @property
    def reason(self) -> str | None:
        """Why the calls are canceled, as a sentence; None if they are not."""
        return self._reason

    def cancel(self, reason: str) -> None:
        """Cancel all calls, including later ones; the first `reason` counts."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
            for fd in self._wake_fds:
                os.eventfd_write(fd, 1)

    @contextmanager
    def wake_fd(self) -> Iterator[int]:
        """Provide a file descriptor that becomes readable on cancellation."""
        fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._wake_fds.add(fd)
            yield fd
        finally:
            with self._lock:
                self._wake_fds.discard(fd)
            os.close(fd)


def _no_limit() -> float | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """The purpose and the deadline of one hook run."""

    event: ScheduledEvent
    step: HookPoint
    rule: str
    name: str  # of this VM
    endpoint: str
    token: str
    times: int = 1  # above 1 if repeated because the agent died
    deadline: datetime | None = None  # of the service's clock; None if there is none
    #: The service's seconds until it must end; None if there is no limit.
    seconds_left: Callable[[], float | None] = _no_limit
    #: The same in real seconds, to be called repeatedly: a manual clock may move at any
    #: time. None if there is no limit or the clock is manual.
    wait_left: Callable[[], float | None] = _no_limit
    rate: float = 1.0  # service seconds per real second; 0 for a manual clock
    cancellation: Cancellation = field(default_factory=Cancellation)

    def real(self, seconds: float) -> float:
        """Convert the service's `seconds` to real ones; same for a manual clock."""
        return seconds / self.rate if self.rate else seconds

    def is_late(self) -> bool:
        """Return whether no time is left."""
        left = self.wait_left()
        return left is not None and left <= 0
