"""Connections to the metadata plane without sockets, event loop or real time."""

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import cast

from tests.server.support.dialogs import ParsedResponse, a_request, read
from tests.server.support.handlers import EVENTS, HandlerHarness, a_harness

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.directory import Waiter
from forewarn.server.metadata.faults.active import ActiveFaults
from forewarn.server.metadata.faults.injection import FaultInjector
from forewarn.server.metadata.faults.observer import RequestObserver
from forewarn.server.metadata.faults.plane import (
    InstrumentedConnection,
    InstrumentedPlane,
)
from forewarn.server.metadata.handler import Deferred
from forewarn.server.metadata.limits import Admission, ConnectionLimits, TurnQueue
from forewarn.server.metadata.transport.connection import MetadataConnection
from forewarn.server.metadata.transport.http1 import HeadCache
from forewarn.server.metadata.transport.responses import ResponseHead
from forewarn.server.metadata.waits import FirstRequestDelay, LongPollTimer


class SocketOptions:
    """The only socket option that is ever set, SO_LINGER."""

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def setsockopt(self, level: int, name: int, value: bytes) -> None:
        assert (level, name) == (socket.SOL_SOCKET, socket.SO_LINGER)
        is_on, seconds = struct.unpack("ii", value)
        assert is_on
        self._done.append(f"linger {seconds}")


class RecordingTransport(asyncio.Transport):
    """A transport that records calls; its client reads unless `is_read` is off."""

    def __init__(self, peer: str, wire: MetadataConnection) -> None:
        self.written = b""
        self.done: list[str] = []
        super().__init__(
            {"peername": (peer, 12345), "socket": SocketOptions(self.done)}
        )
        self.is_read = True
        self.is_paused = False
        self.unread = 0  # bytes
        self._wire = wire

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)
        if self.is_read:
            return
        was_full = self.unread > 64 * 1024
        self.unread += len(data)
        if not was_full and self.unread > 64 * 1024:
            self._wire.pause_writing()

    def read_all(self) -> None:
        """Read everything written so far, then nothing again."""
        was_full = self.unread > 64 * 1024
        self.unread = 0
        if was_full:
            self._wire.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.unread

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.done.append("write_eof")

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")

    def is_closing(self) -> bool:
        return not {"close", "abort"}.isdisjoint(self.done)

    def pause_reading(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            self.done.append("pause")

    def resume_reading(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.done.append("resume")


class ManualLoop:
    """An event loop whose time passes only in `wait` and `step`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._calls: list[tuple[float, Callable[[], None]]] = []
        self._soon: list[Callable[[], None]] = []
        self._is_running = False

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` now, or after the one that is running."""
        self._soon.append(callback)
        if not self._is_running:
            self._is_running = True
            while self._soon:
                self._soon.pop(0)()
            self._is_running = False

    def time(self) -> float:
        return self.now

    def call_at(
        self, when: float, callback: Callable[[], None], /
    ) -> asyncio.TimerHandle:
        call = (when, callback)
        self._calls.append(call)
        return cast(asyncio.TimerHandle, TimerHandle(lambda: self._cancel(call)))

    def _cancel(self, call: tuple[float, Callable[[], None]]) -> None:
        if call in self._calls:  # it has not fired
            self._calls.remove(call)

    @property
    def alarms(self) -> list[float]:
        """Return the seconds until each timer fires."""
        return sorted(when - self.now for when, _ in self._calls)

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self._calls and min(when for when, _ in self._calls) <= end:
            self.step()
        self.now = end

    def step(self) -> None:
        """Fire the next timer at its time."""
        first = min(self._calls, key=lambda call: call[0])
        self._calls.remove(first)
        self.now = max(self.now, first[0])
        first[1]()


class TimerHandle:
    """Handle of a timer that can be canceled."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.cancel = cancel


class FakePlane:
    """A metadata plane whose time and documents are changed by the test."""

    def __init__(
        self,
        harness: HandlerHarness | None = None,
        observer: RequestObserver | None = None,
        *,
        per_vm: int = 9,
        total: int = 99,
    ) -> None:
        self.reception = harness or a_harness()
        self.handler = self.reception.handler
        self.head_cache = HeadCache()
        self.loop = ManualLoop()
        self.turns = TurnQueue(
            lambda _, serve: self.loop.call_soon(serve), lambda: False
        )
        self.long_polls = LongPollTimer(self.loop)
        self.first_requests = FirstRequestDelay(self.loop, self.handler, self._wake)
        self.observer = observer
        self.is_instrumented = observer is not None
        self.faults = ActiveFaults(Random(0).random)
        self.injector = FaultInjector(
            self.loop,
            self.handler,
            self.faults,
            on_change=self._apply_faults,
            wake=self._wake,
            release_held=self.long_polls.release_all,
        )
        self.second = 0
        self.limit = ConnectionLimits(per_vm=per_vm, total=total)
        self.wires: set[MetadataConnection] = set()
        self.deferred: list[Deferred] = []

    def admit(self, wire: MetadataConnection, caller: str | None) -> Admission:
        verdict = self.limit.admit(caller)
        if verdict.is_open:
            self.wires.add(wire)
        return verdict

    def release(
        self, wire: MetadataConnection, caller: str | None, verdict: Admission
    ) -> None:
        self.limit.release(caller, verdict)
        self.wires.discard(wire)

    def defer(self, wire: MetadataConnection, deferred: Deferred) -> None:
        self.deferred.append(deferred)

    def change(self, update: DocumentUpdate) -> None:
        """Apply an update and wake the waiters it affects."""
        self._wake(self.handler.directory.update(update))

    def _apply_faults(self) -> None:
        now = self.handler.head.now
        self.handler.head = ResponseHead(now, "system", self.faults.kinds)

    def _wake(self, waiters: Sequence[Waiter]) -> None:
        for waiter in waiters:
            waiter.wake()

    def wait(self, seconds: int) -> None:
        """Advance the loop by whole seconds and check all connections each second."""
        for _ in range(seconds):
            self.second += 1
            self.loop.wait(1)
            for wire in [*self.wires]:
                wire.check(self.second)

    def waiters(self, address: str = "10.0.0.1") -> int:
        """Return the number of waiters for the document of `address`."""
        seat = self.handler.directory.find(address, None)
        assert seat is not None
        return len(seat.cached.waiters)


class ClientConnection:
    """A client's connection to the plane."""

    def __init__(self, plane: FakePlane | None = None, peer: str = "10.0.0.1") -> None:
        self.plane = plane or FakePlane()
        self.wire = InstrumentedConnection(cast(InstrumentedPlane, self.plane))
        self.socket = RecordingTransport(peer, self.wire)
        self.wire.connection_made(self.socket)

    def send(self, data: bytes) -> None:
        self.wire.data_received(data)

    def hang_up(self, problem: Exception | None = None) -> None:
        """Lose the connection."""
        self.wire.connection_lost(problem)

    def wait(self, seconds: int) -> None:
        self.plane.wait(seconds)

    @property
    def responses(self) -> list[ParsedResponse]:
        return read(self.socket.written, [])

    @property
    def statuses(self) -> list[int]:
        return [response.status for response in self.responses]


def a_poll(
    wait: str | None = "wait=30",
    *headers: str,
    tag: str | None = '"e0.0"',
    target: str = EVENTS,
) -> bytes:
    """Return a GET that waits until the ETag differs from `tag`."""
    own_headers = [] if wait is None else [f"Prefer: {wait}"]
    own_headers += [] if tag is None else [f"If-None-Match: {tag}"]
    return a_request(target, "Metadata: true", *own_headers, *headers)
