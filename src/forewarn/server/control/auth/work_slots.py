"""Work slots, which limit how many requests from token holders run at once.

All threads share one interpreter with the thread that serves VMs. Running work is
therefore limited, not just open requests:

1. A request needs a slot from the end of its body to the start of its response. A
   stream needs one for each read of the journal. Health checks need none.
2. Each token has few slots, and all tokens except the admin token share a few more. The
   admin token has its own slots.
3. Expensive reads have fewer slots than other work, and metrics have a single slot
   (see `WorkKind`).
4. Tokens take turns. Among a token's requests, the oldest that may run goes next.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from forewarn.engine.tokens import TokenHolder


class WorkKind(StrEnum):
    """Kinds of work, which have different slots."""

    ORDINARY = "ordinary"
    LARGE = "large"  #: reports, the fleet, and pages of more than 100 items
    METRICS = "metrics"


_OWN = {WorkKind.ORDINARY: 2, WorkKind.LARGE: 1, WorkKind.METRICS: 1}
_ADMIN = {WorkKind.ORDINARY: 4, WorkKind.LARGE: 2, WorkKind.METRICS: 1}
_TOGETHER = {WorkKind.ORDINARY: 6, WorkKind.LARGE: 2, WorkKind.METRICS: 1}


def slots_of(holder: TokenHolder) -> int:
    """Return how many requests from `holder` can run at once, regardless of kind."""
    return (_ADMIN if holder.token is None else _OWN)[WorkKind.ORDINARY]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    work: WorkKind
    granted: asyncio.Future[None]


class WorkSlots:
    """Counts running work and queues the rest, on the control plane's loop only."""

    def __init__(self) -> None:
        """Create slots that are all free."""
        self._running: Counter[tuple[str | None, WorkKind]] = Counter()
        #: Running work of all tokens except the admin token.
        self._together: Counter[WorkKind] = Counter()
        #: Waiting work, keyed by token, in the order in which tokens take turns.
        self._waiting: dict[str | None, list[_Waiter]] = {}

    @property
    def waiting(self) -> int:
        """The number of waiting requests and streams; safe to read from any thread."""
        return sum(len(waiters) for waiters in [*self._waiting.values()])

    async def enter(
        self,
        holder: TokenHolder,
        work: WorkKind,
        seconds: float | None = None,  # None to wait indefinitely
    ) -> bool:
        """Take a slot; return False if no slot became free in time."""
        token = holder.token
        if self._has_slot(token, work):
            self._count(token, work, 1)
            return True
        waiter = _Waiter(work, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(token, []).append(waiter)
        try:
            await asyncio.wait([waiter.granted], timeout=seconds)
        except asyncio.CancelledError:
            self._give_up(holder, waiter)
            raise
        if waiter.granted.done():
            return True
        self._give_up(holder, waiter)
        return False

    def leave(self, holder: TokenHolder, work: WorkKind) -> None:
        """Release a slot and start waiting work."""
        self._count(holder.token, work, -1)
        while (turn := self._next_turn()) is not None:
            token, waiter = turn
            self._remove(token, waiter)
            if token in self._waiting:  # the other tokens come first
                self._waiting[token] = self._waiting.pop(token)
            self._count(token, waiter.work, 1)
            waiter.granted.set_result(None)

    @asynccontextmanager
    async def slot(self, holder: TokenHolder) -> AsyncIterator[None]:
        """Hold a slot for ordinary work."""
        await self.enter(holder, WorkKind.ORDINARY)
        try:
            yield
        finally:
            self.leave(holder, WorkKind.ORDINARY)

    def _next_turn(self) -> tuple[str | None, _Waiter] | None:
        for token, waiters in self._waiting.items():
            for waiter in waiters:
                if self._has_slot(token, waiter.work):
                    return token, waiter
        return None

    def _has_slot(self, token: str | None, work: WorkKind) -> bool:
        own = {kind: self._running[token, kind] for kind in WorkKind}
        if token is None:
            return _fits(own, _ADMIN, work)
        return _fits(own, _OWN, work) and _fits(self._together, _TOGETHER, work)

    def _count(self, token: str | None, work: WorkKind, change: int) -> None:
        self._running[token, work] += change
        if not self._running[token, work]:
            del self._running[token, work]
        if token is not None:
            self._together[work] += change

    def _give_up(self, holder: TokenHolder, waiter: _Waiter) -> None:
        if waiter.granted.done():
            self.leave(holder, waiter.work)
        else:
            self._remove(holder.token, waiter)

    def _remove(self, token: str | None, waiter: _Waiter) -> None:
        waiters = self._waiting[token]
        waiters.remove(waiter)
        if not waiters:
            del self._waiting[token]


def _fits(
    running: Mapping[WorkKind, int], slots: Mapping[WorkKind, int], work: WorkKind
) -> bool:
    """Return whether `work` has a free slot, both for its kind and in total."""
    has_room = sum(running.values()) < slots[WorkKind.ORDINARY]
    return has_room and (work is WorkKind.ORDINARY or running[work] < slots[work])
