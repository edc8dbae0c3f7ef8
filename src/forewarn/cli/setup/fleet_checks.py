"""Checks of the fleet and of maintenance operations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.cli.output import format_distance, format_when
from forewarn.cli.responses import (
    EventResponse,
    JsonObject,
    MaintenanceResponse,
    maintenance_from,
)
from forewarn.cli.setup.diagnosis import (
    Diagnosis,
    DoctorFacts,
    ok,
    problem,
    skipped,
    unreadable,
    warning,
)
from forewarn.errors import ForewarnError
from forewarn.formats import count, join_names

_LONG = timedelta(hours=1)  # after which a started operation gets a warning
#: Problems of one kind that are described separately.
SEPARATE = 3
_STUCK = "Stuck: "

# --- the fleet ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _FleetAdvice:
    """How to describe groups or VMs that the service's check found."""

    noun: str
    text: str  # {who} is replaced with the groups or VMs
    fix: str  # a subcommand; with backquotes, a sentence about another machine
    never: str | None = None  # shown without a last poll; None if polls do not matter
    needs_system_clock: bool = False  # a clock that jumps makes every VM look quiet


_FLEET_ADVICE: Mapping[str, _FleetAdvice] = {
    "group-without-vms": _FleetAdvice(
        noun="group", text="no VMs in {who}", fix="fleet show"
    ),
    "group-disabled": _FleetAdvice(
        noun="group",
        text="Scheduled Events is disabled for {who}, because no VM in the group has"
        " polled in the last 24 h",
        fix="run `forewarn watch` in a VM of the group",
        never="never polled",
    ),
    "one-update-domain": _FleetAdvice(
        noun="group",
        text="all VMs are in one update domain in {who}, so planned maintenance can"
        " affect them all at once; set `update_domain` in the fleet file",
        fix="fleet export > fleet.toml",
    ),
    "vm-without-host": _FleetAdvice(
        noun="VM",
        text="no host is known for {who}, so maintenance on their host would not be"
        " announced to them",
        fix="fleet show",
    ),
    "vm-without-address": _FleetAdvice(
        noun="VM",
        text="no address is known for {who}, so the metadata service does not"
        " recognize them",
        fix="fleet show",
    ),
    "vm-not-polling": _FleetAdvice(
        noun="VM",
        text="no poll in the last 10 min from {who}, so they may miss an event",
        fix="run `forewarn watch` in the VM",
        never="not since the service started",
        needs_system_clock=True,
    ),
}


def check_fleet(facts: DoctorFacts) -> Iterator[Diagnosis]:
    """Check for VMs that may miss events, and groups in one update domain."""
    fleet = facts.service.fleet
    if not isinstance(fleet, JsonObject):
        yield from unreadable("fleet", fleet)
        return
    if not fleet.number("vms"):
        yield warning(
            "fleet",
            "the fleet has no VMs; create a fleet file, and apply it with `forewarn"
            " fleet apply`",
            "forewarn fleet init",
        )
        return
    sizes = [
        count(number, noun)
        for noun in ("host", "group", "VM")
        if (number := fleet.number(f"{noun.lower()}s")) is not None
    ]
    found = [*_fleet_findings(facts, fleet)]
    yield from found or [ok("fleet", ", ".join(sizes))]


def _fleet_findings(facts: DoctorFacts, fleet: JsonObject) -> Iterator[Diagnosis]:
    clock = facts.service.clock
    has_system_clock = isinstance(clock, JsonObject) and clock.text("clock") == "system"
    for finding in fleet.parts("findings"):
        advice = _FLEET_ADVICE.get(finding.text("check") or "")
        if advice is None or (advice.needs_system_clock and not has_system_clock):
            continue
        who = _members(finding, advice, fleet.time("now") or facts.now)
        fix = advice.fix if "`" in advice.fix else facts.command(advice.fix)
        yield warning("fleet", advice.text.format(who=who), fix)


def _members(finding: JsonObject, advice: _FleetAdvice, now: datetime) -> str:
    number, items = finding.number("count") or 0, finding.parts("items")
    named = [_member(item, advice, now) for item in items[:3]]
    more = f" and {number - len(named)} more" if number > len(named) else ""
    return f"{count(number, advice.noun)} ({', '.join(named)}{more})"


def _member(item: JsonObject, advice: _FleetAdvice, now: datetime) -> str:
    name, last = item.text("name") or "?", item.time("last_request")
    if advice.never is None:
        return name
    return f"{name}: {format_distance(last, now) if last else advice.never}"


def check_limits(facts: DoctorFacts) -> Iterator[Diagnosis]:
    """Report VMs that exceeded a limit, if there are any."""
    limited = facts.service.limited
    vms = limited.parts("items") if isinstance(limited, JsonObject) else ()
    if vms:
        refused = sum(vm.number("refused") or 0 for vm in vms)
        names = join_names([vm.text("name") or "?" for vm in vms])
        yield warning(
            "limits",
            f"{count(len(vms), 'VM')} ({names}) exceeded limits in the last hour, and"
            f" {count(refused, 'request')} were refused",
            facts.command("fleet show"),
        )


# --- maintenance -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """A live maintenance operation and what it waits for."""

    maintenance: MaintenanceResponse
    due: bool
    waits: Sequence[JsonObject]
    seen: frozenset[str]  # events

    @property
    def work(self) -> JsonObject | None:
        """The unfinished work that it waits for, if any."""
        return next((w for w in self.waits if w.text("kind") == "work"), None)

    @property
    def unseen(self) -> Sequence[EventResponse]:
        """Events that no VM has seen."""
        return [
            event
            for event in self.maintenance.events
            if event.status is not None
            and event.approved_at is None
            and event.id not in self.seen
        ]


def _operation(item: JsonObject) -> _Operation:
    return _Operation(
        maintenance=maintenance_from(item.part("maintenance").plain),
        due=bool(item.plain.get("due")),
        waits=item.parts("waits"),
        seen=frozenset(sight.text("event") or "" for sight in item.parts("seen")),
    )


def check_maintenance(facts: DoctorFacts) -> Iterator[Diagnosis]:
    """Check for operations that are stuck, late, unseen or take long."""
    overview = facts.service.overview
    if overview is None or isinstance(overview, ForewarnError):
        yield from unreadable("maintenance", overview)
        return
    now = facts.service_now
    live = [_operation(item) for item in overview]
    found: list[Diagnosis] = []
    for kind in (_stuck, _late, _unseen, _long):
        found += _folded(facts, [d for o in live if (d := kind(facts, o, now))])
    more = "the first " if facts.service.overview_is_cut else ""
    number = count(len(live), "operation")
    healthy = f"{more}{number} in progress or scheduled, none stuck or late"
    yield from found or [
        ok("maintenance", healthy if live else "nothing in progress or scheduled")
    ]
    if found and more:
        yield skipped("maintenance", f"checked only the first {number}")


def _folded(facts: DoctorFacts, found: Sequence[Diagnosis]) -> Sequence[Diagnosis]:
    """Replace all but the first few problems of a kind with their number."""
    if len(found) <= SEPARATE + 1:
        return found
    rest = found[SEPARATE:]
    more = Diagnosis(
        check=rest[0].check,
        level=rest[0].level,
        text=f"{count(len(rest), 'more operation')} with the same problem",
        fix=facts.command("maintenance list"),
    )
    return [*found[:SEPARATE], more]


def _stuck(
    facts: DoctorFacts, operation: _Operation, now: datetime
) -> Diagnosis | None:
    maintenance = operation.maintenance
    since, work = maintenance.stuck_since, operation.work
    if since is None or maintenance.phase != "STARTED":
        return None
    reason = (work.text("text") or "") if work else "the driver failed"
    return problem(
        "maintenance",
        f"{maintenance.title} has been stuck since {format_when(since, now)}:"
        f" {reason.removeprefix(_STUCK)}",
        facts.command(f"maintenance retry {maintenance.id}"),
    )


def _late(facts: DoctorFacts, operation: _Operation, now: datetime) -> Diagnosis | None:
    maintenance = operation.maintenance
    due_at = maintenance.not_before
    is_late = operation.due and due_at is not None and due_at < now
    if maintenance.phase != "SCHEDULED" or not is_late:
        return None
    reason = operation.waits[0].text("text") if operation.waits else None
    return warning(
        "maintenance",
        f"{maintenance.title} should have started at {format_when(due_at, now)}, but"
        f" has not{f': {reason}' if reason else ''}",
        facts.command(f"maintenance explain {maintenance.id}"),
    )


def _unseen(
    facts: DoctorFacts, operation: _Operation, now: datetime
) -> Diagnosis | None:
    """Report events that no VM has seen after half of their notice."""
    maintenance, events = operation.maintenance, operation.unseen
    begins, announced = maintenance.not_before, maintenance.announced_at
    if maintenance.phase != "SCHEDULED" or not (events and begins and announced):
        return None
    if begins <= now or now - announced < begins - now:
        return None
    groups = join_names([event.group for event in events])
    return warning(
        "maintenance",
        f"{maintenance.title} starts {format_distance(begins, now)}, and no VM in"
        f" {groups} has seen its event",
        f"run `forewarn watch` in a VM of group {events[0].group}",
    )


def _long(facts: DoctorFacts, operation: _Operation, now: datetime) -> Diagnosis | None:
    maintenance, work = operation.maintenance, operation.work
    since = work.time("since") if work else None
    if maintenance.phase != "STARTED" or maintenance.stuck_since is not None:
        return None
    if work is None or since is None or now - since < _LONG:
        return None
    return warning(
        "maintenance",
        f"{maintenance.title} has been in progress since {format_when(since, now)}:"
        f" {work.text('text')}",
        facts.command(f"maintenance explain {maintenance.id}"),
    )
