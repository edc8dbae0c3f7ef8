"""Notifications: one journal reader per target, with backoff and saved positions.

1. Facts are delivered in order; a failed delivery is retried and holds up the rest.
2. The position is saved about once a second. After a crash, a few deliveries are
   repeated, but none are lost.
"""

import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock

from forewarn.core.fleet import fold_name
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.queries.search import concerned, fold_names
from forewarn.core.queries.views import maintenance_of
from forewarn.engine.readers.follower import LONGEST_WAIT, Follower, doubled_pause
from forewarn.engine.write_queue import WriteQueue, WriteRank
from forewarn.errors import ForewarnError, Unavailable
from forewarn.formats import clean, count
from forewarn.notifiers.targets import Target
from forewarn.plugins import close_plugin
from forewarn.ports import Bell, Clock, Notice, Notifier, Snapshot, Store

_FIRST = 2.0  # seconds; the maximum backoff after the first failure
_BATCH = 100  # facts per read
_SAVE_INTERVAL = 1.0  # seconds between two saves of the position
_STOP_TIMEOUT = 0.3  # seconds for all targets together when the service stops
_LONGEST_ERROR = 400  # characters

_log = logging.getLogger(__name__)


# --- backoff -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPace:
    """The retry schedule of a delivery, in real time."""

    longest_backoff: float = 300.0  # seconds
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def due_after(self, failures: int) -> float:
        """Return the monotonic time of the next retry after this number of failures."""
        pause = backoff(failures, self.longest_backoff, self.chance())
        return self.monotonic() + pause


def backoff(failures: int, longest: float, chance: float) -> float:
    """Return the seconds to wait after `failures` consecutive failures.

    The pause doubles each time, from 2 seconds up to `longest`. `chance`, from 0 to 1,
    shortens it by up to half to spread out retries.
    """
    return doubled_pause(_FIRST, failures, longest) * (1 + chance) / 2


# --- one target --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryProgress:
    """The delivery progress and the failures of a target."""

    position: int = 0
    at_hand: JournalEntry | None = None  # being sent, or waiting for a retry
    failures: int = 0  # consecutive
    due_at: float | None = None  # monotonic time of the next retry; None if none
    last_error: str | None = None  # None if there has been none since the start
    last_success: datetime | None = None  # None if there has been none since the start


class Delivery:
    """Delivers journal facts to one target."""

    def __init__(
        self,
        target: Target,
        notifier: Notifier,
        store: Store,
        write_queue: WriteQueue,
        clock: Clock,
        pace: DeliveryPace | None = None,
    ) -> None:
        """Create a delivery of the facts in `store` to `target` through `notifier`.

        Positions are saved when `write_queue` gives this target a turn.
        """
        self.target = target
        self.pace = pace or DeliveryPace()
        self.progress = DeliveryProgress()  # replaced by the reader's thread
        self._notifier = notifier
        self._store = store
        self._write_queue = write_queue
        self._clock = clock
        self._key = f"notify:{fold_name(target.name)}"
        self._leaving = Bell()
        self._saving = Lock()  # guards the two fields below
        self._saved_position = 0
        self._saved_at = float("-inf")

    # --- public --------------------------------------------------------------

    def open(self) -> None:
        """Load the saved position; a new target starts at the end of the journal."""
        with self._store.snapshot() as snapshot:
            kept, end = snapshot.setting(self._key), snapshot.position()
        if kept is not None and int(kept) > end:
            _log.warning(
                "delivery to %s had reached position %s, but the journal ends at"
                " %s, possibly because a backup was restored; only new entries will"
                " be delivered",
                self.target.name,
                kept,
                end,
            )
            kept = None
        self.progress = DeliveryProgress(position=end if kept is None else int(kept))
        if kept is None:
            self._write(end)
        self._saved_position = self.progress.position

    def catch_up(self) -> None:
        """Deliver all new facts until a delivery fails."""
        while self._can_deliver():
            entries = self._store.facts(self.progress.position, _BATCH)
            if not entries:
                break
            for entry in entries:
                if not (self._can_deliver() and self._deliver(entry)):
                    break
                self._save_if_due()
        self._save_if_due()

    def wait(self, bell: Bell) -> None:
        """Wait for the bell, or until a retry or position save is due."""
        now, due_at = self.pace.monotonic(), self.progress.due_at
        moments = [now + LONGEST_WAIT]
        if due_at is not None:
            moments.append(due_at)
        if self._saved_position != self.progress.position:
            moments.append(self._saved_at + _SAVE_INTERVAL)
        bell.wait(max(min(moments) - now, 0.0))

    def leave(self) -> None:
        """Start no more deliveries and abort the current delivery."""
        if self._leaving.is_set():
            return
        self._leaving.set()
        close_plugin(self._notifier, f"the notifier {self.target.name}")

    def keep(self) -> None:
        """Save the position."""
        with self._saving:
            position = self.progress.position
            self._saved_at = self.pace.monotonic()
            if position != self._saved_position:
                self._write(position)
                self._saved_position = position

    def first_unread(self) -> JournalEntry | None:
        """Return the oldest undelivered fact, if it is known."""
        progress = self.progress
        if progress.at_hand is not None:
            return progress.at_hand
        for entry in self._store.facts(progress.position, _BATCH):
            if self._notice(entry) is not None:
                return entry
        return None

    def _write(self, position: int) -> None:
        """Save `position`, a single row, ahead of other waiting writes."""
        with (
            self._write_queue.turn(WriteRank.SERVICE, self._key),
            self._store.transaction() as transaction,
        ):
            transaction.keep(self._key, str(position))

    # --- one fact ------------------------------------------------------------

    def _can_deliver(self) -> bool:
        due_at = self.progress.due_at
        is_due = due_at is None or due_at <= self.pace.monotonic()
        return is_due and not self._leaving.is_set()

    def _deliver(self, entry: JournalEntry) -> bool:
        """Deliver `entry` if the target wants it; return whether to continue."""
        notice = self._notice(entry)
        if notice is None:
            self.progress = replace(self.progress, position=entry.position)
            return True
        self.progress = replace(self.progress, at_hand=entry, due_at=None)
        try:
            self._notifier.notify(notice)
        except Exception as error:  # any failure is retried
            if not self._leaving.is_set():
                self._record_failure(error)
            return False
        self._record_success(entry)
        return True

    def _notice(self, entry: JournalEntry) -> Notice | None:
        """Build the notice for `entry`; return None if the target does not want it."""
        if type(entry.fact).__name__ not in self.target.facts:
            return None
        about = maintenance_of(entry.fact)
        with self._store.snapshot() as snapshot:
            if not self._is_concerned(entry, snapshot):
                return None
            maintenance = None if about is None else snapshot.maintenance(about)
            events = () if maintenance is None else maintenance.events
            sights = tuple(s for event in events for s in snapshot.seen(event.id))
        return Notice(
            position=entry.position,
            fact=entry.fact,
            maintenance=maintenance,
            sights=sights,
            attempt=self.progress.failures + 1,
        )

    def _is_concerned(self, entry: JournalEntry, snapshot: Snapshot) -> bool:
        subscribed = self.target.groups
        if subscribed is None:
            return True
        groups = fold_names(concerned(entry.fact, snapshot.maintenance).groups)
        return not groups or not groups.isdisjoint(subscribed)

    # --- results -------------------------------------------------------------

    def _record_failure(self, error: Exception) -> None:
        failures = self.progress.failures + 1
        is_ours = isinstance(error, ForewarnError)
        text = str(error) if is_ours else f"{type(error).__name__}: {error}"
        self.progress = replace(
            self.progress,
            failures=failures,
            due_at=self.pace.due_after(failures),
            last_error=clean(text)[:_LONGEST_ERROR],
        )
        if failures == 1:
            _log.warning(
                "delivery to %s failed: %s; retrying",
                self.target.name,
                self.progress.last_error,
                exc_info=None if is_ours else error,
            )

    def _record_success(self, entry: JournalEntry) -> None:
        if self.progress.failures:
            failures = self.progress.failures
            _log.info(
                "delivery to %s recovered after %s",
                self.target.name,
                count(failures, "failure"),
            )
        self.progress = replace(
            self.progress,
            position=entry.position,
            at_hand=None,
            failures=0,
            due_at=None,
            last_success=self._clock.now(),
        )

    def _save_if_due(self) -> None:
        if self._leaving.is_set():
            return  # saved by the caller of `leave`
        if self.pace.monotonic() - self._saved_at >= _SAVE_INTERVAL:
            try:
                self.keep()
            except Unavailable as error:
                _log.debug(
                    "cannot save the delivery position for %s: %s",
                    self.target.name,
                    error,
                )


# --- all targets -------------------------------------------------------------


class TargetState(StrEnum):
    """Whether a target is sending, waiting for a retry, or idle."""

    #: Sending a notification, or about to.
    DELIVERING = "delivering"
    #: Waiting to retry a failed delivery.
    WAITING = "waiting"
    #: Everything has been delivered.
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """The status of one target."""

    name: str
    kind: str
    url: str | None  # without secrets; None if it has none
    position: int
    behind: int  # facts in the journal after the target's position
    lag_seconds: float  # age of the oldest undelivered fact; 0 if none
    state: TargetState
    failures: int  # consecutive
    last_error: str | None  # None if there has been none since the start
    last_success: datetime | None  # None if there has been none since the start
    next_attempt: datetime | None  # None if no retry is pending


class Notifications:
    """All targets, none of which delays another or the service."""

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

    @property
    def threads(self) -> Sequence[Follower]:
        """The delivery threads, one for each target."""
        return self._followers

    def ring(self) -> None:
        """Wake all readers."""
        for follower in self._followers:
            follower.ring()

    def stop(self) -> None:
        """Stop within a second, even if a target hangs, and save the positions."""
        for delivery in self._deliveries:
            delivery.leave()
        until = time.monotonic() + _STOP_TIMEOUT
        for follower in self._followers:
            follower.stop(max(until - time.monotonic(), 0.0))
        for delivery in self._deliveries:
            with suppress(Unavailable):  # later deliveries are then repeated
                delivery.keep()

    def targets(self) -> Sequence[TargetStatus]:
        """Return the status of each target."""
        if not self._deliveries:
            return []
        with self._store.snapshot() as snapshot:
            end = snapshot.position()
        return [self._status(delivery, end) for delivery in self._deliveries]

    def _status(self, delivery: Delivery, end: int) -> TargetStatus:
        target, progress = delivery.target, delivery.progress
        is_behind = end > progress.position
        unread = delivery.first_unread() if is_behind else None
        now, wait = self._clock.now(), None
        lag = 0.0 if unread is None else (now - unread.fact.at).total_seconds()
        is_idle = unread is None and progress.at_hand is None
        state = TargetState.IDLE if is_idle else TargetState.DELIVERING
        if progress.due_at is not None:
            state = TargetState.WAITING
            wait = max(progress.due_at - delivery.pace.monotonic(), 0.0)
        return TargetStatus(
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
