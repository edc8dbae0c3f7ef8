"""One event of a rehearsal: what becomes of it, and what a test demands."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from forewarn.core import maintenance as m
from forewarn.core.facts import Approved
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance
from forewarn.testing.watching import Watching

_WITHIN = "10s"  # of real time, for a program that polls every second


class Event:
    """One event, as a test handles it."""

    def __init__(
        self, engine: Engine, watching: Watching, maintenance_id: str, event_id: str
    ) -> None:
        """Be the event `event_id` of that maintenance."""
        self._engine = engine
        self._watching = watching
        self._maintenance = maintenance_id
        self.id = event_id

    # --- what it is ----------------------------------------------------------

    @property
    def maintenance(self) -> m.Maintenance:
        """The maintenance behind it, as it is now."""
        with self._engine.store.snapshot() as snapshot:
            return find_maintenance(snapshot, self._maintenance)

    @property
    def _now(self) -> m.Event:
        return next(each for each in self.maintenance.events if each.id == self.id)

    @property
    def group(self) -> str:
        """The group that sees it."""
        return self._now.group

    @property
    def not_before(self) -> datetime:
        """When it may start without approval."""
        return self.maintenance.not_before

    @property
    def phase(self) -> m.Phase:
        """Where it is in its life."""
        return self.maintenance.phase

    @property
    def approved_by(self) -> str | None:
        """Who has approved it; None: nobody."""
        return self._now.approved_by

    @property
    def seen_by(self) -> Sequence[str]:
        """The VMs that were shown it."""
        self._engine.write_notes()
        with self._engine.store.snapshot() as snapshot:
            return [sight.vm for sight in snapshot.seen(self.id)]

    # --- what is done to it --------------------------------------------------

    def cancel(self, reason: str | None = None) -> None:
        """Call it off."""
        self._engine.cancel(self._maintenance, by="rehearsal", reason=reason)

    def complete(self) -> None:
        """Say that the work is done."""
        self._engine.complete(self._maintenance, by="rehearsal")

    def approve(self, by: str) -> None:
        """Approve it as another VM of the group."""
        self._engine.approve_as_vm(by, [self.id])

    # --- what is demanded ----------------------------------------------------

    def wait_seen(
        self, by: str | None = None, within: str | float | timedelta = _WITHIN
    ) -> None:
        """Wait, in real time, until a VM was shown it: `by`, or any."""
        raise NotImplementedError

    def assert_approved(
        self, within: str | float | timedelta = _WITHIN, by: str | None = None
    ) -> None:
        """Wait, in real time, until it is approved; fail if it is not."""
        raise NotImplementedError

    def approved_at(self) -> float | None:
        """When, by the real monotonic clock, it was approved; None: it is not."""
        with self._engine.store.snapshot() as snapshot:
            facts = snapshot.facts_of(self._maintenance)
        for entry in facts:
            if isinstance(entry.fact, Approved) and entry.fact.event == self.id:
                return self._watching.committed_at(entry.position)
        return None

    def explain(self) -> str:
        """Say what it waits for."""
        raise NotImplementedError
