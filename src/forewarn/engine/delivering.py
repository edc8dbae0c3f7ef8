"""Delivery of notifications to one target: in order, from its own journal position.

1. Nothing is skipped: a notification that was not accepted is sent again until it is.
2. No lock and no transaction is held while a notification is sent.
3. The position is saved about once a second. After a crash, the last notifications may
   be sent again, with the same position.
"""

import logging
import re
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock

from forewarn.core.facts import Entry
from forewarn.core.fleet import key
from forewarn.core.searching import concerned, folded
from forewarn.engine.pace import Pace
from forewarn.errors import ForewarnError, Unavailable
from forewarn.notifiers.choice import close_notifier
from forewarn.notifiers.targets import Target
from forewarn.ports import Bell, Clock, Notice, Notifier, Snapshot, Store

_BATCH = 100  # facts per read
_KEEPING = 1.0  # seconds between two saves of the position
_AT_THE_LATEST = 60.0  # seconds; limits the delay after a lost wake-up
_LONGEST_ERROR = 400  # characters
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The delivery state of a target."""

    position: int = 0
    at_hand: Entry | None = None  # being sent, or waiting to be sent again
    failures: int = 0  # consecutive
    due_at: float | None = None  # monotonic time of the next retry; None if none
    last_error: str | None = None  # None if there was none since the start
    last_success: datetime | None = None  # None if there was none since the start


class Delivery:
    """Delivers the facts of the journal to one target."""

    def __init__(
        self,
        target: Target,
        notifier: Notifier,
        store: Store,
        clock: Clock,
        pace: Pace | None = None,
    ) -> None:
        """Deliver the facts in `store` to `target` through `notifier`."""
        self.target = target
        self.pace = pace or Pace()
        self.progress = Progress()  # only ever replaced, by the reader's thread
        self._notifier = notifier
        self._store = store
        self._clock = clock
        self._key = f"notify:{key(target.name)}"
        self._leaving = Bell()
        self._keeping = Lock()  # guards the next two fields
        self._kept = 0
        self._kept_at = float("-inf")

    # --- public --------------------------------------------------------------

    def open(self) -> None:
        """Load the saved position; a new target starts at the end of the journal."""
        with self._store.snapshot() as snapshot:
            kept, end = snapshot.setting(self._key), snapshot.position()
        if kept is not None and int(kept) > end:
            _log.warning(
                "%s was told of %s, but the journal ends at %s, as that of a restored"
                " backup does; what is new from here on is told",
                self.target.name,
                kept,
                end,
            )
            kept = None
        self.progress = Progress(position=end if kept is None else int(kept))
        if kept is None:
            with self._store.transaction() as transaction:
                transaction.keep(self._key, str(end))
        self._kept = self.progress.position

    def catch_up(self) -> None:
        """Deliver all new facts, until a delivery fails."""
        while self._may_tell():
            entries = self._store.facts(self.progress.position, _BATCH)
            if not entries:
                break
            for entry in entries:
                if not (self._may_tell() and self._pass_on(entry)):
                    break
                self._keep_now_and_then()
        self._keep_now_and_then()

    def wait(self, bell: Bell) -> None:
        """Wait for the bell, or until a retry or a save of the position is due."""
        now, due_at = self.pace.monotonic(), self.progress.due_at
        moments = [now + _AT_THE_LATEST]
        if due_at is not None:
            moments.append(due_at)
        if self._kept != self.progress.position:
            moments.append(self._kept_at + _KEEPING)
        bell.wait(max(min(moments) - now, 0.0))

    def leave(self) -> None:
        """Start nothing more, and abort the current delivery."""
        if self._leaving.is_set():
            return
        self._leaving.set()
        close_notifier(self.target.name, self._notifier)

    def keep(self) -> None:
        """Save the position."""
        with self._keeping:
            position = self.progress.position
            self._kept_at = self.pace.monotonic()
            if position != self._kept:
                with self._store.transaction() as transaction:
                    transaction.keep(self._key, str(position))
                self._kept = position

    def first_unread(self) -> Entry | None:
        """Return the oldest fact still to be delivered, if it is known."""
        progress = self.progress
        if progress.at_hand is not None:
            return progress.at_hand
        for entry in self._store.facts(progress.position, _BATCH):
            if self._notice(entry) is not None:
                return entry
        return None

    # --- one fact ------------------------------------------------------------

    def _may_tell(self) -> bool:
        due_at = self.progress.due_at
        is_due = due_at is None or due_at <= self.pace.monotonic()
        return is_due and not self._leaving.is_set()

    def _pass_on(self, entry: Entry) -> bool:
        """Deliver `entry` if the target wants it; return whether to go on."""
        notice = self._notice(entry)
        if notice is None:
            self.progress = replace(self.progress, position=entry.position)
            return True
        self.progress = replace(self.progress, at_hand=entry, due_at=None)
        try:
            self._notifier.notify(notice)
        except Exception as error:  # any failure is retried
            if not self._leaving.is_set():
                self._take_down(error)
            return False
        self._take_down_success(entry)
        return True

    def _notice(self, entry: Entry) -> Notice | None:
        """Build the notice for `entry`; None if the target does not want it."""
        if type(entry.fact).__name__ not in self.target.facts:
            return None
        about: str | None = getattr(entry.fact, "maintenance", None)
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

    def _is_concerned(self, entry: Entry, snapshot: Snapshot) -> bool:
        subscribed = self.target.groups
        if subscribed is None:
            return True
        groups = folded(concerned(entry.fact, snapshot.maintenance).groups)
        return not groups or not groups.isdisjoint(subscribed)

    # --- results -------------------------------------------------------------

    def _take_down(self, error: Exception) -> None:
        failures = self.progress.failures + 1
        is_ours = isinstance(error, ForewarnError)
        text = str(error) if is_ours else f"{type(error).__name__}: {error}"
        self.progress = replace(
            self.progress,
            failures=failures,
            due_at=self.pace.due_after(failures),
            last_error=_CONTROL.sub(" ", text)[:_LONGEST_ERROR],
        )
        if failures == 1:
            _log.warning(
                "%s was not told: %s; trying again",
                self.target.name,
                self.progress.last_error,
                exc_info=None if is_ours else error,
            )

    def _take_down_success(self, entry: Entry) -> None:
        if self.progress.failures:
            failures = self.progress.failures
            _log.info("%s is told again, failures: %s", self.target.name, failures)
        self.progress = replace(
            self.progress,
            position=entry.position,
            at_hand=None,
            failures=0,
            due_at=None,
            last_success=self._clock.now(),
        )

    def _keep_now_and_then(self) -> None:
        if self._leaving.is_set():
            return  # saved by the caller of `leave`
        if self.pace.monotonic() - self._kept_at >= _KEEPING:
            try:
                self.keep()
            except Unavailable as error:
                _log.debug("the position of %s: %s", self.target.name, error)
