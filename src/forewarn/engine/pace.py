"""Backoff between delivery retries, in real time."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST = 2.0  # seconds; the longest pause after the first failure
_DOUBLINGS = 30  # beyond any `longest`


def backoff(failures: int, longest: float, chance: float) -> float:
    """Return the seconds to wait after `failures` consecutive failures.

    The pause doubles each time, from 2 seconds up to `longest`. `chance`, from 0 to 1,
    shortens it by up to half, so that retries are spread out.
    """
    whole = min(_FIRST * 2.0 ** min(failures - 1, _DOUBLINGS), longest)
    return whole * (1 + chance) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The retry schedule of a delivery, in real time."""

    longest_backoff: float = 300.0  # seconds
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def due_after(self, failures: int) -> float:
        """Return the monotonic time of the next retry after that many failures."""
        pause = backoff(failures, self.longest_backoff, self.chance())
        return self.monotonic() + pause
