"""Log of driver work in the journal: calls, results and output."""

from collections.abc import Callable, Sequence
from datetime import datetime

from forewarn.core import commands
from forewarn.core.maintenance import Maintenance, Slice
from forewarn.core.settling import Step
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, having
from forewarn.ports import Transaction, Work


class Ledger:
    """Records the driver's work in the journal."""

    def __init__(self, engine: Engine) -> None:
        """Record through `engine`."""
        self._engine = engine

    def begin(self, maintenance_id: str) -> Work | None:
        """Record that a driver call is about to begin; None if nothing is to do."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, maintenance_id)
            begun = self._decide(
                transaction,
                maintenance,
                lambda slice_: commands.begin_work(
                    slice_, maintenance.id, now=now, rules=rules
                ),
                now,
            )
            if begun.attempt == maintenance.attempt:
                return None
            vms = transaction.part_of_fleet(vms=begun.to_do).vms
        return Work(
            maintenance=begun.id,
            type=begun.type,
            source=begun.source,
            cause=begun.cause,
            host=begun.host,
            vms=tuple(vms[name] for name in begun.to_do if name in vms),
            duration=begun.duration,
            description=begun.description,
            reason=begun.reason,
            attempt=begun.attempt,
        )

    def report(
        self, work: Work, vms: Sequence[str], *, failed: bool, detail: str
    ) -> bool:
        """Record the result on `vms`; return whether the maintenance is stuck."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, work.maintenance)
            after = self._decide(
                transaction,
                maintenance,
                lambda slice_: commands.report_work(
                    slice_,
                    maintenance.id,
                    vms=vms,
                    failed=failed,
                    detail=detail,
                    now=now,
                    rules=rules,
                ),
                now,
            )
        return after.stuck_since is not None

    def keep_output(self, work: Work, output: str) -> None:
        """Record the output of the call."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, work.maintenance)
            self._decide(
                transaction,
                maintenance,
                lambda slice_: commands.note_output(
                    slice_,
                    maintenance.id,
                    attempt=work.attempt,
                    output=output,
                    now=now,
                    rules=rules,
                ),
                now,
            )

    def retry(self, maintenance_id: str) -> None:
        """Record an automatic retry, if one is left."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, maintenance_id)
            self._decide(
                transaction,
                maintenance,
                lambda slice_: commands.retry_unasked(
                    slice_, maintenance.id, now=now, rules=rules
                ),
                now,
            )

    def _decide(
        self,
        transaction: Transaction,
        found: Maintenance,
        decide: Callable[[Slice], Step],
        now: datetime,
    ) -> Maintenance:
        step = self._engine.decide(
            transaction, found.groups, decide, now, having(found)
        )
        return step.slice.maintenance(found.id)
