"""Operations on one VM or host and approval of several events at once.

These operations affect VMs without an explicit announcement: restart, redeploy, evict,
degrade, fail and recover.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import TypeAlias

from forewarn.core.fleet import VM
from forewarn.core.lifecycle import announcements, commands, operations
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import (
    Cause,
    Event,
    Maintenance,
    Slice,
    Via,
    groups_of,
)
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.core.lifecycle.settlement import Context, Step
from forewarn.engine.engine import (
    Command,
    Engine,
    announced,
    command_rank,
    load_and_decide,
)
from forewarn.engine.idempotency import IdempotencyKey, keep_receipt
from forewarn.engine.lookup import find_host, find_vm, groups_at_host
from forewarn.errors import ForewarnError, NotFound, TooLate, TooMany
from forewarn.ports import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResult:
    """The result of a command on a host."""

    announced: Sequence[Maintenance]
    concerned: Sequence[Maintenance]  # existing ones, whether changed or not


#: A command on a host; it receives the host's VMs.
_Command: TypeAlias = Callable[[Slice, Context, Order, Sequence[VM]], Step]


class Operations:
    """Commands that affect VMs without an explicit announcement."""

    def __init__(self, engine: Engine) -> None:
        """Create the commands for `engine`."""
        self._engine = engine
        self._lock = Lock()  # guards the fields below
        #: The number of refused operations, keyed by the limit that was reached.
        self.refused = Counter({"vm": 0, "group": 0})

    def operate(
        self,
        operation: VmOperation,
        order: Order,
        *,
        by: str,
        group: str | None = None,
        once: IdempotencyKey[Sequence[Maintenance]] | None = None,
    ) -> Sequence[Maintenance]:
        """Restart, redeploy, reimage, evict or delete the VMs that `order` names.

        If `group` is given, that group made the request. VMs in other groups are then
        not found, and limits on user operations apply.
        """
        announcements.check_order(order)
        engine = self._engine

        def decision(snapshot: Snapshot) -> tuple[Collection[str], Command]:
            vms = [find_vm(snapshot, name, group=group) for name in order.vms]
            command = partial(
                operations.operate,
                operation=operation,
                order=order,
                vms=vms,
                by_group=group is not None,
            )
            return {vm.group for vm in vms}, command

        def check(snapshot: Snapshot) -> None:
            context = engine.context(snapshot, by, engine.new_id)
            load_and_decide(snapshot, context, *decision(snapshot))

        try:
            if group is not None:
                engine.check_first(check, once)
            rank = command_rank(group)
            with engine.writing(by, once, rank=rank) as (transaction, context):
                step = engine.decide(transaction, context, *decision(transaction))
                maintenances = announced(step)
                keep_receipt(transaction, once, maintenances, context.now)
        except TooMany as error:
            if once is None or once.dry_run is None:
                with self._lock:
                    self.refused[error.per] += 1
            raise
        return maintenances

    def start(
        self,
        names: Sequence[str],
        *,
        by: str,
        group: str | None = None,
        once: IdempotencyKey[Sequence[VM]] | None = None,
    ) -> Sequence[VM]:
        """Record that deallocated VMs are running again; return all VMs in `names`.

        If `group` is given, that group made the request. VMs in other groups are then
        not found.
        """
        engine, rank = self._engine, command_rank(group)
        with engine.writing(by, once, rank=rank) as (transaction, context):
            vms = [find_vm(transaction, name, group=group) for name in names]
            own = {vm.name: vm for vm in vms}
            step = engine.decide(
                transaction,
                context,
                {vm.group for vm in vms},
                partial(operations.start, vms=[*own.values()]),
                lambda slice_: replace(slice_, vms={**slice_.vms, **own}),
            )
            after = [step.slice.vms.get(vm.name, vm) for vm in vms]
            keep_receipt(transaction, once, after, context.now)
        return after

    def maintain(
        self, order: Order, *, by: str, once: IdempotencyKey[HostResult] | None = None
    ) -> HostResult:
        """Announce planned maintenance on the host that `order` names."""
        return self._on_host(announcements.announce, order, by, once)

    def degrade(
        self,
        order: Order,
        *,
        fails_by: datetime | None = None,
        by: str,
        once: IdempotencyKey[HostResult] | None = None,
    ) -> HostResult:
        """Announce that VMs must leave a host that is predicted to fail."""
        command = partial(operations.degrade, fails_by=fails_by)
        return self._on_host(command, order, by, once, {Cause.DEGRADED})

    def fail(
        self, order: Order, *, by: str, once: IdempotencyKey[HostResult] | None = None
    ) -> HostResult:
        """Record that a host has failed."""
        return self._on_host(operations.fail, order, by, once, set(Cause))

    def recover(
        self, order: Order, *, by: str, once: IdempotencyKey[HostResult] | None = None
    ) -> HostResult:
        """Record that a host has recovered."""
        return self._on_host(operations.recover, order, by, once)

    def _on_host(
        self,
        command: _Command,
        order: Order,
        by: str,
        once: IdempotencyKey[HostResult] | None,
        concerns: Collection[Cause] = (),
    ) -> HostResult:
        announcements.check_order(order)
        engine = self._engine
        with engine.writing(by, once) as (transaction, context):
            host, vms = find_host(transaction, order.host or "")
            groups = groups_at_host(transaction, host, vms)
            live = transaction.slice(groups).maintenances.values()
            existing = [maintenance for maintenance in live if maintenance.host == host]
            named = replace(order, host=host)
            step = engine.decide(
                transaction,
                context,
                groups,
                lambda slice_, context: command(slice_, context, named, vms),
            )
            after = [step.slice.maintenance(maintenance.id) for maintenance in existing]
            changed = [
                new for old, new in zip(existing, after, strict=True) if new != old
            ]
            same = [
                maintenance for maintenance in after if maintenance.cause in concerns
            ]
            result = HostResult(announced=announced(step), concerned=changed or same)
            keep_receipt(transaction, once, result, context.now)
        return result


def approve_each(
    engine: Engine,
    event_ids: Sequence[str],
    *,
    by: str,
    via: Via,
    is_seen: Callable[[Event], bool],
    group: str | None = None,
) -> Mapping[str, ForewarnError | None]:
    """Approve as many of `event_ids` as possible; return the errors of the others.

    An event for which `is_seen` is false is reported as not found. If no event can be
    approved, the command does not wait for a turn to write. `group` is the group of the
    caller's token, if any.
    """
    with engine.store.snapshot() as snapshot:
        results = _find_each(snapshot, event_ids, is_seen)
    if not _approvable(results):
        return _errors(results)
    with engine.writing(by, rank=command_rank(group)) as (transaction, context):
        results = _find_each(transaction, event_ids, is_seen)
        good = _approvable(results)
        if good:
            engine.decide(
                transaction,
                context,
                groups_of(good.values()),
                partial(
                    commands.approve,
                    event_ids=[event.upper() for event in good],
                    via=via,
                ),
            )
    return _errors(results)


#: The result for each event ID: maintenance to approve, or the error.
_Results: TypeAlias = Mapping[str, Maintenance | NotFound | TooLate]


def _approvable(results: _Results) -> Mapping[str, Maintenance]:
    return {
        event: result
        for event, result in results.items()
        if isinstance(result, Maintenance)
    }


def _errors(results: _Results) -> Mapping[str, ForewarnError | None]:
    return {
        event: result if isinstance(result, ForewarnError) else None
        for event, result in results.items()
    }


def _find_each(
    snapshot: Snapshot, event_ids: Sequence[str], is_seen: Callable[[Event], bool]
) -> _Results:
    """Find all events with one query; return those that can be approved."""
    found = snapshot.maintenances_of(*{event.upper() for event in event_ids})
    return {event: _judge(found, event, is_seen) for event in event_ids}


def _judge(
    found: Mapping[str, Maintenance], event_id: str, is_seen: Callable[[Event], bool]
) -> Maintenance | NotFound | TooLate:
    normalized = event_id.upper()
    maintenance = found.get(normalized)
    events = () if maintenance is None else maintenance.events
    if maintenance is None or not any(
        event.id == normalized and is_seen(event) for event in events
    ):
        return NotFound(f"event {event_id} not found")
    try:
        commands.check_is_live(maintenance, normalized)
    except TooLate as error:
        return error
    return maintenance
