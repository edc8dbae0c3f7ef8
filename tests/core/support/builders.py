"""Builders for test values; every argument is optional."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Group,
    GroupKind,
    Host,
    audiences_of,
)
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Context
from forewarn.core.outages import Outage
from forewarn.protocol.types import EventSource, EventType

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

#: Default rules: Started is shown for 5 s, and the driver acts immediately.
RULES = Rules()


def counting() -> Callable[[], str]:
    """Return a generator of sequential ids: ID1, ID2 and so on."""
    numbers = count(1)
    return lambda: f"ID{next(numbers)}"


def a_context(
    now: datetime = NOON,
    *,
    by: str = "ops",
    rules: Rules = RULES,
    new_id: Callable[[], str] | None = None,
) -> Context:
    return Context(now=now, rules=rules, by=by, new_id=new_id or counting())


def a_vm(
    name: str = "vm0",
    *,
    group: str = "group0",
    host: str | None = None,
    update_domain: int | None = 0,
    paas: bool = False,
    spot: bool = False,
    eviction_policy: EvictionPolicy | None = None,
    deallocated: bool = False,
    tags: dict[str, str] | None = None,
) -> VM:
    return VM(
        name=name,
        group=group,
        host=host,
        update_domain=update_domain,
        paas=paas,
        spot=spot,
        eviction_policy=eviction_policy,
        deallocated=deallocated,
        tags=tags or {},
    )


def a_group(
    name: str = "group0",
    *,
    kind: GroupKind = GroupKind.AVAILABILITY_SET,
    enabled: Enabling = Enabling.ALWAYS,
    terminate_notice: int | None = None,
    auto_approve: tuple[AutoApproval, ...] = (),
    isolated: bool = False,
    eviction_policy: EvictionPolicy | None = None,
    last_request: datetime | None = None,
) -> Group:
    return Group(
        name=name,
        kind=kind,
        enabled=enabled,
        terminate_notice=terminate_notice,
        auto_approve=auto_approve,
        isolated=isolated,
        eviction_policy=eviction_policy,
        enabled_since=last_request,
        last_request=last_request,
    )


def an_event(
    event_id: str = "e0",
    *,
    group: str = "group0",
    resources: tuple[str, ...] = ("vm0",),
    update_domain: int | None = 0,
    approved_at: datetime | None = None,
) -> Event:
    return Event(
        id=event_id,
        group=group,
        resources=resources,
        update_domain=update_domain,
        approved_by=None if approved_at is None else "somebody",
        approved_via=None if approved_at is None else Via.METADATA,
        approved_at=approved_at,
    )


def a_maintenance(
    maintenance_id: str = "m0",
    *,
    type_: EventType = EventType.REBOOT,
    source: EventSource = EventSource.PLATFORM,
    cause: Cause = Cause.PLATFORM,
    host: str | None = None,
    events: Iterable[Event] = (),
    not_before: datetime = NOON + 15 * MINUTE,
    at_once: bool = False,
    promised: int = 0,
    duration: int = -1,
    emergency: bool = False,
    ignore_blockers: bool = False,
    phase: Phase = Phase.SCHEDULED,
    started_at: datetime | None = None,
    coupled: tuple[str, ...] = (),
    done: tuple[str, ...] = (),
    stuck_since: datetime | None = None,
) -> Maintenance:
    """Build a maintenance with event e0 of group0, unless `events` are given."""
    shares = tuple(events) or (an_event(),)
    over = phase in (Phase.COMPLETED, Phase.CANCELED, Phase.FAILED)
    if started_at is None and phase not in (Phase.SCHEDULED, Phase.CANCELED):
        started_at = NOON
    return Maintenance(
        id=maintenance_id,
        type=type_,
        source=source,
        cause=cause,
        host=host,
        vms=tuple(vm for event in shares for vm in event.resources),
        not_before=not_before,
        at_once=at_once,
        promised=promised,
        duration=duration,
        emergency=emergency,
        ignore_blockers=ignore_blockers,
        announced_at=NOON,
        phase=phase,
        started_at=started_at,
        ended_at=NOON if over else None,
        coupled=coupled,
        done=done,
        stuck_since=stuck_since,
        events=shares,
    )


def a_slice(
    *,
    hosts: Iterable[Host] = (),
    groups: Iterable[Group] = (),
    vms: Iterable[VM] = (),
    maintenances: Iterable[Maintenance] = (),
    outages: Iterable[Outage] = (),
) -> Slice:
    """Build a slice and add the hosts, groups and VMs that its arguments refer to.

    A group that is only referred to is enabled. Without arguments, the slice holds vm0
    in group0.
    """
    acts = {maintenance.id: maintenance for maintenance in maintenances}
    machines = {vm.name: vm for vm in vms}
    for event in (event for act in acts.values() for event in act.events):
        for name in event.resources:
            named = a_vm(name, group=event.group, update_domain=event.update_domain)
            machines.setdefault(name, named)
    sets = {group.name: group for group in groups}
    if not machines and not sets:
        machines = {"vm0": a_vm()}
    for vm in machines.values():
        sets.setdefault(vm.group, a_group(vm.group))
    racks = {host.name: host for host in hosts}
    for place in [vm.host for vm in machines.values()]:
        if place is not None:
            racks.setdefault(place, Host(name=place))
    return Slice(
        hosts=racks,
        groups=sets,
        vms=machines,
        audiences={
            audience.name: audience
            for group in sets.values()
            for audience in audiences_of(
                group,
                [vm for vm in machines.values() if vm.group == group.name],
                "epoch0",
            )
        },
        maintenances=acts,
        outages=tuple(outages),
    )


def an_outage(since: int, until: int) -> Outage:
    """Build an outage from `since` to `until`, in minutes after noon."""
    return Outage(since=NOON + since * MINUTE, until=NOON + until * MINUTE)


def an_order(
    type_: EventType = EventType.REBOOT,
    *,
    vms: tuple[str, ...] = (),
    host: str | None = None,
    group: str | None = None,
    notice: timedelta | None = None,
    not_before: datetime | None = None,
    duration: int | None = None,
    description: str | None = None,
    live_migration: bool = False,
    source: EventSource | None = None,
    reason: str | None = None,
    emergency: bool = False,
    ignore_blockers: bool = False,
    short_notice: bool = False,
) -> Order:
    """Build an order for vm0, unless VMs, a host or a group are given."""
    if not vms and host is None and group is None:
        vms = ("vm0",)
    return Order(
        type=type_,
        vms=vms,
        host=host,
        group=group,
        notice=notice,
        not_before=not_before,
        duration=duration,
        description=description,
        live_migration=live_migration,
        source=source,
        reason=reason,
        emergency=emergency,
        ignore_blockers=ignore_blockers,
        short_notice=short_notice,
    )
