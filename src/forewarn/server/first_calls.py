"""First calls: a group that was silent is answered late, if that is set.

All who ask while the group is being switched on are answered at one moment. It is
told by real time, whatever the service's clock.
"""

from collections.abc import Callable, Sequence

from forewarn.server.alarm import Loop
from forewarn.server.identity import Hearing, Waiter
from forewarn.server.metadata import Desk


class FirstCalls:
    """Which groups are being switched on, and who waits for them."""

    def __init__(
        self, loop: Loop, desk: Desk, wake: Callable[[Sequence[Waiter]], None]
    ) -> None:
        """Wait by the time of `loop` as long as `desk` says, then `wake` who waits."""
        self._loop = loop
        self._desk = desk
        self._wake = wake
        self._waiters: dict[Hearing, dict[Waiter, None]] = {}

    def begin(self, hearing: Hearing) -> None:
        """Switch the group of `hearing` on, unless that is under way or done."""
        if self._desk.is_delayed(hearing) and hearing not in self._waiters:
            self._waiters[hearing] = {}
            until = self._loop.time() + self._desk.first_call_delay
            self._loop.call_at(until, lambda: self._settle(hearing))

    def wait(self, waiter: Waiter, hearing: Hearing) -> None:
        """Let `waiter` wait until the group of `hearing` is switched on."""
        self.begin(hearing)  # he may be quicker than whoever ended the silence
        self._waiters[hearing][waiter] = None

    def leave(self, waiter: Waiter, hearing: Hearing) -> None:
        """Forget `waiter`, who was to wait for the group of `hearing`."""
        self._waiters.get(hearing, {}).pop(waiter, None)

    def _settle(self, hearing: Hearing) -> None:
        waiters = [*self._waiters.pop(hearing)]
        self._desk.settle(hearing, is_asked=bool(waiters))
        self._wake(waiters)
