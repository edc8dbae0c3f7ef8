"""The metadata plane: sockets, one event loop in one thread, and a pool for POSTs.

The loop runs only the metadata plane. Only the loop accesses the directory and the
connections; other threads pass work to it.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Lock
from typing import Protocol, TypeVar

import uvloop

from forewarn.core.health import ThreadHealth
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.ports import Clock
from forewarn.server.metadata.directory import Waiter
from forewarn.server.metadata.handler import (
    ApproveFirst,
    Deferred,
    EnableFirst,
    MetadataHandler,
)
from forewarn.server.metadata.limits import (
    Admission,
    ApprovalQueue,
    ConnectionLimits,
    LimitedVm,
    MetadataLimit,
    TurnQueue,
)
from forewarn.server.metadata.transport.connection import MetadataConnection
from forewarn.server.metadata.transport.http1 import HeadCache
from forewarn.server.metadata.transport.listener import Listener
from forewarn.server.metadata.transport.responses import ResponseHead
from forewarn.server.metadata.waits import FirstRequestDelay, LongPollTimer
from forewarn.server.plane_thread import PlaneThread

_T = TypeVar("_T")

_STOP_TIMEOUT = 1.5  # seconds that `stop` waits for responses in progress
_POOL = 4  # threads; one is reserved for enabling groups
_WOKEN_AT_ONCE = 500  # held requests per turn of the loop
_CACHE_SECONDS = 60  # seconds after which unused heads are dropped


class EngineCommands(Protocol):
    """Engine commands that the metadata plane requires."""

    def approve_as_vm(
        self, vm_name: str, event_ids: Sequence[str], *, are_shown: bool
    ) -> None:
        """Approve events: all of them or none.

        `are_shown` means that all of them are in the VM's document.
        """

    def listen(self, groups: Sequence[str]) -> None:
        """Enable Scheduled Events for `groups`."""


class MetadataPlane:
    """Serves /metadata/... on a set of sockets."""

    long_polls: LongPollTimer  # these exist once the loop runs
    first_requests: FirstRequestDelay
    turns: TurnQueue

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        handler: MetadataHandler,
        commands: EngineCommands,
        clock: Clock,
        limits: ConnectionLimits,
    ) -> None:
        """Create a plane that serves from `handler` and writes through `commands`."""
        self.handler = handler
        self.head_cache = HeadCache()
        self.limits = limits
        self.second = 0  # counted by the sweep, not by a clock
        self._listener = Listener(sockets, self._connect)
        self._commands = commands
        self._clock = clock
        self._connections: set[MetadataConnection] = set()
        # Groups to enable, by the connections whose requests wait for them.
        self._disabled: dict[MetadataConnection, str] = {}
        self._is_enabling = False
        self._writes = 0  # in progress in the pool
        self._approvals = ApprovalQueue[tuple[MetadataConnection, ApproveFirst]](
            self._approve, _POOL - 1
        )
        # Set when the last connection has ended; None unless stopping.
        self._all_closed: asyncio.Event | None = None
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(_POOL, thread_name_prefix="approve")
        self._thread = PlaneThread("metadata", self._run)

    # --- from other threads --------------------------------------------------

    def start(self) -> None:
        """Start serving; return once connections are accepted."""
        try:
            self._start_pool()
            self._thread.start()
        except BaseException:
            self._pool.shutdown()
            raise

    def _start_pool(self) -> None:
        """Start all threads now, because a later failure would lose a request."""
        all_started = Barrier(_POOL)
        try:
            for _ in range(_POOL):
                self._pool.submit(all_started.wait)
        except RuntimeError:  # too many threads
            all_started.abort()
            raise

    @property
    def health(self) -> ThreadHealth:
        """The state of the plane's thread."""
        return self._thread.health

    def stop(self) -> None:
        """Stop accepting, finish responses in progress, and end the thread."""
        loop = self._loop
        if loop is None or not self.health.is_alive:
            return
        asyncio.run_coroutine_threadsafe(self._leave(), loop).result()
        self._pool.shutdown(cancel_futures=True)  # queued work was not acknowledged
        with self._lock:
            self._loop = None
        self._thread.stop(lambda: loop.call_soon_threadsafe(loop.stop))

    def apply_update(self, update: DocumentUpdate) -> None:
        """Apply `update`; return once clients can see it."""
        self._on_loop(lambda: self._apply_update(update))

    def refresh_head(self) -> None:
        """Show the clock's current time; return once clients can see it."""
        self._on_loop(self._refresh_head)

    def limited(self) -> Sequence[LimitedVm]:
        """Return the VMs in the fleet that exceeded limits in the last hour."""
        find = self.handler.directory.find
        recent = self.handler.refusals.recent(self._clock.now())
        return [vm for vm in recent if find("", vm.name) is not None]

    def _on_loop(self, work: Callable[[], _T]) -> _T:
        done: Future[_T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as problem:
                done.set_exception(problem)

        with self._lock:  # so that nothing is scheduled on a stopped loop
            if self._loop is None:
                run()
            else:
                self._loop.call_soon_threadsafe(run)
        return done.result()

    # --- from connections, on the loop ---------------------------------------

    def admit(self, connection: MetadataConnection, caller: str | None) -> Admission:
        """Track `connection`, unless there are too many."""
        if self._all_closed is not None:  # accepted just before the sockets closed
            return Admission.FULL
        admission = self.limits.admit(caller)
        if admission.is_open:
            self._connections.add(connection)
        return admission

    def release(
        self, connection: MetadataConnection, caller: str | None, admission: Admission
    ) -> None:
        """Forget `connection`, which was given `admission`."""
        self.limits.release(caller, admission)
        self._connections.discard(connection)
        self._disabled.pop(connection, None)
        if self._all_closed is not None and not self._connections:
            self._all_closed.set()

    def defer(self, connection: MetadataConnection, deferred: Deferred) -> None:
        """Start the work that must be done before `connection` can get its response."""
        if isinstance(deferred, EnableFirst):
            self._disabled[connection] = deferred.group
            self._enable_groups()
        elif isinstance(deferred, ApproveFirst):
            approval = connection, deferred
            if not self._approvals.add(deferred.group, deferred.vm, approval):
                self.handler.count_refusal(MetadataLimit.APPROVALS, deferred.vm)
                connection.refuse_approval()

    # --- on the loop ---------------------------------------------------------

    def _run(self, be_ready: Callable[[], None]) -> None:
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        self._use_loop(loop)
        self._loop = loop
        loop.run_until_complete(self._listener.open())
        self._refresh_head()
        self._tick()
        self._sweep()
        be_ready()
        loop.run_forever()
        loop.close()

    def _use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Create everything that needs `loop`."""
        self.turns = TurnQueue(loop.call_later, lambda: self._writes > 0)
        self.long_polls = LongPollTimer(loop)
        self.first_requests = FirstRequestDelay(loop, self.handler, self._wake)

    def _connect(self) -> MetadataConnection:
        return MetadataConnection(self)

    async def _leave(self) -> None:
        self._all_closed = asyncio.Event()
        self._listener.close()
        for connection in [*self._connections]:
            connection.leave()
        if self._connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), _STOP_TIMEOUT)
        for connection in [*self._connections]:
            connection.abort()
        await asyncio.sleep(0)

    def _apply_update(self, update: DocumentUpdate) -> None:
        self._refresh_head()  # woken clients get the time of the change
        self._wake(self.handler.directory.update(update))

    def _refresh_head(self) -> None:
        self.handler.head = ResponseHead(self._clock.now(), self._clock.name)

    def _tick(self) -> None:
        """Refresh the head whenever a new second of the clock begins.

        With a fast clock, this happens at most ten times per second of real time.
        """
        loop = asyncio.get_event_loop()
        self._refresh_head()
        wait = 1 - self._clock.now().microsecond / 1_000_000
        loop.call_later(max(wait / self._clock.rate, 0.1), self._tick)

    def _sweep(self) -> None:
        # First, so that an error below cannot end the sweep.
        asyncio.get_event_loop().call_later(1, self._sweep)
        self.second += 1
        if self.second % _CACHE_SECONDS == 0:
            self.head_cache.drop_unused()
        for connection in [*self._connections]:
            connection.check(self.second)

    def _wake(self, waiters: Sequence[Waiter]) -> None:
        """Wake held requests, `_WOKEN_AT_ONCE` per turn of the loop."""
        for waiter in waiters[:_WOKEN_AT_ONCE]:
            waiter.wake()
        if len(waiters) > _WOKEN_AT_ONCE:
            rest = waiters[_WOKEN_AT_ONCE:]
            asyncio.get_running_loop().call_soon(self._wake, rest)

    def _enable_groups(self) -> None:
        """Enable a batch of groups; groups that poll meanwhile join the next batch."""
        if self._is_enabling or not self._disabled:
            return
        self._is_enabling = True
        waiting, self._disabled = self._disabled, {}
        groups = [*dict.fromkeys(waiting.values())]

        def done(problem: Exception | None) -> None:
            self._is_enabling = False
            for group in groups:
                group_state = self.handler.directory.group_state(group)
                if group_state is not None:  # the group may have left the fleet
                    self.first_requests.start(group_state)
            for connection in waiting:
                connection.enabled(problem)
            self._enable_groups()

        self._in_pool(lambda: self._commands.listen(groups), done)

    def _approve(self, queued: tuple[MetadataConnection, ApproveFirst]) -> None:
        connection, approval = queued

        def work() -> None:
            self._commands.approve_as_vm(
                approval.vm, approval.events, are_shown=approval.are_shown
            )

        def done(problem: Exception | None) -> None:
            self._approvals.finish(approval.vm)  # first: an error below cannot stop it
            connection.approved(problem, approval.delay)

        self._in_pool(work, done)

    def _in_pool(
        self, work: Callable[[], None], done: Callable[[Exception | None], None]
    ) -> None:
        loop = asyncio.get_event_loop()

        def finish(problem: Exception | None) -> None:
            self._writes -= 1
            done(problem)

        def run() -> None:
            problem: Exception | None = None
            try:
                work()
            except Exception as error:
                problem = error
            with suppress(RuntimeError):  # the loop has ended in the meantime
                loop.call_soon_threadsafe(finish, problem)

        self._writes += 1
        self._pool.submit(run)
