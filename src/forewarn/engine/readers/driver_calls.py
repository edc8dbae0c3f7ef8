"""Log of driver work in the journal: calls, results and output."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle.model import Maintenance
from forewarn.engine.engine import CommandOnOne, Engine
from forewarn.engine.lookup import find_maintenance
from forewarn.engine.readers.follower import FailureLog
from forewarn.ports import Bell, Driver, Printed, Report, Work

_log = logging.getLogger(__name__)

#: The limit on the output kept from one driver call, in bytes of UTF-8.
MOST_OUTPUT = 64 * 1024

_LONGEST_DETAIL = 1000  # characters

Said = Sequence[Report] | Printed


class DriverLog:
    """Records the driver's work in the journal."""

    def __init__(self, engine: Engine) -> None:
        """Record through `engine`."""
        self._engine = engine

    def begin(self, maintenance_id: str) -> Work | None:
        """Record that a driver call is about to begin; None if nothing is to do."""
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, maintenance_id)
            begun = self._engine.decide_on_one(
                transaction, maintenance, commands.begin_work, now
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
        command = partial(commands.report_work, vms=vms, failed=failed, detail=detail)
        return self._record(work.maintenance, command).stuck_since is not None

    def keep_output(self, work: Work, output: str) -> None:
        """Record the output of the call."""
        self._record(
            work.maintenance,
            partial(commands.note_output, attempt=work.attempt, output=output),
        )

    def retry(self, maintenance_id: str) -> None:
        """Record an automatic retry, if one is left."""
        self._record(maintenance_id, commands.retry_unasked)

    def _record(self, maintenance_id: str, command: CommandOnOne) -> Maintenance:
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, maintenance_id)
            return self._engine.decide_on_one(transaction, maintenance, command, now)


def run_driver(driver: Driver, work: Work) -> Iterator[Said]:
    """Call `driver`, and yield its reports and output.

    An exception counts as a failure on all VMs without a report.
    """
    reported: set[str] = set()
    room = MOST_OUTPUT
    try:
        for item in _parts(driver.carry_out(work)):
            if isinstance(item, Printed):
                text = last_bytes(item.text, room)
                room -= len(text.encode())
                if text:
                    yield Printed(text=text)
            else:
                reported.update(report.vm for report in item)
                yield item
    except (Exception, SystemExit) as error:
        _log.exception("the driver failed on %s", work.maintenance)
        detail = f"the driver failed: {type(error).__name__}: {error}"
        yield [
            Report(vm=vm.name, failed=True, detail=detail[:_LONGEST_DETAIL])
            for vm in work.vms
            if vm.name not in reported
        ]


def last_bytes(text: str, most: int) -> str:
    """Return the end of `text`, at most `most` bytes of UTF-8."""
    written = text.encode(errors="replace")  # lone surrogates become ?
    return written[max(len(written) - most, 0) :].decode(errors="ignore")


def _parts(said: object) -> Iterator[Said]:
    """Group consecutive reports; skip anything else that is not output."""
    if not isinstance(said, Sequence):
        for item in said:  # type: ignore[attr-defined]  # else the driver fails here
            yield from _parts(item if isinstance(item, Sequence) else [item])
        return
    parts = [item for item in said if isinstance(item, Report | Printed)]
    for kind, several in groupby(parts, type):
        if kind is Printed:
            yield from (item for item in several if isinstance(item, Printed))
        else:
            yield [item for item in several if isinstance(item, Report)]


class DriverReporter:
    """Saves what drivers report, and retries until the store accepts it."""

    def __init__(
        self, ledger: DriverLog, leaving: Bell, *, pause: float | None
    ) -> None:
        """Save to `ledger`; once `leaving` is set, save no failures.

        Retry after `pause` seconds; if it is None, raise instead.
        """
        self._ledger = ledger
        self._leaving = leaving
        self._pause = pause
        self._complaints = FailureLog("works")
        self._is_over = False

    def stop(self) -> None:
        """Save nothing more."""
        self._is_over = True

    def take_down(self, work: Work, said: Said) -> bool:
        """Save what was `said`; return whether the maintenance is stuck."""
        if isinstance(said, Printed):
            self._insist(partial(self._keep, work, said))
            return False
        is_stuck = False
        for failed, detail in sorted(
            {(report.failed, report.detail) for report in said}
        ):
            alike = [
                report
                for report in said
                if (report.failed, report.detail) == (failed, detail)
            ]
            is_stuck |= self._insist(partial(self._report, work, alike))
        return is_stuck

    def _keep(self, work: Work, printed: Printed) -> bool:
        self._ledger.keep_output(work, printed.text)
        return False

    def _report(self, work: Work, alike: Sequence[Report]) -> bool:
        first = alike[0]
        if first.failed and self._leaving.is_set():
            return False  # the service stopped the call itself
        vms = [report.vm for report in alike]
        return self._ledger.report(work, vms, failed=first.failed, detail=first.detail)

    def _insist(self, write: Callable[[], bool]) -> bool:
        while not self._is_over:
            try:
                is_stuck = write()
            except Exception as error:
                if self._pause is None:
                    raise
                if self._leaving.is_set():
                    return False
                self._complaints.about(error)
                self._leaving.wait(self._pause)
            else:
                self._complaints.end()
                return is_stuck
        return False
