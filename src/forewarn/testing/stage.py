"""The stage of a rehearsal: the service, the program, and the names of its events."""

import time
from collections.abc import Mapping, Sequence

from forewarn.core.facts import Approved
from forewarn.core.maintenance import Via
from forewarn.testing.announced import seen_by
from forewarn.testing.events import Event
from forewarn.testing.judging import Approval, Conduct
from forewarn.testing.programs import Program
from forewarn.testing.rehearsal import Rehearsal


class Stage:
    """What steps act on."""

    def __init__(self, rehearsal: Rehearsal, program: Program) -> None:
        """Begin with no names."""
        self.rehearsal = rehearsal
        self.program = program
        self.watching = rehearsal.watching
        self.acted = time.monotonic()  # when the last step that is no demand began
        self.away: list[tuple[float, float]] = []
        self._named: dict[str, Sequence[Event]] = {}
        self._of_others: set[str] = set()  # events approved by steps

    @property
    def vm(self) -> str:
        """Whom the program speaks for."""
        return self.rehearsal.vm

    def settle(self) -> None:
        """Let all that has begun be done, so that it never goes two ways."""
        self.rehearsal.system.advance.to(self.rehearsal.now)

    def call(self, name: str | None, events: Sequence[Event]) -> None:
        """Remember `events` by `name`."""
        if name is not None:
            self._named[name] = events

    def event(self, name: str) -> Event:
        """Find the event of that name, the one that the program's VM sees."""
        return seen_by(self.vm, self.rehearsal.fleet, self._named[name])

    def approve(self, name: str, by: str) -> None:
        """Approve as another VM, which may see another event of that name."""
        event = seen_by(by, self.rehearsal.fleet, self._named[name])
        self._of_others.add(event.id)
        event.approve(by)

    @property
    def names(self) -> Mapping[str, str]:
        """What each event is called."""
        return {e.id: name for name, events in self._named.items() for e in events}

    def is_shown_the_present(self) -> bool:
        """Whether the program has been shown the document as it is now.

        While there are faults, what it is shown is not its doing.
        """
        if self.rehearsal.system.plane.is_faulty:
            return True
        for seat in self.rehearsal.system.plane.desk.directory.seats():
            if seat.vm.name == self.vm:
                return seat.seen_tag == seat.shelf.tag
        return False

    def conduct(self) -> Conduct:
        """Put together what the program has done so far."""
        program = self.program
        asked = [each for each in self.watching.asked if each.vm == self.vm]
        return Conduct(
            vm=self.vm,
            began=program.began,
            until=program.ended or time.monotonic(),
            away=self.away,
            came=self.watching.came_at(self.vm),
            asked=asked,
            approvals=[*self._approvals()],
            has_ended=not program.is_running,
            code=program.code,
        )

    def _approvals(self) -> Sequence[Approval]:
        names, found = self.names, []
        for entry in self.rehearsal.journal():
            fact = entry.fact
            if not isinstance(fact, Approved) or fact.event in self._of_others:
                continue
            if fact.via is Via.METADATA and fact.by == self.vm:
                found.append(
                    Approval(
                        event=fact.event,
                        called=names.get(fact.event),
                        resources=self._resources(fact),
                    )
                )
        return found

    def _resources(self, fact: Approved) -> tuple[str, ...]:
        with self.rehearsal.system.engine.store.snapshot() as snapshot:
            found = snapshot.maintenance(fact.maintenance)
        events = () if found is None else found.events
        return next((e.resources for e in events if e.id == fact.event), ())
