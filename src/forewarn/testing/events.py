"""One event of a rehearsal: what becomes of it, and what a test demands."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core import maintenance as m
from forewarn.core.document import STATUS
from forewarn.core.durations import duration_of, written
from forewarn.core.sentences import few
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, find_vm
from forewarn.engine.telling import explain_maintenance
from forewarn.errors import Unavailable
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.testing.approvals import not_approved_by, too_early, what_approved
from forewarn.testing.waiting import demand
from forewarn.testing.watching import Watching
from forewarn.testing.words import named

#: Whose doing the journal says it is.
BY = "rehearsal"

_WITHIN = "10s"  # of real time, for a program that polls every second
_APPROVED_WITHIN = "30s"  # that also has something to do
_QUIET = "1s"


class Event:
    """One event, as a test handles it; what it tells is true at that moment."""

    def __init__(
        self, engine: Engine, watching: Watching, maintenance_id: str, event_id: str
    ) -> None:
        """Be the event `event_id` of that maintenance."""
        self._engine = engine
        self._watching = watching
        self._maintenance = maintenance_id
        self.id = event_id

    def __repr__(self) -> str:
        """Say what it is, and how far."""
        try:
            is_gone = self.status is None
            status = self.phase.capitalize() if is_gone else self.status
            said = f"{self._name} is {status}"
        except Unavailable:  # the rehearsal is over
            said = self.id
        return f"<Event {said}>"

    # --- what it is ----------------------------------------------------------

    @property
    def maintenance(self) -> m.Maintenance:
        """The maintenance behind it, as it is now."""
        with self._engine.store.snapshot() as snapshot:
            return find_maintenance(snapshot, self._maintenance)

    @property
    def _now(self) -> m.Event:
        return self.maintenance.event(self.id)

    @property
    def _name(self) -> str:
        maintenance = self.maintenance
        vms = maintenance.event(self.id).resources
        return f"{named(maintenance, self.id)} of {few(vms)}"

    @property
    def type(self) -> EventType:
        """What is going to happen."""
        return self.maintenance.type

    @property
    def status(self) -> EventStatus | None:
        """Scheduled or Started, as VMs see it; None: they do not see it any more."""
        maintenance = self.maintenance
        is_there = maintenance.event(self.id).withdrawn_at is None
        return STATUS.get(maintenance.phase) if is_there else None

    @property
    def source(self) -> EventSource:
        """Whose doing it is."""
        return self.maintenance.source

    @property
    def description(self) -> str:
        """What VMs are told of it."""
        return self.maintenance.description

    @property
    def resources(self) -> Sequence[str]:
        """The VMs that it touches."""
        return self._now.resources

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
    def is_approved(self) -> bool:
        """Whether somebody has approved it."""
        return self._now.approved_at is not None

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

    def explain(self) -> str:
        """Say what it waits for."""
        return " ".join(explain_maintenance(self._engine, self.id).sentences)

    # --- what is done to it --------------------------------------------------

    def cancel(self, reason: str | None = None) -> None:
        """Call it off."""
        self._engine.cancel(self._maintenance, by=BY, reason=reason)

    def complete(self) -> None:
        """Say that the work is done; it is over when VMs have been shown Started."""
        self._engine.complete(self._maintenance, by=BY)

    def approve(self, by: str) -> None:
        """Approve it as another VM of the group."""
        self._engine.approve_as_vm(by, [self.id])

    # --- what is demanded ----------------------------------------------------

    def wait_seen(
        self, by: str | None = None, within: str | float | timedelta = _WITHIN
    ) -> None:
        """Wait, in real time, until a VM was shown it: `by`, or any."""
        __tracebackhide__ = True
        name = None if by is None else self._vm(by)

        def is_seen() -> bool:
            seen = self.seen_by
            return bool(seen) if name is None else name in seen

        def complaint() -> str | None:
            if is_seen():
                return None
            who = name or "any VM"
            return f"{self._name} was not shown to {who} within {_span(within)}"

        self._demand(complaint, is_seen, within)

    def assert_approved(
        self, within: str | float | timedelta = _APPROVED_WITHIN, by: str | None = None
    ) -> None:
        """Wait, in real time, until it is approved; fail as soon as it cannot be."""
        __tracebackhide__ = True
        if by is not None and not self.is_approved:
            self._vm(by)  # nobody waits for one that is not there
        self._demand(
            lambda: not_approved_by(self.maintenance, self.id, by, _span(within)),
            self._is_settled,
            within,
        )

    def assert_not_approved(self, within: str | float | timedelta = _QUIET) -> None:
        """Fail if it is approved now, or in the real time that this waits."""
        __tracebackhide__ = True
        self._demand(
            lambda: what_approved(self.maintenance, self.id),
            self._is_settled,
            within,
        )

    def assert_not_approved_before(self, mark: str) -> None:
        """Fail unless `mark` was made since the announcement, and before approval."""
        __tracebackhide__ = True
        announced, approved = self.announced_at(), self.approved_at()
        said = too_early(self._name, self._watching.marks, mark, announced, approved)
        self._demand(lambda: said, lambda: True, 0)

    def announced_at(self) -> float:
        """When, by the real monotonic clock, it was announced."""
        return self._committed(lambda fact: isinstance(fact, f.Announced)) or 0.0

    def approved_at(self) -> float | None:
        """When, by the real monotonic clock, it was approved; None: it is not."""
        return self._committed(
            lambda fact: isinstance(fact, f.Approved) and fact.event == self.id
        )

    def _committed(self, is_it: Callable[[f.Fact], bool]) -> float | None:
        with self._engine.store.snapshot() as snapshot:
            facts = snapshot.facts_of(self._maintenance)
        for entry in facts:
            if is_it(entry.fact):
                return self._watching.committed_at(entry.position)
        return None

    def _is_settled(self) -> bool:
        """Whether it is approved, or cannot be any more."""
        maintenance = self.maintenance
        event = maintenance.event(self.id)
        is_open = maintenance.phase is m.Phase.SCHEDULED and event.withdrawn_at is None
        return event.approved_at is not None or not is_open

    def _vm(self, name: str) -> str:
        with self._engine.store.snapshot() as snapshot:
            return find_vm(snapshot, name).name

    def _demand(
        self,
        complaint: Callable[[], str | None],
        is_settled: Callable[[], bool],
        within: str | float | timedelta,
    ) -> None:
        __tracebackhide__ = True
        demand(self._engine, self._watching, complaint, is_settled, within)


def _span(within: str | float | timedelta) -> str:
    return written(duration_of(within))
