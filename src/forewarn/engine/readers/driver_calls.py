"""One driver call: its reports and output, and how they are saved in the journal."""

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

#: The limit on the output kept from one driver call, in bytes of UTF-8.
MOST_OUTPUT = 64 * 1024

#: Reports that are saved together, or output.
DriverItem = Sequence[Report] | Printed

_LONGEST_DETAIL = 1000  # characters

_log = logging.getLogger(__name__)


def run_driver(driver: Driver, work: Work) -> Iterator[DriverItem]:
    """Call `driver`, and yield its reports and output.

    An exception counts as a failure on all VMs without a report.
    """
    reported: set[str] = set()
    room = MOST_OUTPUT
    try:
        for item in _items(driver.carry_out(work)):
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


def _items(result: object) -> Iterator[DriverItem]:
    """Group consecutive reports; skip anything else that is not output."""
    if not isinstance(result, Sequence):
        for item in result:  # type: ignore[attr-defined]  # else the driver fails here
            yield from _items(item if isinstance(item, Sequence) else [item])
        return
    parts = [item for item in result if isinstance(item, Report | Printed)]
    for kind, several in groupby(parts, type):
        if kind is Printed:
            yield from (item for item in several if isinstance(item, Printed))
        else:
            yield [item for item in several if isinstance(item, Report)]


def last_bytes(text: str, limit: int) -> str:
    """Return the end of `text`, at most `limit` bytes of UTF-8."""
    written = text.encode(errors="replace")  # lone surrogates become ?
    return written[max(len(written) - limit, 0) :].decode(errors="ignore")


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
            partial(commands.record_output, attempt=work.attempt, output=output),
        )

    def retry(self, maintenance_id: str) -> None:
        """Record an automatic retry, if one is left."""
        self._record(maintenance_id, commands.retry_automatically)

    def _record(self, maintenance_id: str, command: CommandOnOne) -> Maintenance:
        with self._engine.writing() as (transaction, now):
            maintenance = find_maintenance(transaction, maintenance_id)
            return self._engine.decide_on_one(transaction, maintenance, command, now)


class DriverReporter:
    """Saves what drivers report, and retries until the store accepts it."""

    def __init__(
        self, driver_log: DriverLog, leaving: Bell, *, pause: float | None
    ) -> None:
        """Save to `driver_log`; once `leaving` is set, save no failures.

        Retry after `pause` seconds; if it is None, raise instead.
        """
        self._driver_log = driver_log
        self._leaving = leaving
        self._pause = pause
        self._failures = FailureLog("works")
        self._is_over = False

    def stop(self) -> None:
        """Save nothing more."""
        self._is_over = True

    def save(self, work: Work, item: DriverItem) -> bool:
        """Save `item`; return whether the maintenance is stuck."""
        if isinstance(item, Printed):
            self._retry(partial(self._keep, work, item))
            return False
        is_stuck = False
        for failed, detail in sorted(
            {(report.failed, report.detail) for report in item}
        ):
            alike = [
                report
                for report in item
                if (report.failed, report.detail) == (failed, detail)
            ]
            is_stuck |= self._retry(partial(self._report, work, alike))
        return is_stuck

    def _keep(self, work: Work, printed: Printed) -> bool:
        self._driver_log.keep_output(work, printed.text)
        return False

    def _report(self, work: Work, alike: Sequence[Report]) -> bool:
        first = alike[0]
        if first.failed and self._leaving.is_set():
            return False  # the service stopped the call itself
        vms = [report.vm for report in alike]
        return self._driver_log.report(
            work, vms, failed=first.failed, detail=first.detail
        )

    def _retry(self, write: Callable[[], bool]) -> bool:
        while not self._is_over:
            try:
                is_stuck = write()
            except Exception as error:
                if self._pause is None:
                    raise
                if self._leaving.is_set():
                    return False
                self._failures.failed(error)
                self._leaving.wait(self._pause)
            else:
                self._failures.succeeded()
                return is_stuck
        return False
