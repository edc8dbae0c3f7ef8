"""What causes maintenances: users and the platform act on VMs, hosts wear out and fail.

Each cause is an order with rules of its own; `announcing` does the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.core import facts as f
from forewarn.core import policy
from forewarn.core.announcing import (
    Order,
    announce_into,
    refuse_beyond_limit,
    whole_second,
)
from forewarn.core.fleet import VM, Group, GroupKind
from forewarn.core.maintenance import Cause, Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.core.settling import Draft, Step
from forewarn.errors import Conflict
from forewarn.protocol.types import EventSource, EventType

#: How long hardware that is predicted to fail is left alone, if it lasts that long.
PATIENCE = timedelta(days=7)


class Operation(StrEnum):
    """What can be asked for one VM."""

    #: A user wants it restarted.
    RESTART = "restart"
    #: A user wants it moved to another host.
    REDEPLOY = "redeploy"
    #: It gets a new image.
    REIMAGE = "reimage"
    #: A spot VM is taken back.
    EVICT = "evict"
    #: It is to be deleted, and then leaves the fleet.
    DELETE = "delete"


_ORDERS: Mapping[Operation, Order] = {
    Operation.RESTART: Order(
        type=EventType.REBOOT, source=EventSource.USER, cause=Cause.USER_RESTART
    ),
    Operation.REDEPLOY: Order(
        type=EventType.REDEPLOY, source=EventSource.USER, cause=Cause.USER_REDEPLOY
    ),
    Operation.REIMAGE: Order(
        type=EventType.REBOOT, source=EventSource.USER, cause=Cause.REIMAGE
    ),
    Operation.EVICT: Order(
        type=EventType.PREEMPT, source=EventSource.PLATFORM, cause=Cause.EVICTION
    ),
    Operation.DELETE: Order(
        type=EventType.TERMINATE,
        source=EventSource.USER,
        cause=Cause.SCALE_IN,
        removes=True,
    ),
}


def order_for(operation: Operation, vm: str) -> Order:
    """Make the order for `operation` on the VM called `vm`."""
    return replace(_ORDERS[operation], vms=(vm,))


def order_for_host(host: str, kind: EventType = EventType.FREEZE) -> Order:
    """Make the order for planned maintenance of a host."""
    return Order(type=kind, source=EventSource.PLATFORM, host=host)


def operate(
    slice_: Slice,
    operation: Operation,
    order: Order,
    vms: Sequence[VM],
    *,
    by: str,
    new_id: Callable[[], str],
    now: datetime,
    rules: Rules,
    scheduled: int = 0,
) -> Step:
    """Announce `operation` for each of `vms`, or for none.

    `scheduled` says how many user operations are scheduled in the whole fleet.
    """
    draft = Draft(slice_)
    for vm in vms:
        fitted = _fit(draft.slice, operation, order, vm)
        announce_into(draft, fitted, [vm], by=by, new_id=new_id, now=now)
    refuse_beyond_limit(draft, scheduled, rules)
    return draft.finish(now, rules)


def _fit(slice_: Slice, operation: Operation, order: Order, vm: VM) -> Order:
    if operation is Operation.EVICT and not vm.spot:
        raise Conflict(f"{vm.name} is not a spot VM; only those are evicted")
    if operation is not Operation.DELETE:
        return order
    group = slice_.groups[vm.group]
    for each in slice_.live_in(vm.group):
        if each.removes and vm.name in each.vms and vm.name not in each.left:
            raise Conflict(f"{vm.name} is being deleted already, by {each.id}")
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
    order: Order,
    vms: Sequence[VM],
    *,
    fails_by: datetime | None,
    by: str,
    new_id: Callable[[], str],
    now: datetime,
    rules: Rules,
) -> Step:
    """Announce that `vms` must leave hardware that is predicted to fail.

    What was announced before stays, unless the prediction has become worse.
    """
    draft = Draft(slice_)
    latest = now + PATIENCE if fails_by is None else min(now + PATIENCE, fails_by)
    earliest = now + policy.MINIMUM_NOTICE[EventType.REDEPLOY]
    not_before = whole_second(max(latest, earliest))
    known = [*_live(slice_, order.host, Cause.DEGRADED)]
    if any(_is_no_later(each, not_before) for each in known):
        return draft.finish(now, rules)
    draft.record(*_canceled(known, by, now, "announced again, for an earlier time"))
    if vms:
        order = replace(
            order,
            type=EventType.REDEPLOY,
            source=EventSource.PLATFORM,
            cause=Cause.DEGRADED,
            not_before=not_before,
        )
        announce_into(draft, order, vms, by=by, new_id=new_id, now=now)
    return draft.finish(now, rules)


def fail(
    slice_: Slice,
    order: Order,
    vms: Sequence[VM],
    *,
    by: str,
    new_id: Callable[[], str],
    now: datetime,
    rules: Rules,
) -> Step:
    """Tell that a host has failed; what was planned for it is off."""
    draft = Draft(slice_)
    known = [*_live(slice_, order.host)]
    scheduled = [each for each in known if each.phase is Phase.SCHEDULED]
    reason = order.reason or "its host failed"  # unnamed: groups may read it
    draft.record(*_canceled(scheduled, by, now, reason))
    listed = {
        vm
        for each in known
        if each.phase is Phase.STARTED and each.completed_by is None
        for vm in each.vms
        if vm not in each.left
    }
    rest = [vm for vm in vms if vm.name not in listed]
    if rest:
        order = replace(
            order,
            type=rules.host_failure,
            source=EventSource.PLATFORM,
            cause=Cause.HOST_FAILURE,
            at_once=True,
        )
        announce_into(draft, order, rest, by=by, new_id=new_id, now=now)
    return draft.finish(now, rules)


def recover(
    slice_: Slice,
    order: Order,
    vms: Sequence[VM],
    *,
    by: str,
    new_id: Callable[[], str],
    now: datetime,
    rules: Rules,
) -> Step:
    """Take back that a host is degraded, and end its failure."""
    del vms, new_id  # whoever is there now: what was announced is what ends
    draft, host = Draft(slice_), order.host
    degraded = [
        each
        for each in _live(slice_, host, Cause.DEGRADED)
        if each.phase is Phase.SCHEDULED
    ]
    reason = order.reason or "its host recovered"
    draft.record(*_canceled(degraded, by, now, reason))
    for each in _live(slice_, host, Cause.HOST_FAILURE):
        if each.phase is Phase.STARTED and each.completed_by is None:
            draft.record(
                f.WorkEnded(at=now, by=by, maintenance=each.id, reason=order.reason)
            )
    return draft.finish(now, rules)


def _live(
    slice_: Slice, host: str | None, cause: Cause | None = None
) -> Iterator[Maintenance]:
    for each in slice_.maintenances.values():
        if each.host == host and each.phase.is_live and cause in (None, each.cause):
            yield each


def _is_no_later(known: Maintenance, not_before: datetime) -> bool:
    return known.phase is Phase.STARTED or known.not_before <= not_before


def _canceled(
    known: Sequence[Maintenance], by: str, now: datetime, reason: str
) -> Iterator[f.Canceled]:
    for each in known:
        yield f.Canceled(at=now, by=by, maintenance=each.id, reason=reason)
