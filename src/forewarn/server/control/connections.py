"""Connections to the control plane: how many, how large a head, how long it takes.

Rules of this file:

1. There are never more connections than the ceiling admits. One that still shakes
   hands is counted.
2. The head of a request is small and comes soon, and so do the trailers behind a body;
   what the body may be is decided in `sizes.py`.
3. Whoever was answered while he still sends is read for a moment longer, so that he
   sees the answer: a connection closed with bytes unread is reset.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import unquote

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from forewarn.server.control.headers import ALWAYS
from forewarn.server.control.problems import refusal
from forewarn.server.limits import Ceiling

_LARGEST_HEAD = 64 * 1024  # bytes
_AROUND = 3  # bytes of a header beside its name and value: a colon, the line's end
_REFUSED: Mapping[str, str] = {
    **ALWAYS,
    "Cache-Control": "no-store",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds callers are given."""

    handshake: float = 10.0
    head: float = 30.0
    linger: float = 2.0  # for one who was answered before he had sent all


class Wire(HttpToolsProtocol):
    """A connection."""

    ceiling: ClassVar[Ceiling]
    patience: ClassVar[Patience]

    url = b""  # what was asked for last; uvicorn has none before a request begins

    _is_admitted = False
    _in_head = False
    _in_body = False
    _is_over = False  # it was refused; what else it sends is dropped
    _unread = 0  # bytes that brought neither a head nor a body further
    _head = 0  # bytes of the head that were read
    _deadline: asyncio.TimerHandle | None = None  # None: nothing is awaited

    # --- coming and going ----------------------------------------------------

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Begin, unless there are too many."""
        super().connection_made(transport)
        if not self.enter():
            transport.abort()
            return
        # uvicorn itself would wait for ever for the first request.
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._await_nothing()
        self.leave()

    def enter(self) -> bool:
        """Take a place, once; answer whether there was one."""
        self._is_admitted = self._is_admitted or self.ceiling.admit()
        return self._is_admitted

    def leave(self) -> None:
        """Give the place back, once."""
        if self._is_admitted:
            self._is_admitted = False
            self.ceiling.release()

    # --- what is received ----------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Read on, up to a limit."""
        if self._is_over:
            return
        self._unread += len(data)
        super().data_received(data)
        self._check_head()

    def _check_head(self) -> None:
        if self._is_over:
            return
        if self._unread > _LARGEST_HEAD:
            self._refuse_large_head()
        elif not self._in_body and (self._in_head or self._unread):
            self._await(self.patience.head, self._end_slow_head)

    def on_message_begin(self) -> None:
        """Take note that a head has begun."""
        super().on_message_begin()
        self._in_head, self._head = True, 0

    def on_url(self, url: bytes) -> None:
        """Take what is asked for."""
        self._grow_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what stands behind the body is none, though it looks so."""
        if not self._in_body:
            self._grow_head(len(name) + len(value) + _AROUND)
            super().on_header(name, value)

    def _grow_head(self, size: int) -> None:
        """Count; a head that comes whole is never seen unread."""
        self._head += size
        if self._head > _LARGEST_HEAD:
            raise ValueError("the head is too large")  # the parser gives up

    def on_headers_complete(self) -> None:
        """Take note that the head has ended."""
        self._in_head, self._in_body, self._unread = False, True, 0
        self._await_nothing()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take note that the body goes on."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take note that the body has ended."""
        self._in_body, self._unread = False, 0
        self._await_nothing()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Read on for a moment, if the body has not ended."""
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete:
            self._await(self.patience.linger, self.transport.close)

    # --- refusals ------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or what the parser gave up."""
        del msg
        if self._head > _LARGEST_HEAD:
            self._refuse_large_head()
        else:
            self._refuse(400, "what was sent is not HTTP/1.1")

    def _refuse_large_head(self) -> None:
        self._refuse(431, f"a request's head has {_LARGEST_HEAD} bytes at most")

    def _end_slow_head(self) -> None:
        most = self.patience.head
        self._refuse(408, f"the head of the request took more than {most:g} s")

    def _refuse(self, status: int, detail: str) -> None:
        """Answer, unless another answer is under way; then end."""
        self._is_over = True
        self._await_nothing()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        path = unquote(self.url.partition(b"?")[0].decode("latin-1"))
        answer = refusal({"path": path}, status, detail, _REFUSED)
        self.transport.write(_written(answer))
        self._await(self.patience.linger, self.transport.close)

    def _await(self, seconds: float, or_else: Callable[[], object]) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, or_else)

    def _await_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _written(answer: Response) -> bytes:
    """Write an answer that no application gives."""
    status = HTTPStatus(answer.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in answer.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])


def wire(counted_by: Ceiling, given: Patience) -> type[Wire]:
    """Make connections that one ceiling counts, with the patience that is `given`."""

    class Counted(Wire):
        """A connection that is counted."""

        ceiling = counted_by
        patience = given

    return Counted
