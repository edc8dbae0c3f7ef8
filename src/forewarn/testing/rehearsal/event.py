"""An event in a rehearsal, with its state, actions and assertions."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.document import STATUS
from forewarn.core.lifecycle.model import Event, Maintenance, Phase, Via
from forewarn.core.queries.phrases import short_name
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, find_vm
from forewarn.engine.queries import explain_maintenance
from forewarn.errors import Unavailable
from forewarn.formats import join_names
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.testing.rehearsal.failures import RehearsalWaits, errors_at_caller
from forewarn.testing.rehearsal.observer import Mark, RehearsalObserver
from forewarn.testing.rehearsal.options import DurationLike

#: The actor that the journal shows for the actions of a test.
BY = "rehearsal"

_SEEN_WITHIN = "10s"  # real time, for a program that polls every second
_APPROVED_WITHIN = "30s"  # real time, for a program that also prepares something
_UNAPPROVED_FOR = "1s"
_LATE_MARK_WITHIN = 1.0  # seconds of real time

#: Reasons why an event can no longer be approved.
_OVER: Mapping[Phase, str] = {
    Phase.STARTED: "it started without approval",
    Phase.COMPLETED: "it has already started and completed",
    Phase.CANCELED: "it was canceled",
    Phase.FAILED: "it started and was closed as failed",
}


@errors_at_caller
class RehearsedEvent:
    """An event in a test. Its properties always reflect the current state."""

    def __init__(
        self,
        engine: Engine,
        observer: RehearsalObserver,
        waits: RehearsalWaits,
        maintenance_id: str,
        event_id: str,
    ) -> None:
        """Create a view of the event `event_id` of the given maintenance operation."""
        self._engine = engine
        self._observer = observer
        self._waits = waits
        self._maintenance_id = maintenance_id
        self.id = event_id

    def __repr__(self) -> str:
        """Describe the event and its status."""
        try:
            is_gone = self.status is None
            status = self.phase.capitalize() if is_gone else self.status
            text = f"{self._name} is {status}"
        except Unavailable:  # the rehearsal has ended
            text = self.id
        return f"<Event {text}>"

    # --- state ---------------------------------------------------------------

    @property
    def maintenance(self) -> Maintenance:
        """The event's maintenance operation, in its current state."""
        with self._engine.store.snapshot() as snapshot:
            return find_maintenance(snapshot, self._maintenance_id)

    @property
    def _event(self) -> Event:
        return self.maintenance.event(self.id)

    @property
    def _name(self) -> str:
        return _name_of(self.maintenance, self.id)

    @property
    def type(self) -> EventType:
        """The type of the event."""
        return self.maintenance.type

    @property
    def status(self) -> EventStatus | None:
        """The status that VMs see, or None if VMs no longer see the event."""
        maintenance = self.maintenance
        is_there = maintenance.event(self.id).withdrawn_at is None
        return STATUS.get(maintenance.phase) if is_there else None

    @property
    def source(self) -> EventSource:
        """The source of the event: Platform or User."""
        return self.maintenance.source

    @property
    def description(self) -> str:
        """The description that VMs receive."""
        return self.maintenance.description

    @property
    def resources(self) -> Sequence[str]:
        """The VMs that the event affects."""
        return self._event.resources

    @property
    def group(self) -> str:
        """The group that sees the event."""
        return self._event.group

    @property
    def not_before(self) -> datetime:
        """The time at which the event may start without approval."""
        return self.maintenance.not_before

    @property
    def phase(self) -> Phase:
        """The current phase of the event's maintenance operation."""
        return self.maintenance.phase

    @property
    def is_approved(self) -> bool:
        """Return whether the event has been approved."""
        return self._event.approved_at is not None

    @property
    def approved_by(self) -> str | None:
        """The VM or token that approved the event, or None without an approval."""
        return self._event.approved_by

    @property
    def seen_by(self) -> Sequence[str]:
        """The VMs that have received the event in a document."""
        self._engine.save_observations()
        with self._engine.store.snapshot() as snapshot:
            return [sight.vm for sight in snapshot.seen(self.id)]

    def explain(self) -> str:
        """Return sentences that explain what the event is waiting for."""
        explanation = explain_maintenance(self._engine, self.id)
        waits = (wait.text for wait in explanation.waits)
        return " ".join((explanation.summary, *waits))

    # --- actions -------------------------------------------------------------

    def cancel(self, reason: str | None = None) -> None:
        """Cancel the event."""
        self._engine.cancel(self._maintenance_id, by=BY, reason=reason)

    def complete(self) -> None:
        """Report the work as done.

        The event ends once Started has been shown long enough.
        """
        self._engine.complete(self._maintenance_id, by=BY)

    def approve(self, by: str) -> None:
        """Approve the event as the VM `by`, which must be in the group."""
        self._engine.approve_as_vm(by, [self.id])

    # --- assertions ----------------------------------------------------------

    def wait_seen(
        self, by: str | None = None, within: DurationLike = _SEEN_WITHIN
    ) -> None:
        """Wait, in real time, until `by` (default: any VM) has received the event."""
        name = None if by is None else self._vm(by)

        def problem() -> str | None:
            seen = self.seen_by
            if name in seen or (name is None and seen):
                return None
            who = "no VM received" if name is None else f"{name} did not receive"
            return f"{who} {self._name}"

        self._waits.until(problem, within, by=name, is_request=True)

    def assert_approved(
        self, within: DurationLike = _APPROVED_WITHIN, by: str | None = None
    ) -> None:
        """Wait, in real time, until the event is approved.

        Fail early if the event can no longer be approved.
        """
        if by is not None and not self.is_approved:
            by = self._vm(by)  # fail at once if there is no such VM
        self._waits.until(
            lambda: not_approved_by(self.maintenance, self.id, by),
            within,
            is_settled=self._is_settled,
            by=by,
            is_request=True,
        )

    def assert_not_approved(self, within: DurationLike = _UNAPPROVED_FOR) -> None:
        """Fail if the event is already approved or becomes so within this real time."""
        self._waits.until(
            lambda: what_approved(self.maintenance, self.id),
            within,
            is_settled=self._is_settled,
        )

    def assert_not_approved_before(self, mark: str) -> None:
        """Fail unless `mark` was made after the announcement, before any approval.

        If the event was approved first, wait briefly for the mark, to report the delay.
        """

        message = self.too_early(mark, self._name)
        self._waits.until(lambda: message, 0, is_settled=lambda: True)

    def too_early(self, mark: str, name: str) -> str | None:
        """Explain, with `name`, why `mark` did not precede the approval, if so."""
        announced = self.announced_at()

        def is_marked() -> bool:
            marked = [item.at for item in self._observer.marks if item.name == mark]
            return self.approved_at() is None or max(marked, default=0) > announced

        self._observer.wait(is_marked, _LATE_MARK_WITHIN)
        marks, approved = self._observer.marks, self.approved_at()
        return too_early(name, marks, mark, announced, approved)

    def announced_at(self) -> float:
        """Return when the event was announced, on the real monotonic clock."""
        return self._committed_at(lambda fact: isinstance(fact, f.Announced)) or 0.0

    def approved_at(self) -> float | None:
        """Return when the event was approved, on the real monotonic clock.

        Return None if it was never approved.
        """
        return self._committed_at(
            lambda fact: isinstance(fact, f.Approved) and fact.event == self.id
        )

    def _committed_at(self, is_it: Callable[[f.Fact], bool]) -> float | None:
        with self._engine.store.snapshot() as snapshot:
            facts = snapshot.facts_of(self._maintenance_id)
        for entry in facts:
            if is_it(entry.fact):
                return self._observer.committed_at(entry.position)
        return None

    def _is_settled(self) -> bool:
        """Return whether the event is approved or can no longer be approved."""
        maintenance = self.maintenance
        event = maintenance.event(self.id)
        is_open = maintenance.phase is Phase.SCHEDULED and event.withdrawn_at is None
        return event.approved_at is not None or not is_open

    def _vm(self, name: str) -> str:
        with self._engine.store.snapshot() as snapshot:
            return find_vm(snapshot, name).name


# --- failure messages --------------------------------------------------------


def not_approved_by(
    maintenance: Maintenance, event_id: str, by: str | None
) -> str | None:
    """Explain why an event is not approved, or return None if the event is approved.

    If `by` is not None, the event must have been approved by that VM or token.
    """
    event, name = maintenance.event(event_id), _name_of(maintenance, event_id)
    if event.approved_at is not None:
        who = _who(maintenance, event_id)
        is_right = by is None or by.lower() == (event.approved_by or "").lower()
        return None if is_right else f"{name} was approved by {who}, not by {by}"
    whose = "" if by is None else f" by {by}"
    if event.withdrawn_at is not None:
        return f"{name} was not approved{whose}: it was withdrawn because its VMs left"
    why = _OVER.get(maintenance.phase)
    if why is not None:
        return f"{name} was not approved{whose}: {why}"
    return f"{name} was not approved{whose}"


def what_approved(maintenance: Maintenance, event_id: str) -> str | None:
    """Describe who or what approved an event, or return None without an approval."""
    if maintenance.event(event_id).approved_at is None:
        return None
    who = _who(maintenance, event_id)
    return f"{_name_of(maintenance, event_id)} was approved by {who}"


def too_early(
    name: str,
    marks: Sequence[Mark],
    wanted: str,
    announced: float,
    approved: float | None,
) -> str | None:
    """Explain why the mark `wanted` does not precede the approval, or return None."""
    times = [mark.at for mark in marks if mark.name == wanted]
    fresh = [at for at in times if at >= announced]
    if fresh and (approved is None or min(fresh) <= approved):
        return None
    if fresh and approved is not None:
        late = min(fresh) - approved
        return f"{name} was approved {late:.2f} s before mark {wanted!r}"
    status = "is not approved" if approved is None else "was approved"
    if times:
        return f"{name} {status}, but mark {wanted!r} was made before its announcement"
    others = join_names(sorted({mark.name for mark in marks})) or "none"
    return f"{name} {status}, but mark {wanted!r} was not made (marks so far: {others})"


def _name_of(maintenance: Maintenance, event_id: str) -> str:
    vms = join_names(maintenance.event(event_id).resources)
    return f"{short_name(maintenance, event_id)} of {vms}"


def _who(maintenance: Maintenance, event_id: str) -> str:
    event = maintenance.event(event_id)
    if event.approved_via is Via.POLICY:
        return f"the settings of group {event.group}"
    return event.approved_by or "an unknown client"
