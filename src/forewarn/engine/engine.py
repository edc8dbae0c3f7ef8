"""Engine: the commands of the service, each in one transaction.

1. Every command loads a slice, decides with a pure core command, saves the step, and
   wakes the journal readers after the commit (`writing` and `decide`).
2. A step that unblocks maintenance in other groups is followed by a step in those
   groups, in the same transaction.
3. The receipt of an idempotency key is saved in the same transaction as its command. An
   approval that changes nothing has no receipt, because repeating the approval
   cannot change anything either.
4. Commands that a group's token cannot run are refused after reading a snapshot,
   without waiting for a turn to write.
"""

import uuid
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial, wraps
from threading import Lock
from typing import ParamSpec, TypeAlias, TypeVar

from forewarn.core.fleet import VM, audience_of
from forewarn.core.lifecycle import announcements, commands, policy
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Announced
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, Via, groups_of
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import (
    Context,
    Step,
    groups_beyond,
    groups_to_settle,
    is_at_hand,
)
from forewarn.engine.health import HealthMonitor
from forewarn.engine.heartbeat import beat, detect_outage
from forewarn.engine.idempotency import (
    IdempotencyKey,
    Receipts,
    keep_receipt,
    receipt_holder,
    refuse_repeated,
)
from forewarn.engine.lookup import (
    find_event,
    find_maintenance,
    find_targets,
    find_vm,
    with_leaving,
)
from forewarn.engine.observations import (
    Batch,
    PendingObservations,
    record_token_use,
    removed_groups,
    revoke_tokens_of,
)
from forewarn.engine.write_queue import WriteQueue, WriteRank
from forewarn.errors import Crowded, NotApplied, Repeated, Unavailable
from forewarn.ports import Clock, Snapshot, Store, Transaction

#: The stored setting for the manual clock's time.
CLOCK = "clock"

#: The service's own name, as the author of automatic commands.
SERVICE = "forewarn"

#: A core command, and a command on one maintenance operation, with arguments bound.
Command: TypeAlias = Callable[[Slice, Context], Step]
CommandOnOne: TypeAlias = Callable[[Slice, Context, str], Step]

#: Writes that no caller requested.
_UNANSWERED = (WriteRank.SERVICE, WriteRank.OBSERVATION)

#: How long a reader waits while another reader saves the observations, in seconds.
_READERS_PATIENCE = 1.0

_P = ParamSpec("_P")
_T = TypeVar("_T")


def new_id() -> str:
    """Create an ID in the protocol's format: an upper-case GUID."""
    return str(uuid.uuid4()).upper()


def retried(command: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap `command` to run it again if its transaction is lost before the commit."""

    @wraps(command)
    def run(*arguments: _P.args, **options: _P.kwargs) -> _T:
        try:
            return command(*arguments, **options)
        except NotApplied:
            return command(*arguments, **options)

    return run


class Engine:
    """All commands of the service."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        rules: Rules,
        observations: PendingObservations,
        new_id: Callable[[], str] = new_id,
        after_commit: Callable[[int], None] = lambda position: None,
        on_doubt: Callable[[], None] = lambda: None,
        health: HealthMonitor | None = None,
    ) -> None:
        """Create an engine that uses `store`, `rules` and `clock`.

        After each commit, `after_commit` is called with the journal's position. If
        VMs cannot see the commit yet, `after_commit` raises `Unavailable`, as do all
        commands except those of the service. `on_doubt` is called when a failed commit
        may have been applied. `health` is notified at the end of each write.
        """
        self.store = store
        self.clock = clock
        self.rules = rules
        self.observations = observations
        self.new_id = new_id
        self.write_queue = WriteQueue()
        self.receipts = Receipts()
        self._observation_lock = Lock()
        self.health = health or HealthMonitor(clock)
        self._after_commit = after_commit
        self._on_doubt = on_doubt
        self.is_in_doubt = False  # whether a failed commit may have been applied
        self.are_tokens_stale = False  # whether cached tokens may be outdated

    # --- announce ------------------------------------------------------------

    @retried
    def announce(
        self,
        order: Order,
        *,
        by: str,
        once: IdempotencyKey[Sequence[Maintenance]] | None = None,
    ) -> Sequence[Maintenance]:
        """Announce `order`; return its operations in the order in which they run."""
        announcements.check_order(order)
        with self.writing(by, once) as (transaction, context):
            groups, command = self.announcement(transaction, order)
            step = self.decide(transaction, context, groups, command)
            maintenances = announced(step)
            keep_receipt(transaction, once, maintenances, context.now)
        return maintenances

    def announcement(
        self, snapshot: Snapshot, order: Order
    ) -> tuple[Collection[str], Command]:
        """Return the groups affected by `order` and the command to announce `order`."""
        order, vms = find_targets(snapshot, order)
        command = partial(announcements.announce, order=order, vms=vms)
        return {vm.group for vm in vms}, command

    # --- approve -------------------------------------------------------------

    @retried
    def approve_as_vm(
        self, vm_name: str, event_ids: Sequence[str], *, are_shown: bool = True
    ) -> None:
        """Approve events visible to a VM, either all of them or none.

        If `are_shown` is false, some events may not exist. The events are then checked
        first, without waiting for a turn to write.
        """
        if not are_shown:
            with self.store.snapshot() as snapshot:
                _find_approvable(snapshot, vm_name, event_ids)
        with self.writing(vm_name, rank=WriteRank.VM) as (transaction, context):
            vm, maintenances = _find_approvable(transaction, vm_name, event_ids)
            self.decide(
                transaction,
                replace(context, by=vm.name),  # the declared spelling
                _waiting_groups(maintenances),
                partial(commands.approve, event_ids=event_ids, via=Via.METADATA),
            )

    @retried
    def approve(
        self,
        event_id: str,
        *,
        by: str,
        via: Via = Via.CONTROL,
        group: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Approve an event, which must be in `group` if that is given."""
        event_id = event_id.upper()
        if group is not None:
            self.check_first(partial(_find_live, event_id=event_id, group=group), once)
        rank = command_rank(group)
        with self.writing(by, once, rank=rank) as (transaction, context):
            maintenance = _find_live(transaction, event_id, group)
            self.decide(
                transaction,
                context,
                _waiting_groups([maintenance]),
                partial(commands.approve, event_ids=[event_id], via=via),
            )
            after = find_maintenance(transaction, event_id)
            if after != maintenance:  # already approved: repeating it changes nothing
                keep_receipt(transaction, once, after, context.now)
        return after

    # --- other commands ------------------------------------------------------

    def cancel(
        self,
        any_id: str,
        *,
        by: str,
        reason: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Cancel a maintenance operation that has not started."""
        return self.on_one(any_id, partial(commands.cancel, reason=reason), by, once)

    def complete(
        self, any_id: str, *, by: str, once: IdempotencyKey[Maintenance] | None = None
    ) -> Maintenance:
        """Mark the work as done and the duration as elapsed."""
        return self.on_one(any_id, commands.complete, by, once)

    def retry(
        self, any_id: str, *, by: str, once: IdempotencyKey[Maintenance] | None = None
    ) -> Maintenance:
        """Have the driver retry the remaining work of a stuck maintenance operation."""
        return self.on_one(any_id, commands.retry, by, once)

    def close(
        self,
        any_id: str,
        *,
        by: str,
        reason: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Give up on a stuck maintenance operation."""
        return self.on_one(any_id, partial(commands.close, reason=reason), by, once)

    @retried
    def on_one(
        self,
        any_id: str,
        command: CommandOnOne,
        by: str = SERVICE,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Run `command` on one maintenance operation; return the result."""
        with self.writing(by, once) as (transaction, context):
            maintenance = find_maintenance(transaction, any_id)
            self.decide_on_one(transaction, context, maintenance, command)
            after = find_maintenance(transaction, maintenance.id)
            keep_receipt(transaction, once, after, context.now)
        return after

    # --- polls and time ------------------------------------------------------

    @retried
    def listen(self, groups: Iterable[str]) -> None:
        """Enable Scheduled Events with a new epoch for disabled groups in `groups`."""
        with self.writing(rank=WriteRank.VM) as (transaction, context):
            existing = transaction.part_of_fleet(groups=groups).groups
            command = partial(commands.listen, groups=existing)
            self.decide(transaction, context, existing, command)

    def tick(self) -> None:
        """Apply everything that is due until nothing is due."""
        while self._tick():
            pass

    def _tick(self) -> bool:
        """Apply what is due; return whether anything was due."""
        with self.store.snapshot() as snapshot:
            if not snapshot.due(self.now(snapshot)):
                return False
        with self.writing() as (transaction, context):
            due = transaction.due(context.now)
            step = self.decide(transaction, context, groups_of(due), commands.tick)
            if not step.facts and (still := transaction.due(context.now)):
                names = ", ".join(sorted(maintenance.label for maintenance in still))
                raise RuntimeError(f"{names} became due, but nothing changed")
        return bool(due)

    def next_moment(self) -> datetime | None:
        """Return the next time at which a timer fires."""
        with self.store.snapshot() as snapshot:
            return snapshot.next_moment()

    def beat(self) -> None:
        """Save the heartbeat and the pending observations."""
        with self.writing() as (transaction, context):
            beat(transaction, context.now)

    def probe(self) -> None:
        """Write to every table, without lasting changes, to check that writes work."""
        with suppress(Unavailable):
            with self.writing() as (transaction, _):
                transaction.probe()
                last_at = transaction.last_at()
            self.health.write_succeeded(last_at, is_probe=True)

    def keep_clock(
        self, moment: datetime, once: IdempotencyKey[datetime] | None = None
    ) -> None:
        """Save the time of the manual clock."""
        with self.writing(once=once) as (transaction, context):
            transaction.keep(CLOCK, moment.isoformat())
            keep_receipt(transaction, once, moment, context.now)

    def refuse_repeated(self, once: IdempotencyKey[_T] | None) -> None:
        """Raise `Repeated` if the request was handled before."""
        if once is not None:
            with self.store.snapshot() as snapshot:
                refuse_repeated(snapshot, once, self.now(snapshot))

    def check_first(
        self, check: Callable[[Snapshot], object], once: IdempotencyKey[_T] | None
    ) -> None:
        """Run `check` without waiting for a turn to write, unless the request was
        handled before.

        The transaction must check again, because the state may have changed in the
        meantime.
        """
        with self.store.snapshot() as snapshot:
            if once is None or snapshot.receipt(once.key) is None:
                check(snapshot)

    def save_observations(self) -> None:
        """Save the pending observations for a reader, if the store is available.

        If several readers request this, only one of them writes.
        """
        if not self.observations.has_any:
            return
        if not self._observation_lock.acquire(timeout=_READERS_PATIENCE):
            return
        try:
            if self.observations.has_any:  # the previous reader may have saved them
                with suppress(Unavailable), self.writing(rank=WriteRank.OBSERVATION):
                    pass
        finally:
            self._observation_lock.release()

    # --- transactions --------------------------------------------------------

    @contextmanager
    def writing(
        self,
        by: str = SERVICE,
        once: IdempotencyKey[_T] | None = None,
        *,
        rank: WriteRank | None = None,
    ) -> Iterator[tuple[Transaction, Context]]:
        """Open a transaction that also saves the observations; wake readers afterward.

        If `rank` is None, the command comes from the service itself or an operator.
        """
        if rank is None:
            rank = WriteRank.SERVICE if by == SERVICE else WriteRank.OPERATOR
        self._refuse_excess(once)
        batch, before = Batch(), 0
        try:
            with (
                self.write_queue.turn(rank, by),
                self.store.transaction() as transaction,
            ):
                batch = self.observations.take()
                before = transaction.position()
                context = self.context(transaction, by, self.new_id)
                now = context.now
                if once is not None:
                    refuse_repeated(transaction, once, now)
                detect_outage(transaction, self.clock, now)
                is_behind = self.clock.now() < now  # the polls then count as current
                polled = dict.fromkeys(batch.polls, now) if is_behind else batch.polls
                transaction.save_observations(polled, batch.sights, now)
                record_token_use(transaction, batch, now)
                yield transaction, context
                after, last_at = transaction.position(), transaction.last_at()
                holder = receipt_holder(transaction, once)
        except BaseException as error:
            self.observations.give_back(batch)
            if isinstance(error, Unavailable) and not isinstance(error, Crowded):
                self._fail_write(error)
            elif isinstance(error, Repeated):
                self._wake(before, rank)
            raise
        self.health.write_succeeded(last_at)
        self.receipts.count(holder, now)
        # A command that changes nothing depends on a commit that may not be visible
        # yet.
        if after != before or self.is_in_doubt or rank not in _UNANSWERED:
            self.is_in_doubt = False
            self._wake(after, rank)

    def _refuse_excess(self, once: IdempotencyKey[_T] | None) -> None:
        if once is None:
            return
        wait = self.receipts.wait(once.holder, self.clock.now())
        if wait is not None:
            self.check_first(lambda _: self.receipts.refuse(wait), once)

    def _wake(self, position: int, rank: WriteRank) -> None:
        try:
            self._after_commit(position)
        except Unavailable:
            if rank not in _UNANSWERED:
                raise

    def _fail_write(self, error: Unavailable) -> None:
        self.health.write_failed(error)
        if not self.is_in_doubt:
            self.is_in_doubt = True
            self._on_doubt()

    def decide(
        self,
        transaction: Transaction,
        context: Context,
        groups: Iterable[str],
        command: Command,
        extend: Callable[[Slice], Slice] = lambda slice_: slice_,
    ) -> Step:
        """Run `command` on `groups`, save its step, and settle what it unblocks.

        `extend` adds to the slice whatever else the command needs.
        """
        step = self._save_step(transaction, context, groups, command, extend)
        latest = step
        while latest.facts:
            beyond = groups_beyond(latest.slice, context)
            if not beyond:
                break
            latest = self._save_step(transaction, context, beyond, commands.tick)
        return step

    def decide_on_one(
        self,
        transaction: Transaction,
        context: Context,
        maintenance: Maintenance,
        command: CommandOnOne,
    ) -> Maintenance:
        """Run `command` on `maintenance`, even if it has ended, and return the result.

        Steps in other groups that the command unblocks may change the maintenance
        again.
        """

        def with_maintenance(slice_: Slice) -> Slice:
            if maintenance.id in slice_.maintenances:
                return slice_
            return slice_.with_maintenance(maintenance)

        step = self.decide(
            transaction,
            context,
            maintenance.groups,
            lambda slice_, context: command(slice_, context, maintenance.id),
            with_maintenance,
        )
        return step.slice.maintenance(maintenance.id)

    def _save_step(
        self,
        transaction: Transaction,
        context: Context,
        groups: Iterable[str],
        command: Command,
        extend: Callable[[Slice], Slice] = lambda slice_: slice_,
    ) -> Step:
        slice_, step = load_and_decide(transaction, context, groups, command, extend)
        transaction.save(slice_, step, _next_moments(step.slice, context))
        removed = removed_groups(step.facts)
        if removed and revoke_tokens_of(transaction, removed, context.now):
            self.are_tokens_stale = True
        return step

    def context(
        self, snapshot: Snapshot, by: str, new_id: Callable[[], str]
    ) -> Context:
        """Return the context of a command that is run now by the caller `by`."""
        now = self.now(snapshot)
        return Context(now=now, rules=self.rules, by=by, new_id=new_id)

    def now(self, snapshot: Snapshot) -> datetime:
        """Return the current time, or the time of the last fact if that is later."""
        now, last = self.clock.now(), snapshot.last_at()
        return now if last is None else max(now, last)


def load_and_decide(
    snapshot: Snapshot,
    context: Context,
    groups: Iterable[str],
    command: Command,
    extend: Callable[[Slice], Slice] = lambda slice_: slice_,
) -> tuple[Slice, Step]:
    """Load `groups` and everything due there, then run `command`."""
    context = replace(context, last_number=snapshot.last_number())
    slice_ = with_leaving(snapshot, extend(snapshot.slice(groups)))
    step = command(slice_, context)
    required = groups_to_settle(slice_, step.slice, context)
    if not required <= slice_.groups.keys() | step.slice.groups.keys():
        wider = snapshot.slice(required | slice_.groups.keys())
        slice_ = with_leaving(snapshot, extend(wider))
        step = command(slice_, context)
    return slice_, step


def announced(step: Step) -> Sequence[Maintenance]:
    """Return the operations that `step` announces, in the order in which they run."""
    ids = {fact.maintenance for fact in step.facts if isinstance(fact, Announced)}
    created = [
        maintenance
        for maintenance in step.slice.maintenances.values()
        if maintenance.id in ids
    ]
    return sorted(created, key=lambda maintenance: maintenance.not_before)


def command_rank(group: str | None) -> WriteRank:
    """Return a command's rank. `group` is the group of the caller's token, if any."""
    return WriteRank.OPERATOR if group is None else WriteRank.TENANT


def _find_live(snapshot: Snapshot, event_id: str, group: str | None) -> Maintenance:
    """Return the maintenance operation of an event that can be approved."""
    maintenance, _ = find_event(snapshot, event_id, group=group)
    commands.check_is_live(maintenance, event_id)
    return maintenance


def _find_approvable(
    snapshot: Snapshot, vm_name: str, event_ids: Sequence[str]
) -> tuple[VM, Sequence[Maintenance]]:
    """Find a VM and the maintenance of its events.

    Raise `UnknownEvent` if the VM has not seen one of the events.
    """
    vm = find_vm(snapshot, vm_name)
    maintenances = snapshot.maintenances_of(*event_ids)
    part = snapshot.part_of_fleet(vms=[vm.name])
    audience = audience_of(part.groups[vm.group], vm.name)
    candidates = [(name, maintenances.get(name)) for name in event_ids]
    commands.check_may_approve(candidates, audience)
    return vm, [*maintenances.values()]


def _waiting_groups(maintenances: Iterable[Maintenance | None]) -> Collection[str]:
    """Return the groups of the scheduled operations in `maintenances`."""
    return groups_of(
        maintenance
        for maintenance in maintenances
        if maintenance and maintenance.phase is Phase.SCHEDULED
    )


def _next_moments(slice_: Slice, context: Context) -> Mapping[str, datetime | None]:
    """Return when the next timer of each maintenance operation fires.

    Operations that are only partly loaded keep their current timers.
    """
    now, rules = context.now, context.rules
    return {
        maintenance.id: policy.next_moment(maintenance, now, rules, slice_.outages)
        for maintenance in slice_.maintenances.values()
        if is_at_hand(slice_, maintenance) or not maintenance.phase.is_live
    }
