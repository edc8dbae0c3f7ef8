"""The metadata plane: sockets, one loop in one thread, and a small pool for POSTs.

The loop runs nothing but the metadata plane. Only it touches the directory and the
connections; others hand it what to do.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Protocol, cast

import uvloop

from forewarn.engine.documents import Update
from forewarn.errors import ForewarnError, Unavailable
from forewarn.ports import Clock
from forewarn.server.http import Connection, Memo, State
from forewarn.server.identity import plain_address
from forewarn.server.metadata import Approve, Deferred, Desk, Listen
from forewarn.server.requests import Request
from forewarn.server.responses import CLOSE, Response, Stamp, error

_log = logging.getLogger(__name__)

_HEAD_TIMEOUT = 10  # seconds from the first byte to the end of a request
_IDLE_TIMEOUT = 75  # seconds without a request
_DRAIN_TIMEOUT = 2  # seconds that unwanted input is read and dropped
_MOST_DRAINED = 1024 * 1024
_LAST_ANSWERS = 2.0  # seconds that a stop waits for answers under way
_POOL = 4

_IDLE = State.IDLE  # looking it up in the class costs more than the comparison

_BUSY = error(503, "The service cannot write at the moment; try again", Retry_After="5")
_BROKEN = error(500, "The service failed; its log says why")
_TOO_SLOW = error(408, "The request took too long to arrive")


class Commands(Protocol):
    """What the metadata plane asks of the engine."""

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        """Approve events, all or none of them."""

    def listen(self, groups: Sequence[str]) -> None:
        """Begin listening."""


class MetadataPlane:
    """Serves /metadata/... on some sockets."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        desk: Desk,
        commands: Commands,
        clock: Clock,
    ) -> None:
        """Answer from `desk`; send what writes to `commands`."""
        self.desk = desk
        self.memo = Memo()
        self.second = 0  # counted by the sweep, not by a clock
        self._sockets = sockets
        self._commands = commands
        self._clock = clock
        self._wires: set[Wire] = set()
        self._servers: list[asyncio.Server] = []
        self._silent: dict[str, list[Wire]] = {}  # groups that wait to be heard
        self._is_hearing = False
        self._gone: asyncio.Event | None = None  # the last wire, when we leave
        self._gate = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(_POOL, thread_name_prefix="approve")
        self._ready = Event()
        self._thread = Thread(target=self._run, name="metadata", daemon=True)

    # --- from other threads --------------------------------------------------

    def start(self) -> None:
        """Begin to answer; return when connections are accepted."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Stop accepting, give the answers under way, and end."""
        loop = self._loop
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._leave(), loop).result()
        self._pool.shutdown(cancel_futures=True)  # what waits was not acknowledged
        with self._gate:
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)
        self._thread.join()

    def hand_over(self, update: Update) -> None:
        """Take in what is different; return when callers can see it."""
        self._on_loop(lambda: self.desk.directory.update(update))

    def restamp(self) -> None:
        """Show the clock's time from now on; return when callers can see it."""
        self._on_loop(self._stamp)

    def _on_loop(self, act: Callable[[], None]) -> None:
        done: Future[None] = Future()

        def run() -> None:
            try:
                act()
            except BaseException as problem:
                done.set_exception(problem)
            else:
                done.set_result(None)

        with self._gate:  # so that nothing is handed to a loop that has stopped
            if self._loop is None:
                run()
            else:
                self._loop.call_soon_threadsafe(run)
        done.result()

    # --- on the loop ---------------------------------------------------------

    def _run(self) -> None:
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        self._loop = loop
        loop.run_until_complete(self._listen())
        self._stamp()
        self._tick()
        self._sweep()
        self._ready.set()
        loop.run_forever()
        loop.close()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for each in self._sockets:
            server = await loop.create_server(
                lambda: Wire(self), sock=each, backlog=4096
            )
            self._servers.append(server)

    async def _leave(self) -> None:
        for server in self._servers:
            server.close()
        for wire in [*self._wires]:
            wire.leave()
        if self._wires:
            self._gone = asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), _LAST_ANSWERS)
        for wire in [*self._wires]:
            wire.abort()
        await asyncio.sleep(0)

    def _stamp(self) -> None:
        self.desk.stamp = Stamp(self._clock.now(), self._clock.name)

    def _tick(self) -> None:
        """Stamp once a second of the service's clock, ten times a second at most."""
        loop = asyncio.get_event_loop()
        self._stamp()
        wait = 1 - self._clock.now().microsecond / 1_000_000
        loop.call_later(max(wait / self._clock.rate, 0.1), self._tick)

    def _sweep(self) -> None:
        self.second += 1
        for wire in [*self._wires]:
            wire.check(self.second)
        asyncio.get_event_loop().call_later(1, self._sweep)

    def add(self, wire: "Wire") -> None:
        """Watch over `wire`."""
        self._wires.add(wire)

    def remove(self, wire: "Wire") -> None:
        """Forget `wire`."""
        self._wires.discard(wire)
        if self._gone is not None and not self._wires:
            self._gone.set()

    def defer(self, wire: "Wire", deferred: Deferred) -> None:
        """Do what must be done before `wire` is answered."""
        if isinstance(deferred, Listen):
            self._silent.setdefault(deferred.group, []).append(wire)
            self._hear()
        else:
            self._in_pool(
                lambda: self._commands.approve_as_vm(deferred.vm, deferred.events),
                lambda problem: wire.approved(deferred, problem),
            )

    def _hear(self) -> None:
        """Let silent groups begin; those that ask meanwhile share the next turn."""
        if self._is_hearing or not self._silent:
            return
        self._is_hearing = True
        waiting, self._silent = self._silent, {}

        def heard(problem: Exception | None) -> None:
            self._is_hearing = False
            for wires in waiting.values():
                for wire in wires:
                    wire.heard(problem)
            self._hear()

        self._in_pool(lambda: self._commands.listen([*waiting]), heard)

    def _in_pool(
        self, work: Callable[[], None], done: Callable[[Exception | None], None]
    ) -> None:
        loop = asyncio.get_event_loop()

        def run() -> None:
            problem: Exception | None = None
            try:
                work()
            except Exception as error:
                problem = error
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done, problem)

        self._pool.submit(run)


class Wire(asyncio.Protocol):
    """One connection's socket."""

    def __init__(self, plane: MetadataPlane) -> None:
        """Belong to `plane`."""
        self._plane = plane
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._connection: Connection[Deferred] = Connection(self, plane.memo)
        self._since = plane.second  # when the present state began
        self._drained = 0
        self._is_leaving = False

    # --- the application that the connection asks ----------------------------

    def answer(self, request: Request, body: bytes) -> bytes | Deferred:
        """Answer for the address of this connection."""
        return self._plane.desk.answer(request, body, self._address)

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Write the last answer of this connection."""
        return self._plane.desk.stamp.render(response, CLOSE, is_head=is_head)

    # --- the socket ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = plain_address(str(peer[0])) if peer else ""
        self._plane.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        del exc
        self._plane.remove(self)
        self._connection.state = State.CLOSED
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Give bytes to the connection."""
        connection = self._connection
        before = connection.state
        if before is _IDLE and self._transport is not None:
            written = connection.receive(data)
            if written and connection.state is _IDLE:  # the hot path
                self._since = self._plane.second
                self._transport.write(written)
                return
            self._settle(before, written)
            return
        if before is State.DRAIN:
            self._drained += len(data)
            if self._drained > _MOST_DRAINED and self._transport is not None:
                self._transport.pause_reading()  # the sweep ends it
            return
        self._settle(before, connection.receive(data))

    def _settle(self, before: State, written: bytes) -> None:
        if written or self._connection.state is not before:
            self._since = self._plane.second
        self._write(written)

    def eof_received(self) -> bool:
        """Finish the answer under way, if there is one."""
        if self._connection.state is State.BUSY:
            self._is_leaving = True
            return True
        return False

    def pause_writing(self) -> None:
        """Take no more requests from somebody who does not read the answers."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Take requests again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def _write(self, written: bytes) -> None:
        transport, connection = self._transport, self._connection
        if transport is None:
            return
        if written:
            transport.write(written)
        state = connection.state
        if state is State.BUSY:
            deferred, connection.deferred = connection.deferred, None
            if deferred is not None:
                self._plane.defer(self, deferred)
        elif state is State.DRAIN:
            if transport.can_write_eof():
                transport.write_eof()
        elif state is State.CLOSED or self._is_leaving:
            transport.close()

    def heard(self, problem: Exception | None) -> None:
        """Answer after the group has begun to listen."""
        self._resume(lambda request: self._after_listening(request, problem))

    def approved(self, deferred: Approve, problem: Exception | None) -> None:
        """Answer after the events were approved, or not."""
        del deferred
        self._resume(lambda request: self._after_approval(request, problem))

    def _resume(self, answer: Callable[[Request], bytes | Deferred]) -> None:
        connection = self._connection
        if connection.state is State.BUSY:
            self._since = self._plane.second
            self._write(connection.resume(answer(connection.request)))

    def _after_listening(
        self, request: Request, problem: Exception | None
    ) -> bytes | Deferred:
        if problem is not None:
            return self._plane.desk.write(request, _failure(problem))
        return self.answer(request, self._connection.body)

    def _after_approval(self, request: Request, problem: Exception | None) -> bytes:
        response = Response(200) if problem is None else _failure(problem)
        return self._plane.desk.write(request, response)

    # --- the sweep -----------------------------------------------------------

    def check(self, second: int) -> None:
        """Close the connection if nothing has come of it for too long."""
        state, waited = self._connection.state, second - self._since
        if state in (State.HEAD, State.BODY) and waited > _HEAD_TIMEOUT:
            self._since = second
            self._write(self._connection.fail(_TOO_SLOW))
        elif state is State.IDLE and waited > _IDLE_TIMEOUT:
            self.leave()
        elif state in (State.DRAIN, State.CLOSED) and waited > _DRAIN_TIMEOUT:
            self.abort()

    def leave(self) -> None:
        """Close as soon as the answer under way is given."""
        self._is_leaving = True
        if self._transport is not None and self._connection.state is not State.BUSY:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()


def _failure(problem: Exception) -> Response:
    if isinstance(problem, Unavailable):
        _log.error("a request could not be carried out: %s", problem)
        return _BUSY
    if isinstance(problem, ForewarnError):
        return error(400, f"Bad request. {problem}")
    _log.error("a request failed", exc_info=problem)
    return _BROKEN
