"""One call of a hook: what it is for, how long it may take, what cuts it short."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock

from forewarn.agent.plan import Step
from forewarn.protocol.types import ScheduledEvent


class Cut:
    """A word from another thread that ends calls, any number of them."""

    def __init__(self) -> None:
        """Begin without a word."""
        self._lock = RLock()  # a signal may come while it is held
        self._reason: str | None = None
        self._awake: set[int] = set()

    @property
    def reason(self) -> str | None:
        """Why, in a sentence; None: nothing is cut."""
        return self._reason

    def cut(self, reason: str) -> None:
        """End all calls, also those to come; the first `reason` counts."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
            for each in self._awake:
                os.eventfd_write(each, 1)

    @contextmanager
    def waking(self) -> Iterator[int]:
        """Give a file that can be read when the word is said."""
        file = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._awake.add(file)
            yield file
        finally:
            with self._lock:
                self._awake.discard(file)
            os.close(file)


def _no_limit() -> float | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Why a hook runs, and until when."""

    event: ScheduledEvent
    step: Step
    rule: str
    name: str  # of this VM
    endpoint: str
    token: str
    times: int = 1  # above 1: again, after the agent died
    deadline: datetime | None = None  # of the service's clock; None: no limit
    #: The service's seconds until it must end; None: no limit.
    seconds_left: Callable[[], float | None] = _no_limit
    #: The same in real seconds, asked again and again, since a clock may be moved by
    #: hand; None: no limit, or only a hand moves the clock there.
    wait_left: Callable[[], float | None] = _no_limit
    rate: float = 1.0  # seconds of the service in a real one; 0: moved by hand
    cut: Cut = field(default_factory=Cut)

    def real(self, seconds: float) -> float:
        """Turn `seconds` of the service into real ones; those moved by hand are."""
        return seconds / self.rate if self.rate else seconds

    def is_late(self) -> bool:
        """Say whether there is no time left."""
        left = self.wait_left()
        return left is not None and left <= 0
