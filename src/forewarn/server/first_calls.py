"""Delay of the first response to a group that was disabled.

All requests that arrive while the group is being enabled get their responses at the
same moment. The delay is real time, independent of the service's clock.
"""

from collections.abc import Callable, Sequence

from forewarn.server.alarm import Loop
from forewarn.server.identity import Hearing, Waiter
from forewarn.server.metadata import Desk


class FirstCalls:
    """Groups that are being enabled, and the requests that wait for them."""

    def __init__(
        self, loop: Loop, desk: Desk, wake: Callable[[Sequence[Waiter]], None]
    ) -> None:
        """Delay by `desk.first_call_delay` seconds of `loop`, then `wake` waiters."""
        self._loop = loop
        self._desk = desk
        self._wake = wake
        self._waiters: dict[Hearing, dict[Waiter, None]] = {}

    def begin(self, hearing: Hearing) -> None:
        """Start the delay of the group of `hearing`, unless it is running or over."""
        if self._desk.is_delayed(hearing) and hearing not in self._waiters:
            self._waiters[hearing] = {}
            until = self._loop.time() + self._desk.first_call_delay
            self._loop.call_at(until, lambda: self._settle(hearing))

    def wait(self, waiter: Waiter, hearing: Hearing) -> None:
        """Hold `waiter` until the group of `hearing` is enabled."""
        self.begin(hearing)  # it may overtake the request that enabled the group
        self._waiters[hearing][waiter] = None

    def leave(self, waiter: Waiter, hearing: Hearing) -> None:
        """Forget `waiter`, which waited for the group of `hearing`."""
        self._waiters.get(hearing, {}).pop(waiter, None)

    def _settle(self, hearing: Hearing) -> None:
        waiters = [*self._waiters.pop(hearing)]
        self._desk.settle(hearing, is_asked=bool(waiters))
        self._wake(waiters)
