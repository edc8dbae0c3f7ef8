"""The environment of a scenario: the service, the program and event names."""

import time
from collections.abc import Callable, Sequence

from forewarn.core.lifecycle.facts import Announced, Approved
from forewarn.core.lifecycle.model import Via
from forewarn.testing.rehearsal.event import RehearsedEvent
from forewarn.testing.rehearsal.program import Program
from forewarn.testing.rehearsal.rehearsal import Rehearsal, catch_up, seen_by
from forewarn.testing.scenario.conduct import ProgramApproval, ProgramConduct


class ScenarioStage:
    """The state shared by a scenario's steps."""

    def __init__(self, rehearsal: Rehearsal, program: Program, deadline: float) -> None:
        """Create a stage whose waits end by `deadline`, on the monotonic clock."""
        self.rehearsal = rehearsal
        self.program = program
        self.deadline = deadline
        self.observer = rehearsal.observer
        self.last_action_at = time.monotonic()  # start of the last action
        self.start = rehearsal.now  # the service's time when the steps begin
        self.outages: list[tuple[float, float]] = []
        self._events: dict[str, Sequence[RehearsedEvent]] = {}
        self._approved_by_steps: set[str] = set()  # IDs of events approved by steps

    @property
    def vm(self) -> str:
        """The VM in which the program runs."""
        return self.rehearsal.vm

    def set_clock(self) -> None:
        """Set the service's clock to the machine's time before the first step."""
        catch_up(self.rehearsal)
        self.start = self.rehearsal.now

    def settle(self) -> None:
        """Run everything that is due, so that the outcome is reproducible."""
        self.rehearsal.service.advance.to(self.rehearsal.now)

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait at most `seconds` for `condition`; return whether it holds."""
        left = max(0.0, self.deadline - time.monotonic())
        return self.observer.wait(condition, min(seconds, left))

    def wait_for_program(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until `condition` holds or the program ends; return whether it holds."""
        self.wait(lambda: condition() or not self.program.is_running, seconds)
        return condition()

    def name_events(self, name: str | None, events: Sequence[RehearsedEvent]) -> None:
        """Store `events` under `name`, if there is a name."""
        if name is not None:
            self._events[name] = events

    def event(self, name: str) -> RehearsedEvent:
        """Return the event with that name that the program's VM sees."""
        return seen_by(self.vm, self.rehearsal.fleet, self._events[name])

    def approve(self, name: str, by: str) -> None:
        """Approve, as the VM `by`, the event with that name that `by` sees."""
        event = seen_by(by, self.rehearsal.fleet, self._events[name])
        self._approved_by_steps.add(event.id)
        event.approve(by)

    def has_current_document(self) -> bool:
        """Return whether the program has received the current document.

        While faults are active, return True, because faults may block the document.
        """
        if self.rehearsal.service.plane.faults.kinds:
            return True
        for entry in self.rehearsal.service.plane.handler.directory.entries():
            if entry.vm.name == self.vm:
                return entry.seen_tag == entry.cached.tag
        return False

    def conduct(self) -> ProgramConduct:
        """Collect the program's behavior so far."""
        program = self.program
        requests = [
            request for request in self.observer.requests if request.vm == self.vm
        ]
        return ProgramConduct(
            vm=self.vm,
            began=program.began,
            until=program.ended or time.monotonic(),
            outages=self.outages,
            arrivals=self.observer.arrivals_of(self.vm),
            requests=requests,
            approvals=self._approvals(),
            has_ended=not program.is_running,
            code=program.code,
        )

    def _approvals(self) -> Sequence[ProgramApproval]:
        facts = [entry.fact for entry in self.rehearsal.journal()]
        resources = {
            event.id: event.resources
            for fact in facts
            if isinstance(fact, Announced)
            for event in fact.announced.events
        }
        names = {e.id: name for name, events in self._events.items() for e in events}
        return [
            ProgramApproval(
                event=fact.event,
                name=names.get(fact.event),
                resources=resources[fact.event],
            )
            for fact in facts
            if isinstance(fact, Approved)
            and fact.via is Via.METADATA
            and fact.by == self.vm
            and fact.event not in self._approved_by_steps
        ]
