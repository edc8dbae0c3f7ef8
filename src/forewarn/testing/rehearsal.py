"""A private service in this process, with a clock that is moved by hand."""

import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from types import TracebackType
from typing import Unpack

from forewarn.compose import System
from forewarn.core.causes import Operation, order_for
from forewarn.core.durations import duration_of
from forewarn.core.facts import Entry
from forewarn.core.fleet import Fleet
from forewarn.core.maintenance import Maintenance
from forewarn.errors import Conflict
from forewarn.protocol.types import EventType
from forewarn.server.faults import Fault
from forewarn.server.witness import Asked
from forewarn.testing.announced import events_of, seen_by
from forewarn.testing.events import BY, Event
from forewarn.testing.faulting import FaultOptions, fault_from
from forewarn.testing.fleets import FleetSource, fleet_of, vm_of
from forewarn.testing.moving import be_away, move_to_end, move_to_start
from forewarn.testing.orders import Options, operation_of, order_of
from forewarn.testing.private import private_system
from forewarn.testing.programs import Program
from forewarn.testing.recalling import journal_of, tell
from forewarn.testing.waiting import wait_marked, wait_polled
from forewarn.testing.watching import MARKS, Mark, Watching


class Rehearsal:
    """A private service; what a test does to a program, and sees of it.

    Times of the service (`advance`, notice, duration) are its clock's, which stands
    still until it is moved. Times that a program takes (`within`) are real.
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
        """Serve `fleet` or a group of `vms`; the program speaks for `vm`.

        Without them it is web-0 of the demo fleet. `settings` are those of the service.
        """
        self._opened_in: int | None = None  # by which process; None: it is not open
        self.fleet: Fleet = fleet_of(fleet, vms)
        self.vm: str = vm_of(self.fleet, vm)
        self.seed = seed
        self.watching = Watching()
        self.programs: list[Program] = []
        self._token = secrets.token_urlsafe(24)
        self._system = private_system(
            self.fleet, self.vm, self._token, seed, metadata, settings or {}
        )
        self._was_opened = False
        self._controlling = Lock()  # so that two who ask for it start one

    def __repr__(self) -> str:
        """Say where it is."""
        where = self.endpoint if self._opened_in is not None else "that is not open"
        return f"<Rehearsal {where}>"

    # --- its life ------------------------------------------------------------

    def __enter__(self) -> "Rehearsal":
        """Start."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        self.close()

    def open(self) -> None:
        """Start; return when VMs are answered."""
        if self._was_opened:
            raise Conflict("a rehearsal is opened once; make another")
        self._system.open()
        self._opened_in, self._was_opened = os.getpid(), True
        self.watching.clock = self.system.engine.clock.now
        self.system.plane.witness = self.watching
        self.system.readers.told_first.append(self.watching.committed)
        self.system.readers.told.append(lambda _: self.watching.ring())

    def close(self) -> None:
        """Stop; in a child of the process that has opened it, nothing is running."""
        if self._opened_in == os.getpid():
            self._system.close()
        self._opened_in = None

    @property
    def system(self) -> System:
        """The service, while it is open."""
        if self._opened_in is None:
            raise Conflict("the rehearsal is not open; use it in a `with` block")
        return self._system

    # --- where it is ---------------------------------------------------------

    @property
    def base(self) -> str:
        """The address of the metadata plane; whoever asks there is `vm`."""
        return self.system.metadata[0]

    @property
    def endpoint(self) -> str:
        """Where the program under test asks."""
        return self.endpoint_of(self.vm)

    def endpoint_of(self, vm: str) -> str:
        """Where `vm` asks."""
        return f"{self.base}/vm/{vm_of(self.fleet, vm)}"

    @property
    def mark_url(self) -> str:
        """Where a program POSTs what it has done."""
        return f"{self.base}{MARKS}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program under test finds in its environment."""
        return {"FOREWARN_ENDPOINT": self.endpoint, "FOREWARN_MARK_URL": self.mark_url}

    def run(
        self,
        *command: str,
        environment: Mapping[str, str] | None = None,
        output: str | None = None,
    ) -> Program:
        """Run a program that finds the way here, until the `with` block ends.

        Its output goes to the file `output`; None: it is shown if the test fails.
        """
        program = Program(
            command,
            {**self.environment, **(environment or {})},
            output=output,
            on_end=self.watching.ring,
        )
        self.programs.append(program)
        return program

    @property
    def control(self) -> str:
        """The address of the control API, which starts when it is first asked for."""
        with self._controlling:
            if not self.system.control:
                self.system.open_control()
            return self.system.control

    @property
    def token(self) -> str:
        """What the control API is asked with."""
        return self._token

    # --- the clock -----------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The service's time."""
        return self.system.engine.clock.now()

    def advance(self, by: str | float | timedelta) -> datetime:
        """Move the clock on; everything that falls due on the way happens."""
        return self.system.advance.by(duration_of(by))

    def advance_to_start(self, event: Event) -> datetime:
        """Move the clock on until the maintenance behind `event` starts."""
        return move_to_start(self.system, event)

    def advance_to_end(self, event: Event) -> datetime:
        """Move the clock on until the maintenance behind `event` is over."""
        return move_to_end(self.system, event)

    def outage(self, lasts: str | float | timedelta) -> datetime:
        """Let the service have been away for that long by its clock."""
        return be_away(self.system, duration_of(lasts))

    # --- what happens --------------------------------------------------------

    def announce(
        self, kind: EventType | str, *vms: str, **options: Unpack[Options]
    ) -> Sequence[Event]:
        """Announce a maintenance of `vms`, a host or a group; answer every event."""
        order = order_of(kind, vms, options)
        made = self.system.engine.announce(order, by=BY)
        return events_of(self.system, self.watching, made)

    def operate(self, operation: Operation | str, vm: str) -> Event:
        """Restart, redeploy, reimage, evict or delete `vm`."""
        operation = operation_of(operation)
        order = order_for(operation, vm)
        return self._seen(self.system.causes.operate(operation, order, by=BY))

    def freeze(self, vm: str | None = None, **options: Unpack[Options]) -> Event:
        """Announce a Freeze of `vm`, a host or a group."""
        return self._one(EventType.FREEZE, vm, options)

    def reboot(self, vm: str | None = None, **options: Unpack[Options]) -> Event:
        """Announce a Reboot of `vm`, a host or a group."""
        return self._one(EventType.REBOOT, vm, options)

    def redeploy(self, vm: str | None = None, **options: Unpack[Options]) -> Event:
        """Announce a Redeploy of `vm`, a host or a group."""
        return self._one(EventType.REDEPLOY, vm, options)

    def preempt(self, vm: str | None = None, **options: Unpack[Options]) -> Event:
        """Announce a Preempt of `vm`, a host or a group."""
        return self._one(EventType.PREEMPT, vm, options)

    def terminate(self, vm: str | None = None, **options: Unpack[Options]) -> Event:
        """Announce a Terminate of `vm`, a host or a group."""
        return self._one(EventType.TERMINATE, vm, options)

    def _one(self, kind: EventType, vm: str | None, options: Options) -> Event:
        targets = "host" in options or "group" in options
        vms = () if vm is None and targets else (self.vm if vm is None else vm,)
        events = self.announce(kind, *vms, **options)
        return seen_by(self.vm, self.fleet, events)

    def _seen(self, made: Sequence[Maintenance]) -> Event:
        events = events_of(self.system, self.watching, made)
        return seen_by(self.vm, self.fleet, events)

    # --- what goes wrong on the way ------------------------------------------

    def fault(self, kind: str, **options: Unpack[FaultOptions]) -> str:
        """Let the metadata plane misbehave; answer the id of the fault."""
        return self.set_fault(fault_from(kind, options))

    def set_fault(self, fault: Fault) -> str:
        """Let the metadata plane misbehave; answer the id of the fault."""
        return self.system.plane.add_fault(fault, by=BY).id

    def clear_faults(self, id_: str | None = None) -> None:
        """Let it behave again; if `id_` is given, as far as that fault goes."""
        self.system.plane.clear_faults(id_)

    # --- what was seen -------------------------------------------------------

    def mark(self, name: str) -> None:
        """Take down that `name` was done."""
        self.watching.mark(name)

    @property
    def marks(self) -> Sequence[Mark]:
        """Every mark so far."""
        return self.watching.marks

    @property
    def requests(self) -> Sequence[Asked]:
        """Every request to the metadata plane so far."""
        return self.watching.asked

    def wait_marked(
        self, name: str, within: str | float | timedelta = "10s", *, times: int = 1
    ) -> None:
        """Wait, in real time, until `name` was marked, `times` in all."""
        __tracebackhide__ = True
        wait_marked(self.system.engine, self.watching, name, within, times)

    def wait_polled(
        self,
        within: str | float | timedelta = "10s",
        *,
        by: str | None = None,
        times: int = 1,
    ) -> None:
        """Wait, in real time, until `by`, or the program's VM, asks again."""
        __tracebackhide__ = True
        vm = vm_of(self.fleet, by or self.vm)
        wait_polled(self.system.engine, self.watching, vm, within, times)

    def journal(self) -> Sequence[Entry]:
        """Every fact so far."""
        return journal_of(self.system.engine)

    def timeline(self) -> str:
        """Tell what happened so far in a few lines."""
        return tell(self.system.engine, self.watching)
