"""State machine of maintenance operations: how each fact changes the state.

1. Every phase change happens here, through `_move`.
2. Nothing here makes decisions. `apply` only records a fact that has happened, so
   replaying the journal produces the saved state.
3. Nothing here reads a clock, creates an ID, logs or waits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from forewarn.core.fleet import Audience, audience_of, audiences_of
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice
from forewarn.errors import TooLate
from forewarn.protocol.types import EventType

TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.SCHEDULED: frozenset({Phase.STARTED, Phase.CANCELED}),
    Phase.STARTED: frozenset({Phase.COMPLETED, Phase.FAILED}),
    Phase.COMPLETED: frozenset(),
    Phase.CANCELED: frozenset(),
    Phase.FAILED: frozenset(),
}

_PHASES: Mapping[type[f.Fact], Phase] = {
    f.Started: Phase.STARTED,
    f.Completed: Phase.COMPLETED,
    f.Canceled: Phase.CANCELED,
    f.Closed: Phase.FAILED,
}

_Move = f.Started | f.Completed | f.Canceled | f.Closed
_Work = f.WorkBegan | f.WorkDone | f.WorkFailed | f.WorkRetried | f.WorkEnded


def apply(slice_: Slice, fact: f.Fact) -> Slice:
    """Return `slice_` with `fact` applied."""
    match fact:
        case f.FleetChanged():
            return _apply_fleet(slice_, fact)
        case f.Enabled() | f.Published():
            return _apply_audience(slice_, fact)
        case f.Announced():
            return slice_.with_maintenance(fact.announced)
        case f.OutageEnded():
            return replace(slice_, outages=(*slice_.outages, fact.outage))
        case (
            f.Seen()
            | f.WorkPrinted()
            | f.TokenCreated()
            | f.TokenRevoked()
            | f.AccessRefused()
        ):
            return slice_  # stored only in the journal and in other tables
        case _:
            return slice_.with_maintenance(_changed(slice_, fact))


def apply_to(maintenance: Maintenance | None, fact: f.MaintenanceFact) -> Maintenance:
    """Return `maintenance` with `fact` applied; it is None before its announcement."""
    before = {} if maintenance is None else {maintenance.id: maintenance}
    (after,) = apply(Slice(maintenances=before), fact).maintenances.values()
    return after


def replay(facts: Iterable[f.Fact]) -> Slice:
    """Rebuild the whole state from the start of a journal."""
    slice_ = Slice()
    for fact in facts:
        slice_ = apply(slice_, fact)
    return slice_


def _changed(
    slice_: Slice, fact: f.Approved | f.VmsLeft | f.Withdrawn | _Move | _Work
) -> Maintenance:
    maintenance = slice_.maintenance(fact.maintenance)
    match fact:
        case f.Approved():
            return _approved(slice_, maintenance, fact)
        case f.VmsLeft():
            return replace(maintenance, left=maintenance.left + fact.vms)
        case f.Withdrawn():
            return _withdrawn(maintenance, fact)
        case f.Started() | f.Completed() | f.Canceled() | f.Closed():
            return _move(maintenance, _PHASES[type(fact)], fact.at)
        case _:
            return _worked(maintenance, fact)


def _move(maintenance: Maintenance, to: Phase, at: datetime) -> Maintenance:
    if to not in TRANSITIONS[maintenance.phase]:
        raise TooLate(f"{maintenance.label} is {maintenance.phase}; it cannot be {to}")
    if to is Phase.STARTED:
        return replace(maintenance, phase=to, started_at=at)
    return replace(maintenance, phase=to, ended_at=at, stuck_since=None)


def _approved(slice_: Slice, maintenance: Maintenance, fact: f.Approved) -> Maintenance:
    if maintenance.type is EventType.TERMINATE:
        coupled = _unapproved_terminates(slice_, fact.group, maintenance.id)
        maintenance = replace(maintenance, coupled=coupled)
    events = tuple(
        replace(event, approved_by=fact.by, approved_via=fact.via, approved_at=fact.at)
        if event.id == fact.event
        else event
        for event in maintenance.events
    )
    return replace(maintenance, events=events)


def _withdrawn(maintenance: Maintenance, fact: f.Withdrawn) -> Maintenance:
    events = tuple(
        replace(event, withdrawn_at=fact.at) if event.id == fact.event else event
        for event in maintenance.events
    )
    return replace(maintenance, events=events)


def _unapproved_terminates(slice_: Slice, group: str, but: str) -> tuple[str, ...]:
    return tuple(
        other.id
        for other in slice_.live_in(group)
        if other.type is EventType.TERMINATE
        and other.phase is Phase.SCHEDULED
        and other.id != but
        and not other.is_approved
    )


def _worked(maintenance: Maintenance, fact: _Work) -> Maintenance:
    match fact:
        case f.WorkBegan():
            tries = maintenance.tries + 1
            return replace(maintenance, attempt=fact.attempt, tries=tries)
        case f.WorkDone():
            return replace(maintenance, done=maintenance.done + fact.vms)
        case f.WorkFailed():
            return replace(maintenance, stuck_since=maintenance.stuck_since or fact.at)
        case f.WorkRetried():
            tries = maintenance.tries if fact.by is None else 0
            return replace(maintenance, stuck_since=None, tries=tries)
        case f.WorkEnded():
            return replace(maintenance, stuck_since=None, completed_by=fact.by)
        case _:
            assert_never(fact)


def _apply_audience(slice_: Slice, fact: f.Enabled | f.Published) -> Slice:
    if isinstance(fact, f.Published):
        old = slice_.audiences[fact.audience]
        new = replace(old, epoch=fact.epoch, incarnation=fact.incarnation)
        return replace(slice_, audiences={**slice_.audiences, new.name: new})
    group = replace(
        slice_.groups[fact.group], enabled_since=fact.at, last_request=fact.at
    )
    audiences = {
        name: replace(audience, epoch=fact.epoch, incarnation=0)
        if audience.group == fact.group
        else audience
        for name, audience in slice_.audiences.items()
    }
    groups = {**slice_.groups, group.name: group}
    return replace(slice_, groups=groups, audiences=audiences)


def _apply_fleet(slice_: Slice, fact: f.FleetChanged) -> Slice:
    hosts, groups, vms = dict(slice_.hosts), dict(slice_.groups), dict(slice_.vms)
    for gone, named in (
        (fact.removed_hosts, hosts),
        (fact.removed_groups, groups),
        (fact.removed_vms, vms),
    ):
        for name in gone:
            named.pop(name, None)
    hosts.update((host.name, host) for host in fact.hosts)
    groups.update((group.name, group) for group in fact.groups)
    vms.update((vm.name, vm) for vm in fact.vms)
    changed = replace(slice_, hosts=hosts, groups=groups, vms=vms)
    return replace(changed, audiences=_audiences(slice_, changed, fact))


def _audiences(
    before: Slice, after: Slice, fact: f.FleetChanged
) -> Mapping[str, Audience]:
    """Keep the audiences that still exist and create new audiences."""
    remade = {
        group.name
        for group in fact.groups
        if group.name not in before.groups
        or before.groups[group.name].isolated != group.isolated
    }
    moved = {vm.name for vm in fact.vms} | set(fact.removed_vms)
    gone = remade | set(fact.removed_groups)
    kept = {
        name: old
        for name, old in before.audiences.items()
        if old.group not in gone and old.vm not in moved
    }
    for name in remade:
        members = [vm for vm in after.vms.values() if vm.group == name]
        for audience in audiences_of(after.groups[name], members, fact.epoch):
            kept[audience.name] = audience
    for vm in fact.vms:
        fresh = audience_of(after.groups[vm.group], vm.name, fact.epoch)
        kept.setdefault(fresh.name, before.audiences.get(fresh.name, fresh))
    return kept
