"""A rehearsal: a private, in-memory service with a manual clock."""

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Self, Unpack

from forewarn.clocks import ManualClock, SystemClock
from forewarn.config.load import SettingSources, load
from forewarn.config.settings import SETTINGS, Config
from forewarn.configfile.values import read_choice
from forewarn.core.fleet import Fleet
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.operations import VmOperation, order_for
from forewarn.engine.timers import LONGEST_ADVANCE
from forewarn.errors import (
    Conflict,
    ForewarnError,
    InvalidInput,
    NotFound,
    TooSoon,
)
from forewarn.formats import format_times, join_names, parse_duration
from forewarn.ports import Clock
from forewarn.protocol.types import EventType
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.service.service import Service
from forewarn.testing.rehearsal.event import BY, RehearsedEvent
from forewarn.testing.rehearsal.failures import RehearsalWaits, errors_at_caller
from forewarn.testing.rehearsal.observer import MARKS, Mark, RehearsalObserver
from forewarn.testing.rehearsal.options import (
    AnnouncementOptions,
    DurationLike,
    FaultOptions,
    FleetSource,
    OperationName,
    TypeName,
    fault_from,
    fleet_of,
    order_of,
    vm_of,
)
from forewarn.testing.rehearsal.program import CommandPart, Program, with_python
from forewarn.testing.rehearsal.timeline import journal_of, timeline_of

#: Settings that are either fixed or available as arguments of a rehearsal.
_RESERVED = frozenset({"clock", "default_vm", "fleet", "metadata", "seed"})

_MAX_STEPS = 10_000  # clock steps; more are treated as an endless loop


@errors_at_caller
class Rehearsal:
    """A private service that acts on a program under test and observes the program.

    Durations of the service (`advance`, notice, duration) are on its clock, which is
    paused until you advance it. Time limits for the program (`within`) are in real
    time.
    """

    def __init__(
        self,
        *,
        fleet: FleetSource = None,
        vms: Sequence[str] = (),
        vm: str | None = None,
        seed: int | None = None,
        metadata: str = "127.0.0.1:0",
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Create a rehearsal of `fleet`, or a group with `vms`, for a program in `vm`.

        By default, the program runs in web-0 of the demo fleet. `settings` are service
        settings.
        """
        self._opened_in: int | None = None  # process ID; None if not open
        self.fleet: Fleet = fleet_of(fleet, vms)
        self.vm: str = vm_of(self.fleet, vm)
        self.seed = seed
        self.observer = self._make_observer()
        self.programs: list[Program] = []
        self._token = secrets.token_urlsafe(24)
        config = _config_of(self.vm, seed, metadata, settings or {})
        self._service = Service(
            config, self._token, is_guest=True, fleet=self.fleet, observer=self.observer
        )
        self._was_opened = False
        self._control_lock = Lock()  # so that concurrent callers start only one server

    def _make_observer(self) -> RehearsalObserver:
        return RehearsalObserver()

    def __repr__(self) -> str:
        """Show the endpoint."""
        where = self.endpoint if self._opened_in is not None else "(not open)"
        return f"<Rehearsal {where}>"

    # --- start and stop ------------------------------------------------------

    def __enter__(self) -> Self:
        """Start the service."""
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop the service; explain the error that ends the block, if any."""
        if isinstance(exception[1], BaseException):
            self._explain(exception[1])
        self.close()

    def open(self) -> None:
        """Start the service and return once the service accepts requests."""
        if self._was_opened:
            raise Conflict("a rehearsal can only be opened once; create another one")
        self._service.open()
        self._opened_in, self._was_opened = os.getpid(), True

    def close(self) -> None:
        """Stop the service; do nothing in a forked child, which has no service."""
        if self._opened_in == os.getpid():
            self._service.close()
        self._opened_in = None

    @property
    def service(self) -> Service:
        """The service, which must be running."""
        if self._opened_in is None:
            raise Conflict("the rehearsal is not open; use it in a `with` block")
        return self._service

    # --- addresses -----------------------------------------------------------

    @property
    def base(self) -> str:
        """The metadata plane's address, which treats requests as coming from `vm`."""
        return self.service.metadata[0]

    @property
    def endpoint(self) -> str:
        """The endpoint for the program under test."""
        return self.endpoint_of(self.vm)

    def endpoint_of(self, vm: str) -> str:
        """Return the endpoint of `vm`."""
        return f"{self.base}/vm/{vm_of(self.fleet, vm)}"

    @property
    def mark_url(self) -> str:
        """The address to which a program POSTs its marks."""
        return f"{self.base}{MARKS}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables for a program under test."""
        return {"FOREWARN_ENDPOINT": self.endpoint, "FOREWARN_MARK_URL": self.mark_url}

    def run(
        self,
        *command: CommandPart,
        environment: Mapping[str, str] | None = None,
        cwd: CommandPart | None = None,
        output: CommandPart | None = None,
        marks: Sequence[str] = (),
    ) -> Program:
        """Run a program in the rehearsal's environment until the `with` block ends.

        A Python file runs with this Python. Without `cwd`, the file's path is relative
        to the folder of the calling file, or else to the working directory. When the
        program prints a line that contains one of `marks`, it makes this mark. Failing
        tests show the output, which is also written to the file `output`.
        """
        if isinstance(marks, str):
            raise InvalidInput(f"marks must be a list of texts, such as [{marks!r}]")
        folders = [_folder_of_caller(), Path.cwd()] if cwd is None else [Path(cwd)]
        variables = {**self.environment, **(environment or {})}
        program = Program(
            with_python(command, folders),
            variables,
            cwd=cwd,
            output=output,
            vm=variables["FOREWARN_ENDPOINT"].rpartition("/vm/")[2],
            on_output=lambda lines: self._record_output(lines, marks),
            on_end=self.observer.wake,
            on_failure=self._explain,
        )
        self.observer.before_requests(program.read_output)
        self.programs.append(program)
        return program

    def _record_output(self, lines: Sequence[str], marks: Sequence[str]) -> None:
        for line in lines:
            for mark in marks:
                if mark in line:
                    self.observer.mark(mark)
        self.observer.wake()

    def explanation(self, error: BaseException) -> str:
        """Return what explains an error of the test; "" if nothing does."""
        return self._waits.explanation(error)

    def _explain(self, error: BaseException) -> None:
        """Add an explanation to `error`, unless this is a forked child."""
        if self._opened_in == os.getpid():
            with suppress(ForewarnError):  # the test's own error matters more
                self._waits.explain(error)

    @property
    def _waits(self) -> RehearsalWaits:
        return RehearsalWaits(self.service.engine, self.observer, self.programs)

    @property
    def control(self) -> str:
        """The address of the control API, which starts on first use."""
        with self._control_lock:
            if not self.service.control:
                self.service.open_control()
            return self.service.control

    @property
    def token(self) -> str:
        """The admin token for the control API."""
        return self._token

    # --- clock ---------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The current time of the service."""
        return self.service.engine.clock.now()

    def advance(self, by: DurationLike) -> datetime:
        """Advance the clock, run everything that becomes due, and return the time."""
        return self.service.advance.by(parse_duration(by))

    def advance_to_start(self, event: RehearsedEvent) -> datetime:
        """Advance the clock until the maintenance operation of `event` starts."""
        _check_event(event)
        if event.phase is Phase.SCHEDULED:
            self.service.advance.to(max(self.now, event.not_before))
        return self._advance_while(event, Phase.SCHEDULED)

    def advance_to_end(self, event: RehearsedEvent) -> datetime:
        """Advance the clock until the maintenance operation of `event` has ended."""
        self.advance_to_start(event)
        self.service.advance.to(self.now)  # runs the driver if the work just started
        return self._advance_while(event, Phase.STARTED)

    def _advance_while(self, event: RehearsedEvent, phase: Phase) -> datetime:
        for _ in range(_MAX_STEPS):
            if event.phase is not phase:
                break
            moment = self.service.engine.next_moment()
            if moment is None:
                raise Conflict(
                    f"advancing the clock does not affect {event.id}: {event.explain()}"
                )
            self.service.advance.to(max(moment, self.now))
        return self.now

    def outage(self, duration: DurationLike) -> datetime:
        """Simulate an outage of the service; `duration` is on its clock."""
        length = parse_duration(duration)
        if length > LONGEST_ADVANCE:
            raise InvalidInput(
                f"an outage can last at most {LONGEST_ADVANCE.days} days"
            )
        engine = self.service.engine
        if not isinstance(engine.clock, ManualClock):
            raise TypeError("a rehearsal requires a manual clock")
        engine.beat()
        engine.clock.leap_to(self.now + length)
        engine.beat()
        self.service.advance.to(self.now)
        return self.now

    # --- announcements -------------------------------------------------------

    def announce(
        self, kind: TypeName, *vms: str, **options: Unpack[AnnouncementOptions]
    ) -> Sequence[RehearsedEvent]:
        """Announce maintenance of `vms`, a host or a group; return all events."""
        order = order_of(kind, vms, options)
        try:
            maintenances = self.service.engine.announce(order, by=BY)
        except NotFound as error:
            names = join_names([*self.fleet.vms], 8)
            if not vms or "did you mean" in str(error):
                raise
            raise NotFound(f"{error}; the fleet contains {names}") from error
        except TooSoon as error:
            promise = str(error).partition(";")[0]
            raise InvalidInput(f"{promise}; for less, add short_notice=True") from error
        return events_of(self, maintenances)

    def operate(self, operation: OperationName, vm: str) -> RehearsedEvent:
        """Restart, redeploy, reimage, evict or delete `vm`."""
        choice = read_choice(VmOperation, operation, "operation")
        order = order_for(choice, vm)
        maintenances = self.service.operations.operate(choice, order, by=BY)
        return seen_by(self.vm, self.fleet, events_of(self, maintenances))

    def freeze(
        self, vm: str | None = None, **options: Unpack[AnnouncementOptions]
    ) -> RehearsedEvent:
        """Announce a Freeze of `vm`, a host or a group."""
        return self._announce_one(EventType.FREEZE, vm, options)

    def reboot(
        self, vm: str | None = None, **options: Unpack[AnnouncementOptions]
    ) -> RehearsedEvent:
        """Announce a Reboot of `vm`, a host or a group."""
        return self._announce_one(EventType.REBOOT, vm, options)

    def redeploy(
        self, vm: str | None = None, **options: Unpack[AnnouncementOptions]
    ) -> RehearsedEvent:
        """Announce a Redeploy of `vm`, a host or a group."""
        return self._announce_one(EventType.REDEPLOY, vm, options)

    def preempt(
        self, vm: str | None = None, **options: Unpack[AnnouncementOptions]
    ) -> RehearsedEvent:
        """Announce a Preempt of `vm`, a host or a group."""
        return self._announce_one(EventType.PREEMPT, vm, options)

    def terminate(
        self, vm: str | None = None, **options: Unpack[AnnouncementOptions]
    ) -> RehearsedEvent:
        """Announce a Terminate of `vm`, a host or a group."""
        return self._announce_one(EventType.TERMINATE, vm, options)

    def _announce_one(
        self, kind: EventType, vm: str | None, options: AnnouncementOptions
    ) -> RehearsedEvent:
        targets = "host" in options or "group" in options
        vms = () if vm is None and targets else (self.vm if vm is None else vm,)
        events = self.announce(kind, *vms, **options)
        return seen_by(self.vm, self.fleet, events)

    # --- faults --------------------------------------------------------------

    def fault(self, kind: str, **options: Unpack[FaultOptions]) -> str:
        """Inject a fault into the metadata plane and return its ID."""
        return self.service.plane.add_fault(fault_from(kind, options), by=BY).id

    def clear_faults(self, id_: str | None = None) -> None:
        """Remove all faults, or only the fault with the given ID."""
        self.service.plane.clear_faults(id_)

    # --- observations --------------------------------------------------------

    def mark(self, name: str) -> None:
        """Make the mark `name`."""
        self.observer.mark(name)

    @property
    def marks(self) -> Sequence[Mark]:
        """All marks so far."""
        return self.observer.marks

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """All requests to the metadata plane so far."""
        return self.observer.requests

    def wait_marked(
        self, name: str, within: DurationLike = "10s", *, times: int = 1
    ) -> None:
        """Wait, in real time, until the mark `name` has been made `times` times."""

        def problem() -> str | None:
            made = sum(mark.name == name for mark in self.marks)
            return _too_few(f"mark {name!r} was", "made", made, times)

        self._waits.until(problem, within)

    def wait_output(
        self, text: str, within: DurationLike = "10s", *, times: int = 1
    ) -> str:
        """Wait, in real time, until programs have printed `times` lines with `text`.

        Return the last of these lines.
        """
        lines: list[str] = []

        def problem() -> str | None:
            lines[:] = [
                line for program in self.programs for line in program.lines_with(text)
            ]
            return _too_few(f"{text!r} was", "printed", len(lines), times)

        self._waits.until(problem, within)
        return lines[times - 1] if times > 0 else ""

    def wait_polled(
        self,
        within: DurationLike = "10s",
        *,
        by: str | None = None,
        times: int = 1,
    ) -> None:
        """Wait, in real time, for `times` polls by `by` (default: the program's VM)."""
        vm = vm_of(self.fleet, by or self.vm)
        before = len(self.observer.arrivals_of(vm))

        def problem() -> str | None:
            polls = len(self.observer.arrivals_of(vm)) - before
            return _too_few(vm, "polled", polls, times)

        self._waits.until(problem, within, by=vm, is_request=True)

    def journal(self) -> Sequence[JournalEntry]:
        """Return all journal entries so far."""
        return journal_of(self.service.engine)

    def timeline(self) -> str:
        """Return a short timeline of what has happened so far."""
        return timeline_of(self.service.engine, self.observer, self.programs)


def _too_few(who: str, did: str, number: int, times: int) -> str | None:
    """Describe that something happened less than `times` times, or return None."""
    if number >= times:
        return None
    if number:
        return f"{who} {did} {format_times(number)}, not {format_times(times)},"
    often = "" if times == 1 else f" {format_times(times)}"
    negated = "did not poll" if did == "polled" else f"not {did}"
    return f"{who} {negated}{often}"


def _folder_of_caller() -> Path:
    """Return the folder of the calling file, or the working directory for commands."""
    frame = sys._getframe()
    while frame.f_back and _module(frame).startswith("forewarn.testing.rehearsal."):
        frame = frame.f_back
    if _module(frame).startswith("forewarn."):
        return Path.cwd()
    return Path(frame.f_code.co_filename).absolute().parent


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


# --- clock -------------------------------------------------------------------


def catch_up(rehearsal: Rehearsal, clock: Clock | None = None) -> None:
    """Advance the service's clock to the machine's time, unless it is ahead of it.

    The program can then compare NotBefore with the machine's clock. The service's time
    remains a whole number of seconds, like NotBefore. Tests pass their own `clock`.
    """
    now = (clock or SystemClock()).now().replace(microsecond=0)
    if now > rehearsal.now:
        rehearsal.service.advance.to(now)


# --- events ------------------------------------------------------------------


def events_of(
    rehearsal: Rehearsal, maintenances: Sequence[Maintenance]
) -> Sequence[RehearsedEvent]:
    """Return all events of `maintenances`."""
    engine, observer = rehearsal.service.engine, rehearsal.observer
    waits = RehearsalWaits(engine, observer, rehearsal.programs)
    return [
        RehearsedEvent(engine, observer, waits, maintenance.id, event.id)
        for maintenance in maintenances
        for event in maintenance.events
    ]


def _check_event(event: object) -> None:
    """Raise `InvalidInput` unless `event` is an event of a rehearsal."""
    if not isinstance(event, RehearsedEvent):
        raise InvalidInput(
            f"{event!r} is not an event; pass what reboot() returned, or one of the"
            " events that announce() returned"
        )


def seen_by(vm: str, fleet: Fleet, events: Sequence[RehearsedEvent]) -> RehearsedEvent:
    """Return the event that `vm` sees, preferably an event that lists the VM.

    If the VM sees none of the events, return the first one.
    """
    if not events:
        raise InvalidInput("nothing was announced")
    own = [event for event in events if vm in event.resources]
    group = fleet.vms[vm].group
    seen = [event for event in events if event.group == group]
    return [*own, *seen, *events][0]


# --- the service -------------------------------------------------------------


def _config_of(
    vm: str, seed: int | None, metadata: str, settings: Mapping[str, object]
) -> Config:
    """Return a configuration that treats requests as coming from `vm` by default."""
    flags = {
        "metadata": [metadata],
        "control": "127.0.0.1:0",
        "store": "memory",
        "clock": "manual",
        "default_vm": vm,
        "open": True,
        "seed": seed,
        **_checked(settings),
    }
    return load(SettingSources(flags=flags))


def _checked(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Return `settings`; reject settings that do not exist or have no effect."""
    if not isinstance(settings, Mapping):
        raise InvalidInput(
            "settings must be a table, such as {'requests_per_second': 1.0}"
        )
    names = {setting.name for setting in SETTINGS}
    for name in settings:
        if name not in names:
            raise InvalidInput(f"unknown setting {name!r}")
        if name in _RESERVED:
            raise InvalidInput(f"setting {name!r} cannot be changed in a rehearsal")
    return settings
