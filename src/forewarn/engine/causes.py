"""Operations on one VM or one host: restart, evict, degrade, fail, recover."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from forewarn.core import announcing, causes
from forewarn.core.announcing import Order
from forewarn.core.causes import Operation
from forewarn.core.fleet import VM
from forewarn.core.maintenance import Cause, Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.core.settling import Step
from forewarn.engine.engine import Engine, announced
from forewarn.engine.lookup import count_user_operations, every, find_host, find_vm
from forewarn.engine.once import Once, keep_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a command on a host."""

    made: Sequence[Maintenance]
    concerned: Sequence[Maintenance]  # existing ones: changed, or kept as they are


class _Command(Protocol):
    def __call__(
        self,
        slice_: Slice,
        order: Order,
        vms: Sequence[VM],
        /,
        *,
        by: str,
        new_id: Callable[[], str],
        now: datetime,
        rules: Rules,
    ) -> Step: ...


class Causes:
    """Commands that affect VMs without an explicit announcement."""

    def __init__(self, engine: Engine) -> None:
        """Run commands on `engine`."""
        self._engine = engine

    def operate(
        self,
        operation: Operation,
        order: Order,
        *,
        by: str,
        only: str | None = None,
        once: Once[Sequence[Maintenance]] | None = None,
    ) -> Sequence[Maintenance]:
        """Restart, redeploy, reimage, evict or delete the VMs that `order` names.

        If `only` names a group, VMs of other groups are not found.
        """
        announcing.check(order)
        engine = self._engine
        with engine.writing(once) as (transaction, now):
            vms = [find_vm(transaction, name, only=only) for name in order.vms]
            scheduled = count_user_operations(transaction, engine.rules)

            def decide(slice_: Slice) -> Step:
                return causes.operate(
                    slice_,
                    operation,
                    order,
                    vms,
                    by=by,
                    new_id=engine.new_id,
                    now=now,
                    rules=engine.rules,
                    scheduled=scheduled,
                )

            groups = {vm.group for vm in vms}
            maintenances = announced(engine.decide(transaction, groups, decide, now))
            keep_answer(transaction, once, maintenances, now)
        return maintenances

    def maintain(
        self, order: Order, *, by: str, once: Once[Outcome] | None = None
    ) -> Outcome:
        """Announce planned maintenance of the host that `order` names."""
        announcing.check(order)
        return self._on_host(announcing.announce, order, by, once)

    def degrade(
        self,
        order: Order,
        *,
        fails_by: datetime | None = None,
        by: str,
        once: Once[Outcome] | None = None,
    ) -> Outcome:
        """Announce that VMs must leave a host that is predicted to fail."""
        announcing.check(order)
        command = partial(causes.degrade, fails_by=fails_by)
        return self._on_host(command, order, by, once, {Cause.DEGRADED})

    def fail(
        self, order: Order, *, by: str, once: Once[Outcome] | None = None
    ) -> Outcome:
        """Record that a host has failed."""
        announcing.check(order)
        return self._on_host(causes.fail, order, by, once, set(Cause))

    def recover(
        self, order: Order, *, by: str, once: Once[Outcome] | None = None
    ) -> Outcome:
        """Record that a host has recovered."""
        return self._on_host(causes.recover, order, by, once)

    def _on_host(
        self,
        command: _Command,
        order: Order,
        by: str,
        once: Once[Outcome] | None,
        concerns: Collection[Cause] = (),
    ) -> Outcome:
        engine = self._engine
        with engine.writing(once) as (transaction, now):
            host, vms = find_host(transaction, order.host or "")
            groups = {vm.group for vm in vms}
            for maintenance in every(transaction, Phase.STARTED):
                if maintenance.host == host:  # its VMs may have moved since
                    groups.update(maintenance.groups)
            live = transaction.slice(groups).maintenances.values()
            existing = [maintenance for maintenance in live if maintenance.host == host]

            def decide(slice_: Slice) -> Step:
                return command(
                    slice_,
                    replace(order, host=host),
                    vms,
                    by=by,
                    new_id=engine.new_id,
                    now=now,
                    rules=engine.rules,
                )

            step = engine.decide(transaction, groups, decide, now)
            after = [step.slice.maintenance(maintenance.id) for maintenance in existing]
            changed = [
                new for old, new in zip(existing, after, strict=True) if new != old
            ]
            same = [
                maintenance for maintenance in after if maintenance.cause in concerns
            ]
            outcome = Outcome(made=announced(step), concerned=changed or same)
            keep_answer(transaction, once, outcome, now)
        return outcome
