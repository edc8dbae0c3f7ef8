"""The reader that hands started maintenances to the driver and reports what was done.

It asks the state what is to do; the journal only wakes it. So a crash at any point
leads to another attempt, never to work that is forgotten.
"""

import logging
from collections.abc import Iterator, Sequence
from threading import Lock

from forewarn.core import commands
from forewarn.core.maintenance import Phase
from forewarn.engine.documents import Documents
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance, having
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
        """Hand over all work that is open; return when none is."""
        with self._lock:
            while True:
                open_now = self._open()
                self._handed &= set(open_now)
                wanted = [each for each in open_now if each not in self._handed]
                if not wanted:
                    return
                for maintenance_id in wanted:
                    self._carry_out(maintenance_id)

    def _carry_out(self, maintenance_id: str) -> None:
        self._documents.catch_up()  # Started is shown before anything is touched
        work = self._begin(maintenance_id)
        if work is None:
            return
        self._handed.add(maintenance_id)
        try:
            for reports in self._reports(work):
                self._take_down(work, reports)
        except BaseException:
            self._handed.discard(maintenance_id)  # not taken down: try again
            raise

    def _reports(self, work: Work) -> Iterator[Sequence[Report]]:
        """Let the driver act; its failure is a report, too."""
        try:
            reports = self._driver.carry_out(work)
            if isinstance(reports, Sequence):
                yield [each for each in reports if isinstance(each, Report)]
            else:
                for report in reports:
                    if isinstance(report, Report):
                        yield [report]
        except Exception as error:
            _log.exception("the driver failed on %s", work.maintenance)
            yield [
                Report(vm=vm.name, failed=True, detail=repr(error)) for vm in work.vms
            ]

    def _take_down(self, work: Work, reports: Sequence[Report]) -> None:
        kinds = {(report.failed, report.detail) for report in reports}
        for failed, detail in sorted(kinds):
            vms = [
                each.vm
                for each in reports
                if (each.failed, each.detail) == (failed, detail)
            ]
            self._report(work, vms, failed=failed, detail=detail)

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
                    slice_, found.id, now=now, rules=engine.rules
                ),
                now,
                having(found),
            )
            begun = step.slice.maintenance(found.id)
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

    def _report(
        self, work: Work, vms: Sequence[str], *, failed: bool, detail: str
    ) -> None:
        engine = self._engine
        with engine.writing() as (transaction, now):
            found = find_maintenance(transaction, work.maintenance)
            step = engine.decide(
                transaction,
                found.groups,
                lambda slice_: commands.report_work(
                    slice_,
                    found.id,
                    vms=vms,
                    failed=failed,
                    detail=detail,
                    now=now,
                    rules=engine.rules,
                ),
                now,
                having(found),
            )
            if step.slice.maintenance(found.id).stuck_since is not None:
                self._handed.discard(found.id)
