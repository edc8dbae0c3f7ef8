"""Connection limits of the control plane: number, head size and timeouts.

1. Shares limit the number of connections. A connection counts from the start of its TLS
   handshake.
2. A request's head must be small and arrive quickly, and so must the trailers after a
   body. The first head must arrive soon after the client connects. `body_limits` limits
   bodies.
3. At most one read of a body is buffered until the application requests it. Nothing is
   buffered after the response.
4. If a response is sent before the whole request has arrived, the connection is read
   for a moment longer. Closing the connection with unread bytes would cause a reset,
   and the client might not see the response.
5. A client that does not read its responses is disconnected.
6. Requests that are not HTTP are counted and logged once a minute.

uvicorn has no settings for these limits, and its protocol class is private. The version
range in pyproject.toml has been tested, and a test shows what an upgrade breaks.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import unquote

import httptools
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import (
    HttpToolsProtocol,
    RequestResponseCycle,
)

from forewarn.server.control.http.origin import SECURITY_HEADERS
from forewarn.server.control.http.shares import (
    ConnectionEnd,
    ConnectionShares,
    InvalidRequests,
)
from forewarn.server.error_responses import refusal

_MAX_HEAD = 64 * 1024  # bytes
_HEADER_OVERHEAD = 3  # bytes per header besides name and value: colon, line end
_REFUSED: Mapping[str, str] = {
    **SECURITY_HEADERS,
    "Cache-Control": "no-store",
    "Connection": "close",
}
_LAST_READ = 1.5  # seconds to read a response when the service stops
_STOPPING = "the service is stopping; nothing was changed; send the request again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTimeouts:
    """Timeouts, in seconds."""

    handshake: float = 10.0
    first_head: float = 10.0  # from the start of the connection
    head: float = 30.0  # from its first byte
    unread: float = 30.0  # without the client reading the response
    linger: float = 2.0  # after a response sent before the end of the body


class ControlConnection(HttpToolsProtocol):
    """A control-plane connection."""

    shares: ClassVar[ConnectionShares]
    timeouts: ClassVar[ConnectionTimeouts]
    invalid: ClassVar[InvalidRequests]

    url = b""  # of the last request; unset in uvicorn before the first
    was_used = False

    _handshake: asyncio.Task[None] | None = None  # None without TLS
    _is_made = False  # whether the handshake, if any, has finished
    _active: RequestResponseCycle | None = None  # the current or last request
    _in_head = False
    _in_body = False
    _is_refused = False  # further input is dropped
    _closes_later = (
        False  # the last request wants to close, but its body is still arriving
    )
    _unread = 0  # bytes since the parser last made progress
    _head = 0  # bytes of the head parsed so far
    _deadline: asyncio.TimerHandle | None = None  # None if not waiting
    _unread_deadline: asyncio.TimerHandle | None = None  # None while the client reads

    # --- start and end -------------------------------------------------------

    def connection_made(  # type: ignore[override]  # uvicorn's signature
        self, transport: asyncio.Transport
    ) -> None:
        """Start serving, unless there are too many connections."""
        super().connection_made(transport)
        self._is_made = True
        if self._handshake is None and not self.enter(self._address):
            transport.abort()
            return
        # uvicorn itself would wait indefinitely for the first request.
        self._set_deadline(self.timeouts.first_head, self._end_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the current request, cancel the timers, and release the connection."""
        super().connection_lost(exc)
        if self._active is not None and not self._active.response_complete:
            # uvicorn notifies only the last request, which may be pipelined.
            self._active.disconnected = True
            self._active.message_event.set()
        self._cancel_deadline()
        self._cancel_unread()
        self.leave()

    def enter(self, address: str) -> bool:
        """Count the connection; return False if it must be closed."""
        return self.shares.enter(self, address)

    def leave(self) -> None:
        """Stop counting the connection; repeated calls have no effect."""
        self.shares.leave(self)

    def shake_hands(self, handshake: asyncio.Task[None]) -> None:
        """Start the TLS handshake of a connection counted by `enter`."""
        self._handshake = handshake

    def drop(self) -> None:
        """Close the connection immediately, even during its handshake."""
        if self._is_made:
            self.transport.abort()
        elif self._handshake is not None:
            self._handshake.cancel()

    def shutdown(self) -> None:
        """Prepare to stop without waiting for a body.

        A client has only a short time left to read its response. Otherwise,
        uvicorn would cancel the request later and log a traceback.
        """
        super().shutdown()
        if self.flow.write_paused:
            self.loop.call_later(_LAST_READ, self.transport.abort)
        if self._in_body and not self.pipeline and not self.cycle.response_started:
            self._respond(503, _STOPPING, {"Retry-After": "5"})
            self.transport.close()

    @property
    def is_in_use(self) -> bool:
        """Return whether a request with an accepted token is in progress."""
        cycle = self._active
        if cycle is None or cycle.response_complete:
            return False
        return "caller" in cycle.scope["state"]  # set by the guard

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    # --- input ---------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse input, up to a limit."""
        if self._is_refused:
            return
        self._unread += len(data)
        self._unset_keepalive_if_required()
        # Unlike uvicorn, do not log a line for each request.
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The client gets a response, but no upgrade.
            self.invalid.add(self._address, self.loop.call_later)
        except httptools.HttpParserError:
            self.invalid.add(self._address, self.loop.call_later)
            self.send_400_response("")
        self._check_head()
        if self._in_body and not self.cycle.keep_alive:
            # uvicorn would close at the end of the response, with unread bytes.
            self.cycle.keep_alive = self._closes_later = True

    def _check_head(self) -> None:
        if self._is_refused:
            return
        if self._unread > _MAX_HEAD:
            self._refuse_large_head()
        elif not self._in_body and (self._in_head or self._unread):
            self._set_deadline(self.timeouts.head, self._end_slow_head)

    def on_message_begin(self) -> None:
        """Start counting a head."""
        super().on_message_begin()
        self._in_head, self._head = True, 0

    def on_url(self, url: bytes) -> None:
        """Accept the request target."""
        self._grow_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Accept a header; ignore trailers, which follow the body."""
        if not self._in_body:
            self._grow_head(len(name) + len(value) + _HEADER_OVERHEAD)
            super().on_header(name, value)

    def _grow_head(self, size: int) -> None:
        """Count `size` more bytes of the head; raise an error if it is too large.

        `_unread` alone is not enough, because it never includes a head that arrives
        whole.
        """
        self._head += size
        if self._head > _MAX_HEAD:
            raise ValueError("the head is too large")  # makes the parser give up

    def on_headers_complete(self) -> None:
        """Switch from the head to the body."""
        self._in_head, self._in_body, self._unread = False, True, 0
        self.was_used = True
        self._cancel_deadline()
        self._add_target_host()
        super().on_headers_complete()
        if self._active is None or self._active.response_complete:
            self._active = self.cycle

    def _add_target_host(self) -> None:
        """Treat the host of an absolute request target as a Host header.

        If it differs from the Host header, the request has two hosts and is refused.
        """
        _, separator, rest = self.url.partition(b"://")
        if self.url.startswith(b"/") or not separator:
            return
        host = re.split(rb"[/?#]", rest, maxsplit=1)[0].lower()
        headers = [(name, value.lower()) for name, value in self.headers]
        if (b"host", host) not in headers:
            self.headers.append((b"host", host))

    def on_body(self, body: bytes) -> None:
        """Buffer part of the body; read more when the application requests it."""
        self._unread = 0
        super().on_body(body)
        if self.cycle.body:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Record that the body has ended."""
        self._in_body, self._unread = False, 0
        self._cancel_deadline()
        if self._closes_later:
            self.cycle.keep_alive = self._closes_later = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Drop the buffered body; keep reading briefly if the body has not ended."""
        if self._active is not None:
            self._active.body = bytearray()
        if self.pipeline:
            self._active = self.pipeline[-1][0]  # starts now
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete:
            self._is_refused = self._closes_later
            self._set_deadline(self.timeouts.linger, self.transport.close)

    # --- output --------------------------------------------------------------

    def pause_writing(self) -> None:
        """Limit how long the client may go without reading."""
        super().pause_writing()
        if self._unread_deadline is None:
            self._unread_deadline = self.loop.call_later(
                self.timeouts.unread, self._end_unread
            )

    def resume_writing(self) -> None:
        """Record that the client has read."""
        super().resume_writing()
        self._cancel_unread()

    def _end_unread(self) -> None:
        self.shares.ended[ConnectionEnd.UNREAD] += 1
        self.transport.abort()

    def _cancel_unread(self) -> None:
        if self._unread_deadline is not None:
            self._unread_deadline.cancel()
            self._unread_deadline = None

    # --- refusals ------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse input that is not HTTP or that the parser rejected."""
        del msg
        if self._head > _MAX_HEAD:
            self._refuse_large_head()
        else:
            self._refuse(400, "the request is not valid HTTP/1.1")

    def _refuse_large_head(self) -> None:
        self._refuse(431, f"the request head is larger than {_MAX_HEAD} bytes")

    def _end_silent(self) -> None:
        self.shares.ended[ConnectionEnd.SILENT] += 1
        if not self._in_head:
            self.transport.close()
            return
        seconds = self.timeouts.first_head
        self._refuse(408, f"the first request took more than {seconds:g} s")

    def _end_slow_head(self) -> None:
        seconds = self.timeouts.head
        self._refuse(408, f"the request head took more than {seconds:g} s")

    def _refuse(self, status: int, detail: str) -> None:
        """Send an error response, unless a response is in progress; then close."""
        self._is_refused = True
        self._cancel_deadline()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        self._respond(status, detail)
        self._set_deadline(self.timeouts.linger, self.transport.close)

    def _respond(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        path = unquote(self.url.partition(b"?")[0].decode("latin-1"))
        all_headers = {**_REFUSED, **(headers or {})}
        response = refusal({"path": path}, status, detail, all_headers)
        self.transport.write(_serialize(response))

    def _set_deadline(self, seconds: float, on_expiry: Callable[[], object]) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, on_expiry)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def control_connection(
    shares: ConnectionShares, timeouts: ConnectionTimeouts, invalid: InvalidRequests
) -> type[ControlConnection]:
    """Return a uvicorn connection class whose instances share these objects."""
    attributes = {"shares": shares, "timeouts": timeouts, "invalid": invalid}
    return type("LimitedConnection", (ControlConnection,), attributes)


def _serialize(response: Response) -> bytes:
    """Serialize a response that does not come from the application."""
    status = HTTPStatus(response.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
