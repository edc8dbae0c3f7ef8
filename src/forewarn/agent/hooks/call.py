"""A hook call: its event, run, deadline and cancellation."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock

from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookRun
from forewarn.client.service_clock import ServiceClock
from forewarn.protocol.types import ScheduledEvent


class Cancellation:
    """Cancels any number of hook calls, from any thread."""

    def __init__(self) -> None:
        """Create a cancellation that has not been triggered yet."""
        self._lock = RLock()  # a signal handler may interrupt its holder
        #: Why the calls are canceled, as a sentence; None until then.
        self.reason: str | None = None
        self._wake_fds: set[int] = set()

    def cancel(self, reason: str) -> None:
        """Cancel all calls, including later ones; only the first `reason` counts."""
        with self._lock:
            if self.reason is None:
                self.reason = reason
            for fd in self._wake_fds:
                os.eventfd_write(fd, 1)

    @contextmanager
    def wake_fd(self) -> Iterator[int]:
        """Yield a file descriptor that becomes readable on cancellation."""
        fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._wake_fds.add(fd)
            yield fd
        finally:
            with self._lock:
                self._wake_fds.discard(fd)
            os.close(fd)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """One hook to run, with its event and its deadline."""

    hook: Hook
    run: HookRun
    event: ScheduledEvent
    rule: str
    name: str  # this VM's name
    endpoint: str
    clock: ServiceClock  # a manual clock may be advanced at any time
    deadline: datetime  # service time
    kill_after: float  # service seconds between TERM and KILL
    cancellation: Cancellation = field(default_factory=Cancellation)

    def seconds_left(self) -> float:
        """Return the seconds on the service's clock until the hook must end."""
        return self.clock.seconds_until(self.deadline)

    def wait_left(self) -> float | None:
        """Return the hook's remaining real time in seconds; None if unknown."""
        return self.clock.wait_until(self.deadline)
