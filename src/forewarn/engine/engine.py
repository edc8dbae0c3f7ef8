"""Decisions: load a slice, decide, save the step, and settle what follows."""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

from forewarn.core.fleet import audience_of
from forewarn.core.lifecycle import announcements, commands, policy
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Announced
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import (
    Step,
    groups_beyond,
    groups_to_settle,
    is_at_hand,
)
from forewarn.engine.heartbeat import Heartbeat, warn_of_outage
from forewarn.engine.idempotency import IdempotencyKey, keep_receipt, refuse_repeated
from forewarn.engine.lookup import (
    count_user_operations,
    find_event,
    find_maintenance,
    find_targets,
    find_vm,
    having,
    with_leaving,
)
from forewarn.engine.observations import (
    Batch,
    PendingObservations,
    record_token_use,
    revoke_of_gone,
)
from forewarn.errors import Unavailable
from forewarn.ports import Clock, Snapshot, Store, Transaction

Decide = Callable[[Slice], Step]
Complete = Callable[[Slice], Slice]


_T = TypeVar("_T")

CLOCK = "clock"


def decide_over(
    transaction: Transaction,
    groups: Iterable[str],
    decide: Decide,
    *,
    now: datetime,
    rules: Rules,
    complete: Complete,
    saved: Callable[[Step], None],
) -> Step:
    """Decide over `groups`, save the step, and settle what it unblocks.

    `complete` adds to the slice what the decision needs besides the groups. `saved` is
    called with every saved step.
    """

    def tick(slice_: Slice) -> Step:
        return commands.tick(slice_, now, rules)

    step = _decide(transaction, groups, decide, now, rules, complete)
    latest = step
    while latest.facts:
        saved(latest)
        beyond = groups_beyond(latest.slice, now, rules)
        if not beyond:
            break
        latest = _decide(transaction, beyond, tick, now, rules)
    return step


def _decide(
    transaction: Transaction,
    groups: Iterable[str],
    decide: Decide,
    now: datetime,
    rules: Rules,
    complete: Complete = lambda slice_: slice_,
) -> Step:
    """Decide over `groups`, widened once to everything due there."""
    slice_ = with_leaving(transaction, complete(transaction.slice(groups)))
    step = decide(slice_)
    required = groups_to_settle(slice_, step.slice, now, rules)
    if not required <= slice_.groups.keys() | step.slice.groups.keys():
        wider = transaction.slice(required | slice_.groups.keys())
        slice_ = with_leaving(transaction, complete(wider))
        step = decide(slice_)
    _save(transaction, slice_, step, now, rules)
    return step


def _save(
    transaction: Transaction, before: Slice, step: Step, now: datetime, rules: Rules
) -> None:
    """Save `step`, with the next timer of each maintenance.

    A maintenance that is only partly loaded keeps its timer.
    """
    moments = {
        maintenance.id: policy.next_moment(maintenance, now, rules, step.slice.outages)
        for maintenance in step.slice.maintenances.values()
        if is_at_hand(step.slice, maintenance) or not maintenance.phase.is_live
    }
    transaction.save(before, step, moments)


def new_id() -> str:
    """Create an id as the protocol has it: a GUID in upper case."""
    return str(uuid.uuid4()).upper()


class Engine:
    """All commands of the service."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        rules: Rules,
        notes: PendingObservations,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """Keep everything in `store`; decide by `rules` and the time of `clock`."""
        self.store = store
        self.clock = clock
        self.rules = rules
        self.notes = notes
        self.new_id = new_id
        self._pulse = Heartbeat(clock)
        self.after_commit: Callable[[int], None] = lambda position: None
        self.on_doubt: Callable[[], None] = lambda: None
        self.is_in_doubt = False  # whether a failed commit may have been applied
        self.are_tokens_stale = False  # whether cached tokens may be outdated

    # --- announce ------------------------------------------------------------

    def announce(
        self,
        order: Order,
        *,
        by: str,
        once: IdempotencyKey[Sequence[Maintenance]] | None = None,
    ) -> Sequence[Maintenance]:
        """Announce `order`; return its maintenance operations in running order."""
        announcements.check_order(order)
        with self.writing(once) as (transaction, now):
            ids = self.new_id
            groups, decide = self.ordered(transaction, order, by, now, ids)
            maintenances = announced(self.decide(transaction, groups, decide, now))
            keep_receipt(transaction, once, maintenances, now)
        return maintenances

    def ordered(
        self,
        snapshot: Snapshot,
        order: Order,
        by: str,
        now: datetime,
        new_id: Callable[[], str],
    ) -> tuple[Collection[str], Callable[[Slice], Step]]:
        """Return the groups that `order` affects, and the decision over them."""
        order, vms = find_targets(snapshot, order)
        scheduled = count_user_operations(snapshot, self.rules)

        def decide(slice_: Slice) -> Step:
            return announcements.announce(
                slice_,
                order,
                vms,
                by=by,
                new_id=new_id,
                now=now,
                rules=self.rules,
                scheduled=scheduled,
            )

        return {vm.group for vm in vms}, decide

    # --- approve -------------------------------------------------------------

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        """Approve events visible to a VM: all of them or none."""
        with self.writing() as (transaction, now):
            vm = find_vm(transaction, vm_name)
            pairs = [(each, transaction.maintenance(each)) for each in event_ids]
            part = transaction.part_of_fleet(vms=[vm.name])
            audience = audience_of(part.groups[vm.group], vm.name)
            commands.check_may_approve(pairs, audience)
            self._approve(
                transaction, event_ids, [each for _, each in pairs], vm.name, now
            )

    def approve(
        self,
        event_id: str,
        *,
        by: str,
        via: Via = Via.CONTROL,
        only: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Approve one event for its group; `only` restricts it to that group."""
        event_id = event_id.upper()
        with self.writing(once) as (transaction, now):
            maintenance, _ = find_event(transaction, event_id, only=only)
            commands.check_is_live(maintenance, event_id)
            self._approve(transaction, [event_id], [maintenance], by, now, via)
            after = find_maintenance(transaction, event_id)
            keep_receipt(transaction, once, after, now)
        return after

    def _approve(
        self,
        transaction: Transaction,
        event_ids: Sequence[str],
        found: Iterable[Maintenance | None],
        by: str,
        now: datetime,
        via: Via = Via.METADATA,
    ) -> None:
        waiting = [
            maintenance
            for maintenance in found
            if maintenance and maintenance.phase is Phase.SCHEDULED
        ]
        groups = {group for maintenance in waiting for group in maintenance.groups}
        self.decide(
            transaction,
            groups,
            lambda slice_: commands.approve(
                slice_, event_ids, by=by, via=via, now=now, rules=self.rules
            ),
            now,
        )

    # --- other commands ------------------------------------------------------

    def cancel(
        self,
        any_id: str,
        *,
        by: str,
        reason: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Cancel a maintenance that has not started."""
        return self._on_one(
            any_id,
            once,
            lambda slice_, maintenance_id, now: commands.cancel(
                slice_, maintenance_id, by=by, reason=reason, now=now, rules=self.rules
            ),
        )

    def complete(
        self, any_id: str, *, by: str, once: IdempotencyKey[Maintenance] | None = None
    ) -> Maintenance:
        """Treat the work as done and the duration as over."""
        return self._on_one(
            any_id,
            once,
            lambda slice_, maintenance_id, now: commands.complete(
                slice_, maintenance_id, by=by, now=now, rules=self.rules
            ),
        )

    def retry(
        self, any_id: str, *, by: str, once: IdempotencyKey[Maintenance] | None = None
    ) -> Maintenance:
        """Have the driver retry the remaining work of a stuck maintenance."""
        return self._on_one(
            any_id,
            once,
            lambda slice_, maintenance_id, now: commands.retry(
                slice_, maintenance_id, by=by, now=now, rules=self.rules
            ),
        )

    def close(
        self,
        any_id: str,
        *,
        by: str,
        reason: str | None = None,
        once: IdempotencyKey[Maintenance] | None = None,
    ) -> Maintenance:
        """Give up on a stuck maintenance."""
        return self._on_one(
            any_id,
            once,
            lambda slice_, maintenance_id, now: commands.close(
                slice_, maintenance_id, by=by, reason=reason, now=now, rules=self.rules
            ),
        )

    def _on_one(
        self,
        any_id: str,
        once: IdempotencyKey[Maintenance] | None,
        command: Callable[[Slice, str, datetime], Step],
    ) -> Maintenance:
        with self.writing(once) as (transaction, now):
            maintenance = find_maintenance(transaction, any_id)

            def decide(slice_: Slice) -> Step:
                return command(slice_, maintenance.id, now)

            self.decide(
                transaction, maintenance.groups, decide, now, having(maintenance)
            )
            after = find_maintenance(transaction, maintenance.id)
            keep_receipt(transaction, once, after, now)
        return after

    # --- polls and time ------------------------------------------------------

    def listen(self, groups: Iterable[str]) -> None:
        """Enable Scheduled Events, with a new epoch, for disabled `groups`."""
        with self.writing() as (transaction, now):
            existing = transaction.part_of_fleet(groups=groups).groups
            self.decide(
                transaction,
                existing,
                lambda slice_: commands.listen(
                    slice_,
                    [*existing],
                    epoch=self.new_epoch(),
                    now=now,
                    rules=self.rules,
                ),
                now,
            )

    def tick(self) -> None:
        """Apply everything that is due, until nothing is."""
        while self._tick():
            pass

    def _tick(self) -> bool:
        """Apply what is due; return whether anything was."""
        with self.store.snapshot() as snapshot:
            if not snapshot.due(self.now(snapshot)):
                return False
        with self.writing() as (transaction, now):
            due = transaction.due(now)
            groups = {group for maintenance in due for group in maintenance.groups}
            step = self.decide(
                transaction,
                groups,
                lambda slice_: commands.tick(slice_, now, self.rules),
                now,
            )
            if not step.facts and (still := transaction.due(now)):
                names = ", ".join(sorted(maintenance.id for maintenance in still))
                raise RuntimeError(f"time moves {names}, but nothing comes of it")
        return bool(due)

    def next_moment(self) -> datetime | None:
        """Return the next time at which a timer fires."""
        with self.store.snapshot() as snapshot:
            return snapshot.next_moment()

    def beat(self) -> None:
        """Save the heartbeat and the pending observations."""
        with self.writing() as (transaction, now):
            self._pulse.beat(transaction, now)

    def keep_clock(
        self, moment: datetime, once: IdempotencyKey[datetime] | None = None
    ) -> None:
        """Save the time of the manual clock."""
        with self.writing(once) as (transaction, now):
            transaction.keep(CLOCK, moment.isoformat())
            keep_receipt(transaction, once, moment, now)

    def refuse_repeated(self, once: IdempotencyKey[_T] | None) -> None:
        """Raise `Repeated` if the request was handled before; change nothing."""
        if once is not None:
            with self.store.snapshot() as snapshot:
                refuse_repeated(snapshot, once, self.now(snapshot))

    def write_notes(self) -> None:
        """Save the pending observations, if the store is available."""
        if self.notes.are_there:
            with suppress(Unavailable), self.writing():
                pass

    # --- transactions --------------------------------------------------------

    @contextmanager
    def writing(
        self, once: IdempotencyKey[_T] | None = None
    ) -> Iterator[tuple[Transaction, datetime]]:
        """Open a transaction with the pending observations; wake readers after it."""
        taken = Batch()
        try:
            with self.store.transaction() as transaction:
                taken = self.notes.take()
                before = transaction.position()
                now = self.now(transaction)
                if once is not None:
                    refuse_repeated(transaction, once, now)
                outage = self._pulse.feel(transaction, now)
                is_behind = self.clock.now() < now  # then polls count as now
                polled = dict.fromkeys(taken.asked, now) if is_behind else taken.asked
                transaction.note(polled, taken.sights, now)
                record_token_use(transaction, taken, now)
                yield transaction, now
                after = transaction.position()
        except BaseException as error:
            self.notes.give_back(taken)
            if isinstance(error, Unavailable) and not self.is_in_doubt:
                self.is_in_doubt = True
                self.on_doubt()
            raise
        if outage is not None:
            warn_of_outage(outage)
        if after != before or self.is_in_doubt:
            self.is_in_doubt = False
            self.after_commit(after)

    def decide(
        self,
        transaction: Transaction,
        groups: Iterable[str],
        decide: Callable[[Slice], Step],
        now: datetime,
        complete: Callable[[Slice], Slice] = lambda slice_: slice_,
    ) -> Step:
        """Decide over `groups`, save the step, and settle what it unblocks elsewhere.

        `complete` adds to the slice what the decision needs besides the groups.
        """

        def saved(step: Step) -> None:
            if revoke_of_gone(transaction, step.facts, now):
                self.are_tokens_stale = True

        return decide_over(
            transaction,
            groups,
            decide,
            now=now,
            rules=self.rules,
            complete=complete,
            saved=saved,
        )

    def new_epoch(self) -> str:
        """Create the opaque name of an epoch."""
        return self.new_id()[:8].lower()

    def now(self, snapshot: Snapshot) -> datetime:
        """Return the current time, but never before the last fact."""
        now, last = self.clock.now(), snapshot.last_at()
        return now if last is None else max(now, last)


def announced(step: Step) -> Sequence[Maintenance]:
    """Return the maintenance operations that `step` announces, in running order."""
    ids = {fact.maintenance for fact in step.facts if isinstance(fact, Announced)}
    created = [
        maintenance
        for maintenance in step.slice.maintenances.values()
        if maintenance.id in ids
    ]
    return sorted(created, key=lambda maintenance: maintenance.not_before)
