"""Journal check: a replay from the start must result in the final state.

It does not import forewarn, so it is an independent check. The load test and
`tests/faults` use it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import Any

#: Phase before and after each fact.
_MOVES: Mapping[str, tuple[str | None, str]] = {
    "Announced": (None, "SCHEDULED"),
    "Started": ("SCHEDULED", "STARTED"),
    "Completed": ("STARTED", "COMPLETED"),
    "Canceled": ("SCHEDULED", "CANCELED"),
    "Closed": ("STARTED", "FAILED"),
}
_STATUSES = {"SCHEDULED": "Scheduled", "STARTED": "Started"}
_PLANNED = ("Freeze", "Reboot", "Redeploy")
_MINIMUM = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30}
_TERMINATE = 300  # seconds, unless the group has its own setting


class JournalRule(StrEnum):
    """Rule that every journal must follow."""

    ORDER = "positions have no gaps, and times never go back"
    PHASES = "a maintenance starts once and ends once"
    NOT_BEFORE = "nothing starts before NotBefore, unless approved"
    NOTICE = "the minimum notice is kept, without counting downtime"
    DOMAINS = "one update domain of a group at a time"
    APPROVALS = "an event is approved once"
    INCARNATIONS = "incarnations have no gaps"
    PUBLICATION = "a document changes only with its incarnation"
    ATTEMPTS = "attempts are numbered, and begin after the start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvent:
    """An event of a document, with the fields of the newest api-version."""

    id: str
    status: str
    type: str
    resources: tuple[str, ...]
    paas: frozenset[str]
    not_before: datetime | None  # None if it is blank
    description: str
    source: str
    duration: int


@dataclass(slots=True, kw_only=True)
class ReplayedMaintenance:
    """State of a maintenance after the facts so far."""

    view: Any
    at: datetime
    phase: str = "SCHEDULED"
    domains: Mapping[str, object] = field(default_factory=dict)  # by event
    paas: frozenset[str] = frozenset()
    minimum: timedelta = timedelta(0)
    started_at: datetime | None = None  # None if it has not started
    withdrawn: dict[str, datetime] = field(default_factory=dict)  # by event
    attempts: int = 0

    @property
    def not_before(self) -> datetime:
        """The time before which it starts only if approved."""
        return _moment(self.view["not_before"])

    @property
    def is_immediate(self) -> bool:
        """Whether it starts without notice; any other NotBefore is a whole second."""
        return self.not_before == self.at

    def live_events(self, group: str | None = None) -> Iterator[Any]:
        """Yield the events that are not withdrawn."""
        for event in self.view["events"]:
            if event["id"] not in self.withdrawn and group in (None, event["group"]):
                yield event

    def update_domains(self, group: str) -> set[object]:
        """Return the update domains of `group` that it affects."""
        return {self.domains[event["id"]] for event in self.live_events(group)}


class JournalReplay:
    """State that results from the facts of a journal, and its inconsistencies."""

    def __init__(
        self,
        facts: Sequence[Any],
        *,
        is_emergency: Callable[[Any], bool] | None = None,
    ) -> None:
        """Replay `facts`, oldest first.

        The minimum notice is checked only if `is_emergency` is given: it shows to which
        maintenance the minimum does not apply.
        """
        self.violations: list[tuple[JournalRule, str]] = []
        self.maintenances: dict[str, ReplayedMaintenance] = {}
        self.approvals: dict[str, Any] = {}  # by event
        self.audiences: dict[str, tuple[str, int]] = {}  # epoch and incarnation
        self.seen: set[str] = set()  # events
        self.vms: dict[str, Any] = {}
        self.groups: dict[str, Any] = {}
        #: By audience, epoch and incarnation: position and events of each document.
        self.documents: dict[tuple[str, str, int], tuple[int, Sequence[ShownEvent]]]
        self.documents = {}
        self._is_emergency = is_emergency
        self._live: dict[str, ReplayedMaintenance] = {}
        self._outages: list[tuple[datetime, datetime]] = []
        self._enabled: set[str] = set()  # groups; the load polls them all the time
        self._changed: set[str] = set()  # groups of the current transaction
        takes: Mapping[str, Callable[[Any], None]] = {
            "FleetChanged": self._take_fleet,
            "Enabled": self._take_listening,
            "OutageEnded": self._take_outage,
            "Announced": self._take_announced,
            "Started": self._take_started,
            "Approved": self._take_approved,
            "Withdrawn": self._take_withdrawn,
            "WorkBegan": self._take_work,
            "Published": self._take_published,
            "Seen": self._take_seen,
        }
        self._check_order(facts)
        for fact, following in zip_longest(facts, facts[1:]):
            takes.get(fact["fact"], lambda fact: None)(fact)
            if fact["fact"] in _MOVES:
                self._move(fact)
            if following is None or following["at"] != fact["at"]:
                self._check_publication(fact)

    @property
    def complaints(self) -> Sequence[str]:
        """The texts of all violations."""
        return [text for _, text in self.violations]

    @property
    def phases(self) -> Mapping[str, str]:
        """The phase of each maintenance."""
        return {id_: replayed.phase for id_, replayed in self.maintenances.items()}

    def audience_of(self, vm: str) -> str:
        """Return the audience that `vm` belongs to."""
        group = self.vms[vm]["group"]
        return f"{group}/{vm}" if self.groups[group].get("isolated") else str(group)

    def _complain(self, rule: JournalRule, text: str) -> None:
        self.violations.append((rule, text))

    def _check_order(self, facts: Sequence[Any]) -> None:
        positions = [fact["position"] for fact in facts]
        if positions != [*range(1, len(facts) + 1)]:
            self._complain(JournalRule.ORDER, "the journal has gaps")
        times = [_moment(fact["at"]) for fact in facts]
        if times != sorted(times):
            self._complain(JournalRule.ORDER, "the journal's times go back")

    # --- fleet, outages ------------------------------------------------------

    def _take_fleet(self, fact: Any) -> None:
        for name in fact["removed_vms"]:
            self.vms.pop(name, None)
        for name in fact["removed_groups"]:
            self.groups.pop(name, None)
            self.audiences.pop(name, None)
        self.groups |= {group["name"]: group for group in fact["groups"]}
        self.vms |= {vm["name"]: vm for vm in fact["vms"]}
        audiences = {self.audience_of(vm["name"]) for vm in fact["vms"]}
        plain = (group for group in fact["groups"] if not group.get("isolated"))
        for audience in audiences.union(group["name"] for group in plain):
            if audience not in self.audiences:
                self._begin(audience, fact["epoch"], fact["position"])

    def _take_listening(self, fact: Any) -> None:
        for audience in [*self.audiences]:
            if audience.partition("/")[0] == fact["group"]:
                self._begin(audience, fact["epoch"], fact["position"])
        self._changed.add(fact["group"])
        self._enabled.add(fact["group"])

    def _begin(self, audience: str, epoch: str, position: int) -> None:
        self.audiences[audience] = (epoch, 0)
        self.documents[audience, epoch, 0] = (position, ())

    def _take_outage(self, fact: Any) -> None:
        since, until = fact["outage"]["since"], fact["outage"]["until"]
        self._outages.append((_moment(since), _moment(until)))

    # --- maintenance ---------------------------------------------------------

    def _move(self, fact: Any) -> None:
        kind, id_ = fact["fact"], fact["maintenance"]
        before, after = _MOVES[kind]
        replayed = self.maintenances.get(id_)
        phase = None if replayed is None or kind == "Announced" else replayed.phase
        if phase != before:
            text = f"{kind} for {id_}, which was {phase}"
            self._complain(JournalRule.PHASES, text)
        if replayed is not None:
            replayed.phase = after
            self._touch(replayed)
            if after in _STATUSES:
                self._live[id_] = replayed
            else:
                self._live.pop(id_, None)

    def _touch(self, replayed: ReplayedMaintenance) -> None:
        self._changed |= {event["group"] for event in replayed.view["events"]}

    def _take_announced(self, fact: Any) -> None:
        id_, view = fact["maintenance"], fact["announced"]
        if (known := self.maintenances.get(id_)) is not None:
            text = f"Announced for {id_}, which was {known.phase}"
            self._complain(JournalRule.PHASES, text)
        names = [name for event in view["events"] for name in event["resources"]]
        vms = {name: self.vms.get(name, {}) for name in names}
        replayed = self.maintenances[id_] = ReplayedMaintenance(
            view=view,
            at=_moment(fact["at"]),
            domains={
                event["id"]: vms[event["resources"][0]].get("update_domain")
                for event in view["events"]
            },
            paas=frozenset(name for name, vm in vms.items() if vm.get("paas")),
        )
        for event in view["events"]:
            self._check_resources(event, [vms[name] for name in event["resources"]])
        if self._is_emergency is not None:
            self._check_minimum(replayed, is_emergency=self._is_emergency(view))

    def _check_resources(self, event: Any, vms: Sequence[Any]) -> None:
        """Check that an event lists VMs of one audience and update domain."""
        group = self.groups.get(event["group"], {})
        places = {(vm.get("group"), vm.get("update_domain")) for vm in vms}
        if len(places) != 1 or (group.get("isolated") and len(vms) != 1):
            text = f"{event['id']} lists VMs of two update domains or audiences"
            self._complain(JournalRule.DOMAINS, text)

    def _check_minimum(
        self, replayed: ReplayedMaintenance, *, is_emergency: bool
    ) -> None:
        view = replayed.view
        if replayed.is_immediate:
            if not self._is_free(view) and not is_emergency:
                text = f"{view['id']}: announced without notice"
                self._complain(JournalRule.NOTICE, text)
        elif not is_emergency:
            minima = [self._minimum(view, event) for event in view["events"]]
            replayed.minimum = timedelta(seconds=max(minima))
            if replayed.not_before < replayed.at + replayed.minimum:
                text = f"{view['id']}: announced with less than the minimum notice"
                self._complain(JournalRule.NOTICE, text)

    def _is_free(self, view: Any) -> bool:
        """Whether it may start without notice; no group approves in advance."""
        if view["cause"] in ("host-failure", "scale-in"):
            return True
        groups = {event["group"] for event in view["events"]}
        return view["source"] == "User" and groups.isdisjoint(self._enabled)

    def _minimum(self, view: Any, event: Any) -> int:
        if view["type"] != "Terminate":
            return _MINIMUM[view["type"]]
        return self.groups[event["group"]]["terminate_notice_seconds"] or _TERMINATE

    def _take_started(self, fact: Any) -> None:
        id_, at = fact["maintenance"], _moment(fact["at"])
        replayed = self.maintenances[id_]
        if not self._is_approved(id_):
            if at < replayed.not_before:
                text = f"{id_} started before its NotBefore, unapproved"
                self._complain(JournalRule.NOT_BEFORE, text)
            if at < replayed.at + replayed.minimum + self._away(replayed.at, at):
                text = f"{id_} started before it was shown for its minimum notice"
                self._complain(JournalRule.NOTICE, text)
        if _is_planned(replayed.view):
            self._check_domains(replayed)
        replayed.started_at = at

    def _away(self, since: datetime, until: datetime) -> timedelta:
        lost = (
            min(end, until) - max(begin, since)
            for begin, end in self._outages
            if begin < until and since < end
        )
        return sum(lost, timedelta(0))

    def _check_domains(self, replayed: ReplayedMaintenance) -> None:
        for group in {event["group"] for event in replayed.live_events()}:
            for id_, other in self._live.items():
                if other.phase != "STARTED" or not [*other.live_events(group)]:
                    continue
                if self._is_too_late_to_block(other, replayed):
                    continue
                domains = replayed.update_domains(group) | other.update_domains(group)
                if len(domains) > 1 or None in domains:
                    text = f"{replayed.view['id']} started in {group} during {id_}"
                    self._complain(JournalRule.DOMAINS, text)

    def _is_too_late_to_block(
        self, other: ReplayedMaintenance, replayed: ReplayedMaintenance
    ) -> bool:
        """Whether a group's operation started after planned maintenance was due."""
        if _is_planned(other.view) or other.view["cause"] == "host-failure":
            return False
        due_at = replayed.not_before
        if self._is_approved(replayed.view["id"]):
            settled = [
                replayed.withdrawn.get(event["id"])
                or _moment(self.approvals[event["id"]]["at"])
                for event in replayed.view["events"]
            ]
            due_at = min(due_at, max(settled))
        return other.started_at is not None and other.started_at > due_at

    def _take_approved(self, fact: Any) -> None:
        if fact["event"] in self.approvals:
            text = f"{fact['event']} was approved twice"
            self._complain(JournalRule.APPROVALS, text)
        self.approvals.setdefault(fact["event"], fact)

    def _take_withdrawn(self, fact: Any) -> None:
        replayed = self.maintenances[fact["maintenance"]]
        replayed.withdrawn[fact["event"]] = _moment(fact["at"])
        self._touch(replayed)

    def _take_work(self, fact: Any) -> None:
        replayed = self.maintenances[fact["maintenance"]]
        replayed.attempts += 1
        if (replayed.phase, replayed.attempts) != ("STARTED", fact["attempt"]):
            text = f"attempt {fact['attempt']} of {fact['maintenance']}"
            self._complain(
                JournalRule.ATTEMPTS,
                f"{text}: expected {replayed.attempts}, phase {replayed.phase}",
            )

    # --- documents -----------------------------------------------------------

    def _take_published(self, fact: Any) -> None:
        audience, number = fact["audience"], fact["incarnation"]
        before = self.audiences.get(audience, (fact["epoch"], 0))
        if (fact["epoch"], number) != (before[0], before[1] + 1):
            text = f"{audience}: incarnation {number} is not the next one"
            self._complain(JournalRule.INCARNATIONS, text)
        self.audiences[audience] = (fact["epoch"], number)
        shown = (fact["position"], [*self._shown(audience)])
        self.documents[audience, fact["epoch"], number] = shown

    def _check_publication(self, fact: Any) -> None:
        """Check, at the end of a transaction, that each change was published."""
        for audience, (epoch, number) in self.audiences.items():
            if audience.partition("/")[0] not in self._changed:
                continue
            _, shown = self.documents.get((audience, epoch, number), (0, ()))
            if [*shown] != [*self._shown(audience)]:
                text = (
                    f"{audience} changed at {fact['position']}, but not its incarnation"
                )
                self._complain(JournalRule.PUBLICATION, text)
        self._changed.clear()

    def _shown(self, audience: str) -> Iterator[ShownEvent]:
        group, _, vm = audience.partition("/")
        for replayed in self._live.values():
            for event in replayed.live_events(group):
                if not vm or vm in event["resources"]:
                    yield _shown_event(replayed, event, _STATUSES[replayed.phase])

    def _take_seen(self, fact: Any) -> None:
        self.seen |= {sight["event"] for sight in fact["sights"]}

    def _is_approved(self, maintenance: str) -> bool:
        events = self.maintenances[maintenance].live_events()
        return all(event["id"] in self.approvals for event in events)

    def compare(
        self, maintenances: Sequence[Any], latest: Mapping[str, tuple[str, int]]
    ) -> Sequence[str]:
        """Return all differences from the state and from what VMs saw last."""
        problems = [*self.complaints]
        state = {item["id"]: item["phase"] for item in maintenances}
        if state != self.phases:
            problems.append(
                f"the journal has {Counter(self.phases.values())},"
                f" the state {Counter(state.values())}"
            )
        for audience, (_, seen) in latest.items():
            _, last = self.audiences.get(audience, ("", 0))
            if seen != last:
                problems.append(
                    f"{audience} saw {seen} last, but the journal has {last}"
                )
        return problems

    def fates(self) -> Counter[str]:
        """Count maintenance operations by outcome: approved, timed out or canceled."""
        return Counter(self._fate(id_, phase) for id_, phase in self.phases.items())

    def _fate(self, maintenance: str, phase: str) -> str:
        if phase == "CANCELED":
            return "canceled"
        return "approved" if self._is_approved(maintenance) else "timed out"


def _is_planned(view: Any) -> bool:
    """Whether the platform chose the time, so that update domains apply."""
    return (
        view["source"] == "Platform"
        and view["type"] in _PLANNED
        and view["cause"] != "host-failure"
    )


def _shown_event(replayed: ReplayedMaintenance, event: Any, status: str) -> ShownEvent:
    view = replayed.view
    is_blank = status == "Started" or replayed.is_immediate
    return ShownEvent(
        id=event["id"],
        status=status,
        type=view["type"],
        resources=tuple(event["resources"]),
        paas=replayed.paas,
        not_before=None if is_blank else replayed.not_before,
        description=view["description"],
        source=view["source"],
        duration=view["duration_seconds"],
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
