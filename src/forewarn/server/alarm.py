"""Until when requests are held: one alarm for all of them.

A timer for each would cost more memory than all else that waits with it.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from math import inf
from typing import Protocol

_AT_ONCE = 500  # that are let go, before others get their turn


class Held(Protocol):
    """Whoever waits, but not for ever."""

    def stop_waiting(self) -> None:
        """Be answered now."""


class Loop(Protocol):
    """What is needed of an event loop: real time, whatever the service's clock."""

    def time(self) -> float:
        """Tell the time, in seconds."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> TimerHandle:
        """Call back at `when`."""


class Alarm:
    """Lets held requests go when they have waited long enough."""

    def __init__(self, loop: Loop) -> None:
        """Wait by the time of `loop`."""
        self._loop = loop
        # Who may wait equally long is done with in the order of coming, so the
        # first of each length is the next of it.
        self._until: dict[int, dict[Held, float]] = {}
        self._timer: TimerHandle | None = None
        self._rings_at = inf

    @property
    def count(self) -> int:
        """How many wait; from any thread."""
        return sum(len(waiters) for waiters in [*self._until.values()])

    def begin(self, waiter: Held, seconds: int) -> None:
        """Let `waiter` wait for `seconds` from now."""
        until = self._loop.time() + seconds
        self._until.setdefault(seconds, {})[waiter] = until
        self._set_alarm(until)

    def end(self, waiter: Held, seconds: int) -> None:
        """Forget `waiter`, who was to wait for `seconds`."""
        self._until[seconds].pop(waiter, None)

    def let_all_go(self) -> None:
        """Let nobody wait any longer who does now."""
        for waiters in [*self._until.values()]:
            for each in [*waiters]:
                each.stop_waiting()

    def _set_alarm(self, at: float) -> None:
        if at < self._rings_at:
            if self._timer is not None:
                self._timer.cancel()
            self._rings_at = at
            self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, inf
        for waiter in self._take(self._loop.time()):
            waiter.stop_waiting()
        self._set_alarm(min(self._firsts(), default=inf))

    def _take(self, now: float) -> Sequence[Held]:
        """Forget those who have waited long enough, some at a time."""
        taken: list[Held] = []
        for waiters in self._until.values():
            over = [*islice(_over(waiters, now), _AT_ONCE - len(taken))]
            for each in over:
                del waiters[each]
            taken += over
        return taken

    def _firsts(self) -> Iterator[float]:
        for waiters in self._until.values():
            yield from islice(waiters.values(), 1)


def _over(waiters: Mapping[Held, float], now: float) -> Iterator[Held]:
    return takewhile(lambda each: waiters[each] <= now, waiters)
