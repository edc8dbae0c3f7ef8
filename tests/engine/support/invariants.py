"""Invariants of a store, true at every moment whatever has happened."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tests.engine.support.system import DocumentSink, System

from forewarn.core.fleet import Group
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy, transitions
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import Documents
from forewarn.ports import Work
from forewarn.protocol.types import EventType

#: Facts that a maintenance has at most once.
ONCE_IN_A_LIFE = (
    f.Announced,
    f.Started,
    f.WorkEnded,
    f.Completed,
    f.Canceled,
    f.Closed,
)

#: The minimum notice in this fleet, where no group sets its own for Terminate.
PROMISED = {
    EventType.FREEZE: timedelta(minutes=15),
    EventType.REBOOT: timedelta(minutes=15),
    EventType.REDEPLOY: timedelta(minutes=10),
    EventType.PREEMPT: timedelta(seconds=30),
    EventType.TERMINATE: timedelta(minutes=5),
}

ZERO = timedelta(0)

BySomebody = (
    f.Announced | f.Approved | f.WorkEnded | f.Canceled | f.WorkRetried | f.Closed
)


@dataclass(frozen=True, slots=True)
class ExpectedFacts:
    """Facts that a successful command must leave: `count` of a `kind`."""

    kind: type[BySomebody]
    by: str
    count: int


def check(
    system: System, promises: Sequence[ExpectedFacts], works: Sequence[Work], story: str
) -> None:
    """Assert every invariant; `story` is named in failures."""
    entries = system.store.facts(0, 1_000_000)
    facts = [entry.fact for entry in entries]
    positions = [entry.position for entry in entries]
    assert positions == [*range(1, len(entries) + 1)], f"{story}: gaps in {positions}"
    numbers = [fact.announced.number for fact in facts if isinstance(fact, f.Announced)]
    assert numbers == [*range(1, len(numbers) + 1)], f"{story}: numbers {numbers}"
    check_state(system, facts, story)
    check_moments(system, story)
    check_documents(system, story)
    check_history(facts, story)
    check_notice(facts, story)
    for promise in promises:
        kept = sum(
            isinstance(fact, promise.kind) and fact.by == promise.by for fact in facts
        )
        assert kept == promise.count, f"{story}: {kept} facts for {promise}"
    attempts = Counter((work.maintenance, work.attempt) for work in works)
    assert set(attempts.values()) <= {1}, f"{story}: {attempts.most_common(1)}"


def check_state(system: System, facts: Sequence[f.Fact], story: str) -> None:
    """Check that the replayed journal gives the stored state."""
    replayed = transitions.replay(facts)
    with system.store.snapshot() as snapshot:
        fleet, live = snapshot.fleet(), snapshot.slice(None)
        assert snapshot.position() == len(facts), f"{story}: the counter is wrong"
    for what, expected, kept in (
        ("hosts", replayed.hosts, fleet.hosts),
        ("groups", _without_requests(replayed.groups), _without_requests(fleet.groups)),
        ("VMs", replayed.vms, fleet.vms),
        ("audiences", replayed.audiences, live.audiences),
        (
            "maintenances",
            [*replayed.maintenances.values()],
            system.maintenances(),
        ),
        ("outages", _relevant_outages(replayed.outages, live), live.outages),
    ):
        assert expected == kept, f"{story}: the journal has other {what}"
    numbers = [item.number for item in system.maintenances()]
    assert numbers == [*range(1, len(numbers) + 1)], f"{story}: numbers {numbers}"


def _without_requests(groups: Mapping[str, Group]) -> Mapping[str, Group]:
    """Return groups without their last request, which is not journaled."""
    return {name: replace(group, last_request=None) for name, group in groups.items()}


def _relevant_outages(outages: Sequence[Outage], live: Slice) -> Sequence[Outage]:
    """Return the outages that a notice or an idle period of `live` reaches back to."""
    reach = [item.announced_at for item in live.maintenances.values()]
    reach += [item.last_request for item in live.groups.values() if item.last_request]
    return tuple(item for item in outages if reach and item.until > min(reach))


def check_moments(system: System, story: str) -> None:
    """Check that all waiting maintenance is found when its time or notice has come.

    One that another maintenance blocks at that time may have no timer: it gets one, or
    starts, when the other ends.
    """
    with system.store.snapshot() as snapshot:
        now, live = system.engine.now(snapshot), snapshot.slice(None)
        for maintenance in live.maintenances.values():
            if maintenance.phase is not Phase.SCHEDULED or maintenance.is_approved:
                continue
            promised = PROMISED[maintenance.type] - served(
                maintenance, now, live.outages
            )
            moment = max(
                maintenance.not_before,
                now + (ZERO if has_no_notice(maintenance) else promised),
            )
            due_ids = {due.id for due in snapshot.due(moment)}
            blockers = policy.blockers(live, maintenance, moment)
            is_blocked = any(blocker.held_by is not None for blocker in blockers)
            assert moment <= now or maintenance.id in due_ids or is_blocked, (
                f"{story}: {maintenance.id} has no timer"
            )


def check_documents(system: System, story: str) -> None:
    """Check that current documents equal those of a new reader."""
    plane = DocumentSink()
    Documents(system.store, plane.hand_over).open()
    system.documents.catch_up()
    assert system.plane.seen_by_all() == plane.seen_by_all(), f"{story}: documents"


def check_history(facts: Iterable[f.Fact], story: str) -> None:
    """Check that unique facts are not repeated and that time never goes back."""
    seen: Counter[tuple[object, ...]] = Counter()
    last = None
    for fact in facts:
        assert last is None or last <= fact.at, f"{story}: {fact} is out of order"
        last = fact.at
        if isinstance(fact, ONCE_IN_A_LIFE):
            seen[type(fact), fact.maintenance] += 1
        if isinstance(fact, f.Approved):
            seen[f.Approved, fact.event] += 1
        if isinstance(fact, f.Published):
            seen[f.Published, fact.audience, fact.epoch, fact.incarnation] += 1
        if isinstance(fact, f.Seen):
            seen.update((sight.event, sight.vm) for sight in fact.sights)
    twice = [what for what, count in seen.items() if count > 1]
    assert not twice, f"{story}: {twice} is repeated"


def check_notice(facts: Sequence[f.Fact], story: str) -> None:
    """Check that unapproved maintenance was shown long enough before its start."""
    replayed = transitions.replay(facts)
    last = None
    for outage in replayed.outages:
        assert last is None or last.until <= outage.since, f"{story}: {outage} repeated"
        last = outage
    for maintenance in replayed.maintenances.values():
        if (
            maintenance.started_at is None
            or maintenance.is_approved
            or has_no_notice(maintenance)
        ):
            continue
        shown = served(maintenance, maintenance.started_at, replayed.outages)
        assert shown >= PROMISED[maintenance.type], (
            f"{story}: {maintenance.id} had {shown}"
        )


def has_no_notice(maintenance: Maintenance) -> bool:
    """Return whether no notice was promised."""
    return maintenance.emergency or maintenance.at_once


def served(
    maintenance: Maintenance, until: datetime, outages: Iterable[Outage]
) -> timedelta:
    """Return how long it could be read before `until`."""
    shown = until - maintenance.announced_at
    for outage in outages:
        start = max(outage.since, maintenance.announced_at)
        shown -= max(min(outage.until, until) - start, ZERO)
    return shown
