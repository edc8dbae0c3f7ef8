"""Notification targets, each with its own journal reader and thread."""

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

_PATIENCE = 0.3  # seconds for all targets together when the service stops


class State(StrEnum):
    """The delivery state of a target."""

    #: A notification is being sent, or will be in a moment.
    DELIVERING = "delivering"
    #: A delivery failed and will be retried.
    WAITING = "waiting"
    #: Everything was delivered.
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The status of one target."""

    name: str
    kind: str
    url: str | None  # without secrets; None if it has none
    position: int
    behind: int  # facts in the journal after its position
    lag_seconds: float  # age of the oldest undelivered fact; 0 if none
    state: State
    failures: int  # consecutive
    last_error: str | None  # None if there was none since the start
    last_success: datetime | None  # None if there was none since the start
    next_attempt: datetime | None  # None if no retry is pending


class Notifying:
    """All targets; none of them delays another, or anything else."""

    def __init__(
        self, deliveries: Sequence[Delivery], store: Store, clock: Clock
    ) -> None:
        """Create a reader of the journal for each of `deliveries`."""
        self._deliveries = deliveries
        self._store = store
        self._clock = clock
        self._followers = [
            Follower(f"notify-{delivery.target.name}", delivery.catch_up, delivery.wait)
            for delivery in deliveries
        ]

    def start(self) -> None:
        """Start delivering."""
        for follower in self._followers:
            follower.start()

    def ring(self) -> None:
        """Wake all readers."""
        for follower in self._followers:
            follower.ring()

    def stop(self) -> None:
        """Stop within a second, even if a target hangs, and save the positions."""
        for delivery in self._deliveries:
            delivery.leave()
        until = time.monotonic() + _PATIENCE
        for follower in self._followers:
            follower.stop(max(until - time.monotonic(), 0.0))
        for delivery in self._deliveries:
            with suppress(Unavailable):  # later deliveries are then repeated
                delivery.keep()

    def targets(self) -> Sequence[Standing]:
        """Return the status of each target."""
        if not self._deliveries:
            return []
        with self._store.snapshot() as snapshot:
            end = snapshot.position()
        return [self._standing(delivery, end) for delivery in self._deliveries]

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
