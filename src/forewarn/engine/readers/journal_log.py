"""Journal log: a journal reader that logs what happens, in a thread of its own.

1. It starts at the end of the journal, so a restart does not log old entries again.
2. An entry that cannot be logged is skipped, so that it does not hold up the others.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import get_args

from forewarn.core.health import ThreadHealth
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.transitions import apply_to
from forewarn.core.queries.log_lines import MOST_NAMES, LogLine, merged
from forewarn.engine.lookup import every
from forewarn.engine.readers.follower import LONGEST_WAIT, Follower
from forewarn.errors import Unavailable
from forewarn.formats import join_names
from forewarn.ports import Bell, Store

#: The logger of journal entries, which is part of the documented log format.
JOURNAL = "forewarn.journal"

_BATCH = 100  # facts per query
_PACE = 0.2  # seconds; a reader that followed every commit would slow down the others
_COUNT = 60.0  # seconds between two counts of the disabled groups
_MAINTENANCE_FACTS = get_args(f.MaintenanceFact)

_log = logging.getLogger(JOURNAL)


class JournalLog:
    """Logs each journal entry written after `open`, at the level of its kind."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        disabled_groups: Callable[[], Iterable[str]] = frozenset,
        *,
        is_known: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a log of the journal of `store`.

        `disabled_groups` returns the groups that were enabled once but are not any
        longer, which the journal does not record. For `is_known`, see `FailureLog`.
        """
        self._store = store
        self._rules = rules
        self._disabled_groups = disabled_groups
        self._disabled: frozenset[str] | None = None  # None until first counted
        self._counted_at = float("-inf")
        self._monotonic = monotonic
        self._live: dict[str, Maintenance] = {}
        self._stopping = Bell()
        self._follower = Follower("log", self.catch_up, self._wait, is_known=is_known)
        self.position = 0

    # --- thread --------------------------------------------------------------

    def open(self) -> None:
        """Start at the end of the journal."""
        with self._store.snapshot() as snapshot:
            live = [*every(snapshot, Phase.SCHEDULED, Phase.STARTED)]
            self.position = snapshot.position()
        self._live = {maintenance.id: maintenance for maintenance in live}

    def start(self) -> None:
        """Start the thread."""
        self._follower.start()

    def ring(self) -> None:
        """Wake the thread, because there are new entries."""
        self._follower.ring()

    def stop(self) -> None:
        """Stop the thread and log the last entries."""
        self._stopping.set()
        self._follower.stop()
        with suppress(Exception):  # an entry that cannot be logged, or no store
            self.catch_up()

    @property
    def health(self) -> ThreadHealth:
        """The state of the thread."""
        return self._follower.health

    def _wait(self, bell: Bell) -> None:
        if bell.wait(LONGEST_WAIT):
            self._stopping.wait(_PACE)  # for other commits that follow soon

    # --- entries -------------------------------------------------------------

    def catch_up(self) -> None:
        """Log all new entries, and the groups that have been disabled since."""
        for entry in merged(self._unread()):
            before, self.position = self.position, entry.position
            try:
                self._log(entry)
            except Unavailable:  # the entry is logged later
                self.position = before
                raise
        self._log_disabled()

    def _unread(self) -> Iterator[JournalEntry]:
        position = self.position
        while entries := self._store.facts(position, _BATCH):
            yield from entries
            position = entries[-1].position

    def _log(self, entry: JournalEntry) -> None:
        fact = entry.fact
        before, after = None, None
        if isinstance(fact, _MAINTENANCE_FACTS):
            before = self._live.get(fact.maintenance)
            after = self._change(before, fact)
        line = LogLine(entry=entry, before=before, after=after, rules=self._rules)
        level = logging.getLevelNamesMapping()[line.level.upper()]
        if _log.isEnabledFor(level):
            _log.log(level, "%s", line.text, extra={"fields": line.fields})

    def _change(
        self, before: Maintenance | None, fact: f.MaintenanceFact
    ) -> Maintenance | None:
        if before is None and not isinstance(fact, f.Announced):  # it has ended
            with self._store.snapshot() as snapshot:
                return snapshot.maintenance(fact.maintenance)
        after = apply_to(before, fact)
        if after.phase.is_live:
            self._live[after.id] = after
        else:
            self._live.pop(after.id, None)
        return after

    def _log_disabled(self) -> None:
        """Log which groups have been disabled; the journal does not record this."""
        now = self._monotonic()
        if now - self._counted_at < _COUNT:
            return
        self._counted_at = now
        disabled = frozenset(self._disabled_groups())
        before, self._disabled = self._disabled, disabled
        new = [] if before is None else sorted(disabled - before)
        if new:
            _log.info(
                "Scheduled Events disabled for %s %s: no requests for 24 hours",
                "group" if len(new) == 1 else "groups",
                join_names(new),
                extra={"fields": {"groups": new[:MOST_NAMES]}},
            )
