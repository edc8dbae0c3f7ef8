"""Announcement: turn an order into maintenance operations and events.

1. Each unit of work is one maintenance operation. A host is a single unit. VMs named
   individually or by group are split by group and update domain. VMs on a degraded host
   are also split by audience, so that each audience decides for itself.
2. No event lists VMs from two update domains or from two audiences.
3. User operations, Preempt and Terminate affect one VM each.
4. A deallocated VM is not on any host. Maintenance on a host or group does not affect
   the VM, and no maintenance can be announced for the VM by name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    EvictionPolicy,
    Group,
    eviction_policy_of,
    natural_order,
)
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.facts import Announced, Approved
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Slice, Via
from forewarn.core.lifecycle.settlement import Context, Step, StepBuilder
from forewarn.errors import Conflict, InvalidInput, TooSoon
from forewarn.protocol.codec import iso8601
from forewarn.protocol.types import EventSource, EventType

_CAUSES: Mapping[tuple[EventType, EventSource], Cause] = {
    (EventType.REBOOT, EventSource.USER): Cause.USER_RESTART,
    (EventType.REDEPLOY, EventSource.USER): Cause.USER_REDEPLOY,
    (EventType.PREEMPT, EventSource.USER): Cause.EVICTION,
    (EventType.PREEMPT, EventSource.PLATFORM): Cause.EVICTION,
    (EventType.TERMINATE, EventSource.USER): Cause.SCALE_IN,
    (EventType.TERMINATE, EventSource.PLATFORM): Cause.SCALE_IN,
}  # any other combination: Cause.PLATFORM

_REPAIR = "Host server is undergoing an emergency repair."

_LIVE_MIGRATION = (
    "Virtual machine is being paused because of a memory-preserving Live Migration"
    " operation."
)

_DESCRIPTIONS: Mapping[Cause, str] = {
    Cause.PLATFORM: "Host server is undergoing maintenance.",
    Cause.DEGRADED: _REPAIR,
    Cause.HOST_FAILURE: "Virtual machine has encountered a failure.",
    Cause.USER_RESTART: (
        "Virtual machine is going to be restarted as requested by authorized user."
    ),
    Cause.USER_REDEPLOY: (
        "Virtual machine is going to be redeployed as requested by authorized user."
    ),
}  # any other cause: no description

#: User operations and the group settings that approve them in advance.
_USER_OPERATIONS: Mapping[Cause, AutoApproval | None] = {
    Cause.USER_RESTART: AutoApproval.USER_REBOOT,
    Cause.USER_REDEPLOY: AutoApproval.USER_REDEPLOY,
    Cause.REIMAGE: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request to announce maintenance."""

    type: EventType
    vms: tuple[str, ...] = ()  # exactly one of vms, host and group is set
    host: str | None = None
    group: str | None = None
    notice: timedelta | None = None  # at most one of notice and not_before is set
    not_before: datetime | None = None
    duration: int | None = None  # seconds; None for the default
    description: str | None = None  # None for the default
    live_migration: bool = False  # a Freeze that moves its VMs to another host
    source: EventSource | None = None  # None for the type's default
    cause: Cause | None = None  # None to derive it from type and source
    reason: str | None = None
    emergency: bool = False
    ignore_blockers: bool = False
    at_once: bool = False  # start without notice
    short_notice: bool = False  # less notice than the minimum, only in rehearsals
    removes: bool = False  # VMs leave the fleet when it completes


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkUnit:
    """The VMs that one maintenance operation affects, split into events."""

    host: str | None
    events: tuple[tuple[VM, ...], ...]


def check_order(order: Order) -> None:
    """Raise `InvalidInput` if `order` contradicts itself."""
    targets = [bool(order.vms), order.host is not None, order.group is not None]
    if targets.count(True) != 1:
        raise InvalidInput("specify exactly one of vms, host and group")
    if order.type is EventType.FREEZE and order.source is EventSource.USER:
        raise InvalidInput("a Freeze cannot have source User; omit source")
    if order.live_migration and order.type is not EventType.FREEZE:
        raise InvalidInput(f"live_migration requires a Freeze, not a {order.type}")
    _check_notice(order)
    if order.duration is not None and not (
        -1 <= order.duration <= policy.LONGEST.total_seconds()
    ):
        raise InvalidInput(
            "duration_seconds must be -1 (unknown) or between 0 and ten years"
        )


def _check_notice(order: Order) -> None:
    if order.notice is not None and order.not_before is not None:
        raise InvalidInput("specify either notice_seconds or not_before, not both")
    if order.emergency and not (order.reason or "").strip():
        raise InvalidInput("an emergency requires a reason")
    if order.ignore_blockers and not order.emergency:
        raise InvalidInput("ignore_blockers requires emergency")
    if order.short_notice and order.emergency:
        raise InvalidInput("an emergency can have any notice; omit short_notice")
    if order.short_notice and not order.notice:
        raise InvalidInput("short_notice requires a notice, such as 15s")


def announce(slice_: Slice, context: Context, order: Order, vms: Sequence[VM]) -> Step:
    """Announce `order` for `vms`, which are the VMs that the order names."""
    builder = StepBuilder(slice_, context)
    for vm in vms:
        if vm.deallocated and order.vms:
            raise deallocated(vm)
    announce_into(builder, order, running(vms))
    return builder.finish()


def running(vms: Sequence[VM]) -> Sequence[VM]:
    """Return the VMs in `vms` that are not deallocated."""
    return [vm for vm in vms if not vm.deallocated]


def deallocated(vm: VM) -> Conflict:
    """Return the error for maintenance on a deallocated VM."""
    return Conflict(
        f"{vm.name} is deallocated; start it first: `forewarn vm start {vm.name}`"
    )


def announce_into(builder: StepBuilder, order: Order, vms: Sequence[VM]) -> None:
    """Announce `order` as part of the step that `builder` builds."""
    check_order(order)
    context = builder.context
    is_one_by_one = order.source is EventSource.USER or order.type in (
        EventType.PREEMPT,
        EventType.TERMINATE,
    )
    units = (
        _by_audience(unit, builder.slice.groups)
        for unit in _split_into_units(vms, host=order.host, is_one_by_one=is_one_by_one)
    )
    if order.cause is Cause.DEGRADED:
        units = (part for unit in units for part in _by_event(unit))
    for unit in units:
        maintenance = replace(
            _maintenance(builder.slice, context, order, unit),
            number=builder.next_number(),
        )
        builder.record(
            Announced(
                at=context.now,
                by=context.by,
                maintenance=maintenance.id,
                announced=maintenance,
            )
        )
        builder.record(*_approvals_by_policy(builder.slice, maintenance, context.now))


def is_user_operation(maintenance: Maintenance) -> bool:
    """Return whether `maintenance` is a user-requested restart, redeploy or reimage."""
    return (
        maintenance.source is EventSource.USER and maintenance.cause in _USER_OPERATIONS
    )


# --- units of work -----------------------------------------------------------


def _split_into_units(
    vms: Sequence[VM], *, host: str | None, is_one_by_one: bool
) -> Iterator[_WorkUnit]:
    """Split `vms` into units of work.

    If `host` is given, all VMs form one unit, unless `is_one_by_one` is true.
    """
    if not vms:
        return
    ordered = sorted(
        vms, key=lambda vm: (natural_order(vm.group), natural_order(vm.name))
    )
    if is_one_by_one:
        for vm in ordered:
            yield _WorkUnit(host=None, events=((vm,),))
    elif host is not None:
        yield _WorkUnit(host=host, events=tuple(_by_update_domain(ordered)))
    else:
        for together in _by_update_domain(ordered):
            if together[0].update_domain is not None:
                yield _WorkUnit(host=None, events=(together,))
            else:
                yield from _by_host(together)


def _by_update_domain(ordered: Sequence[VM]) -> Iterator[tuple[VM, ...]]:
    """Yield the VMs of each update domain, group by group.

    `ordered` must be sorted by group.
    """

    def domain(vm: VM) -> tuple[object, ...]:
        none = vm.update_domain is None
        return (natural_order(vm.group), none, vm.update_domain or 0)

    for _, together in groupby(sorted(ordered, key=domain), key=domain):
        yield tuple(together)


def _by_host(vms: Sequence[VM]) -> Iterator[_WorkUnit]:
    shared: dict[str, list[VM]] = {}
    for vm in vms:
        place = f"vm {vm.name}" if vm.host is None else f"host {vm.host}"
        shared.setdefault(place, []).append(vm)
    for together in shared.values():
        yield _WorkUnit(host=None, events=(tuple(together),))


def _by_audience(unit: _WorkUnit, groups: Mapping[str, Group]) -> _WorkUnit:
    """Split the events of isolated groups so that each event lists one VM."""
    events: list[tuple[VM, ...]] = []
    for vms in unit.events:
        events += [(vm,) for vm in vms] if groups[vms[0].group].isolated else [vms]
    return replace(unit, events=tuple(events))


def _by_event(unit: _WorkUnit) -> Iterator[_WorkUnit]:
    for vms in unit.events:
        yield replace(unit, events=(vms,))


# --- maintenance -------------------------------------------------------------


def _maintenance(
    slice_: Slice, context: Context, order: Order, unit: _WorkUnit
) -> Maintenance:
    now, new_id = context.now, context.new_id
    source = order.source or _default_source(order.type)
    cause = order.cause or _CAUSES.get((order.type, source), Cause.PLATFORM)
    minimum = _minimum(slice_, order, unit)
    not_before = _not_before(slice_, order, unit, cause, minimum, now)
    eviction = _eviction_policy(slice_, order, unit)
    return Maintenance(
        id=new_id(),
        type=order.type,
        source=source,
        cause=cause,
        host=unit.host,
        vms=tuple(vm.name for vms in unit.events for vm in vms),
        not_before=now if not_before is None else not_before,
        at_once=not_before is None,
        promised=0 if not_before is None else int(minimum.total_seconds()),
        duration=_duration(order),
        description=_description(order, cause),
        reason=order.reason,
        emergency=order.emergency,
        ignore_blockers=order.ignore_blockers,
        announced_at=now,
        announced_by=context.by,
        removes=order.removes or eviction is EvictionPolicy.DELETE,
        deallocates=eviction is EvictionPolicy.DEALLOCATE,
        events=tuple(_event(slice_, new_id(), vms, now) for vms in unit.events),
    )


def _eviction_policy(
    slice_: Slice, order: Order, unit: _WorkUnit
) -> EvictionPolicy | None:
    """Return what happens to the VM of a Preempt, or None if the VM stays.

    The policy is fixed now, so that later changes to the fleet file do not affect it.
    """
    if order.type is not EventType.PREEMPT:
        return None
    ((vm,),) = unit.events
    return eviction_policy_of(vm, slice_.groups[vm.group])


def _event(slice_: Slice, event_id: str, vms: Sequence[VM], now: datetime) -> Event:
    group = slice_.groups[vms[0].group]
    return Event(
        id=event_id,
        group=vms[0].group,
        resources=tuple(vm.name for vm in vms),
        paas=tuple(vm.name for vm in vms if vm.paas),
        update_domain=vms[0].update_domain,
        disabled=not group.is_enabled(now, slice_.outages),
    )


def _default_source(kind: EventType) -> EventSource:
    terminate = kind is EventType.TERMINATE
    return EventSource.USER if terminate else EventSource.PLATFORM


def _description(order: Order, cause: Cause) -> str:
    if order.description is not None:
        return order.description
    if order.live_migration:
        return _LIVE_MIGRATION
    return _REPAIR if order.emergency else _DESCRIPTIONS.get(cause, "")


def _duration(order: Order) -> int:
    if order.duration is not None:
        return order.duration
    if order.live_migration:
        return policy.LIVE_MIGRATION_DURATION
    return policy.DEFAULT_DURATION.get(order.type, -1)


# --- notice ------------------------------------------------------------------


def _minimum(slice_: Slice, order: Order, unit: _WorkUnit) -> timedelta:
    if order.emergency:
        return timedelta(0)
    groups = [slice_.groups[vms[0].group] for vms in unit.events]
    minimum = max(policy.minimum_notice(order.type, group) for group in groups)
    if order.short_notice and order.notice is not None:
        return min(order.notice, minimum)
    return minimum


def _not_before(
    slice_: Slice,
    order: Order,
    unit: _WorkUnit,
    cause: Cause,
    minimum: timedelta,
    now: datetime,
) -> datetime | None:
    """Return when the maintenance may start without approval.

    None means that it may start immediately, without notice.
    """
    if _starts_at_once(slice_, order, unit, cause, now):
        return None
    earliest = whole_second(now + minimum)
    requested = _requested(order, now, earliest)
    if requested < earliest:
        raise TooSoon(
            f"a {order.type} requires {_notice_text(minimum)} of notice; the"
            f" earliest possible not_before is {iso8601(earliest)}",
            earliest,
        )
    return requested


def _requested(order: Order, now: datetime, earliest: datetime) -> datetime:
    if order.notice is not None:
        if order.notice > policy.LONGEST:
            raise InvalidInput("notice_seconds must be at most ten years")
        return whole_second(now + order.notice)
    if order.not_before is not None:
        if order.not_before > now + policy.LONGEST:
            raise InvalidInput("not_before must be within ten years")
        return whole_second(order.not_before)
    return earliest


def _starts_at_once(
    slice_: Slice, order: Order, unit: _WorkUnit, cause: Cause, now: datetime
) -> bool:
    if order.at_once:
        return True
    if cause in _USER_OPERATIONS and order.source is EventSource.USER:
        group = slice_.groups[unit.events[0][0].group]
        is_enabled = group.is_enabled(now, slice_.outages)
        if _USER_OPERATIONS[cause] in group.auto_approve or not is_enabled:
            return True
    return order.emergency and order.notice is None and order.not_before is None


def _approvals_by_policy(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Approved]:
    auto_approval = _USER_OPERATIONS.get(maintenance.cause)
    for event in maintenance.events:
        if auto_approval in slice_.groups[event.group].auto_approve:
            yield Approved(
                at=now,
                by=None,
                via=Via.POLICY,
                maintenance=maintenance.id,
                event=event.id,
                group=event.group,
            )


def whole_second(moment: datetime) -> datetime:
    """Round up to a whole second, the precision of the protocol.

    The published time then equals the stored time.
    """
    if moment.microsecond == 0:
        return moment
    return moment.replace(microsecond=0) + timedelta(seconds=1)


def _notice_text(notice: timedelta) -> str:
    seconds = int(notice.total_seconds())
    if seconds % 60 or seconds == 0:
        return f"{seconds} seconds"
    return f"{seconds // 60} minutes"
