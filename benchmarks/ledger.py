"""The journal, judged at the end: told from its beginning, it leads to what there is.

Nothing of forewarn is used here: a second opinion is worth more than the first again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

#: Which fact leads from which phase to which.
_MOVES: Mapping[str, tuple[str | None, str]] = {
    "Announced": (None, "SCHEDULED"),
    "Started": ("SCHEDULED", "STARTED"),
    "Completed": ("STARTED", "COMPLETED"),
    "Canceled": ("SCHEDULED", "CANCELED"),
}


class Ledger:
    """What the journal tells, fact by fact."""

    def __init__(self, facts: Sequence[Any]) -> None:
        """Read `facts` from the first to the last."""
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
        positions = [each["position"] for each in facts]
        if positions != [*range(1, len(facts) + 1)]:
            self.complaints.append("the journal has gaps")
        times = [_moment(each["at"]) for each in facts]
        if times != sorted(times):
            self.complaints.append("the journal's times go back")

    def _move(self, fact: Any) -> None:
        kind, id_ = fact["fact"], fact["maintenance"]
        before, after = _MOVES[kind]
        found = self.phases.get(id_)
        if found != before:
            self.complaints.append(f"{kind} happened to {id_}, which was {found}")
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
        self.seen |= {each["event"] for each in fact["sights"]}

    def _is_approved(self, maintenance: str) -> bool:
        events = self._announced[maintenance]["events"]
        return all(each["id"] in self.approvals for each in events)

    def compare(
        self, maintenances: Sequence[Any], latest: Mapping[str, tuple[str, int]]
    ) -> Sequence[str]:
        """Complain where the state, or what VMs saw last, is another one."""
        found = list(self.complaints)
        state = {each["id"]: each["phase"] for each in maintenances}
        if state != self.phases:
            found.append(
                f"the journal tells of {Counter(self.phases.values())},"
                f" the state of {Counter(state.values())}"
            )
        for audience, (_, seen) in latest.items():
            told = self.incarnations.get(audience, 0)
            if seen != told:
                found.append(f"{audience} saw {seen} last, the journal tells of {told}")
        return found

    def fates(self) -> Counter[str]:
        """Count how maintenances came to start, or did not."""
        return Counter(self._fate(id_, phase) for id_, phase in self.phases.items())

    def _fate(self, maintenance: str, phase: str) -> str:
        if phase == "CANCELED":
            return "called off"
        return "approved" if self._is_approved(maintenance) else "timed out"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
