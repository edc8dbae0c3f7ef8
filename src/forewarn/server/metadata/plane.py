"""The metadata plane: sockets, one event loop in one thread, and a pool for POSTs.

The loop runs nothing but the metadata plane. Only the loop touches the directory and
the connections; other threads pass it work.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from random import random
from threading import Event, Lock, Thread
from typing import Protocol

import uvloop

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.engine.readers.follower import FailureLog
from forewarn.errors import Unavailable
from forewarn.ports import Clock
from forewarn.server.metadata.directory import Waiter
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.faults.injection import FaultInjector
from forewarn.server.metadata.faults.model import Fault, FaultKind
from forewarn.server.metadata.faults.observer import RequestObserver
from forewarn.server.metadata.handler import (
    ApproveFirst,
    Deferred,
    EnableFirst,
    MetadataHandler,
)
from forewarn.server.metadata.limits import Admission, ConnectionLimits
from forewarn.server.metadata.transport.connection import MetadataConnection
from forewarn.server.metadata.transport.http1 import HeadCache
from forewarn.server.metadata.transport.listener import Listener
from forewarn.server.metadata.transport.responses import ResponseHead
from forewarn.server.metadata.waits import FirstRequestDelay, LongPollTimer

_LAST_ANSWERS = 1.5  # seconds that `stop` waits for responses in progress
_POOL = 4
_WOKEN_AT_ONCE = 500  # held requests per turn of the loop


class EngineCommands(Protocol):
    """Engine commands that the metadata plane needs."""

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        """Approve events: all of them or none."""

    def listen(self, groups: Sequence[str]) -> None:
        """Enable Scheduled Events for `groups`."""


class MetadataPlane:
    """Serves /metadata/... on a set of sockets."""

    alarm: LongPollTimer  # this and the next two exist once the loop runs
    first_calls: FirstRequestDelay
    inflicting: FaultInjector

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        desk: MetadataHandler,
        commands: EngineCommands,
        clock: Clock,
        limit: ConnectionLimits,
        *,
        chance: Callable[[], float] = random,
        on_faults: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve from `desk`, write through `commands`, draw faults with `chance`.

        `on_faults` is called when the active faults have changed.
        """
        self.desk = desk
        self.memo = HeadCache()
        self.witness: RequestObserver | None = (
            None  # of a rehearsal; None if nothing observes
        )
        self.second = 0  # counted by the sweep, not by a clock
        self.faults = ActiveFaults(chance)
        self.is_faulty = False  # whether any fault is active
        self._on_faults = on_faults
        self._door = Listener(sockets, lambda: MetadataConnection(self))
        self._commands = commands
        self._clock = clock
        self.limit = limit
        self._wires: set[MetadataConnection] = set()
        # By group: connections whose request waits until the group is enabled.
        self._silent: dict[str, list[MetadataConnection]] = {}
        self._is_hearing = False
        # Set when the last connection has ended; None unless stopping.
        self._gone: asyncio.Event | None = None
        self._failures = FailureLog("requests of VMs", "they are told to try again")
        self._gate = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(_POOL, thread_name_prefix="approve")
        self._ready = Event()
        self._thread = Thread(target=self._run, name="metadata", daemon=True)

    # --- from other threads --------------------------------------------------

    def start(self) -> None:
        """Start serving; return when connections are accepted."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Stop accepting, finish responses in progress, and end the thread."""
        loop = self._loop
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._leave(), loop).result()
        self._pool.shutdown(cancel_futures=True)  # queued work was not acknowledged
        with self._gate:
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)
        self._thread.join()

    def hand_over(self, update: DocumentUpdate) -> None:
        """Apply `update`; return when clients can see it."""
        self._on_loop(lambda: self._take_in(update))

    def restamp(self) -> None:
        """Show the clock's current time; return when clients can see it."""
        self._on_loop(self._stamp)

    def add_fault(self, fault: Fault, *, by: str) -> ActiveFault:
        """Activate `fault`; `by` is the name of its creator."""
        added: list[ActiveFault] = []
        at = self._clock.now()
        self._on_loop(lambda: added.append(self.inflicting.add(fault, by=by, at=at)))
        return added[0]

    def clear_faults(self, id_: str | None = None) -> None:
        """End the fault `id_`, or all faults."""
        self._on_loop(lambda: self.inflicting.clear(id_))

    def _on_loop(self, act: Callable[[], None]) -> None:
        done: Future[None] = Future()

        def run() -> None:
            try:
                act()
            except BaseException as problem:
                done.set_exception(problem)
            else:
                done.set_result(None)

        with self._gate:  # so that nothing is scheduled on a stopped loop
            if self._loop is None:
                run()
            else:
                self._loop.call_soon_threadsafe(run)
        done.result()

    # --- on the loop ---------------------------------------------------------

    def _run(self) -> None:
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        self.alarm = LongPollTimer(loop)
        self.first_calls = FirstRequestDelay(loop, self.desk, self._wake)
        self.inflicting = FaultInjector(
            loop,
            self.desk,
            self.faults,
            changed=self._misbehave,
            wake=self._wake,
            let_go=self.alarm.let_all_go,
        )
        self._loop = loop
        loop.run_until_complete(self._door.open())
        self._stamp()
        self._tick()
        self._sweep()
        self._ready.set()
        loop.run_forever()
        loop.close()

    async def _leave(self) -> None:
        self._gone = asyncio.Event()
        self._door.close()
        for wire in [*self._wires]:
            wire.leave()
        if self._wires:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), _LAST_ANSWERS)
        for wire in [*self._wires]:
            wire.abort()
        await asyncio.sleep(0)

    def _take_in(self, update: DocumentUpdate) -> None:
        self._stamp()  # woken clients get the time of the change
        self._wake(self.desk.directory.update(update))

    def _stamp(self) -> None:
        kinds = self.faults.kinds if self.is_faulty else ()
        self.desk.stamp = ResponseHead(self._clock.now(), self._clock.name, kinds)

    def _misbehave(self) -> None:
        """Apply a change of the active faults."""
        kinds = self.faults.kinds
        self.is_faulty = bool(kinds)
        self._stamp()
        is_refused = FaultKind.REFUSED in kinds
        if self._door.set_shut(is_shut=is_refused) and is_refused:
            for wire in [*self._wires]:
                wire.reset()
        self._on_faults()

    def _tick(self) -> None:
        """Stamp every second of the service's clock, at most ten times a second."""
        loop = asyncio.get_event_loop()
        self._stamp()
        wait = 1 - self._clock.now().microsecond / 1_000_000
        loop.call_later(max(wait / self._clock.rate, 0.1), self._tick)

    def _sweep(self) -> None:
        # First, so that an error below cannot end the sweep.
        asyncio.get_event_loop().call_later(1, self._sweep)
        self.second += 1
        for wire in [*self._wires]:
            wire.check(self.second)

    def admit(self, wire: MetadataConnection, caller: str | None) -> Admission:
        """Track `wire`, unless there are too many connections."""
        if self._gone is not None:  # accepted just before the sockets closed
            return Admission.DROPPED
        verdict = self.limit.admit(caller)
        if verdict is not Admission.DROPPED:
            self._wires.add(wire)
        return verdict

    def release(
        self, wire: MetadataConnection, caller: str | None, verdict: Admission
    ) -> None:
        """Forget `wire`, which got `verdict`."""
        self.limit.release(caller, verdict)
        self._wires.discard(wire)
        if self._gone is not None and not self._wires:
            self._gone.set()

    def _wake(self, waiters: Sequence[Waiter]) -> None:
        """Wake held requests, `_WOKEN_AT_ONCE` per turn of the loop."""
        for waiter in waiters[:_WOKEN_AT_ONCE]:
            waiter.wake()
        if len(waiters) > _WOKEN_AT_ONCE:
            rest = waiters[_WOKEN_AT_ONCE:]
            asyncio.get_running_loop().call_soon(self._wake, rest)

    def defer(self, wire: MetadataConnection, deferred: Deferred) -> None:
        """Do what must be done before the response to `wire`."""
        if isinstance(deferred, EnableFirst):
            self._silent.setdefault(deferred.group, []).append(wire)
            self._hear()
        elif isinstance(deferred, ApproveFirst):
            vm, events, delay = deferred.vm, deferred.events, deferred.delay
            self._in_pool(
                lambda: self._commands.approve_as_vm(vm, events),
                lambda problem: wire.approved(problem, delay),
            )

    def _hear(self) -> None:
        """Enable groups in one batch; groups that poll meanwhile share the next."""
        if self._is_hearing or not self._silent:
            return
        self._is_hearing = True
        waiting, self._silent = self._silent, {}

        def heard(problem: Exception | None) -> None:
            self._is_hearing = False
            for group, wires in waiting.items():
                self._begin(group)
                for wire in wires:
                    wire.heard(problem)
            self._hear()

        self._in_pool(lambda: self._commands.listen([*waiting]), heard)

    def _begin(self, group: str) -> None:
        hearing = self.desk.directory.hearing(group)
        if hearing is not None:  # the group may have left the fleet meanwhile
            self.first_calls.begin(hearing)

    def _in_pool(
        self, work: Callable[[], None], done: Callable[[Exception | None], None]
    ) -> None:
        loop = asyncio.get_event_loop()

        def run() -> None:
            problem: Exception | None = None
            try:
                work()
                self._failures.succeeded()
            except Unavailable as error:
                self._failures.failed(error)
                problem = error
            except Exception as error:
                problem = error
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done, problem)

        self._pool.submit(run)
