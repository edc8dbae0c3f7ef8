"""The reader that hands started maintenances to the driver and reports what was done.

It asks the state what is to do; the journal only wakes it. So a crash at any point
leads to another attempt, never to work that is forgotten.
"""

import logging
from collections.abc import Sequence
from threading import Lock

from forewarn.core import commands
from forewarn.core.maintenance import Phase
from forewarn.engine.documents import Documents
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, with_maintenance
from forewarn.ports import Driver, Report, Work

_log = logging.getLogger(__name__)

_PAGE = 1000


class Works:
    """Calls the driver, once per maintenance and attempt."""

    def __init__(self, engine: Engine, documents: Documents, driver: Driver) -> None:
        """Let `driver` act after `documents` has shown that it will."""
        self._engine = engine
        self._documents = documents
        self._driver = driver
        self._lock = Lock()
        self._handed: set[str] = set()  # by this process, and not failed

    def catch_up(self) -> None:
        """Hand over all work that is open; return when the driver has."""
        with self._lock:
            wanted = self._open()
            self._handed &= set(wanted)
            for maintenance_id in wanted:
                if maintenance_id not in self._handed:
                    self._carry_out(maintenance_id)

    def _carry_out(self, maintenance_id: str) -> None:
        self._documents.catch_up()  # Started is shown before anything is touched
        work = self._begin(maintenance_id)
        if work is None:
            return
        self._handed.add(maintenance_id)
        try:
            reports = self._driver.carry_out(work)
            if isinstance(reports, Sequence):
                self._report_together(work, reports)
            else:
                for report in reports:
                    self._report(work, [report.vm], report)
        except Exception as error:
            _log.exception("the driver failed on %s", maintenance_id)
            left = [vm.name for vm in work.vms]
            self._report(work, left, Report(vm="", failed=True, detail=repr(error)))

    def _report_together(self, work: Work, reports: Sequence[Report]) -> None:
        done = [report.vm for report in reports if not report.failed]
        if done:
            self._report(work, done, Report(vm="", detail=reports[0].detail))
        for report in reports:
            if report.failed:
                self._report(work, [report.vm], report)

    def _open(self) -> Sequence[str]:
        engine, found, after = self._engine, [], 0
        with engine.store.snapshot() as snapshot:
            now = engine.now(snapshot)
            while True:
                page = snapshot.maintenances(
                    phases=[Phase.STARTED], after=after, limit=_PAGE
                )
                found += [each for _, each in page]
                if len(page) < _PAGE:
                    break
                after = page[-1][0]
        return [
            each.id for each in found if commands.is_work_open(each, now, engine.rules)
        ]

    def _begin(self, maintenance_id: str) -> Work | None:
        engine = self._engine
        with engine.writing() as (transaction, now):
            found = find_maintenance(transaction, maintenance_id)
            step = engine.decide(
                transaction,
                found.groups,
                lambda slice_: commands.begin_work(
                    with_maintenance(slice_, found),
                    found.id,
                    now=now,
                    rules=engine.rules,
                ),
                now,
            )
            if not step.facts:
                return None
            begun = step.slice.maintenance(found.id)
            known = transaction.part_of_fleet(vms=begun.to_do).vms
        return Work(
            maintenance=begun.id,
            type=begun.type,
            host=begun.host,
            vms=tuple(known[name] for name in begun.to_do if name in known),
            duration=begun.duration,
            attempt=begun.attempt,
        )

    def _report(self, work: Work, vms: Sequence[str], report: Report) -> None:
        engine = self._engine
        if report.failed:
            self._handed.discard(work.maintenance)
        with engine.writing() as (transaction, now):
            found = find_maintenance(transaction, work.maintenance)
            engine.decide(
                transaction,
                found.groups,
                lambda slice_: commands.report_work(
                    with_maintenance(slice_, found),
                    found.id,
                    vms=vms,
                    failed=report.failed,
                    detail=report.detail,
                    now=now,
                    rules=engine.rules,
                ),
                now,
            )
