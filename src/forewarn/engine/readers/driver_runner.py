"""Driver runner: hands started maintenance to the driver and retries failed work.

1. A driver call begins only after the affected VMs can see Started.
2. Two calls never work on the same VM at the same time.
3. The pauses between retries run in real time and exist only in memory. The state shows
   what to retry, and the pauses start over when the service restarts.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from threading import Condition, Lock, Thread

from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.engine.engine import CommandOnOne, Engine
from forewarn.engine.lookup import every, find_maintenance
from forewarn.engine.readers.documents import Documents
from forewarn.engine.readers.follower import LONGEST_WAIT, FailureLog, doubled_pause
from forewarn.errors import Unavailable
from forewarn.ports import Bell, Driver, Printed, Report, Snapshot, Work
from forewarn.protocol.types import EventType

#: The limit on the output kept from one driver call, in bytes of UTF-8.
MOST_OUTPUT = 64 * 1024

_LONGEST_DETAIL = 1000  # characters
_LONGEST = 300.0  # seconds between two retries
_STOP_TIMEOUT = 2.0  # seconds to wait for calls when the service stops

_log = logging.getLogger(__name__)


class RetrySchedule:
    """The stuck maintenance operations that wait for a retry, each after a pause."""

    def __init__(
        self, first: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create a schedule with pauses that start at `first` seconds and double."""
        self._first = first
        self._monotonic = monotonic
        self._at: dict[str, float] = {}

    def keep(self, waiting: Iterable[Maintenance]) -> None:
        """Schedule a retry for each of `waiting` and drop all other retries."""
        now = self._monotonic()
        self._at = {
            maintenance.id: self._at.get(
                maintenance.id, now + self.pause(maintenance.tries)
            )
            for maintenance in waiting
        }

    def take_due(self) -> Sequence[str]:
        """Return and remove the IDs whose retries are due."""
        now = self._monotonic()
        due = [maintenance_id for maintenance_id, at in self._at.items() if at <= now]
        for maintenance_id in due:
            del self._at[maintenance_id]
        return due

    def seconds_left(self) -> float | None:
        """Return the seconds until the next retry, or None if there is none."""
        if not self._at:
            return None
        return max(min(self._at.values()) - self._monotonic(), 0.0)

    def pause(self, tries: int) -> float:
        """Return the seconds to pause after `tries` attempts."""
        return doubled_pause(self._first, tries, _LONGEST)


class DriverRunner:
    """Calls the driver once for each attempt at a maintenance operation."""

    def __init__(
        self,
        engine: Engine,
        documents: Documents,
        driver: Driver,
        *,
        parallel: int = 0,
        retries: RetrySchedule | None = None,
        pause: float = 1.0,
        on_call: Callable[[EventType, float], None] = lambda kind, seconds: None,
    ) -> None:
        """Create a runner that calls `driver` once `documents` has published a start.

        At most `parallel` calls run at once; 0 runs each call in place, one after
        another. Failed writes are retried after `pause` seconds. `on_call` is called
        with the duration of each call, in seconds.
        """
        self._engine = engine
        self._documents = documents
        self._driver = driver
        self._parallel = parallel
        self._turn = Lock()  # one thread at a time looks for work
        self._changed = Condition()  # guards the fields below
        self._retries = retries or RetrySchedule(0.0)
        self._running: dict[str, Work] = {}
        self._handed: set[str] = set()  # called by this process and not failed
        self._last = deque[set[str]](maxlen=parallel)  # groups of the most recent calls
        self._ended = 0  # number of ended calls
        self._leaving = Bell()
        self._left_at = 0.0
        self._is_over = False  # whether saving has stopped
        self._pause = pause
        self._failures = FailureLog("driver runner", is_known=engine.health.is_failing)
        self.position = 0  # journal position when the state was last read
        self.bell = Bell()  # rung when a call ends, because more work may follow
        self._on_call = on_call

    # --- public --------------------------------------------------------------

    def catch_up(self) -> None:
        """Start all work that can start now."""
        with self._turn:
            while not self._leaving.is_set() and self._look():
                pass

    @property
    def calls(self) -> int:
        """The number of driver calls in progress."""
        return len(self._running)

    def finish(self) -> None:
        """Start all work; return when none is running or waiting for a retry."""
        while True:
            ended = self._ended
            self.catch_up()
            with self._changed:
                if self._leaving.is_set():
                    raise Unavailable(
                        "the service is stopping; the work will continue after a"
                        " restart"
                    )
                left = self._retries.seconds_left()
                is_still = self._ended == ended  # otherwise more work may follow
                if is_still and not self._running and left is None:
                    return
                self._wait_for_end(ended, LONGEST_WAIT if left is None else left)

    def _wait_for_end(self, ended: int, seconds: float) -> None:
        self._changed.wait_for(
            lambda: self._ended != ended or self._leaving.is_set(), seconds
        )

    def wait(self, bell: Bell) -> None:
        """Wait for the bell, or until a retry is due."""
        with self._changed:
            left = self._retries.seconds_left()
        bell.wait(LONGEST_WAIT if left is None else min(left, LONGEST_WAIT))

    def leave(self) -> None:
        """Stop accepting work and signal running calls to stop."""
        with self._changed:
            self._left_at = time.monotonic()
            self._leaving.set()
            for work in self._running.values():
                work.halt.set()
            self._changed.notify_all()

    def stop(self) -> None:
        """Wait briefly for running calls; save nothing afterward."""
        until = self._left_at + _STOP_TIMEOUT
        with self._changed:
            self._changed.wait_for(
                lambda: not self._running, max(until - time.monotonic(), 0.0)
            )
            self._is_over = True
            for maintenance_id in self._running:
                _log.warning(
                    "the driver call for %s did not finish in time; it will be"
                    " retried when forewarn restarts",
                    maintenance_id,
                )

    # --- what to do ----------------------------------------------------------

    def _look(self) -> bool:
        """Start the work that the state requires; return whether to look again."""
        engine = self._engine
        with engine.store.snapshot() as snapshot:
            now, position = engine.now(snapshot), snapshot.position()
            started = [*every(snapshot, Phase.STARTED)]
            self._halt_unwanted(snapshot)
        due = self._due_retries(started)
        for maintenance_id in due:
            engine.on_one(maintenance_id, commands.retry_automatically)
        chosen = self._choose(
            [
                maintenance
                for maintenance in started
                if commands.is_work_open(maintenance, now, engine.rules)
            ]
        )
        for maintenance_id in chosen:
            self._hand_over(maintenance_id)
        self.position = position  # everything up to this position was started
        return bool(due or chosen)

    def _halt_unwanted(self, snapshot: Snapshot) -> None:
        with self._changed:
            running = [*self._running.values()]
        for work in running:
            maintenance = snapshot.maintenance(work.maintenance)
            vms = [vm.name for vm in work.vms]
            if maintenance is None or not commands.is_work_wanted(maintenance, vms):
                work.halt.set()

    def _due_retries(self, started: Sequence[Maintenance]) -> Sequence[str]:
        with self._changed:
            self._retries.keep(
                maintenance
                for maintenance in started
                if maintenance.id not in self._running
                and commands.is_retry_left(maintenance, self._engine.rules)
            )
            return self._retries.take_due()

    def _choose(self, open_now: Sequence[Maintenance]) -> Sequence[str]:
        """Choose the work to start; groups take turns.

        Work that shares a VM with earlier work waits for it.
        """
        with self._changed:
            self._handed &= {maintenance.id for maintenance in open_now}
            if not self._parallel:
                return [
                    maintenance.id
                    for maintenance in open_now
                    if maintenance.id not in self._handed
                ]
            free = self._parallel - len(self._running)
            busy = {vm.name for work in self._running.values() for vm in work.vms}
            waiting: list[Maintenance] = []
            for maintenance in open_now:
                if maintenance.id in self._handed or maintenance.id in self._running:
                    continue
                if busy.isdisjoint(maintenance.to_do):
                    waiting.append(maintenance)
                busy.update(maintenance.to_do)
            in_turns = commands.in_turns(waiting, chain(*self._last))
            return [maintenance.id for maintenance in in_turns[: max(free, 0)]]

    # --- one call ------------------------------------------------------------

    def _hand_over(self, maintenance_id: str) -> None:
        self._documents.catch_up()  # VMs see Started before the driver acts
        work = self._begin(maintenance_id)
        if work is None:
            return
        with self._changed:
            self._handed.add(work.maintenance)
            self._last.append({vm.group for vm in work.vms})
            self._running[work.maintenance] = work
            if self._leaving.is_set():
                work.halt.set()
        if not self._parallel:
            self._carry_out(work)
            return
        name = f"work-{work.maintenance[:8]}"
        try:
            Thread(target=self._carry_out, args=(work,), name=name, daemon=True).start()
        except RuntimeError:  # too many threads; handled like a crash
            self._end(work, is_lost=True)
            raise

    def _begin(self, maintenance_id: str) -> Work | None:
        """Record that a driver call is about to begin, unless there is no work left."""
        with self._engine.writing() as (transaction, context):
            maintenance = find_maintenance(transaction, maintenance_id)
            begun = self._engine.decide_on_one(
                transaction, context, maintenance, commands.begin_work
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
            removes=begun.removes,
            attempt=begun.attempt,
        )

    def _carry_out(self, work: Work) -> None:
        is_lost, begun = True, time.monotonic()
        try:
            for item in _run_driver(self._driver, work):
                if isinstance(item, Printed):
                    command = partial(commands.record_output, attempt=work.attempt)
                    self._save(work, partial(command, output=item.text))
                else:
                    self._save_reports(work, item)
            is_lost = False
        finally:
            self._end(work, is_lost=is_lost)
            self._on_call(work.type, time.monotonic() - begun)

    def _save_reports(self, work: Work, reports: Sequence[Report]) -> None:
        for (failed, detail), alike in groupby(sorted(reports, key=_result), _result):
            vms = [report.vm for report in alike]
            command = partial(
                commands.report_work, vms=vms, failed=failed, detail=detail
            )
            self._save(work, command, is_failure=failed)

    def _save(
        self, work: Work, command: CommandOnOne, *, is_failure: bool = False
    ) -> None:
        """Save the driver's reports. Calls in threads retry until saving succeeds."""
        while not self._is_over:
            if is_failure and self._leaving.is_set():
                return  # the service stopped the call itself
            try:
                maintenance = self._engine.on_one(work.maintenance, command)
            except Exception as error:
                if not self._parallel:
                    raise
                if self._leaving.is_set():
                    return
                self._failures.failed(error)
                self._leaving.wait(self._pause)
            else:
                self._failures.succeeded()
                if maintenance.stuck_since is not None:
                    with self._changed:
                        self._handed.discard(work.maintenance)
                return

    def _end(self, work: Work, *, is_lost: bool) -> None:
        work.halt.set()  # ends every wait for the halt signal
        with self._changed:
            del self._running[work.maintenance]
            if is_lost:
                self._handed.discard(work.maintenance)
            self._ended += 1
            self._changed.notify_all()
        self.bell.set()


def _result(report: Report) -> tuple[bool, str]:
    return report.failed, report.detail


def _run_driver(driver: Driver, work: Work) -> Iterator[Sequence[Report] | Printed]:
    """Call `driver` and yield its reports and output.

    An exception counts as a failure on every VM without a report.
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
        _log.exception("the driver failed on maintenance %s", work.maintenance)
        detail = f"the driver failed: {type(error).__name__}: {error}"
        yield [
            Report(vm=vm.name, failed=True, detail=detail[:_LONGEST_DETAIL])
            for vm in work.vms
            if vm.name not in reported
        ]


def _items(result: object) -> Iterator[Sequence[Report] | Printed]:
    """Group consecutive reports; drop items that are neither reports nor output."""
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
