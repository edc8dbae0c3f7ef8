"""Long-poll timeouts: one timer for all held requests.

A timer per request would use more memory than everything else that waits with it.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from math import inf
from typing import Protocol

from forewarn.server.metadata.directory import EnabledState, Waiter
from forewarn.server.metadata.handler import MetadataHandler

_AT_ONCE = 500  # released per turn of the loop, so that other work gets its turn


class HeldRequest(Protocol):
    """A held request, which waits only for a limited time."""

    def stop_waiting(self) -> None:
        """Send the response now."""


class TimerLoop(Protocol):
    """The part of an event loop that is used here.

    Its time is real time, independent of the service's clock.
    """

    def time(self) -> float:
        """Return the time in seconds."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> TimerHandle:
        """Call `callback` at `when`."""


class LongPollTimer:
    """Releases held requests when they have waited long enough."""

    def __init__(self, loop: TimerLoop) -> None:
        """Measure waits by the time of `loop`."""
        self._loop = loop
        # By length of the wait. Waits of the same length end in the order in which
        # they began, so the first of each length is the next to end.
        self._until: dict[int, dict[HeldRequest, float]] = {}
        self._timer: TimerHandle | None = None
        self._rings_at = inf

    @property
    def count(self) -> int:
        """The number of held requests. Safe to read from any thread."""
        return sum(len(waiters) for waiters in [*self._until.values()])

    def begin(self, waiter: HeldRequest, seconds: int) -> None:
        """Hold `waiter` for `seconds` from now."""
        until = self._loop.time() + seconds
        self._until.setdefault(seconds, {})[waiter] = until
        self._set_alarm(until)

    def end(self, waiter: HeldRequest, seconds: int) -> None:
        """Forget `waiter`, which was held for `seconds`."""
        self._until[seconds].pop(waiter, None)

    def let_all_go(self) -> None:
        """Wake all current waiters."""
        for waiters in [*self._until.values()]:
            for waiter in [*waiters]:
                waiter.stop_waiting()

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

    def _take(self, now: float) -> Sequence[HeldRequest]:
        """Remove and return waiters whose time is up, `_AT_ONCE` at most."""
        taken: list[HeldRequest] = []
        for waiters in self._until.values():
            expired = [*islice(_over(waiters, now), _AT_ONCE - len(taken))]
            for waiter in expired:
                del waiters[waiter]
            taken += expired
        return taken

    def _firsts(self) -> Iterator[float]:
        for waiters in self._until.values():
            yield from islice(waiters.values(), 1)


def _over(waiters: Mapping[HeldRequest, float], now: float) -> Iterator[HeldRequest]:
    return takewhile(lambda waiter: waiters[waiter] <= now, waiters)


class FirstRequestDelay:
    """Groups that are being enabled, and the requests that wait for them."""

    def __init__(
        self,
        loop: TimerLoop,
        desk: MetadataHandler,
        wake: Callable[[Sequence[Waiter]], None],
    ) -> None:
        """Delay by `desk.first_call_delay` seconds of `loop`, then `wake` waiters."""
        self._loop = loop
        self._desk = desk
        self._wake = wake
        self._waiters: dict[EnabledState, dict[Waiter, None]] = {}

    def begin(self, hearing: EnabledState) -> None:
        """Start the delay of the group of `hearing`, unless it is running or over."""
        if self._desk.is_delayed(hearing) and hearing not in self._waiters:
            self._waiters[hearing] = {}
            until = self._loop.time() + self._desk.first_call_delay
            self._loop.call_at(until, lambda: self._settle(hearing))

    def wait(self, waiter: Waiter, hearing: EnabledState) -> None:
        """Hold `waiter` until the group of `hearing` is enabled."""
        self.begin(hearing)  # it may overtake the request that enabled the group
        self._waiters[hearing][waiter] = None

    def leave(self, waiter: Waiter, hearing: EnabledState) -> None:
        """Forget `waiter`, which waited for the group of `hearing`."""
        self._waiters.get(hearing, {}).pop(waiter, None)

    def _settle(self, hearing: EnabledState) -> None:
        waiters = [*self._waiters.pop(hearing)]
        self._desk.settle(hearing, is_asked=bool(waiters))
        self._wake(waiters)
