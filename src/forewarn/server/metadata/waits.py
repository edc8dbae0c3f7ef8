"""Waits in metadata requests: long-poll timeouts and the delay of first requests.

All long polls share a single timer. A timer for each held request would use more memory
than everything else that is stored for the request.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from math import inf
from typing import Protocol

from forewarn.server.metadata.directory import EnabledState, Waiter
from forewarn.server.metadata.handler import MetadataHandler

_AT_ONCE = 500  # released per turn of the loop, so that other work gets its turn


class TimerLoop(Protocol):
    """The part of an event loop that this module uses.

    The loop's time is real time, independent of the service's clock.
    """

    def time(self) -> float:
        """Return the time in seconds."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> TimerHandle:
        """Call `callback` at `when`."""


class LongPollTimer:
    """Releases held requests once they have waited long enough."""

    def __init__(self, loop: TimerLoop) -> None:
        """Create a timer that measures waits using the time of `loop`."""
        self._loop = loop
        # Keyed by the length of the wait. Waits of the same length end in the order in
        # which they began, so the first wait of each length ends next.
        self._until: dict[int, dict[Waiter, float]] = {}
        self._timer: TimerHandle | None = None
        self._fires_at = inf

    @property
    def count(self) -> int:
        """The number of held requests; safe to read from any thread."""
        return sum(len(waiters) for waiters in [*self._until.values()])

    def hold(self, waiter: Waiter, seconds: int) -> None:
        """Hold `waiter` for `seconds` from now."""
        until = self._loop.time() + seconds
        self._until.setdefault(seconds, {})[waiter] = until
        self._set_timer(until)

    def forget(self, waiter: Waiter, seconds: int) -> None:
        """Forget `waiter`, which was held for `seconds`."""
        self._until[seconds].pop(waiter, None)

    def release_all(self) -> None:
        """Release all held requests."""
        for waiters in [*self._until.values()]:
            for waiter in [*waiters]:
                waiter.stop_waiting()

    def _set_timer(self, at: float) -> None:
        if at < self._fires_at:
            if self._timer is not None:
                self._timer.cancel()
            self._fires_at = at
            self._timer = self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        self._timer, self._fires_at = None, inf
        for waiter in self._pop_expired(self._loop.time()):
            waiter.stop_waiting()
        self._set_timer(min(self._next_ends(), default=inf))

    def _pop_expired(self, now: float) -> Sequence[Waiter]:
        """Remove and return up to `_AT_ONCE` waiters whose time is up."""
        popped: list[Waiter] = []
        for waiters in self._until.values():
            expired = [*islice(_expired(waiters, now), _AT_ONCE - len(popped))]
            for waiter in expired:
                del waiters[waiter]
            popped += expired
        return popped

    def _next_ends(self) -> Iterator[float]:
        for waiters in self._until.values():
            yield from islice(waiters.values(), 1)


class FirstRequestDelay:
    """Groups that are being enabled, and the requests waiting for them."""

    def __init__(
        self,
        loop: TimerLoop,
        handler: MetadataHandler,
        wake: Callable[[Sequence[Waiter]], None],
    ) -> None:
        """Initialize the delay from `handler`; `wake` is called when a delay ends."""
        self._loop = loop
        self._handler = handler
        self._wake = wake
        self._waiters: dict[EnabledState, dict[Waiter, None]] = {}

    def start(self, group_state: EnabledState) -> None:
        """Start a group's delay, unless it is running or has ended."""
        if self._handler.is_delayed(group_state) and group_state not in self._waiters:
            self._waiters[group_state] = {}
            until = self._loop.time() + self._handler.first_call_delay
            self._loop.call_at(until, lambda: self._end(group_state))

    def hold(self, waiter: Waiter, group_state: EnabledState) -> None:
        """Hold `waiter` until its group is enabled."""
        self.start(group_state)  # it may overtake the request that enabled the group
        self._waiters[group_state][waiter] = None

    def forget(self, waiter: Waiter, group_state: EnabledState) -> None:
        """Forget `waiter`, which was waiting for its group."""
        self._waiters.get(group_state, {}).pop(waiter, None)

    def _end(self, group_state: EnabledState) -> None:
        waiters = [*self._waiters.pop(group_state)]
        self._handler.end_delay(group_state, has_waiters=bool(waiters))
        self._wake(waiters)


def _expired(waiters: Mapping[Waiter, float], now: float) -> Iterator[Waiter]:
    return takewhile(lambda waiter: waiters[waiter] <= now, waiters)
