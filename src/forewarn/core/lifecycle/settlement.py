"""Settlement: the consequences of a command.

1. `_settle` completes finished maintenance and starts maintenance that is due and not
   blocked.
2. `_publish` increments the incarnation of every audience whose document has changed.
3. Every command ends with both functions.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.core.fleet import VM, Audience
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.document import views
from forewarn.core.lifecycle.model import (
    Cause,
    Maintenance,
    Phase,
    Slice,
    groups_of,
)
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.transitions import apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The circumstances in which a command runs."""

    now: datetime
    rules: Rules
    by: str  # the issuer: a VM, a token or the service itself
    new_id: Callable[[], str]
    last_number: int = 0  # the highest number of a maintenance operation so far

    def new_epoch(self) -> str:
        """Create an opaque epoch name."""
        return self.new_id()[:8].lower()


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a command. If it contains no facts, nothing has changed."""

    slice: Slice
    facts: tuple[f.Fact, ...] = ()


class StepBuilder:
    """A step under construction: its facts and the resulting slice."""

    def __init__(self, slice_: Slice, context: Context) -> None:
        """Create a step that contains no facts and results in `slice_`."""
        self.context = context
        self.now = context.now
        self.before = slice_
        self.slice = slice_
        self.facts: list[f.Fact] = []
        self._last_number = context.last_number

    def next_number(self) -> int:
        """Return the number of a new maintenance operation."""
        self._last_number += 1
        return self._last_number

    def record(self, *facts: f.Fact) -> None:
        """Append `facts` and apply them to the slice."""
        for fact in facts:
            self.slice = apply(self.slice, fact)
            self.facts.append(fact)

    def finish(self) -> Step:
        """Settle, publish, and return the finished step."""
        _settle(self)
        _publish(self)
        return Step(self.slice, tuple(self.facts))


def groups_to_settle(before: Slice, after: Slice, context: Context) -> frozenset[str]:
    """Return the groups that must be loaded to settle everything in the slice."""
    return groups_of(
        maintenance
        for maintenance in after.maintenances.values()
        if _is_ready(maintenance, context)
        or (
            maintenance.phase.is_live
            and maintenance is not before.maintenances.get(maintenance.id)
        )
    )


def is_at_hand(slice_: Slice, maintenance: Maintenance) -> bool:
    """Return whether all groups of `maintenance` are loaded for settling."""
    return slice_.groups.keys() >= set(maintenance.groups)


def groups_beyond(slice_: Slice, context: Context) -> frozenset[str]:
    """Return the groups of ready maintenance that is only partly in the slice."""
    return groups_of(
        maintenance
        for maintenance in slice_.maintenances.values()
        if not is_at_hand(slice_, maintenance) and _is_ready(maintenance, context)
    )


def _is_ready(maintenance: Maintenance, context: Context) -> bool:
    return policy.is_due(maintenance, context.now) or policy.is_ending(
        maintenance, context.now, context.rules
    )


# --- departures --------------------------------------------------------------


def record_leaving(
    builder: StepBuilder,
    gone: Collection[str],
    moved: Collection[tuple[str, str]] = (),
    *,
    unless: Callable[[Maintenance], bool] = lambda maintenance: False,
) -> None:
    """Record that live maintenance operations lose VMs.

    The VMs in `gone` left the fleet, and those in `moved` left a host.

    Maintenance for which `unless` returns True keeps its VMs. Events without VMs are
    withdrawn, and maintenance without events is canceled.
    """
    for maintenance in tuple(builder.slice.maintenances.values()):
        if not maintenance.phase.is_live or unless(maintenance):
            continue
        leaving = [vm for vm in maintenance.vms if vm in gone]
        if maintenance.phase is Phase.SCHEDULED and maintenance.host is not None:
            leaving += [vm for vm in maintenance.vms if (vm, maintenance.host) in moved]
        vms = tuple(vm for vm in leaving if vm not in maintenance.left)
        if vms:
            builder.record(
                f.VmsLeft(at=builder.now, maintenance=maintenance.id, vms=vms)
            )
            _withdraw(builder, maintenance.id)


def _withdraw(builder: StepBuilder, maintenance_id: str) -> None:
    maintenance = builder.slice.maintenance(maintenance_id)
    if maintenance.phase is not Phase.SCHEDULED:
        return
    for event in maintenance.live_events:
        if set(event.resources) <= set(maintenance.left):
            builder.record(
                f.Withdrawn(
                    at=builder.now,
                    maintenance=maintenance_id,
                    event=event.id,
                    group=event.group,
                )
            )
    if not builder.slice.maintenance(maintenance_id).live_events:
        builder.record(
            f.Canceled(
                at=builder.now,
                by=None,
                maintenance=maintenance_id,
                reason="all its VMs have left",
            )
        )


# --- settle ------------------------------------------------------------------


def _settle(builder: StepBuilder) -> None:
    now = builder.now
    while _complete(builder):
        pass
    _abandon(builder)
    queued: set[str] = set()  # groups where older maintenance is due but blocked
    for maintenance in _due(builder.slice, now):
        planned = policy.is_queued(maintenance)
        behind = planned and not queued.isdisjoint(maintenance.groups)
        if behind or _is_held(builder.slice, maintenance, now):
            if planned:
                queued.update(maintenance.groups)
            continue
        builder.record(f.Started(at=now, maintenance=maintenance.id))


def _complete(builder: StepBuilder) -> bool:
    """Complete finished maintenance.

    Return whether any VMs left, because more maintenance may then complete.
    """
    now, rules, has_left = builder.now, builder.context.rules, False
    for name in tuple(builder.slice.maintenances):
        maintenance = builder.slice.maintenance(name)  # this loop may have changed it
        if policy.is_ending(maintenance, now, rules) and is_at_hand(
            builder.slice, maintenance
        ):
            builder.record(f.Completed(at=now, maintenance=maintenance.id))
            has_left |= _apply_outcome(builder, maintenance)
            _leave_degraded_hosts(builder, maintenance)
    return has_left


def _apply_outcome(builder: StepBuilder, maintenance: Maintenance) -> bool:
    """Remove or deallocate VMs of `maintenance`; return whether any were affected.

    Other maintenance no longer affects those VMs, because a deallocated VM is not on
    any host and can only be deleted. VMs in `left` are already gone, so a VM that
    now has one of these names is a new VM.
    """
    gone = [
        vm
        for vm in maintenance.vms
        if vm in builder.slice.vms and vm not in maintenance.left
    ]
    if not gone or not (maintenance.removes or maintenance.deallocates):
        return False
    vms = [builder.slice.vms[vm] for vm in gone]
    if maintenance.removes:
        builder.record(_removed(builder.now, vms=vms))
        record_leaving(builder, gone)
    else:
        builder.record(_deallocated(builder.now, vms=vms))
        record_leaving(builder, gone, unless=policy.is_deletion)
    return True


def _leave_degraded_hosts(builder: StepBuilder, maintenance: Maintenance) -> None:
    """Record that redeployed VMs are no longer on their degraded host.

    The new host of a VM is unknown until someone reports it.
    """
    moved = [
        vm
        for name in maintenance.vms
        if policy.is_move(maintenance)
        and name not in maintenance.left
        and (vm := builder.slice.vms.get(name)) is not None
        and _is_moved_off(builder.slice, maintenance, vm)
    ]
    if not moved:
        return
    unplaced = tuple(replace(vm, host=None) for vm in moved)
    builder.record(f.FleetChanged(at=builder.now, by=None, epoch="", vms=unplaced))
    record_leaving(builder, (), {(vm.name, vm.host) for vm in moved if vm.host})


def _is_moved_off(slice_: Slice, maintenance: Maintenance, vm: VM) -> bool:
    """Return whether completing `maintenance` means that `vm` has left a degraded host.

    A redeploy that started before the host was reported as degraded may have moved the
    VM to that host.
    """
    started = maintenance.started_at
    return started is not None and any(
        degraded.host == vm.host
        and degraded.announced_at <= started
        and vm.name in degraded.vms
        and vm.name not in degraded.left
        for degraded in (maintenance, *slice_.live_in(vm.group))
        if degraded.cause is Cause.DEGRADED
    )


def _abandon(builder: StepBuilder) -> None:
    """Remove the groups of deleted standalone VMs when their last maintenance ends."""
    inhabited = {vm.group for vm in builder.slice.vms.values()}
    abandoned = [
        group
        for group in dict.fromkeys(_left_alone(builder))
        if not builder.slice.groups[group].declared
        and group not in inhabited
        and not builder.slice.live_in(group)
    ]
    if abandoned:
        builder.record(_removed(builder.now, groups=abandoned))


def _left_alone(builder: StepBuilder) -> Iterator[str]:
    """Yield the groups whose VMs have all left, if maintenance just ended there.

    Only maintenance that ended in this step is considered. For other maintenance, VMs
    that still exist may be missing from the slice.
    """
    for maintenance in builder.slice.maintenances.values():
        if maintenance.phase.is_live or maintenance is builder.before.maintenances.get(
            maintenance.id
        ):
            continue
        is_deleted = maintenance.removes and maintenance.phase is Phase.COMPLETED
        gone = {*maintenance.left, *(maintenance.vms if is_deleted else ())}
        for event in maintenance.live_events:
            if gone.issuperset(event.resources) and event.group in builder.slice.groups:
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


def _deallocated(now: datetime, *, vms: Sequence[VM]) -> f.FleetChanged:
    return f.FleetChanged(
        at=now,
        by=None,
        epoch="",  # the audiences of these VMs remain
        vms=tuple(replace(vm, deallocated=True) for vm in vms),
    )


def _due(slice_: Slice, now: datetime) -> list[Maintenance]:
    due = [
        maintenance
        for maintenance in slice_.maintenances.values()
        if policy.is_due(maintenance, now)
    ]
    return sorted(due, key=lambda maintenance: maintenance.not_before)  # stable sort


def _is_held(slice_: Slice, maintenance: Maintenance, now: datetime) -> bool:
    if not is_at_hand(slice_, maintenance):
        return True  # left to a command that has loaded all its groups
    return next(policy.blockers(slice_, maintenance, now), None) is not None


# --- publish -----------------------------------------------------------------


def _publish(builder: StepBuilder) -> None:
    before = builder.before
    touched = {
        group
        for maintenance in builder.slice.maintenances.values()
        if before.maintenances.get(maintenance.id) is not maintenance
        for group in (*maintenance.groups, *_groups_before(before, maintenance.id))
    }
    concerned = [
        audience
        for audience in builder.slice.audiences.values()
        if audience.group in touched or _is_new(before, audience)
    ]
    known = [audience for audience in concerned if not _is_new(before, audience)]
    seen = views(known, before.maintenances.values())
    shown = views(concerned, builder.slice.maintenances.values())
    for audience in concerned:
        if shown[audience.name] != seen.get(audience.name, ()):
            builder.record(
                f.Published(
                    at=builder.now,
                    audience=audience.name,
                    group=audience.group,
                    epoch=audience.epoch,
                    incarnation=audience.incarnation + 1,
                )
            )


def _is_new(before: Slice, audience: Audience) -> bool:
    earlier = before.audiences.get(audience.name)
    return earlier is None or earlier.epoch != audience.epoch


def _groups_before(before: Slice, maintenance_id: str) -> tuple[str, ...]:
    earlier = before.maintenances.get(maintenance_id)
    return () if earlier is None else earlier.groups
