"""When a target is offered again what it did not take; on real time."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST = 2.0  # seconds at the most after the first failure
_DOUBLINGS = 30  # more lead beyond any longest pause


def backoff(failures: int, longest: float, chance: float) -> float:
    """How many seconds to wait after so many `failures` in a row.

    From 1 or 2 seconds on twice as long each time, up to `longest`; between the half
    and the whole of it by `chance`, from 0 to 1, so that not all come back at once.
    """
    whole = min(_FIRST * 2.0 ** min(failures - 1, _DOUBLINGS), longest)
    return whole * (1 + chance) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long one waits, and by what that is reckoned: real time."""

    longest_backoff: float = 300.0  # seconds
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def due_after(self, failures: int) -> float:
        """When to try again after so many `failures` in a row."""
        pause = backoff(failures, self.longest_backoff, self.chance())
        return self.monotonic() + pause
