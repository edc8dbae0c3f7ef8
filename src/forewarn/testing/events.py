"""One event of a rehearsal, with its state and the assertions of a test."""

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

#: The actor in the journal.
BY = "rehearsal"

_WITHIN = "10s"  # of real time, for a program that polls every second
_APPROVED_WITHIN = "30s"  # of real time, for a program that also prepares something
_QUIET = "1s"


class Event:
    """One event, as a test handles it; its properties are always current."""

    def __init__(
        self, engine: Engine, watching: Watching, maintenance_id: str, event_id: str
    ) -> None:
        """Wrap the event `event_id` of that maintenance operation."""
        self._engine = engine
        self._watching = watching
        self._maintenance = maintenance_id
        self.id = event_id

    def __repr__(self) -> str:
        """Describe the event and its status."""
        try:
            is_gone = self.status is None
            status = self.phase.capitalize() if is_gone else self.status
            text = f"{self._name} is {status}"
        except Unavailable:  # the rehearsal is over
            text = self.id
        return f"<Event {text}>"

    # --- state ---------------------------------------------------------------

    @property
    def maintenance(self) -> m.Maintenance:
        """Its maintenance operation, in its current state."""
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
        """Type of the event."""
        return self.maintenance.type

    @property
    def status(self) -> EventStatus | None:
        """Scheduled or Started, as VMs see it; None if they no longer see it."""
        maintenance = self.maintenance
        is_there = maintenance.event(self.id).withdrawn_at is None
        return STATUS.get(maintenance.phase) if is_there else None

    @property
    def source(self) -> EventSource:
        """Platform or User."""
        return self.maintenance.source

    @property
    def description(self) -> str:
        """Description that VMs receive."""
        return self.maintenance.description

    @property
    def resources(self) -> Sequence[str]:
        """VMs that it affects."""
        return self._now.resources

    @property
    def group(self) -> str:
        """Group that sees it."""
        return self._now.group

    @property
    def not_before(self) -> datetime:
        """When it may start without approval."""
        return self.maintenance.not_before

    @property
    def phase(self) -> m.Phase:
        """Current phase of its maintenance operation."""
        return self.maintenance.phase

    @property
    def is_approved(self) -> bool:
        """Whether it has been approved."""
        return self._now.approved_at is not None

    @property
    def approved_by(self) -> str | None:
        """Who has approved it; None if nobody has."""
        return self._now.approved_by

    @property
    def seen_by(self) -> Sequence[str]:
        """VMs that have received it in a document."""
        self._engine.write_notes()
        with self._engine.store.snapshot() as snapshot:
            return [sight.vm for sight in snapshot.seen(self.id)]

    def explain(self) -> str:
        """Return sentences on what it is waiting for."""
        return " ".join(explain_maintenance(self._engine, self.id).sentences)

    # --- actions -------------------------------------------------------------

    def cancel(self, reason: str | None = None) -> None:
        """Cancel it."""
        self._engine.cancel(self._maintenance, by=BY, reason=reason)

    def complete(self) -> None:
        """Report its work as done; it ends once VMs have received Started."""
        self._engine.complete(self._maintenance, by=BY)

    def approve(self, by: str) -> None:
        """Approve it as another VM of the group."""
        self._engine.approve_as_vm(by, [self.id])

    # --- assertions ----------------------------------------------------------

    def wait_seen(
        self, by: str | None = None, within: str | float | timedelta = _WITHIN
    ) -> None:
        """Wait, in real time, until `by`, or any VM, has received it."""
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
            self._vm(by)  # fail at once if there is no such VM
        self._demand(
            lambda: not_approved_by(self.maintenance, self.id, by, _span(within)),
            self._is_settled,
            within,
        )

    def assert_not_approved(self, within: str | float | timedelta = _QUIET) -> None:
        """Fail if it is approved now or within that real time."""
        __tracebackhide__ = True
        self._demand(
            lambda: what_approved(self.maintenance, self.id),
            self._is_settled,
            within,
        )

    def assert_not_approved_before(self, mark: str) -> None:
        """Fail unless `mark` was made between announcement and approval."""
        __tracebackhide__ = True
        announced, approved = self.announced_at(), self.approved_at()
        reason = too_early(self._name, self._watching.marks, mark, announced, approved)
        self._demand(lambda: reason, lambda: True, 0)

    def announced_at(self) -> float:
        """Return when it was announced, on the real monotonic clock."""
        return self._committed(lambda fact: isinstance(fact, f.Announced)) or 0.0

    def approved_at(self) -> float | None:
        """Return when it was approved, on the real monotonic clock; None if never."""
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
        """Return whether it is approved or can no longer be."""
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
