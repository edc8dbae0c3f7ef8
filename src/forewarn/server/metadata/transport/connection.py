"""Metadata connection: the asyncio protocol around the `http1` state machine."""

import asyncio
import logging
import socket
import struct
from typing import TYPE_CHECKING, cast

from forewarn.errors import ForewarnError, StoreDamaged, Unavailable
from forewarn.server.metadata.directory import EnabledState, normalize_address
from forewarn.server.metadata.handler import (
    Deferred,
    DelayResponse,
    HoldResponse,
)
from forewarn.server.metadata.limits import Admission, MetadataLimit, Stranger
from forewarn.server.metadata.transport.http1 import (
    ConnectionState,
    Http1Connection,
)
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, error

if TYPE_CHECKING:
    from forewarn.server.metadata.plane import MetadataPlane

_log = logging.getLogger(__name__)

_HEAD_TIMEOUT = 10  # seconds from the first byte to the end of a request
_IDLE_TIMEOUT = 75  # seconds without a request
_WRITE_TIMEOUT = 10  # seconds in which the client does not read responses
_DRAIN_TIMEOUT = 2  # seconds in which unwanted input is read and dropped
_MAX_DRAINED = 1024 * 1024  # bytes

_STRANGERS = "all strangers"  # no VM has this name; these callers share one turn

_NO_LINGER = struct.pack("ii", 1, 0)  # SO_LINGER on for 0 s: the peer sees a reset

_IDLE = ConnectionState.IDLE  # a lookup on the class costs more than comparing
_INCOMPLETE = (ConnectionState.HEAD, ConnectionState.BODY)
_OVER = (ConnectionState.DRAIN, ConnectionState.CLOSED)

_CANNOT_WRITE = error(
    503, "The service cannot save changes at the moment; try again", Retry_After="5"
)
_DAMAGED = error(503, "The service cannot save changes until an operator repairs it")
_FAILED = error(500, "Internal error; see the service's log")
_TOO_SLOW = error(408, "The request took too long to arrive")
_TOO_MANY_APPROVALS = error(
    429,
    "This VM has one approval in progress and another one waiting; try again",
    Retry_After="1",
)
_TOO_MANY_CONNECTIONS = error(
    503, "This VM has too many connections; close some first", Retry_After="1"
)
_TOO_MANY_STRANGERS = error(
    503, "Too many connections from addresses that belong to no VM", Retry_After="1"
)


class MetadataConnection(asyncio.Protocol):
    """One metadata connection."""

    __slots__ = (
        "_address",
        "_admission",
        "_caller",
        "_drained",
        "_held",
        "_http",
        "_is_leaving",
        "_plane",
        "_since",
        "_stalled",
        "_transport",
        "_turn_name",
    )

    def __init__(self, plane: "MetadataPlane") -> None:
        """Create a connection of `plane`."""
        self._plane = plane
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._caller: str | None = None
        self._turn_name = ""  # under which it takes turns
        self._admission = Admission.DROPPED
        self._http: Http1Connection[Deferred] = Http1Connection(self, plane.head_cache)
        self._since = plane.second  # the second in which the current state began
        self._stalled: int | None = None  # since this second; None if the client reads
        # None if no response is held.
        self._held: HoldResponse | DelayResponse | None = None
        self._drained = 0
        self._is_leaving = False

    # --- handling requests ---------------------------------------------------

    def handle(self, request: Request, body: bytes) -> bytes | Deferred:
        """Handle a request from this connection's address."""
        handler = self._plane.handler
        result = handler.handle(request, body, self._address)
        if self._is_leaving and isinstance(result, HoldResponse | DelayResponse):
            return handler.handle_again(request, body, self._address, may_wait=False)
        return result

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Render this connection's last response."""
        return self._plane.handler.refuse(response, self._address, is_head=is_head)

    def may_proceed(self) -> bool:
        """Return whether this caller may be served now, without waiting for a turn."""
        return self._plane.turns.admits(self._turn_name)

    def _handle_again(self, *, may_wait: bool) -> bytes | Deferred:
        return self._plane.handler.handle_again(
            self._http.request,
            self._http.body,
            self._address,
            may_wait=may_wait and not self._is_leaving,
        )

    def _render(self, response: Response) -> bytes:
        return self._plane.handler.render(self._http.request, response)

    # --- the socket ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving, unless there are too many connections."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = normalize_address(str(peer[0])) if peer else ""
        self._caller = self._plane.handler.directory.caller(self._address)
        is_stranger = isinstance(self._caller, Stranger)
        self._turn_name = _STRANGERS if is_stranger else self._caller or self._address
        self._admission = self._plane.admit(self, self._caller)
        if self._admission is Admission.ADMITTED:
            return
        self._count_refusal()
        if self._admission is Admission.REFUSED:
            response = _TOO_MANY_STRANGERS if is_stranger else _TOO_MANY_CONNECTIONS
            self._write_after(_IDLE, self._http.fail(response))
        else:
            self.abort()

    def _count_refusal(self) -> None:
        handler = self._plane.handler
        if self._admission is Admission.FULL:
            handler.count_refusal(MetadataLimit.TOTAL_CONNECTIONS, None)
        elif isinstance(self._caller, Stranger):
            handler.count_refusal(MetadataLimit.STRANGERS, None)
        else:
            handler.count_refusal(MetadataLimit.CONNECTIONS, self._caller)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that the connection holds."""
        del exc
        self._release()
        self._plane.release(self, self._caller, self._admission)
        self._http.state = ConnectionState.CLOSED
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Process incoming bytes and write the responses."""
        http = self._http
        before = http.state
        if before is _IDLE and self._transport is not None:
            written = http.receive(data)
            if written and http.state is _IDLE and not http.is_behind:
                self._since = self._plane.second
                self._transport.write(written)  # the hot path
                return
            self._write_after(before, written)
            return
        if before is ConnectionState.DRAIN:
            self._drained += len(data)
            if self._transport is not None:
                self._transport.pause_reading()
                if self._drained <= _MAX_DRAINED:  # otherwise the sweep closes it
                    self._plane.turns.add(self, self._turn_name)
            return
        self._write_after(before, http.receive(data))

    def eof_received(self) -> bool:
        """Finish the response in progress, if there is one."""
        if self._http.state is not ConnectionState.BUSY:
            return False
        self._is_leaving = True
        self.stop_waiting()  # the client may be gone, and others need the room
        return True

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its responses."""
        self._stalled = self._plane.second
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading, after processing the requests that have already arrived."""
        self._stalled = None
        self._continue()

    def _write_after(self, before: ConnectionState, written: bytes) -> None:
        if written or self._http.state is not before:
            self._since = self._plane.second
        self._write(written)

    def _write(self, written: bytes) -> None:
        transport, http = self._transport, self._http
        if transport is None:
            return
        if written:
            transport.write(written)
        if http.is_behind:
            transport.pause_reading()
            self._plane.turns.add(self, self._turn_name)
            return
        state = http.state
        if state is ConnectionState.BUSY:
            self._take_deferred()
        elif state is ConnectionState.DRAIN:
            if transport.can_write_eof():
                transport.write_eof()
        elif state is ConnectionState.CLOSED or self._is_leaving:
            transport.close()

    def take_turn(self) -> None:
        """After other callers' turns, process what has arrived and resume reading."""
        if self._stalled is None:
            if self._http.is_behind:
                self._write_after(self._http.state, self._http.proceed())
            self._continue()

    def _continue(self) -> None:
        """Resume reading, unless something is left to do first."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._stalled is not None:
            return
        if self._http.is_behind:
            self._plane.turns.add(self, self._turn_name)
        else:
            transport.resume_reading()

    # --- deferred responses --------------------------------------------------

    def enabled(self, problem: Exception | None) -> None:
        """Respond after the group was enabled or `problem` prevented it."""
        if self._http.state is not ConnectionState.BUSY:
            return
        if problem is None:
            self._resume(self._handle_again(may_wait=True))
        else:
            self._resume(self._render(_failure(problem)))

    def approved(
        self, problem: Exception | None, delay: EnabledState | None = None
    ) -> None:
        """Respond to an approval after the group of `delay`, if any, is enabled."""
        if self._http.state is not ConnectionState.BUSY:
            return
        response = Response(200) if problem is None else _failure(problem)
        if delay is None or not delay.is_newly_enabled or self._is_leaving:
            self._resume(self._render(response))
        else:
            self._resume(DelayResponse(group_state=delay, response=response))

    def refuse_approval(self) -> None:
        """Respond that the VM has too many approvals in progress."""
        self._resume(self._render(_TOO_MANY_APPROVALS))

    def wake(self) -> None:
        """Respond if the client would see a change; otherwise, keep waiting."""
        held = self._held
        if isinstance(held, DelayResponse):
            if not held.group_state.is_newly_enabled:
                self._resume(self._held_response(held, may_wait=True))
            return
        if held is None:
            return
        result = self._handle_again(may_wait=True)
        if not isinstance(result, HoldResponse):
            self._resume(result)
        elif result == held:
            held.cached.waiters[self] = None
        else:  # the client waits on `*`, or also knows the new tag
            self.stop_waiting()

    def stop_waiting(self) -> None:
        """Respond to a held request now, whether or not the document has changed."""
        if self._held is not None:
            self._resume(self._held_response(self._held, may_wait=False))

    def _take_deferred(self) -> None:
        deferred, self._http.deferred = self._http.deferred, None
        if deferred is not None:
            self._defer(deferred)

    def _defer(self, deferred: Deferred) -> None:
        if isinstance(deferred, DelayResponse):
            self._held = deferred
            self._plane.first_requests.hold(self, deferred.group_state)
        elif isinstance(deferred, HoldResponse):
            self._held = deferred
            deferred.cached.waiters[self] = None
            self._plane.long_polls.hold(self, deferred.seconds)
        else:
            self._plane.defer(self, deferred)

    def _release(self) -> None:
        held, self._held = self._held, None
        if isinstance(held, DelayResponse):
            self._plane.first_requests.forget(self, held.group_state)
        elif held is not None:
            held.cached.waiters.pop(self, None)
            self._plane.long_polls.forget(self, held.seconds)

    def _held_response(
        self, held: HoldResponse | DelayResponse, *, may_wait: bool
    ) -> bytes | Deferred:
        if isinstance(held, DelayResponse) and held.response is not None:
            return self._render(held.response)
        return self._handle_again(may_wait=may_wait)

    def _resume(self, result: bytes | Deferred) -> None:
        self._release()
        self._since = self._plane.second
        self._write(self._http.resume(result))

    # --- the sweep -----------------------------------------------------------

    def check(self, second: int) -> None:
        """Close the connection if it has made no progress for too long."""
        state, waited = self._http.state, second - self._since
        if self._stalled is not None and second - self._stalled > _WRITE_TIMEOUT:
            self.abort()
        elif self._is_leaving or state in _OVER:
            if waited > self._last_wait() and state is not ConnectionState.BUSY:
                self.abort()
        elif state in _INCOMPLETE and waited > _HEAD_TIMEOUT:
            self._since = second
            self._write(self._http.fail(_TOO_SLOW))
        elif state is ConnectionState.IDLE and waited > _IDLE_TIMEOUT:
            self.leave()

    def _last_wait(self) -> int:
        transport = self._transport
        is_unread = transport is not None and transport.get_write_buffer_size() > 0
        return _WRITE_TIMEOUT if is_unread else _DRAIN_TIMEOUT

    def leave(self) -> None:
        """Close as soon as the response in progress is sent."""
        self._is_leaving = True
        if self._http.state is ConnectionState.BUSY:
            self._http.end()
            self.stop_waiting()
        elif self._transport is not None:
            self._since = self._plane.second
            self._transport.close()

    def reset(self) -> None:
        """Close immediately, so that the client sees a reset."""
        if self._transport is not None:
            open_socket = self._transport.get_extra_info("socket")
            open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self._transport.abort()

    def abort(self) -> None:
        """Close immediately."""
        if self._transport is not None:
            self._transport.abort()


def _failure(problem: Exception) -> Response:
    if isinstance(problem, StoreDamaged):
        return _DAMAGED
    if isinstance(problem, Unavailable):
        return _CANNOT_WRITE
    if isinstance(problem, ForewarnError):
        return error(400, f"Bad request. {problem}")
    _log.error("a metadata request failed", exc_info=problem)
    return _FAILED
