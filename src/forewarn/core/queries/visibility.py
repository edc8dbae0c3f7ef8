"""Redaction: limits maintenance operations and facts to what one group may see.

Only operators see hosts, driver output, and reasons that also concern other groups.
"""

from dataclasses import replace
from typing import assert_never

from forewarn.core.fleet import VM
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.queries.search import MaintenanceLookup


def visible_maintenance(maintenance: Maintenance, group: str) -> Maintenance | None:
    """Redact `maintenance` for `group`; return None if the group may not see it."""
    events = tuple(
        own_event for own_event in maintenance.events if own_event.group == group
    )
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


def shown_maintenance(maintenance: Maintenance, group: str | None) -> Maintenance:
    """Redact `maintenance` for `group`, if a group is given and is affected."""
    share = None if group is None else visible_maintenance(maintenance, group)
    return share or maintenance


def visible_vm(vm: VM, group: str) -> VM | None:
    """Return `vm` without its host, or None if it is not in `group`."""
    return replace(vm, host=None) if vm.group == group else None


def visible_fact(fact: f.Fact, group: str, look: MaintenanceLookup) -> f.Fact | None:
    """Redact `fact` for `group`; return None if the group may not see it."""
    match fact:
        case f.FleetChanged():
            return _fleet_changed(fact, group)
        case f.Enabled() | f.Published() | f.Approved() | f.Withdrawn():
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


def _of_maintenance(
    fact: _OfMaintenance, group: str, look: MaintenanceLookup
) -> f.Fact | None:
    if isinstance(fact, f.Announced):
        announced = visible_maintenance(fact.announced, group)
        return None if announced is None else replace(fact, announced=announced)
    maintenance = look(fact.maintenance)
    share = None if maintenance is None else visible_maintenance(maintenance, group)
    if maintenance is None or share is None:
        return None
    is_whole = len(share.events) == len(maintenance.events)
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
    return replace(fact, vms=vms, detail="")  # often the driver's last line of output


def _fleet_changed(fact: f.FleetChanged, group: str) -> f.Fact | None:
    own = [visible_vm(vm, group) for vm in fact.vms]
    pairs = zip(fact.removed_vms, fact.removed_from, strict=False)  # empty in old facts
    gone = tuple(vm for vm, left in pairs if left == group)
    share = f.FleetChanged(
        at=fact.at,
        by=fact.by,
        epoch=fact.epoch,
        groups=tuple(candidate for candidate in fact.groups if candidate.name == group),
        vms=tuple(vm for vm in own if vm is not None),
        removed_groups=tuple(
            candidate for candidate in fact.removed_groups if candidate == group
        ),
        removed_vms=gone,
        removed_from=(group,) * len(gone),
    )
    is_empty = not (share.groups or share.vms or share.removed_groups or gone)
    return None if is_empty else share


def _seen(fact: f.Seen, group: str, look: MaintenanceLookup) -> f.Fact | None:
    sights = tuple(
        sighting for sighting in fact.sights if _is_own(sighting, group, look)
    )
    return replace(fact, sights=sights) if sights else None


def _is_own(sight: f.Sight, group: str, look: MaintenanceLookup) -> bool:
    maintenance = look(sight.event)
    events = () if maintenance is None else maintenance.events
    return any(event.id == sight.event and event.group == group for event in events)
