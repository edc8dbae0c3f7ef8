"""What follows from a command: who has left, what is over, what starts, who is told.

`settle` completes what is over and starts what is due and not held by a gate;
`publish` raises the incarnation of each audience whose document is different
afterwards. Every command ends with both.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core import policy
from forewarn.core.document import view
from forewarn.core.fleet import VM, Audience
from forewarn.core.lifecycle import apply
from forewarn.core.maintenance import Maintenance, Phase, Slice
from forewarn.core.policy import Rules


@dataclass(frozen=True, slots=True)
class Step:
    """What a command leads to; without facts, nothing has changed."""

    slice: Slice
    facts: tuple[f.Fact, ...] = ()


class Draft:
    """A step in the making: facts, and the slice as they leave it."""

    def __init__(self, slice_: Slice) -> None:
        """Begin with nothing changed."""
        self.before = slice_
        self.slice = slice_
        self.facts: list[f.Fact] = []

    def record(self, *facts: f.Fact) -> None:
        """Add `facts`, and what they change."""
        for fact in facts:
            self.slice = apply(self.slice, fact)
            self.facts.append(fact)

    def finish(self, now: datetime, rules: Rules) -> Step:
        """Settle, publish, and make it a step."""
        _settle(self, now, rules)
        _publish(self, now)
        return Step(self.slice, tuple(self.facts))


def groups_to_settle(
    before: Slice, after: Slice, now: datetime, rules: Rules
) -> frozenset[str]:
    """The groups that must be at hand for everything in the slice to move on."""
    return frozenset(
        group
        for each in after.maintenances.values()
        if policy.is_due(each, now)
        or policy.is_ending(each, now, rules)
        or (each.phase.is_live and each is not before.maintenances.get(each.id))
        for group in each.groups
    )


def is_at_hand(slice_: Slice, maintenance: Maintenance) -> bool:
    """Whether all groups of `maintenance` are in the slice, so that it may move on."""
    return slice_.groups.keys() >= set(maintenance.groups)


def groups_beyond(slice_: Slice, now: datetime, rules: Rules) -> frozenset[str]:
    """The groups of what would move on, were all of it in the slice."""
    return frozenset(
        group
        for each in slice_.maintenances.values()
        if not is_at_hand(slice_, each)
        and (policy.is_due(each, now) or policy.is_ending(each, now, rules))
        for group in each.groups
    )


# --- leaving -----------------------------------------------------------------


def note_leaving(
    draft: Draft,
    gone: Collection[str],
    now: datetime,
    moved: Collection[tuple[str, str]] = (),
) -> None:
    """Take down which live maintenances lose VMs: `gone`, or `moved` off a host.

    Events that have none left are withdrawn; without events a maintenance is canceled.
    """
    for each in tuple(draft.slice.maintenances.values()):
        if not each.phase.is_live:
            continue
        leaving = [vm for vm in each.vms if vm in gone]
        if each.phase is Phase.SCHEDULED and each.host is not None:
            leaving += [vm for vm in each.vms if (vm, each.host) in moved]
        vms = tuple(vm for vm in leaving if vm not in each.left)
        if vms:
            draft.record(f.VmsLeft(at=now, maintenance=each.id, vms=vms))
            _withdraw(draft, each.id, now)


def _withdraw(draft: Draft, maintenance_id: str, now: datetime) -> None:
    maintenance = draft.slice.maintenance(maintenance_id)
    if maintenance.phase is not Phase.SCHEDULED:
        return
    for event in maintenance.live_events:
        if set(event.resources) <= set(maintenance.left):
            draft.record(
                f.Withdrawn(
                    at=now,
                    maintenance=maintenance_id,
                    event=event.id,
                    group=event.group,
                )
            )
    if not draft.slice.maintenance(maintenance_id).live_events:
        draft.record(
            f.Canceled(
                at=now,
                by=None,
                maintenance=maintenance_id,
                reason="all its VMs have left",
            )
        )


# --- settle ------------------------------------------------------------------


def _settle(draft: Draft, now: datetime, rules: Rules) -> None:
    while _complete(draft, now, rules):
        pass
    _abandon(draft, now)
    queued: set[str] = set()  # groups where an older one is due but held
    for maintenance in _due(draft.slice, now):
        planned = policy.is_queued(maintenance)
        behind = planned and not queued.isdisjoint(maintenance.groups)
        if behind or _is_held(draft.slice, maintenance, now):
            if planned:
                queued.update(maintenance.groups)
            continue
        draft.record(f.Started(at=now, maintenance=maintenance.id))


def _complete(draft: Draft, now: datetime, rules: Rules) -> bool:
    """Complete what is over; whether VMs left, so that more may be over now."""
    has_left = False
    for name in tuple(draft.slice.maintenances):
        each = draft.slice.maintenance(name)  # as those before it have left it
        if policy.is_ending(each, now, rules) and is_at_hand(draft.slice, each):
            draft.record(f.Completed(at=now, maintenance=each.id))
            has_left |= _remove(draft, each, now)
    return has_left


def _remove(draft: Draft, maintenance: Maintenance, now: datetime) -> bool:
    """Take the VMs that it was to delete out of the fleet; whether there were any.

    Who has left is gone already; who has that name now has come since.
    """
    gone = [
        vm
        for vm in maintenance.vms
        if vm in draft.slice.vms and vm not in maintenance.left
    ]
    if not maintenance.removes or not gone:
        return False
    draft.record(_removed(now, vms=[draft.slice.vms[vm] for vm in gone]))
    note_leaving(draft, gone, now)
    return True


def _abandon(draft: Draft, now: datetime) -> None:
    """Drop the groups of lone VMs that have left, when the last work there is over."""
    inhabited = {vm.group for vm in draft.slice.vms.values()}
    abandoned = [
        group
        for group in dict.fromkeys(_left_alone(draft))
        if not draft.slice.groups[group].declared
        and group not in inhabited
        and not draft.slice.live_in(group)
    ]
    if abandoned:
        draft.record(_removed(now, groups=abandoned))


def _left_alone(draft: Draft) -> Iterator[str]:
    """Name the groups whose VMs, as far as something listed them, have left by now.

    Only what has ended in this draft, for its VMs are in the slice if they are there.
    """
    for each in draft.slice.maintenances.values():
        if each.phase.is_live or each is draft.before.maintenances.get(each.id):
            continue
        is_deleted = each.removes and each.phase is Phase.COMPLETED
        gone = {*each.left, *(each.vms if is_deleted else ())}
        for event in each.live_events:
            if gone.issuperset(event.resources) and event.group in draft.slice.groups:
                yield event.group


def _removed(
    now: datetime, *, vms: Sequence[VM] = (), groups: Iterable[str] = ()
) -> f.FleetChanged:
    return f.FleetChanged(
        at=now,
        by=None,
        epoch="",
        removed_vms=tuple(vm.name for vm in vms),
        removed_from=tuple(vm.group for vm in vms),
        removed_groups=(*groups,),
    )


def _due(slice_: Slice, now: datetime) -> list[Maintenance]:
    due = [each for each in slice_.maintenances.values() if policy.is_due(each, now)]
    return sorted(due, key=lambda each: each.not_before)  # equal ones: as announced


def _is_held(slice_: Slice, maintenance: Maintenance, now: datetime) -> bool:
    if not is_at_hand(slice_, maintenance):
        return True  # whoever has all of it at hand starts it
    return next(policy.gates(slice_, maintenance, now), None) is not None


# --- publish -----------------------------------------------------------------


def _publish(draft: Draft, now: datetime) -> None:
    before = draft.before
    touched = {
        group
        for each in draft.slice.maintenances.values()
        if before.maintenances.get(each.id) is not each
        for group in (*each.groups, *_groups_before(before, each.id))
    }
    for audience in tuple(draft.slice.audiences.values()):
        earlier = before.audiences.get(audience.name)
        is_new = earlier is None or earlier.epoch != audience.epoch
        if not is_new and audience.group not in touched:
            continue
        seen = () if is_new else _view(before, audience)
        if _view(draft.slice, audience) != seen:
            draft.record(_published(audience, audience.incarnation + 1, now))


def _groups_before(before: Slice, maintenance_id: str) -> tuple[str, ...]:
    known = before.maintenances.get(maintenance_id)
    return () if known is None else known.groups


def _view(slice_: Slice, audience: Audience) -> object:
    return view(audience, slice_.live_in(audience.group))


def _published(audience: Audience, incarnation: int, now: datetime) -> f.Published:
    return f.Published(
        at=now,
        audience=audience.name,
        group=audience.group,
        epoch=audience.epoch,
        incarnation=incarnation,
    )
