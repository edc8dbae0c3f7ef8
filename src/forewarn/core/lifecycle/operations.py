"""Operations on VMs and hosts that cause maintenance.

Users and the platform operate on VMs. Hosts degrade, fail and recover. Each operation
is an order with its own rules; `announcements` does the rest.

1. A VM has at most one live user-requested restart, redeploy or reimage, one eviction
   and one deletion.
2. The rules limit how many user operations a group's token may schedule, how far ahead,
   and how long each may last. Operators are not limited.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.fleet import VM, Group, GroupKind
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.announcements import (
    Order,
    announce_into,
    deallocated,
    is_user_operation,
    running,
    whole_second,
)
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.lifecycle.settlement import Context, Step, StepBuilder
from forewarn.errors import Conflict, InvalidInput, TooMany
from forewarn.formats import format_duration
from forewarn.protocol.codec import iso8601
from forewarn.protocol.types import EventSource, EventType

#: The types of planned host maintenance.
HOST_TYPES = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)

#: The longest notice period for a host that is predicted to fail.
PATIENCE = timedelta(days=7)


class VmOperation(StrEnum):
    """An operation on one VM."""

    #: Restart the VM, as a user.
    RESTART = "restart"
    #: Move the VM to another host, as a user.
    REDEPLOY = "redeploy"
    #: Reimage the VM.
    REIMAGE = "reimage"
    #: Evict a spot VM and delete or deallocate it according to its eviction policy.
    EVICT = "evict"
    #: Delete the VM and remove it from the fleet.
    DELETE = "delete"


_ORDERS: Mapping[VmOperation, Order] = {
    VmOperation.RESTART: Order(
        type=EventType.REBOOT, source=EventSource.USER, cause=Cause.USER_RESTART
    ),
    VmOperation.REDEPLOY: Order(
        type=EventType.REDEPLOY, source=EventSource.USER, cause=Cause.USER_REDEPLOY
    ),
    VmOperation.REIMAGE: Order(
        type=EventType.REBOOT, source=EventSource.USER, cause=Cause.REIMAGE
    ),
    VmOperation.EVICT: Order(
        type=EventType.PREEMPT, source=EventSource.PLATFORM, cause=Cause.EVICTION
    ),
    VmOperation.DELETE: Order(
        type=EventType.TERMINATE,
        source=EventSource.USER,
        cause=Cause.SCALE_IN,
        removes=True,
    ),
}


def order_for(operation: VmOperation, vm: str) -> Order:
    """Return the order for `operation` on the VM `vm`."""
    return replace(_ORDERS[operation], vms=(vm,))


def order_for_host(host: str, kind: EventType = EventType.FREEZE) -> Order:
    """Return the order for planned host maintenance."""
    return Order(type=kind, source=EventSource.PLATFORM, host=host)


def operate(
    slice_: Slice,
    context: Context,
    operation: VmOperation,
    order: Order,
    vms: Sequence[VM],
    *,
    by_group: bool = False,
) -> Step:
    """Announce `operation` for all of `vms`, or for none of them.

    If `by_group` is true, the request came with a group's token, and `vms` belong to
    that group.
    """
    if by_group:
        _refuse_long(order, context)
    builder = StepBuilder(slice_, context)
    for vm in vms:
        fitted = _fit(builder.slice, operation, order, vm)
        announce_into(builder, fitted, [vm])
    if by_group:
        _refuse_beyond_limit(builder, {vm.group for vm in vms})
    return builder.finish()


def _fit(slice_: Slice, operation: VmOperation, order: Order, vm: VM) -> Order:
    if operation is VmOperation.EVICT and not vm.spot:
        raise Conflict(f"{vm.name} is not a spot VM; only spot VMs can be evicted")
    if vm.deallocated and operation is not VmOperation.DELETE:
        raise deallocated(vm)
    if order.source is _ORDERS[operation].source:
        _refuse_second(slice_, operation, vm)
    if operation is not VmOperation.DELETE:
        return order
    group = slice_.groups[vm.group]
    return replace(order, at_once=not _is_given_terminate_notice(vm, group))


def _is_given_terminate_notice(vm: VM, group: Group) -> bool:
    return (
        group.kind is GroupKind.SCALE_SET
        and group.terminate_notice is not None
        and not vm.spot
    )


def start(slice_: Slice, context: Context, vms: Sequence[VM]) -> Step:
    """Record that the deallocated VMs in `vms` are running again."""
    builder = StepBuilder(slice_, context)
    started = tuple(replace(vm, deallocated=False) for vm in vms if vm.deallocated)
    if started:
        builder.record(
            f.FleetChanged(
                at=context.now, by=context.by, epoch=context.new_epoch(), vms=started
            )
        )
    return builder.finish()


# --- limits of operations on VMs ---------------------------------------------

#: Operations of which a VM has at most one, with the live maintenance that counts.
_ONCE: Mapping[VmOperation, tuple[str, Callable[[Maintenance], bool]]] = {
    VmOperation.RESTART: ("already has a user operation", is_user_operation),
    VmOperation.REDEPLOY: ("already has a user operation", is_user_operation),
    VmOperation.REIMAGE: ("already has a user operation", is_user_operation),
    VmOperation.EVICT: (
        "is already being evicted",
        lambda maintenance: maintenance.cause is Cause.EVICTION,
    ),
    VmOperation.DELETE: ("is already being deleted", policy.is_deletion),
}


def _refuse_second(slice_: Slice, operation: VmOperation, vm: VM) -> None:
    state, is_counted = _ONCE[operation]
    for maintenance in slice_.live_in(vm.group):
        if (
            is_counted(maintenance)
            and vm.name in maintenance.vms
            and vm.name not in maintenance.left
        ):
            raise TooMany(f"{vm.name} {state}: {_first(maintenance)}", per="vm")


def _first(maintenance: Maintenance) -> str:
    """Describe the type, ID and time of the maintenance that must end first."""
    since = maintenance.started_at
    when, verb = (
        (f"not before {iso8601(maintenance.not_before)}", "cancel")
        if since is None
        else (f"started at {iso8601(since)}", "complete")
    )
    return (
        f"{maintenance.type} {maintenance.label}, {when}; wait until it has ended, or"
        f" have an operator {verb} it"
    )


def _refuse_long(order: Order, context: Context) -> None:
    rules = context.rules
    if order.duration is not None and (
        order.duration > rules.user_duration.total_seconds()
    ):
        raise InvalidInput(
            "with a group's token, duration_seconds can be at most"
            f" {rules.user_duration.total_seconds():.0f}"
            " ([user_operations] max_duration); omit it, or contact an operator"
        )
    notice = order.notice
    if order.not_before is not None:
        notice = order.not_before - context.now
    if notice is not None and notice > rules.user_notice:
        raise InvalidInput(
            "with a group's token, an operation must start within"
            f" {format_duration(rules.user_notice)} ([user_operations] max_notice);"
            " choose an earlier time, or contact an operator"
        )


def _refuse_beyond_limit(builder: StepBuilder, groups: Iterable[str]) -> None:
    limit = builder.context.rules.user_operations
    if limit is None:
        return
    for group in groups:
        scheduled = {
            maintenance.id
            for maintenance in builder.slice.live_in(group)
            if is_user_operation(maintenance)
            and maintenance.phase is Phase.SCHEDULED
            and not maintenance.at_once
        }
        existing = scheduled & builder.before.maintenances.keys()
        if len(scheduled) > max(limit, len(existing)):
            raise TooMany(
                f"group {group} already has {len(existing)} scheduled user operations;"
                f" the maximum is {limit} ([user_operations] limit); wait until one has"
                " started, or have an operator cancel one",
                per="group",
            )


# --- hosts -------------------------------------------------------------------


def degrade(
    slice_: Slice,
    context: Context,
    order: Order,
    vms: Sequence[VM],
    *,
    fails_by: datetime | None,
) -> Step:
    """Announce that `vms` must leave a host that is predicted to fail.

    Each audience has a separate event. An earlier announcement stays in place unless
    the host is now predicted to fail sooner. VMs without an announcement receive an
    announcement for the earliest predicted time.
    """
    builder, now = StepBuilder(slice_, context), context.now
    latest = now + PATIENCE if fails_by is None else min(now + PATIENCE, fails_by)
    earliest = now + policy.MINIMUM_NOTICE[EventType.REDEPLOY]
    not_before = whole_second(max(latest, earliest))
    announced = [*_live(slice_, order.host, Cause.DEGRADED)]
    kept = [item for item in announced if _is_no_later(item, not_before)]
    for maintenance in kept:  # an earlier prediction still applies
        not_before = min(not_before, maintenance.not_before)
    not_before = whole_second(max(not_before, earliest))
    replaced = [item for item in announced if item not in kept]
    _cancel(builder, replaced, "announced again, for an earlier time")
    listed = {
        vm
        for maintenance in kept
        for vm in maintenance.vms
        if vm not in maintenance.left
    }
    vms = [vm for vm in running(vms) if vm.name not in listed]
    if vms:
        order = replace(
            order,
            type=EventType.REDEPLOY,
            source=EventSource.PLATFORM,
            cause=Cause.DEGRADED,
            not_before=not_before,
        )
        announce_into(builder, order, vms)
    return builder.finish()


def fail(slice_: Slice, context: Context, order: Order, vms: Sequence[VM]) -> Step:
    """Announce that a host has failed and cancel maintenance scheduled for the host."""
    builder = StepBuilder(slice_, context)
    live = [*_live(slice_, order.host)]
    scheduled = [
        maintenance for maintenance in live if maintenance.phase is Phase.SCHEDULED
    ]
    reason = order.reason or "its host failed"  # no host name: groups may see it
    _cancel(builder, scheduled, reason)
    listed = {
        vm
        for maintenance in live
        if maintenance.phase is Phase.STARTED and maintenance.completed_by is None
        for vm in maintenance.vms
        if vm not in maintenance.left
    }
    rest = [vm for vm in running(vms) if vm.name not in listed]
    if rest:
        order = replace(
            order,
            type=context.rules.host_failure,
            source=EventSource.PLATFORM,
            cause=Cause.HOST_FAILURE,
            at_once=True,
        )
        announce_into(builder, order, rest)
    return builder.finish()


def recover(slice_: Slice, context: Context, order: Order, vms: Sequence[VM]) -> Step:
    """Cancel a degraded host's announcements, or end a failed host's maintenance."""
    del vms  # based on the VMs announced, not those on the host now
    builder, host = StepBuilder(slice_, context), order.host
    degraded = [
        maintenance
        for maintenance in _live(slice_, host, Cause.DEGRADED)
        if maintenance.phase is Phase.SCHEDULED
    ]
    reason = order.reason or "its host recovered"
    _cancel(builder, degraded, reason)
    for maintenance in _live(slice_, host, Cause.HOST_FAILURE):
        if maintenance.phase is Phase.STARTED and maintenance.completed_by is None:
            builder.record(
                f.WorkEnded(
                    at=context.now,
                    by=context.by,
                    maintenance=maintenance.id,
                    reason=order.reason,
                )
            )
    return builder.finish()


def _live(
    slice_: Slice, host: str | None, cause: Cause | None = None
) -> Iterator[Maintenance]:
    for maintenance in slice_.maintenances.values():
        if (
            maintenance.host == host
            and maintenance.phase.is_live
            and cause in (None, maintenance.cause)
        ):
            yield maintenance


def _is_no_later(maintenance: Maintenance, not_before: datetime) -> bool:
    return maintenance.phase is Phase.STARTED or maintenance.not_before <= not_before


def _cancel(
    builder: StepBuilder, maintenances: Sequence[Maintenance], reason: str
) -> None:
    at, by = builder.now, builder.context.by
    for maintenance in maintenances:
        builder.record(
            f.Canceled(at=at, by=by, maintenance=maintenance.id, reason=reason)
        )
