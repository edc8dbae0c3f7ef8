"""Writes down what the driver is asked to do, and what it does."""

from collections.abc import Callable, Sequence
from datetime import datetime

from forewarn.core import commands
from forewarn.core.maintenance import Maintenance, Slice
from forewarn.core.settling import Step
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, having
from forewarn.ports import Transaction, Work


class Ledger:
    """The journal's side of the driver's work."""

    def __init__(self, engine: Engine) -> None:
        """Write by `engine`."""
        self._engine = engine

    def begin(self, maintenance_id: str) -> Work | None:
        """Note that the driver is about to be called; None: there is nothing to do."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            found = find_maintenance(transaction, maintenance_id)
            begun = self._decide(
                transaction,
                found,
                lambda slice_: commands.begin_work(
                    slice_, found.id, now=now, rules=rules
                ),
                now,
            )
            if begun.attempt == found.attempt:
                return None
            known = transaction.part_of_fleet(vms=begun.to_do).vms
        return Work(
            maintenance=begun.id,
            type=begun.type,
            source=begun.source,
            cause=begun.cause,
            host=begun.host,
            vms=tuple(known[name] for name in begun.to_do if name in known),
            duration=begun.duration,
            description=begun.description,
            reason=begun.reason,
            attempt=begun.attempt,
        )

    def report(
        self, work: Work, vms: Sequence[str], *, failed: bool, detail: str
    ) -> bool:
        """Note what was done on `vms`; answer whether the maintenance is stuck."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            found = find_maintenance(transaction, work.maintenance)
            after = self._decide(
                transaction,
                found,
                lambda slice_: commands.report_work(
                    slice_,
                    found.id,
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
        """Keep what the call left to read."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            found = find_maintenance(transaction, work.maintenance)
            self._decide(
                transaction,
                found,
                lambda slice_: commands.note_output(
                    slice_,
                    found.id,
                    attempt=work.attempt,
                    output=output,
                    now=now,
                    rules=rules,
                ),
                now,
            )

    def retry(self, maintenance_id: str) -> None:
        """Let the driver try again by itself, if it still may."""
        rules = self._engine.rules
        with self._engine.writing() as (transaction, now):
            found = find_maintenance(transaction, maintenance_id)
            self._decide(
                transaction,
                found,
                lambda slice_: commands.retry_unasked(
                    slice_, found.id, now=now, rules=rules
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
