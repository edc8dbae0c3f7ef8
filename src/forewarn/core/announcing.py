"""From an order to the maintenances it leads to.

1. What is one act is one maintenance. A host is one act. VMs named singly or by
   group are not: they are split by group and update domain.
2. No event ever lists VMs of two update domains.
3. User operations, Preempt and Terminate concern one VM each.
4. Never less notice than the minimum, save in an emergency.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from forewarn.core import policy
from forewarn.core.facts import Announced, Approved
from forewarn.core.fleet import VM, AutoApproval, natural
from forewarn.core.maintenance import Cause, Event, Maintenance, Slice, Via
from forewarn.core.policy import Rules
from forewarn.core.settling import Draft, Step
from forewarn.errors import InvalidInput, TooSoon
from forewarn.protocol.codec import iso8601
from forewarn.protocol.types import EventSource, EventType

_CAUSES: Mapping[tuple[EventType, EventSource], Cause] = {
    (EventType.REBOOT, EventSource.USER): Cause.USER_RESTART,
    (EventType.REDEPLOY, EventSource.USER): Cause.USER_REDEPLOY,
    (EventType.PREEMPT, EventSource.USER): Cause.EVICTION,
    (EventType.PREEMPT, EventSource.PLATFORM): Cause.EVICTION,
    (EventType.TERMINATE, EventSource.USER): Cause.SCALE_IN,
    (EventType.TERMINATE, EventSource.PLATFORM): Cause.SCALE_IN,
}  # else: platform

_REPAIR = "Host server is undergoing an emergency repair."

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
}  # else: empty

_AUTO_APPROVED: Mapping[Cause, AutoApproval] = {
    Cause.USER_RESTART: AutoApproval.USER_REBOOT,
    Cause.USER_REDEPLOY: AutoApproval.USER_REDEPLOY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody wants announced."""

    type: EventType
    vms: tuple[str, ...] = ()  # exactly one of vms, host and group
    host: str | None = None
    group: str | None = None
    notice: timedelta | None = None  # at most one of notice and not_before
    not_before: datetime | None = None
    duration: int | None = None  # seconds; None: the type's default
    description: str | None = None  # None: by cause
    source: EventSource | None = None  # None: the type's default
    reason: str | None = None
    emergency: bool = False
    ignore_gates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Act:
    """VMs that are touched together, and the events that tell of it."""

    host: str | None
    events: tuple[tuple[VM, ...], ...]


def check(order: Order) -> None:
    """Refuse an order that contradicts itself."""
    targets = [bool(order.vms), order.host is not None, order.group is not None]
    if targets.count(True) != 1:
        raise InvalidInput("name exactly one of vms, host and group")
    if order.notice is not None and order.not_before is not None:
        raise InvalidInput("give notice_seconds or not_before, not both")
    if order.type is EventType.FREEZE and order.source is EventSource.USER:
        raise InvalidInput("a Freeze is never asked for by a user; leave source out")
    if order.emergency and not (order.reason or "").strip():
        raise InvalidInput("an emergency needs a reason")
    if order.ignore_gates and not order.emergency:
        raise InvalidInput("ignore_gates is only possible in an emergency")
    if order.duration is not None and not (
        -1 <= order.duration <= policy.LONGEST.total_seconds()
    ):
        raise InvalidInput("duration_seconds is -1 (unknown) or from 0 to ten years")


def announce(
    slice_: Slice,
    order: Order,
    vms: Sequence[VM],
    *,
    by: str,
    new_id: Callable[[], str],
    now: datetime,
    rules: Rules,
) -> Step:
    """Announce `order` for `vms`, the VMs that it names."""
    check(order)
    draft = Draft(slice_)
    for act in _acts(order, vms):
        maintenance = _maintenance(slice_, order, act, new_id=new_id, by=by, now=now)
        draft.record(
            Announced(at=now, by=by, maintenance=maintenance.id, announced=maintenance)
        )
        draft.record(*_approvals_by_policy(draft.slice, maintenance, now))
    return draft.finish(now, rules)


# --- acts --------------------------------------------------------------------


def _acts(order: Order, vms: Sequence[VM]) -> Iterator[_Act]:
    ordered = sorted(vms, key=lambda vm: (natural(vm.group), natural(vm.name)))
    if _is_one_by_one(order):
        for vm in ordered:
            yield _Act(host=None, events=((vm,),))
    elif order.host is not None:
        yield _Act(host=order.host, events=tuple(_by_update_domain(ordered)))
    else:
        for together in _by_update_domain(ordered):
            if together[0].update_domain is not None:
                yield _Act(host=None, events=(together,))
            else:
                yield from _by_host(together)


def _is_one_by_one(order: Order) -> bool:
    return order.source is EventSource.USER or order.type in (
        EventType.PREEMPT,
        EventType.TERMINATE,
    )


def _by_update_domain(ordered: Sequence[VM]) -> Iterator[tuple[VM, ...]]:
    """Split VMs, ordered by group, into those of one group and update domain."""

    def domain(vm: VM) -> tuple[object, ...]:
        none = vm.update_domain is None
        return (natural(vm.group), none, vm.update_domain or 0)

    for _, together in groupby(sorted(ordered, key=domain), key=domain):
        yield tuple(together)


def _by_host(vms: Sequence[VM]) -> Iterator[_Act]:
    shared: dict[str, list[VM]] = {}
    for vm in vms:
        place = f"vm {vm.name}" if vm.host is None else f"host {vm.host}"
        shared.setdefault(place, []).append(vm)
    for together in shared.values():
        yield _Act(host=None, events=(tuple(together),))


# --- maintenances ------------------------------------------------------------


def _maintenance(
    slice_: Slice,
    order: Order,
    act: _Act,
    *,
    new_id: Callable[[], str],
    by: str,
    now: datetime,
) -> Maintenance:
    source = order.source or _default_source(order.type)
    cause = _CAUSES.get((order.type, source), Cause.PLATFORM)
    minimum = _minimum(slice_, order, act)
    not_before = _not_before(slice_, order, act, cause, minimum, now)
    description = _REPAIR if order.emergency else _DESCRIPTIONS.get(cause, "")
    return Maintenance(
        id=new_id(),
        type=order.type,
        source=source,
        cause=cause,
        host=act.host,
        vms=tuple(vm.name for vms in act.events for vm in vms),
        not_before=now if not_before is None else not_before,
        at_once=not_before is None,
        promised=0 if not_before is None else int(minimum.total_seconds()),
        duration=_duration(order),
        description=description if order.description is None else order.description,
        reason=order.reason,
        emergency=order.emergency,
        ignore_gates=order.ignore_gates,
        announced_at=now,
        announced_by=by,
        events=tuple(_event(new_id(), vms) for vms in act.events),
    )


def _event(event_id: str, vms: Sequence[VM]) -> Event:
    return Event(
        id=event_id,
        group=vms[0].group,
        resources=tuple(vm.name for vm in vms),
        paas=tuple(vm.name for vm in vms if vm.paas),
        update_domain=vms[0].update_domain,
    )


def _default_source(kind: EventType) -> EventSource:
    terminate = kind is EventType.TERMINATE
    return EventSource.USER if terminate else EventSource.PLATFORM


def _duration(order: Order) -> int:
    if order.duration is not None:
        return order.duration
    return policy.DEFAULT_DURATION.get(order.type, -1)


# --- notice ------------------------------------------------------------------


def _minimum(slice_: Slice, order: Order, act: _Act) -> timedelta:
    if order.emergency:
        return timedelta(0)
    groups = [slice_.groups[vms[0].group] for vms in act.events]
    return max(policy.minimum_notice(order.type, group) for group in groups)


def _not_before(
    slice_: Slice,
    order: Order,
    act: _Act,
    cause: Cause,
    minimum: timedelta,
    now: datetime,
) -> datetime | None:
    """When it may start without approval; None: at once, without notice."""
    if _starts_at_once(slice_, order, act, cause, now):
        return None
    earliest = _whole_second(now + minimum)
    wanted = _wanted(order, now, earliest)
    if wanted < earliest:
        raise TooSoon(
            f"a {order.type} needs {_spoken(minimum)} of notice;"
            f" the earliest possible not_before is {iso8601(earliest)}",
            earliest,
        )
    return wanted


def _wanted(order: Order, now: datetime, earliest: datetime) -> datetime:
    if order.notice is not None:
        if order.notice > policy.LONGEST:
            raise InvalidInput("notice_seconds must be at most ten years")
        return _whole_second(now + order.notice)
    if order.not_before is not None:
        if order.not_before > now + policy.LONGEST:
            raise InvalidInput("not_before must be within ten years")
        return _whole_second(order.not_before)
    return earliest


def _starts_at_once(
    slice_: Slice, order: Order, act: _Act, cause: Cause, now: datetime
) -> bool:
    if cause in _AUTO_APPROVED:
        group = slice_.groups[act.events[0][0].group]
        is_listening = group.is_listening(now, slice_.outages)
        if _AUTO_APPROVED[cause] in group.auto_approve or not is_listening:
            return True
    return order.emergency and order.notice is None and order.not_before is None


def _approvals_by_policy(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Approved]:
    wanted = _AUTO_APPROVED.get(maintenance.cause)
    for event in maintenance.events:
        if wanted in slice_.groups[event.group].auto_approve:
            yield Approved(
                at=now,
                by=None,
                via=Via.POLICY,
                maintenance=maintenance.id,
                event=event.id,
                group=event.group,
            )


def _whole_second(moment: datetime) -> datetime:
    if moment.microsecond == 0:
        return moment
    return moment.replace(microsecond=0) + timedelta(seconds=1)


def _spoken(notice: timedelta) -> str:
    seconds = int(notice.total_seconds())
    if seconds % 60 or seconds == 0:
        return f"{seconds} seconds"
    return f"{seconds // 60} minutes"
