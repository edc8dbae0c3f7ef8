"""Operations on VMs and hosts that cause maintenance.

Users and the platform operate on VMs; hosts degrade, fail and recover. Each operation
is an order with its own rules; `announcements` does the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core.fleet import VM, Group, GroupKind
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.announcements import (
    Order,
    announce_into,
    refuse_beyond_limit,
    whole_second,
)
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.lifecycle.settlement import Context, Step, StepBuilder
from forewarn.errors import Conflict
from forewarn.protocol.types import EventSource, EventType

#: The types of planned maintenance of a host.
HOST_TYPES = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)

#: The longest notice for a host that is predicted to fail.
PATIENCE = timedelta(days=7)


class VmOperation(StrEnum):
    """An operation on one VM."""

    #: A user restarts it.
    RESTART = "restart"
    #: A user moves it to another host.
    REDEPLOY = "redeploy"
    #: It gets a new image.
    REIMAGE = "reimage"
    #: A spot VM is reclaimed.
    EVICT = "evict"
    #: It is deleted and then leaves the fleet.
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
    """Return the order for `operation` on the VM named `vm`."""
    return replace(_ORDERS[operation], vms=(vm,))


def order_for_host(host: str, kind: EventType = EventType.FREEZE) -> Order:
    """Return the order for planned maintenance of a host."""
    return Order(type=kind, source=EventSource.PLATFORM, host=host)


def operate(
    slice_: Slice,
    context: Context,
    operation: VmOperation,
    order: Order,
    vms: Sequence[VM],
    *,
    scheduled: int = 0,
) -> Step:
    """Announce `operation` for all of `vms` or for none.

    `scheduled` is the number of user operations scheduled in the whole fleet.
    """
    builder = StepBuilder(slice_, context)
    for vm in vms:
        fitted = _fit(builder.slice, operation, order, vm)
        announce_into(builder, fitted, [vm])
    refuse_beyond_limit(builder, scheduled)
    return builder.finish()


def _fit(slice_: Slice, operation: VmOperation, order: Order, vm: VM) -> Order:
    if operation is VmOperation.EVICT and not vm.spot:
        raise Conflict(f"{vm.name} is not a spot VM; only those are evicted")
    if operation is not VmOperation.DELETE:
        return order
    group = slice_.groups[vm.group]
    for maintenance in slice_.live_in(vm.group):
        if (
            maintenance.removes
            and vm.name in maintenance.vms
            and vm.name not in maintenance.left
        ):
            raise Conflict(f"{vm.name} is being deleted already, by {maintenance.id}")
    return replace(order, at_once=not _is_given_terminate_notice(vm, group))


def _is_given_terminate_notice(vm: VM, group: Group) -> bool:
    return (
        group.kind is GroupKind.SCALE_SET
        and group.terminate_notice is not None
        and not vm.spot
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

    An earlier announcement stays, unless the host is now predicted to fail sooner.
    """
    builder, now = StepBuilder(slice_, context), context.now
    latest = now + PATIENCE if fails_by is None else min(now + PATIENCE, fails_by)
    earliest = now + policy.MINIMUM_NOTICE[EventType.REDEPLOY]
    not_before = whole_second(max(latest, earliest))
    announced = [*_live(slice_, order.host, Cause.DEGRADED)]
    if any(_is_no_later(maintenance, not_before) for maintenance in announced):
        return builder.finish()
    _cancel(builder, announced, "announced again, for an earlier time")
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
    """Announce that a host has failed, and cancel what was scheduled for it."""
    builder = StepBuilder(slice_, context)
    live = [*_live(slice_, order.host)]
    scheduled = [
        maintenance for maintenance in live if maintenance.phase is Phase.SCHEDULED
    ]
    reason = order.reason or "its host failed"  # groups may read it: no host name
    _cancel(builder, scheduled, reason)
    listed = {
        vm
        for maintenance in live
        if maintenance.phase is Phase.STARTED and maintenance.completed_by is None
        for vm in maintenance.vms
        if vm not in maintenance.left
    }
    rest = [vm for vm in vms if vm.name not in listed]
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
    """Cancel the announcements for a degraded host, and end its failure."""
    del vms  # the announced VMs count, not those on the host now
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
