"""The readers that tell others, one for each target, each with a thread of its own."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.engine.delivering import Delivery
from forewarn.engine.journal import Follower
from forewarn.errors import Unavailable
from forewarn.ports import Clock, Store

_PATIENCE = 0.3  # seconds that targets have, together, when the service stops


class State(StrEnum):
    """What a target is about."""

    #: It is being told something, or will be in a moment.
    DELIVERING = "delivering"
    #: It did not take something, which is offered again.
    WAITING = "waiting"
    #: It knows everything.
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one target is doing."""

    name: str
    kind: str
    url: str | None  # without what may be a secret; None: it has none
    position: int
    behind: int  # facts of the journal that it has not read
    lag_seconds: float  # age of the oldest that it is still to be told; 0: none
    state: State
    failures: int  # in a row
    last_error: str | None  # None: there was none since the start
    last_success: datetime | None  # None: there was none since the start
    next_attempt: datetime | None  # None: it does not wait


class Notifying:
    """All targets; none of them delays another, or anything else."""

    def __init__(
        self, deliveries: Sequence[Delivery], store: Store, clock: Clock
    ) -> None:
        """Let `deliveries` follow the journal in `store`."""
        self._deliveries = deliveries
        self._store = store
        self._clock = clock
        self._followers = [
            Follower(f"notify-{each.target.name}", each.catch_up, each.wait)
            for each in deliveries
        ]

    def start(self) -> None:
        """Begin to tell."""
        for each in self._followers:
            each.start()

    def ring(self) -> None:
        """Say that there may be something to tell."""
        for each in self._followers:
            each.ring()

    def stop(self) -> None:
        """End within a second, whoever hangs, and write the positions."""
        for delivery in self._deliveries:
            delivery.leave()
        until = time.monotonic() + _PATIENCE
        for follower in self._followers:
            follower.stop(max(until - time.monotonic(), 0.0))
        for delivery in self._deliveries:
            with suppress(Unavailable):  # what was told since is told again
                delivery.keep()

    def targets(self) -> Sequence[Standing]:
        """Say how each target is doing."""
        if not self._deliveries:
            return []
        with self._store.snapshot() as snapshot:
            end = snapshot.position()
        return [self._standing(each, end) for each in self._deliveries]

    def _standing(self, delivery: Delivery, end: int) -> Standing:
        target, progress = delivery.target, delivery.progress
        is_behind = end > progress.position
        unread = delivery.first_unread() if is_behind else None
        now, wait = self._clock.now(), None
        lag = 0.0 if unread is None else (now - unread.fact.at).total_seconds()
        is_idle = unread is None and progress.at_hand is None
        state = State.IDLE if is_idle else State.DELIVERING
        if progress.due_at is not None:
            state = State.WAITING
            wait = max(progress.due_at - delivery.pace.monotonic(), 0.0)
        return Standing(
            name=target.name,
            kind=target.kind,
            url=target.shown_url,
            position=progress.position,
            behind=max(end - progress.position, 0),
            lag_seconds=max(lag, 0.0),
            state=state,
            failures=progress.failures,
            last_error=progress.last_error,
            last_success=progress.last_success,
            next_attempt=None
            if wait is None
            else now + timedelta(seconds=wait * self._clock.rate),
        )
