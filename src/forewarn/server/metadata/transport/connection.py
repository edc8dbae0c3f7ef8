"""Sockets of metadata connections: the transport around the state machine of `http`."""

import asyncio
import logging
import socket
import struct
from typing import Protocol, cast

from forewarn.errors import ForewarnError, Unavailable
from forewarn.server.metadata.directory import EnabledState, plain_address
from forewarn.server.metadata.faults.injection import (
    BrokenResponse,
    FaultInjector,
    LateResponse,
)
from forewarn.server.metadata.faults.observer import (
    ObservedRequest,
    Pending,
    RequestObserver,
)
from forewarn.server.metadata.handler import (
    Deferred,
    DelayResponse,
    HoldResponse,
    MetadataHandler,
)
from forewarn.server.metadata.limits import Admission
from forewarn.server.metadata.transport.http1 import (
    ConnectionState,
    HeadCache,
    Http1Connection,
)
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, error
from forewarn.server.metadata.waits import FirstRequestDelay, LongPollTimer

_log = logging.getLogger(__name__)

_HEAD_TIMEOUT = 10  # seconds from the first byte to the end of a request
_IDLE_TIMEOUT = 75  # seconds without a request
_WRITE_TIMEOUT = 10  # seconds without the client reading responses
_DRAIN_TIMEOUT = 2  # seconds that unwanted input is read and dropped
_MOST_DRAINED = 1024 * 1024  # bytes

_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER on, for 0 s: the peer sees a reset

_IDLE = ConnectionState.IDLE  # looking it up on the class costs more than comparing

_BUSY = error(503, "The service cannot write at the moment; try again", Retry_After="5")
_BROKEN = error(500, "The service failed; its log says why")
_TOO_SLOW = error(408, "The request took too long to arrive")
_CROWDED = error(
    503, "This VM has too many connections; close some first", Retry_After="1"
)


class ConnectionPlane(Protocol):
    """The parts of the metadata plane that a connection uses."""

    desk: MetadataHandler
    memo: HeadCache
    alarm: LongPollTimer
    first_calls: FirstRequestDelay
    inflicting: FaultInjector
    is_faulty: bool  # whether any fault is active
    witness: RequestObserver | None  # None if nothing observes
    second: int  # counted by the sweep, not by a clock

    def admit(self, wire: "MetadataConnection", caller: str | None) -> Admission:
        """Track `wire`, unless there are too many connections."""

    def release(
        self, wire: "MetadataConnection", caller: str | None, verdict: Admission
    ) -> None:
        """Forget `wire`, which got `verdict`."""

    def defer(self, wire: "MetadataConnection", deferred: Deferred) -> None:
        """Do what must be done before the response to `wire`."""


class MetadataConnection(asyncio.Protocol):
    """One metadata connection."""

    __slots__ = (
        "_address",
        "_caller",
        "_connection",
        "_drained",
        "_held",
        "_is_leaving",
        "_plane",
        "_rehearsed",
        "_since",
        "_stalled",
        "_transport",
        "_verdict",
    )

    def __init__(self, plane: ConnectionPlane) -> None:
        """Create a connection of `plane`."""
        self._plane = plane
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._caller: str | None = None
        self._verdict = Admission.DROPPED
        self._rehearsed: ObservedRequest | None = (
            None  # None if not observed or faulted
        )
        self._connection: Http1Connection[Pending] = Http1Connection(self, plane.memo)
        self._since = plane.second  # second in which the current state began
        self._stalled: int | None = None  # since this second; None if the client reads
        self._held: HoldResponse | DelayResponse | LateResponse | None = (
            None  # None if nothing is held
        )
        self._drained = 0
        self._is_leaving = False

    # --- handling requests ---------------------------------------------------

    def answer(self, request: Request, body: bytes) -> bytes | Pending:
        """Handle a request from the address of this connection."""
        plane = self._plane
        if plane.witness is not None or plane.is_faulty:
            return self._answer_rehearsed(request, body)
        return self._answer(request, body)

    def _answer_rehearsed(self, request: Request, body: bytes) -> bytes | Pending:
        plane, witness = self._plane, self._plane.witness
        response = None if witness is None else witness.take(request, body)
        if response is not None:
            return plane.desk.write(request, response)
        rehearsed = ObservedRequest(plane, self._connection, self._address)
        self._rehearsed = rehearsed
        answer: bytes | Pending | None = rehearsed.begin(may_wait=not self._is_leaving)
        if answer is None and rehearsed.seats is None:
            answer = self._answer(request, body)
        elif answer is None:
            answer = self._again(may_wait=True)
        rehearsed.tell()
        return self._end(answer)

    def _end(self, answer: bytes | Pending) -> bytes | Pending:
        """Apply injected faults to a response."""
        if self._rehearsed is None:
            return answer
        ended = self._rehearsed.end(answer, may_wait=not self._is_leaving)
        if isinstance(ended, bytes | BrokenResponse):
            self._rehearsed = None
        return ended

    def _answer(self, request: Request, body: bytes) -> bytes | Deferred:
        desk = self._plane.desk
        answer = desk.answer(request, body, self._address)
        if self._is_leaving and isinstance(answer, HoldResponse | DelayResponse):
            return desk.answer_again(request, body, self._address, may_wait=False)
        return answer

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Render the last response of this connection."""
        return self._plane.desk.refuse(response, is_head=is_head)

    # --- the socket ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start, unless there are too many connections."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = plain_address(str(peer[0])) if peer else ""
        self._caller = self._plane.desk.directory.caller(self._address)
        self._verdict = self._plane.admit(self, self._caller)
        if self._verdict is Admission.DROPPED:
            self.abort()
        elif self._verdict is Admission.REFUSED:
            self._settle(_IDLE, self._connection.fail(_CROWDED))

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that the connection holds."""
        del exc
        self._let_go()
        self._plane.release(self, self._caller, self._verdict)
        self._connection.state = ConnectionState.CLOSED
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Process incoming bytes and write the responses."""
        connection = self._connection
        before = connection.state
        if before is _IDLE and self._transport is not None:
            written = connection.receive(data)
            if written and connection.state is _IDLE and not connection.is_behind:
                self._since = self._plane.second
                self._transport.write(written)  # the hot path
                return
            self._settle(before, written)
            return
        if before is ConnectionState.DRAIN:
            self._drained += len(data)
            if self._drained > _MOST_DRAINED and self._transport is not None:
                self._transport.pause_reading()  # the sweep closes it
            return
        self._settle(before, connection.receive(data))

    def _settle(self, before: ConnectionState, written: bytes) -> None:
        if written or self._connection.state is not before:
            self._since = self._plane.second
        self._write(written)

    def eof_received(self) -> bool:
        """Finish the response in progress, if there is one."""
        if self._connection.state is not ConnectionState.BUSY:
            return False
        self._is_leaving = True
        self.stop_waiting()  # the client may be gone, and its place is needed
        return True

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its responses."""
        self._stalled = self._plane.second
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again, starting with the requests that have arrived already."""
        self._stalled = None
        if self._transport is not None:
            self._transport.resume_reading()
            if self._connection.is_behind:
                self._write(b"")

    def _write(self, written: bytes) -> None:
        transport, connection = self._transport, self._connection
        if transport is None:
            return
        if written:
            transport.write(written)
        while connection.is_behind and self._stalled is None:
            self._since = self._plane.second
            transport.write(connection.go_on())
        state = connection.state
        if state is ConnectionState.BUSY:
            self._defer()
        elif state is ConnectionState.DRAIN:
            if transport.can_write_eof():
                transport.write_eof()
        elif state is ConnectionState.CLOSED or self._is_leaving:
            transport.close()

    # --- deferred responses --------------------------------------------------

    def _defer(self) -> None:
        deferred, self._connection.deferred = self._connection.deferred, None
        if isinstance(deferred, HoldResponse | DelayResponse | LateResponse):
            self._hold(deferred)
        elif isinstance(deferred, BrokenResponse):
            self._break(deferred)
        elif deferred is not None:
            self._plane.defer(self, deferred)

    def heard(self, problem: Exception | None) -> None:
        """Respond after the group was enabled, or `problem` prevented it."""
        if self._connection.state is not ConnectionState.BUSY:
            return
        if problem is None:
            self._resume(self._again(may_wait=True))
        else:
            self._resume(self._say(_failure(problem)))

    def approved(
        self, problem: Exception | None, delay: EnabledState | None = None
    ) -> None:
        """Respond to an approval, once the group of `delay` is enabled."""
        if self._connection.state is not ConnectionState.BUSY:
            return
        response = Response(200) if problem is None else _failure(problem)
        if delay is None or not delay.is_beginning or self._is_leaving:
            self._resume(self._say(response))
        else:
            self._resume(DelayResponse(hearing=delay, response=response))

    def wake(self) -> None:
        """Respond if the client would see a change; keep waiting if not."""
        held = self._held
        if isinstance(held, DelayResponse):
            if not held.hearing.is_beginning:
                self._resume(self._late(held, may_wait=True))
            return
        if held is None or isinstance(held, LateResponse):
            return
        outcome = self._again(may_wait=True)
        if not isinstance(outcome, HoldResponse):
            self._resume(outcome)
        elif outcome == held:
            held.shelf.waiters[self] = None
        else:  # the client waits on `*`, or knows the new tag as well
            self.stop_waiting()

    def stop_waiting(self) -> None:
        """Respond to a held request now, changed or not."""
        if self._held is not None:
            self._resume(self._late(self._held, may_wait=False))

    def _late(
        self, held: HoldResponse | DelayResponse | LateResponse, *, may_wait: bool
    ) -> bytes | Deferred:
        if isinstance(held, LateResponse) and held.answer is not None:
            return held.answer
        if isinstance(held, DelayResponse) and held.response is not None:
            return self._say(held.response)
        return self._again(may_wait=may_wait)

    def _hold(self, hold: HoldResponse | DelayResponse | LateResponse) -> None:
        self._held = hold
        if isinstance(hold, LateResponse):
            self._plane.inflicting.wait(self, hold.seconds)
        elif isinstance(hold, DelayResponse):
            self._plane.first_calls.wait(self, hold.hearing)
        else:
            hold.shelf.waiters[self] = None
            self._plane.alarm.begin(self, hold.seconds)

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if isinstance(held, LateResponse):
            self._plane.inflicting.leave(self)
        elif isinstance(held, DelayResponse):
            self._plane.first_calls.leave(self, held.hearing)
        elif held is not None:
            held.shelf.waiters.pop(self, None)
            self._plane.alarm.end(self, held.seconds)

    def be_late(self) -> None:
        """Send a delayed response, or hold the request as if it had just arrived."""
        if isinstance(self._held, LateResponse):
            self._resume(self._late(self._held, may_wait=True))

    def _resume(self, answer: bytes | Deferred) -> None:
        self._let_go()
        ended = self._end(answer)
        self._since = self._plane.second
        self._write(self._connection.resume(ended))

    def _again(self, *, may_wait: bool) -> bytes | Deferred:
        request, body = self._connection.request, self._connection.body
        may_wait = may_wait and not self._is_leaving
        desk, address = self._plane.desk, self._address
        seats = None if self._rehearsed is None else self._rehearsed.seats
        if seats is not None:
            return desk.answer_from(seats, request, body, address, may_wait=may_wait)
        return desk.answer_again(request, body, address, may_wait=may_wait)

    def _say(self, response: Response) -> bytes:
        return self._plane.desk.write(self._connection.request, response)

    def _break(self, broken: BrokenResponse) -> None:
        if self._transport is None:
            return
        if broken.sent:
            self._transport.write(broken.sent)
            self._transport.close()
        else:
            self.reset()

    # --- the sweep -----------------------------------------------------------

    def check(self, second: int) -> None:
        """Close the connection if it has made no progress for too long."""
        state, waited = self._connection.state, second - self._since
        if self._stalled is not None and second - self._stalled > _WRITE_TIMEOUT:
            self.abort()
        elif self._is_leaving or state in (
            ConnectionState.DRAIN,
            ConnectionState.CLOSED,
        ):
            if waited > self._last_wait() and state is not ConnectionState.BUSY:
                self.abort()
        elif (
            state in (ConnectionState.HEAD, ConnectionState.BODY)
            and waited > _HEAD_TIMEOUT
        ):
            self._since = second
            self._write(self._connection.fail(_TOO_SLOW))
        elif state is ConnectionState.IDLE and waited > _IDLE_TIMEOUT:
            self.leave()

    def _last_wait(self) -> int:
        transport = self._transport
        is_unread = transport is not None and transport.get_write_buffer_size() > 0
        return _WRITE_TIMEOUT if is_unread else _DRAIN_TIMEOUT

    def leave(self) -> None:
        """Close as soon as the response in progress is sent."""
        self._is_leaving = True
        if self._connection.state is ConnectionState.BUSY:
            self._connection.end()
            self.stop_waiting()
        elif self._transport is not None:
            self._since = self._plane.second
            self._transport.close()

    def reset(self) -> None:
        """Close immediately, so that the client sees a reset."""
        if self._transport is not None:
            open_socket = self._transport.get_extra_info("socket")
            open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self._transport.abort()

    def abort(self) -> None:
        """Close immediately."""
        if self._transport is not None:
            self._transport.abort()


def _failure(problem: Exception) -> Response:
    if isinstance(problem, Unavailable):
        return _BUSY
    if isinstance(problem, ForewarnError):
        return error(400, f"Bad request. {problem}")
    _log.error("a request failed", exc_info=problem)
    return _BROKEN
