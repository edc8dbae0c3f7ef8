"""Connection limits of the control plane: number, size of heads, timeouts.

1. There are never more connections than the ceiling admits. A connection counts from
   the start of its TLS handshake.
2. The head of a request is small and arrives soon, and so do the trailers after a body.
   `body_limits` limits bodies.
3. If a client gets a response while it still sends, its connection is read for a moment
   longer, so that it sees the response: closing with unread bytes is a reset.

uvicorn has no settings for these, and its protocol class is private. The range of
versions in pyproject.toml was tried, and a test names what an upgrade has broken.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import unquote

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from forewarn.server.control.http.origin import SECURITY_HEADERS
from forewarn.server.error_responses import refusal
from forewarn.server.metadata.limits import ConnectionCeiling

_MAX_HEAD = 64 * 1024  # bytes
_HEADER_OVERHEAD = 3  # bytes of a header besides name and value: colon, line end
_REFUSED: Mapping[str, str] = {
    **SECURITY_HEADERS,
    "Cache-Control": "no-store",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTimeouts:
    """Timeouts, in seconds."""

    handshake: float = 10.0
    head: float = 30.0
    linger: float = 2.0  # after a response that precedes the end of the body


class ControlConnection(HttpToolsProtocol):
    """A control-plane connection."""

    ceiling: ClassVar[ConnectionCeiling]
    timeouts: ClassVar[ConnectionTimeouts]

    url = b""  # of the last request; uvicorn has none before the first

    _is_admitted = False
    _in_head = False
    _in_body = False
    _is_refused = False  # further input is dropped
    _unread = 0  # bytes since the parser last made progress
    _head = 0  # bytes of the head parsed so far
    _deadline: asyncio.TimerHandle | None = None  # None if nothing is awaited

    # --- start and end -------------------------------------------------------

    def connection_made(  # type: ignore[override]  # uvicorn's signature
        self, transport: asyncio.Transport
    ) -> None:
        """Start, unless there are too many connections."""
        super().connection_made(transport)
        if not self.enter():
            transport.abort()
            return
        # uvicorn itself would wait forever for the first request.
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline and release the connection."""
        super().connection_lost(exc)
        self._cancel_deadline()
        self.leave()

    def enter(self) -> bool:
        """Count the connection, once; return False if there are too many."""
        self._is_admitted = self._is_admitted or self.ceiling.admit()
        return self._is_admitted

    def leave(self) -> None:
        """Uncount the connection, once."""
        if self._is_admitted:
            self._is_admitted = False
            self.ceiling.release()

    # --- input ---------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse input, up to a limit."""
        if self._is_refused:
            return
        self._unread += len(data)
        super().data_received(data)
        self._check_head()

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
        """Count bytes of the head: one that arrives whole is never in `_unread`."""
        self._head += size
        if self._head > _MAX_HEAD:
            raise ValueError("the head is too large")  # makes the parser give up

    def on_headers_complete(self) -> None:
        """Switch from the head to the body."""
        self._in_head, self._in_body, self._unread = False, True, 0
        self._cancel_deadline()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that the body makes progress."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the body has ended."""
        self._in_body, self._unread = False, 0
        self._cancel_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Keep reading for a moment if the body has not ended."""
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete:
            self._set_deadline(self.timeouts.linger, self.transport.close)

    # --- refusals ------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse input that is not HTTP, or that made the parser give up."""
        del msg
        if self._head > _MAX_HEAD:
            self._refuse_large_head()
        else:
            self._refuse(400, "what was sent is not HTTP/1.1")

    def _refuse_large_head(self) -> None:
        self._refuse(431, f"a request's head has {_MAX_HEAD} bytes at most")

    def _end_slow_head(self) -> None:
        seconds = self.timeouts.head
        self._refuse(408, f"the head of the request took more than {seconds:g} s")

    def _refuse(self, status: int, detail: str) -> None:
        """Respond, unless another response is in progress; then close."""
        self._is_refused = True
        self._cancel_deadline()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        path = unquote(self.url.partition(b"?")[0].decode("latin-1"))
        response = refusal({"path": path}, status, detail, _REFUSED)
        self.transport.write(_serialize(response))
        self._set_deadline(self.timeouts.linger, self.transport.close)

    def _set_deadline(self, seconds: float, on_expiry: Callable[[], object]) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, on_expiry)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def control_connection(
    ceiling: ConnectionCeiling, timeouts: ConnectionTimeouts
) -> type[ControlConnection]:
    """Return a connection class with its `ceiling` and `timeouts`, as uvicorn needs."""
    attributes = {"ceiling": ceiling, "timeouts": timeouts}
    return type("LimitedConnection", (ControlConnection,), attributes)


def _serialize(response: Response) -> bytes:
    """Serialize a response that does not come from the application."""
    status = HTTPStatus(response.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
