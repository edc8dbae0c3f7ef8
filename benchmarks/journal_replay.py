"""Check of the journal: replayed from its start, it must lead to the final state.

Nothing of forewarn is imported, so that this is an independent check.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

#: Phase before and after each fact.
_MOVES: Mapping[str, tuple[str | None, str]] = {
    "Announced": (None, "SCHEDULED"),
    "Started": ("SCHEDULED", "STARTED"),
    "Completed": ("STARTED", "COMPLETED"),
    "Canceled": ("SCHEDULED", "CANCELED"),
}


class JournalReplay:
    """State that results from the facts of a journal, and its inconsistencies."""

    def __init__(self, facts: Sequence[Any]) -> None:
        """Replay `facts`, oldest first."""
        self.complaints: list[str] = []
        self.phases: dict[str, str] = {}  # by maintenance
        self.approvals: dict[str, Any] = {}  # by event
        self.incarnations: dict[str, int] = {}  # by audience
        self.seen: set[str] = set()  # events
        self._announced: dict[str, Any] = {}  # by maintenance
        takes: Mapping[str, Callable[[Any], None]] = {
            "Announced": self._take_announced,
            "Started": self._take_started,
            "Approved": self._take_approved,
            "Published": self._take_published,
            "Seen": self._take_seen,
        }
        self._check_order(facts)
        for fact in facts:
            takes.get(fact["fact"], lambda fact: None)(fact)
            if fact["fact"] in _MOVES:
                self._move(fact)

    def _check_order(self, facts: Sequence[Any]) -> None:
        positions = [fact["position"] for fact in facts]
        if positions != [*range(1, len(facts) + 1)]:
            self.complaints.append("the journal has gaps")
        times = [_moment(fact["at"]) for fact in facts]
        if times != sorted(times):
            self.complaints.append("the journal's times go back")

    def _move(self, fact: Any) -> None:
        kind, id_ = fact["fact"], fact["maintenance"]
        before, after = _MOVES[kind]
        phase = self.phases.get(id_)
        if phase != before:
            self.complaints.append(f"{kind} happened to {id_}, which was {phase}")
        self.phases[id_] = after

    def _take_announced(self, fact: Any) -> None:
        self._announced[fact["maintenance"]] = fact["announced"]

    def _take_started(self, fact: Any) -> None:
        id_ = fact["maintenance"]
        announced = self._announced[id_]
        is_due = _moment(fact["at"]) >= _moment(announced["not_before"])
        if not is_due and not self._is_approved(id_):
            self.complaints.append(f"{id_} started before its NotBefore, unapproved")

    def _take_approved(self, fact: Any) -> None:
        if fact["event"] in self.approvals:
            self.complaints.append(f"{fact['event']} was approved twice")
        self.approvals[fact["event"]] = fact

    def _take_published(self, fact: Any) -> None:
        audience, number = fact["audience"], fact["incarnation"]
        if number != self.incarnations.get(audience, 0) + 1:
            self.complaints.append(f"{audience}: incarnation {number} is not the next")
        self.incarnations[audience] = number

    def _take_seen(self, fact: Any) -> None:
        self.seen |= {sight["event"] for sight in fact["sights"]}

    def _is_approved(self, maintenance: str) -> bool:
        events = self._announced[maintenance]["events"]
        return all(event["id"] in self.approvals for event in events)

    def compare(
        self, maintenances: Sequence[Any], latest: Mapping[str, tuple[str, int]]
    ) -> Sequence[str]:
        """Return all differences from the state and from what VMs saw last."""
        problems = list(self.complaints)
        state = {item["id"]: item["phase"] for item in maintenances}
        if state != self.phases:
            problems.append(
                f"the journal tells of {Counter(self.phases.values())},"
                f" the state of {Counter(state.values())}"
            )
        for audience, (_, seen) in latest.items():
            last = self.incarnations.get(audience, 0)
            if seen != last:
                problems.append(
                    f"{audience} saw {seen} last, the journal tells of {last}"
                )
        return problems

    def fates(self) -> Counter[str]:
        """Count why maintenances started, or that they were canceled."""
        return Counter(self._fate(id_, phase) for id_, phase in self.phases.items())

    def _fate(self, maintenance: str, phase: str) -> str:
        if phase == "CANCELED":
            return "called off"
        return "approved" if self._is_approved(maintenance) else "timed out"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
