"""Invariants that must hold after every step, written by hand.

Nothing here calls the core. Each rule is stated a second time, in different terms, so
that the code under test does not check itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from forewarn.core.fleet import Audience, Group
from forewarn.core.lifecycle.facts import Enabled
from forewarn.core.lifecycle.model import Event, Maintenance, Slice
from forewarn.core.lifecycle.settlement import Step

DAY = timedelta(days=1)

NOTICE = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30}  # seconds

MOVES = {
    ("SCHEDULED", "STARTED"),
    ("SCHEDULED", "CANCELED"),
    ("STARTED", "COMPLETED"),
    ("STARTED", "FAILED"),
}

LIVE = ("SCHEDULED", "STARTED")


@dataclass
class CommandHistory:
    """Commands that the model has seen so far.

    Its clock stands still while the service is down.
    """

    there: timedelta = timedelta(0)  # total uptime of the service
    announced: dict[str, timedelta] = field(default_factory=dict)  # uptime then
    last_polls: dict[str, timedelta] = field(
        default_factory=dict
    )  # uptime at the last poll
    approved: set[str] = field(default_factory=set)  # event ids
    waits_for: dict[str, set[str]] = field(default_factory=dict)  # per Terminate
    left: dict[str, set[str]] = field(default_factory=dict)  # VMs, per maintenance

    def leave(self, slice_: Slice, vm: str, host: str | None = None) -> None:
        """Record that `vm` leaves the fleet, or the host it was on."""
        for maintenance in slice_.maintenances.values():
            scheduled = maintenance.phase.value == "SCHEDULED"
            concerned = scheduled and maintenance.host == host if host else True
            if vm in maintenance.vms and maintenance.phase.value in LIVE and concerned:
                self.left.setdefault(maintenance.id, set()).add(vm)

    def deallocate(self, slice_: Slice, vm: str) -> None:
        """Record that `vm` is deallocated, so that only deletions still touch it."""
        others = {
            name: maintenance
            for name, maintenance in slice_.maintenances.items()
            if not (maintenance.removes and maintenance.type.value == "Terminate")
        }
        self.leave(replace(slice_, maintenances=others), vm)

    def is_disabled(self, group: Group) -> bool:
        """Return whether the group has not polled for a day of uptime."""
        if group.enabled.value == "always":
            return False
        last = self.last_polls.get(group.name)
        return last is None or self.there - last >= DAY


# --- one step ----------------------------------------------------------------


def check_step(
    before: Slice, step: Step, now: datetime, memory: CommandHistory
) -> None:
    """Check everything that one step may and may not do."""
    assert bool(step.facts) == (step.slice != before)
    assert all(fact.at == now for fact in step.facts)
    check_constants(before, step.slice)
    check_announced(before, step.slice)
    check_moves(before, step.slice)
    check_starts(before, step.slice, now, memory)
    check_ends(before, step.slice, now)
    check_documents(before, step.slice)
    check_epochs(before, step)


def check_constants(before: Slice, after: Slice) -> None:
    """Check that announced ids, times and resources stay, in their order."""
    ids = list(before.maintenances)
    assert list(after.maintenances)[: len(ids)] == ids
    for old in before.maintenances.values():
        assert promises(after.maintenances[old.id]) == promises(old)


def promises(maintenance: Maintenance) -> object:
    shares = [(event.id, event.group, event.resources) for event in maintenance.events]
    return maintenance.id, maintenance.not_before, maintenance.vms, shares


def check_announced(before: Slice, after: Slice) -> None:
    """Check that new events name one VM each in isolated groups, and no VM twice."""
    for new in after.maintenances.values():
        if new.id not in before.maintenances:
            named = [vm for event in new.events for vm in event.resources]
            assert sorted(named) == sorted(set(new.vms))
            for event in new.events:
                isolated = after.groups[event.group].isolated
                assert len(event.resources) == 1 or not isolated


def check_moves(before: Slice, after: Slice) -> None:
    """Check that each phase stays or makes one allowed move."""
    for old in before.maintenances.values():
        new = after.maintenances[old.id]
        moved = (old.phase.value, new.phase.value)
        assert old.phase is new.phase or moved in MOVES


def check_starts(
    before: Slice, after: Slice, now: datetime, memory: CommandHistory
) -> None:
    """Check that each start was due or approved, and that nothing blocked it."""
    ran = [item for item in before.maintenances.values() if runs(item)]
    still = [item for item in ran if runs(after.maintenances[item.id])]
    for new in started(before, after):
        approved = {item.id for item in remaining_events(new)} <= memory.approved
        assert now >= new.not_before or approved
        assert not is_short_of_notice(after, new, memory)
        assert new.started_at == now
        assert not is_coupled(after, new, now, memory)
        if is_planned(new) and not new.ignore_blockers:
            assert not any(blocks(other, new) for other in still)
            assert not any(
                is_before(other, new) for other in not_started(after, now, memory)
            )


def check_ends(before: Slice, after: Slice, now: datetime) -> None:
    """Check that each completion was shown for 5 s, with work and duration over."""
    for old in before.maintenances.values():
        if runs(old) and after.maintenances[old.id].phase.value == "COMPLETED":
            new = after.maintenances[old.id]
            assert old.started_at is not None
            ended = new.completed_by is not None
            seconds = 5 if ended else max(5, old.duration)
            assert now >= old.started_at + timedelta(seconds=seconds)
            if new.cause.value == "host-failure":
                assert ended or new.duration >= 0
            else:
                assert ended or {*new.done, *new.left} == set(new.vms)


def started(before: Slice, after: Slice) -> Iterator[Maintenance]:
    for new in after.maintenances.values():
        old = before.maintenances.get(new.id)
        if runs(new) and (old is None or not runs(old)):
            yield new


def runs(maintenance: Maintenance) -> bool:
    return maintenance.phase.value == "STARTED"


def is_planned(maintenance: Maintenance) -> bool:
    return (
        maintenance.source.value == "Platform"
        and maintenance.type.value in ("Freeze", "Reboot", "Redeploy")
        and maintenance.cause.value != "host-failure"
    )


def is_repeated(slice_: Slice, operation: str, vm: str) -> bool:
    """Return whether `vm` has a live operation that rules out another one."""
    live = [
        maintenance
        for maintenance in slice_.maintenances.values()
        if maintenance.phase.value in LIVE
        and vm in maintenance.vms
        and vm not in maintenance.left
    ]
    if operation == "delete":
        return any(
            maintenance.removes and maintenance.type.value == "Terminate"
            for maintenance in live
        )
    if operation == "evict":
        return any(maintenance.cause.value == "eviction" for maintenance in live)
    return any(
        maintenance.source.value == "User"
        and maintenance.cause.value in ("user-restart", "user-redeploy", "reimage")
        for maintenance in live
    )


def blocks(running: Maintenance, one: Maintenance) -> bool:
    """Return whether `running` keeps `one` from starting once it is due.

    What a group can cause itself blocks nothing that was due before it started.
    """
    is_caused = not is_planned(running) and running.cause.value != "host-failure"
    assert running.started_at is not None
    if is_caused and running.started_at > due_at(one):
        return False
    return conflict(one, running)


def due_at(one: Maintenance) -> datetime:
    ready = [event.approved_at or event.withdrawn_at for event in one.events]
    times = [moment for moment in ready if moment is not None]
    return (
        min(one.not_before, max(times))
        if len(times) == len(ready)
        else (one.not_before)
    )


def conflict(one: Maintenance, other: Maintenance) -> bool:
    """Return whether two operations share a group beyond one common update domain."""
    for group in {
        event.group for event in remaining_events(one) + remaining_events(other)
    }:
        mine = {
            event.update_domain
            for event in remaining_events(one)
            if event.group == group
        }
        theirs = {
            event.update_domain
            for event in remaining_events(other)
            if event.group == group
        }
        same = mine == theirs and len(mine) == 1 and mine != {None}
        if mine and theirs and not same:
            return True
    return False


def check_documents(before: Slice, after: Slice) -> None:
    """Check that an incarnation rises by one exactly when the visible events change."""
    for name, audience in after.audiences.items():
        old = before.audiences.get(name)
        shown = visible_events(after, audience)
        if old is None or old.epoch != audience.epoch:
            assert audience.incarnation == (1 if shown else 0)
        else:
            risen = audience.incarnation - old.incarnation
            assert risen == (1 if shown != visible_events(before, old) else 0)


def check_epochs(before: Slice, step: Step) -> None:
    """Check that an audience gets a new epoch only when its group becomes enabled."""
    began = {fact.group for fact in step.facts if isinstance(fact, Enabled)}
    for name, audience in step.slice.audiences.items():
        old = before.audiences.get(name)
        if old is not None and old.epoch != audience.epoch:
            assert audience.group in began


def visible_events(slice_: Slice, audience: Audience) -> list[object]:
    """Return everything that the wire shows to an audience."""
    return [
        (
            event.id,
            maintenance.phase.value,
            maintenance.type.value,
            event.resources,
            "" if maintenance.at_once or runs(maintenance) else maintenance.not_before,
            maintenance.description,
            maintenance.source.value,
            maintenance.duration,
        )
        for maintenance in slice_.maintenances.values()
        if maintenance.phase.value in LIVE
        for event in remaining_events(maintenance)
        if event.group == audience.group
        if audience.vm is None or audience.vm in event.resources
    ]


# --- the state ---------------------------------------------------------------


def check_state(slice_: Slice) -> None:
    """Check that no two operations run together that must not.

    Planned ones never run in two update domains of a group, and no VM is moved twice at
    the same time, once off a degraded host.
    """
    patient = [
        item
        for item in slice_.maintenances.values()
        if runs(item) and not item.ignore_blockers
    ]
    for first in patient:
        assert not any(
            is_moving_with(first, second) for second in patient if first is not second
        )
    planned = [
        maintenance
        for maintenance in slice_.maintenances.values()
        if runs(maintenance)
        and is_planned(maintenance)
        and not maintenance.ignore_blockers
    ]
    for first in planned:
        for second in planned:
            assert first.id == second.id or not conflict(first, second)


def check_withdrawn(slice_: Slice, memory: CommandHistory) -> None:
    """Check that an event is withdrawn when all its VMs left before it started."""
    for maintenance in slice_.maintenances.values():
        left = memory.left.get(maintenance.id, set())
        assert set(maintenance.left) == left
        for event in maintenance.events:
            assert event.withdrawn_at is None or set(event.resources) <= left
        if maintenance.phase.value == "SCHEDULED":
            assert remaining_events(maintenance)
            assert all(
                not set(event.resources) <= left
                for event in remaining_events(maintenance)
            )


def check_degraded(slice_: Slice) -> None:
    """Check that a VM redeployed off a degraded host is not moved off it again."""
    maintenances = slice_.maintenances.values()
    redeploys = [
        item
        for item in maintenances
        if item.phase.value == "COMPLETED"
        and item.type.value == "Redeploy"
        and item.cause.value != "host-failure"
    ]
    for degraded in maintenances:
        if degraded.cause.value != "degraded" or degraded.phase.value != "SCHEDULED":
            continue
        for item in redeploys:
            assert item.started_at is not None
            if item.started_at >= degraded.announced_at:
                moved = ({*item.vms} - {*item.left}) & {*degraded.vms}
                assert moved <= {*degraded.left}


def check_deallocated(slice_: Slice) -> None:
    """Check that nothing but a deletion touches a deallocated VM."""
    for maintenance in slice_.maintenances.values():
        touched = {*maintenance.vms} - {*maintenance.left}
        if maintenance.phase.value in LIVE and not (
            maintenance.removes and maintenance.type.value == "Terminate"
        ):
            assert not any(
                slice_.vms[vm].deallocated for vm in touched if vm in slice_.vms
            )


def remaining_events(maintenance: Maintenance) -> tuple[Event, ...]:
    """Return the events that are not withdrawn."""
    return tuple(event for event in maintenance.events if event.withdrawn_at is None)


def check_audiences(slice_: Slice) -> None:
    """Check that every VM shares exactly the document it should."""
    expected: set[tuple[str, str | None]] = set()
    for group in slice_.groups.values():
        members = [vm.name for vm in slice_.vms.values() if vm.group == group.name]
        if group.isolated:
            expected |= {(group.name, name) for name in members}
        else:
            expected.add((group.name, None))
    shared = [(audience.group, audience.vm) for audience in slice_.audiences.values()]
    assert len(shared) == len(set(shared))
    assert set(shared) == expected


def check_nothing_is_left(slice_: Slice, now: datetime, memory: CommandHistory) -> None:
    """Check that, after a tick, everything due that has not started is blocked."""
    for maintenance in not_started(slice_, now, memory):
        held = is_held(slice_, maintenance, now, memory)
        coupled = is_coupled(slice_, maintenance, now, memory)
        short = is_short_of_notice(slice_, maintenance, memory)
        assert held or coupled or short, f"{maintenance.id} is due and nothing holds it"


def not_started(
    slice_: Slice, now: datetime, memory: CommandHistory
) -> list[Maintenance]:
    """Return what is due and has not started, in starting order."""
    due = [
        maintenance
        for maintenance in slice_.maintenances.values()
        if is_due(maintenance, now, memory)
    ]
    return sorted(due, key=lambda maintenance: maintenance.not_before)


def is_before(one: Maintenance, other: Maintenance) -> bool:
    """Return whether `other` must queue after `one`, if `one` is due."""
    shared = {event.group for event in remaining_events(one)} & {
        event.group for event in remaining_events(other)
    }
    older = one.not_before < other.not_before
    return is_planned(one) and not one.ignore_blockers and older and bool(shared)


def is_due(maintenance: Maintenance, now: datetime, memory: CommandHistory) -> bool:
    approved = {event.id for event in remaining_events(maintenance)} <= memory.approved
    scheduled = maintenance.phase.value == "SCHEDULED"
    return scheduled and (approved or now >= maintenance.not_before)


def is_held(
    slice_: Slice, one: Maintenance, now: datetime, memory: CommandHistory
) -> bool:
    if one.ignore_blockers:
        return False
    running = [item for item in slice_.maintenances.values() if runs(item)]
    if any(is_moving_with(item, one) for item in running):
        return True
    if not is_planned(one):
        return False
    due = not_started(slice_, now, memory)
    queue = due[: [item.id for item in due].index(one.id)]
    groups = {item.group for item in remaining_events(one)}
    return any(blocks(item, one) for item in running) or any(
        is_planned(item)
        and not item.ignore_blockers
        and groups & {event.group for event in remaining_events(item)}
        for item in queue
    )


def is_moving_with(running: Maintenance, one: Maintenance) -> bool:
    """Return whether both move a VM, one of them off a degraded host."""
    pair = (running, one)
    return (
        all(
            item.type.value == "Redeploy" and item.cause.value != "host-failure"
            for item in pair
        )
        and any(item.cause.value == "degraded" for item in pair)
        and bool(
            (set(running.vms) - set(running.left)) & (set(one.vms) - set(one.left))
        )
    )


def is_redeployed_from(slice_: Slice, vm: str, host: str) -> bool:
    """Return whether a redeploy took `vm` off `host` after it was degraded."""
    degraded = [
        item
        for item in slice_.maintenances.values()
        if item.cause.value == "degraded" and item.host == host and vm in item.vms
    ]
    return any(
        item.phase.value == "COMPLETED"
        and item.type.value == "Redeploy"
        and vm in item.vms
        and any(
            item.started_at is not None and other.announced_at <= item.started_at
            for other in degraded
        )
        for item in slice_.maintenances.values()
    )


def is_coupled(
    slice_: Slice, one: Maintenance, now: datetime, memory: CommandHistory
) -> bool:
    if one.type.value != "Terminate" or one.ignore_blockers or now >= one.not_before:
        return False
    others = [slice_.maintenances[item] for item in memory.waits_for.get(one.id, ())]
    return any(
        item.phase.value == "SCHEDULED" and not is_due(item, now, memory)
        for item in others
    )


def is_short_of_notice(slice_: Slice, one: Maintenance, memory: CommandHistory) -> bool:
    """Return whether a group has neither approved nor had its full notice."""
    if {event.id for event in remaining_events(one)} <= memory.approved:
        return False
    if one.at_once or one.emergency:
        return False
    groups = [slice_.groups[event.group] for event in remaining_events(one)]
    shown = memory.there - memory.announced.get(one.id, memory.there)
    return shown < promised(one, groups)


def promised(one: Maintenance, groups: list[Group]) -> timedelta:
    """Return the minimum notice that each of `groups` is promised."""
    if one.type.value == "Terminate":
        notices = [group.terminate_notice or 300 for group in groups]
        return timedelta(seconds=max(notices))
    return timedelta(seconds=NOTICE[one.type.value])


def same_state(one: Slice, other: Slice) -> bool:
    """Return whether two slices are equal, ignoring when groups last polled."""
    return without_requests(one) == without_requests(other) and list(
        one.maintenances
    ) == list(other.maintenances)


def without_requests(slice_: Slice) -> Slice:
    groups = {
        name: replace(group, last_request=None) for name, group in slice_.groups.items()
    }
    return replace(slice_, groups=groups)
