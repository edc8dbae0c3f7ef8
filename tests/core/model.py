"""What must hold after every step, written out by hand.

Nothing here asks the core: each rule is said once more, in other words, so that the
code under test is not its own judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from forewarn.core.facts import ListeningBegan
from forewarn.core.fleet import Audience, Group
from forewarn.core.maintenance import Event, Maintenance, Slice
from forewarn.core.settling import Step

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
class Memory:
    """What the model remembers of the commands that were given.

    It has a clock of its own, which stands still while the service is away.
    """

    there: timedelta = timedelta(0)  # how long the service was there in all
    announced: dict[str, timedelta] = field(default_factory=dict)  # by that clock
    asked: dict[str, timedelta] = field(default_factory=dict)  # by that clock
    approved: set[str] = field(default_factory=set)  # events
    waits_for: dict[str, set[str]] = field(default_factory=dict)  # Terminates
    left: dict[str, set[str]] = field(default_factory=dict)  # VMs, by maintenance

    def leave(self, slice_: Slice, vm: str, host: str | None = None) -> None:
        """Remember that `vm` leaves the fleet, or the host it was on."""
        for each in slice_.maintenances.values():
            scheduled = each.phase.value == "SCHEDULED"
            concerned = scheduled and each.host == host if host else True
            if vm in each.vms and each.phase.value in LIVE and concerned:
                self.left.setdefault(each.id, set()).add(vm)

    def is_silent(self, group: Group) -> bool:
        """Whether the group has not asked for a day in which it could."""
        if group.listening.value == "always":
            return False
        last = self.asked.get(group.name)
        return last is None or self.there - last >= DAY


# --- one step ----------------------------------------------------------------


def check_step(before: Slice, step: Step, now: datetime, memory: Memory) -> None:
    """Check everything that one step may and may not do."""
    assert bool(step.facts) == (step.slice != before)
    assert all(fact.at == now for fact in step.facts)
    check_constants(before, step.slice)
    check_moves(before, step.slice)
    check_starts(before, step.slice, now, memory)
    check_ends(before, step.slice, now)
    check_documents(before, step.slice)
    check_epochs(before, step)


def check_constants(before: Slice, after: Slice) -> None:
    """What is announced stays: ids, times and resources, in their order."""
    known = list(before.maintenances)
    assert list(after.maintenances)[: len(known)] == known
    for old in before.maintenances.values():
        assert promises(after.maintenances[old.id]) == promises(old)


def promises(maintenance: Maintenance) -> object:
    shares = [(each.id, each.group, each.resources) for each in maintenance.events]
    return maintenance.id, maintenance.not_before, maintenance.vms, shares


def check_moves(before: Slice, after: Slice) -> None:
    """A phase moves by one allowed move at a time, or stays."""
    for old in before.maintenances.values():
        new = after.maintenances[old.id]
        moved = (old.phase.value, new.phase.value)
        assert old.phase is new.phase or moved in MOVES


def check_starts(before: Slice, after: Slice, now: datetime, memory: Memory) -> None:
    """What starts had its time or its approvals, and no gate was shut."""
    ran = [each for each in before.maintenances.values() if runs(each)]
    still = [each for each in ran if runs(after.maintenances[each.id])]
    for new in started(before, after):
        approved = {each.id for each in there(new)} <= memory.approved
        assert now >= new.not_before or approved
        assert not is_short_of_notice(after, new, memory)
        assert new.started_at == now
        assert not is_coupled(after, new, now, memory)
        if is_planned(new) and not new.ignore_gates:
            assert not any(clash(new, other) for other in still)
            assert not any(is_before(other, new) for other in left(after, now, memory))


def check_ends(before: Slice, after: Slice, now: datetime) -> None:
    """What completes was shown for 5 s, and its work and duration are over."""
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


def clash(one: Maintenance, other: Maintenance) -> bool:
    """Whether two acts share a group, but not only one given update domain of it."""
    for group in {each.group for each in there(one) + there(other)}:
        mine = {each.update_domain for each in there(one) if each.group == group}
        theirs = {each.update_domain for each in there(other) if each.group == group}
        same = mine == theirs and len(mine) == 1 and mine != {None}
        if mine and theirs and not same:
            return True
    return False


def check_documents(before: Slice, after: Slice) -> None:
    """An incarnation rises by one exactly when what is shown has changed."""
    for name, audience in after.audiences.items():
        old = before.audiences.get(name)
        shown = seen(after, audience)
        if old is None or old.epoch != audience.epoch:
            assert audience.incarnation == (1 if shown else 0)
        else:
            risen = audience.incarnation - old.incarnation
            assert risen == (1 if shown != seen(before, old) else 0)


def check_epochs(before: Slice, step: Step) -> None:
    """An audience begins anew only when its group begins to listen."""
    began = {fact.group for fact in step.facts if isinstance(fact, ListeningBegan)}
    for name, audience in step.slice.audiences.items():
        old = before.audiences.get(name)
        if old is not None and old.epoch != audience.epoch:
            assert audience.group in began


def seen(slice_: Slice, audience: Audience) -> list[object]:
    """Everything that the wire shows to an audience."""
    return [
        (
            event.id,
            each.phase.value,
            each.type.value,
            event.resources,
            "" if each.at_once or runs(each) else each.not_before,
            each.description,
            each.source.value,
            each.duration,
        )
        for each in slice_.maintenances.values()
        if each.phase.value in LIVE
        for event in there(each)
        if event.group == audience.group
        if audience.vm is None or audience.vm in event.resources
    ]


# --- the state ---------------------------------------------------------------


def check_state(slice_: Slice) -> None:
    """Planned acts never run together in two update domains of a group."""
    planned = [
        each
        for each in slice_.maintenances.values()
        if runs(each) and is_planned(each) and not each.ignore_gates
    ]
    for one in planned:
        for other in planned:
            assert one.id == other.id or not clash(one, other)


def check_withdrawn(slice_: Slice, memory: Memory) -> None:
    """An event is withdrawn when all its VMs have left before it started."""
    for each in slice_.maintenances.values():
        left = memory.left.get(each.id, set())
        assert set(each.left) == left
        for event in each.events:
            assert event.withdrawn_at is None or set(event.resources) <= left
        if each.phase.value == "SCHEDULED":
            assert there(each)
            assert all(not set(event.resources) <= left for event in there(each))


def there(maintenance: Maintenance) -> tuple[Event, ...]:
    """The events that are not withdrawn."""
    return tuple(each for each in maintenance.events if each.withdrawn_at is None)


def check_audiences(slice_: Slice) -> None:
    """Every VM shares exactly the document it should."""
    expected: set[tuple[str, str | None]] = set()
    for group in slice_.groups.values():
        members = [vm.name for vm in slice_.vms.values() if vm.group == group.name]
        if group.isolated:
            expected |= {(group.name, name) for name in members}
        else:
            expected.add((group.name, None))
    shared = [(each.group, each.vm) for each in slice_.audiences.values()]
    assert len(shared) == len(set(shared))
    assert set(shared) == expected


def check_nothing_is_left(slice_: Slice, now: datetime, memory: Memory) -> None:
    """After a tick, whatever is due and has not started is held by a gate."""
    for one in left(slice_, now, memory):
        held = is_held(slice_, one, now, memory)
        coupled = is_coupled(slice_, one, now, memory)
        short = is_short_of_notice(slice_, one, memory)
        assert held or coupled or short, f"{one.id} is due and nothing holds it"


def left(slice_: Slice, now: datetime, memory: Memory) -> list[Maintenance]:
    """What is due and has not started, in the order in which it may start."""
    due = [each for each in slice_.maintenances.values() if is_due(each, now, memory)]
    return sorted(due, key=lambda each: each.not_before)


def is_before(one: Maintenance, other: Maintenance) -> bool:
    """Whether `other` has to queue behind `one`, if that is due."""
    shared = {each.group for each in there(one)} & {each.group for each in there(other)}
    older = one.not_before < other.not_before
    return is_planned(one) and not one.ignore_gates and older and bool(shared)


def is_due(maintenance: Maintenance, now: datetime, memory: Memory) -> bool:
    approved = {each.id for each in there(maintenance)} <= memory.approved
    scheduled = maintenance.phase.value == "SCHEDULED"
    return scheduled and (approved or now >= maintenance.not_before)


def is_held(slice_: Slice, one: Maintenance, now: datetime, memory: Memory) -> bool:
    if not is_planned(one) or one.ignore_gates:
        return False
    running = [each for each in slice_.maintenances.values() if runs(each)]
    due = left(slice_, now, memory)
    queue = due[: [each.id for each in due].index(one.id)]
    groups = {each.group for each in there(one)}
    return any(clash(one, each) for each in running) or any(
        is_planned(each)
        and not each.ignore_gates
        and groups & {event.group for event in there(each)}
        for each in queue
    )


def is_coupled(slice_: Slice, one: Maintenance, now: datetime, memory: Memory) -> bool:
    if one.type.value != "Terminate" or one.ignore_gates or now >= one.not_before:
        return False
    others = [slice_.maintenances[each] for each in memory.waits_for.get(one.id, ())]
    return any(
        each.phase.value == "SCHEDULED" and not is_due(each, now, memory)
        for each in others
    )


def is_short_of_notice(slice_: Slice, one: Maintenance, memory: Memory) -> bool:
    """Whether somebody has neither approved nor been told for long enough."""
    if {each.id for each in there(one)} <= memory.approved:
        return False
    if one.at_once or one.emergency:
        return False
    groups = [slice_.groups[each.group] for each in there(one)]
    shown = memory.there - memory.announced.get(one.id, memory.there)
    return shown < promised(one, groups)


def promised(one: Maintenance, groups: list[Group]) -> timedelta:
    """The least notice that each of `groups` is promised."""
    if one.type.value == "Terminate":
        notices = [each.terminate_notice or 300 for each in groups]
        return timedelta(seconds=max(notices))
    return timedelta(seconds=NOTICE[one.type.value])


def same_state(one: Slice, other: Slice) -> bool:
    """Whether two slices say the same, apart from when groups asked last."""
    return without_requests(one) == without_requests(other) and list(
        one.maintenances
    ) == list(other.maintenances)


def without_requests(slice_: Slice) -> Slice:
    groups = {
        name: replace(group, last_request=None) for name, group in slice_.groups.items()
    }
    return replace(slice_, groups=groups)
