"""What one group may know: of a maintenance its own share, of a fact its own part.

Hosts, reasons that concern others too, and what drivers print are the operator's.
"""

from dataclasses import replace
from typing import assert_never

from forewarn.core import facts as f
from forewarn.core.fleet import VM
from forewarn.core.maintenance import Maintenance
from forewarn.core.searching import Look


def share_of(maintenance: Maintenance, group: str) -> Maintenance | None:
    """Cut `maintenance` to what `group` may know of it; None: nothing."""
    events = tuple(each for each in maintenance.events if each.group == group)
    if not events:
        return None
    is_whole = len(events) == len(maintenance.events)
    own = {name for event in events for name in event.resources}
    return replace(
        maintenance,
        host=None,
        vms=tuple(vm for vm in maintenance.vms if vm in own),
        done=tuple(vm for vm in maintenance.done if vm in own),
        left=tuple(vm for vm in maintenance.left if vm in own),
        coupled=(),
        reason=maintenance.reason if is_whole else None,
        events=events,
    )


def share_of_vm(vm: VM, group: str) -> VM | None:
    """Show `vm` to its own group, but not where it runs."""
    return replace(vm, host=None) if vm.group == group else None


def share_of_fact(fact: f.Fact, group: str, look: Look) -> f.Fact | None:
    """Cut `fact` to what `group` may know of it; None: nothing."""
    match fact:
        case f.FleetChanged():
            return _fleet_changed(fact, group)
        case f.ListeningBegan() | f.Published() | f.Approved() | f.Withdrawn():
            return fact if fact.group == group else None
        case f.Seen():
            return _seen(fact, group, look)
        case f.OutageEnded():
            return fact
        case f.TokenCreated() | f.TokenRevoked() | f.AccessRefused() | f.WorkPrinted():
            return None
        case _:
            return _of_maintenance(fact, group, look)


_OfMaintenance = (
    f.Announced
    | f.VmsLeft
    | f.Started
    | f.WorkBegan
    | f.WorkDone
    | f.WorkFailed
    | f.WorkRetried
    | f.WorkEnded
    | f.Completed
    | f.Canceled
    | f.Closed
)


def _of_maintenance(fact: _OfMaintenance, group: str, look: Look) -> f.Fact | None:
    if isinstance(fact, f.Announced):
        announced = share_of(fact.announced, group)
        return None if announced is None else replace(fact, announced=announced)
    found = look(fact.maintenance)
    share = None if found is None else share_of(found, group)
    if found is None or share is None:
        return None
    is_whole = len(share.events) == len(found.events)
    match fact:
        case f.VmsLeft() | f.WorkDone() | f.WorkFailed():
            return _of_vms(fact, share.vms)
        case f.Canceled() | f.Closed() | f.WorkEnded():
            return fact if is_whole else replace(fact, reason=None)
        case f.Started() | f.Completed() | f.WorkBegan() | f.WorkRetried():
            return fact
        case _:
            assert_never(fact)


def _of_vms(
    fact: f.VmsLeft | f.WorkDone | f.WorkFailed, own: tuple[str, ...]
) -> f.Fact | None:
    vms = tuple(vm for vm in fact.vms if vm in own)
    if not vms:
        return None
    if isinstance(fact, f.VmsLeft):
        return replace(fact, vms=vms)
    return replace(fact, vms=vms, detail="")  # often what the driver printed last


def _fleet_changed(fact: f.FleetChanged, group: str) -> f.Fact | None:
    own = [share_of_vm(vm, group) for vm in fact.vms]
    pairs = zip(fact.removed_vms, fact.removed_from, strict=False)  # old facts: none
    gone = tuple(vm for vm, left in pairs if left == group)
    share = f.FleetChanged(
        at=fact.at,
        by=fact.by,
        epoch=fact.epoch,
        groups=tuple(each for each in fact.groups if each.name == group),
        vms=tuple(vm for vm in own if vm is not None),
        removed_groups=tuple(each for each in fact.removed_groups if each == group),
        removed_vms=gone,
        removed_from=(group,) * len(gone),
    )
    is_empty = not (share.groups or share.vms or share.removed_groups or gone)
    return None if is_empty else share


def _seen(fact: f.Seen, group: str, look: Look) -> f.Fact | None:
    sights = tuple(each for each in fact.sights if _is_own(each, group, look))
    return replace(fact, sights=sights) if sights else None


def _is_own(sight: f.Sight, group: str, look: Look) -> bool:
    found = look(sight.event)
    events = () if found is None else found.events
    return any(each.id == sight.event and each.group == group for each in events)
