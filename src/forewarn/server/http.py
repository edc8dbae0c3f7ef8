"""HTTP/1.1 for the metadata plane: a connection as a state machine without I/O.

Bytes go in, bytes come out. Whoever owns the socket writes what `receive` and
`resume` answer, starts what `deferred` names, and closes when `state` says so.

1. Answers are given in the order of the requests. While one is deferred, what
   arrives is kept, not looked at. So it is when much was answered at once: then
   `is_behind`, and whoever owns the socket calls `go_on` when that was read.
2. After an error that leaves the stream out of step, nothing more is answered.
3. Nothing here reads a clock or knows a socket.
"""

import re
from dataclasses import replace
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from forewarn.server.chunks import Chunks, too_large
from forewarn.server.requests import (
    MOST_BODY,
    MOST_HEAD,
    BadRequest,
    Request,
    check_lines,
    parse_head,
)
from forewarn.server.responses import CLOSE, CONTINUE, Response, error

_END = b"\r\n\r\n"
_MOST_EMPTY = 4  # lines before a request; RFC 9112, 2.2, asks for one at least
_ASKS_HEAD = re.compile(rb"(?:\r\n){0,%d}HEAD " % _MOST_EMPTY)
_MOST_WAITING = 256 * 1024  # of requests sent before the last was answered
_MOST_WRITTEN = 64 * 1024  # of answers, before somebody must have read them
_MOST_MEMO = 4096
_LONGEST_MEMO = 1024

_Deferred = TypeVar("_Deferred")
_Named = TypeVar("_Named", covariant=True)


class State(Enum):
    """What the connection waits for."""

    IDLE = auto()  #: the first byte of a request
    HEAD = auto()  #: the rest of a head
    BODY = auto()  #: the rest of a body
    BUSY = auto()  #: the answer that is being made
    DRAIN = auto()  #: the end of input that nobody reads any more
    CLOSED = auto()  #: nothing; close it once all is written


# Looking them up in the class costs more than the comparison.
_IDLE = State.IDLE
_BUSY = State.BUSY
_OVER = (State.DRAIN, State.CLOSED)


class Application(Protocol[_Named]):
    """Who answers requests."""

    def answer(self, request: Request, body: bytes) -> bytes | _Named:
        """Answer at once, or name what must be done first."""

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Write the last answer of a connection."""


class Memo:
    """Heads that were read before; only what is a pure function of the bytes."""

    def __init__(self) -> None:
        """Begin with an empty memory."""
        self._known: dict[bytes, Request] = {}
        #: Those that are whole requests, because they have no body.
        self.whole: dict[bytes, Request] = {}

    def read(self, head: bytes) -> Request:
        """Read `head`, or remember it."""
        known = self._known.get(head)
        if known is None:
            known = parse_head(head)
            if len(head) <= _LONGEST_MEMO:
                self._keep(head, known)
        return known

    def _keep(self, head: bytes, request: Request) -> None:
        if len(self._known) >= _MOST_MEMO:
            self._known.clear()
            self.whole.clear()
        self._known[head] = request
        if not request.has_body:
            self.whole[head] = request


class Connection(Generic[_Deferred]):
    """One connection."""

    __slots__ = (
        "_application",
        "_at",
        "_body",
        "_buffer",
        "_chunks",
        "_memo",
        "_request",
        "_searched",
        "deferred",
        "is_behind",
        "state",
    )

    def __init__(self, application: Application[_Deferred], memo: Memo) -> None:
        """Let `application` answer."""
        self.state = State.IDLE
        self.is_behind = False  # more was asked than is answered at once
        self.deferred: _Deferred | None = None
        self._application = application
        self._memo = memo
        self._body = b""
        self._buffer = b""
        self._at = 0  # how much of it is done with, while we go on
        self._searched = 0  # how much of it holds no end of a head
        self._request: Request | None = None
        self._chunks: Chunks | None = None

    @property
    def request(self) -> Request:
        """The request whose answer is deferred."""
        if self._request is None:
            raise LookupError("no answer is deferred")
        return self._request

    @property
    def body(self) -> bytes:
        """The body of the request whose answer is deferred."""
        return self._body

    def receive(self, data: bytes) -> bytes:
        """Take what has arrived; answer what is to be written."""
        if self.state is _IDLE and not self._buffer:
            request = self._memo.whole.get(data)
            if request is not None:  # nearly always: pollers repeat themselves
                self._request, self._body = request, b""
                answer = self._application.answer(request, b"")
                if isinstance(answer, bytes) and not request.is_last:
                    self._request = None
                    return answer
                return self._give(answer)
        if self.state in _OVER:
            return b""
        self._buffer = self._buffer + data if self._buffer else data
        if self.state is _BUSY:
            if len(self._buffer) > _MOST_WAITING:
                self._buffer = b""
                self.state = State.CLOSED
            return b""
        return self.go_on()

    def resume(self, answer: bytes | _Deferred) -> bytes:
        """Give the answer that was deferred, and go on with what has arrived."""
        if self.state is not _BUSY:
            return b""
        self.deferred = None
        written = self._give(answer)
        if not self._buffer or self.state is _BUSY:
            return written
        return written + self.go_on()

    def end(self) -> None:
        """Let the answer that is deferred be the last, and say so."""
        self._request = replace(
            self.request, is_last=True, connection=CLOSE, route=None
        )

    def forget_tags(self) -> None:
        """Ask for the document, whatever the client knows of it."""
        self._request = replace(self.request, if_none_match=None, wait=None, route=None)

    def fail(self, response: Response) -> bytes:
        """Answer for the last time."""
        if self._request is not None:
            is_head = self._request.is_head
        else:
            is_head = _ASKS_HEAD.match(self._buffer, self._at) is not None
        self.state = State.DRAIN
        self._buffer, self._chunks = b"", None
        return self._application.refuse(response, is_head=is_head)

    def go_on(self) -> bytes:
        """Look at what has arrived; answer what is to be written."""
        written: list[bytes] = []
        left = _MOST_WRITTEN
        self.is_behind = False
        try:
            while self.state is not _BUSY and self.state not in _OVER:
                if left <= 0:
                    self.is_behind = True
                    break
                step = self._step()
                if step is None:
                    break
                written.append(step)
                left -= len(step)
        except BadRequest as problem:
            written.append(self.fail(problem.response))
        if self._at:
            self._buffer, self._at = self._buffer[self._at :], 0
        return written[0] if len(written) == 1 else b"".join(written)

    def _step(self) -> bytes | None:
        """Make one step; None: more bytes are needed."""
        if self._request is None:
            return self._take_head()
        return self._take_body(self._request)

    def _take_head(self) -> bytes | None:
        buffer, begin = self._buffer, self._skip_empty_lines()
        end = buffer.find(_END, max(begin, self._searched))
        size = end + len(_END) - begin if end >= 0 else len(buffer) + 1 - begin
        if end < 0 or size > MOST_HEAD:
            self._wait_for_head(begin, size)
            return None
        request = self._memo.read(buffer[begin : begin + size])
        self._request, self._at, self._searched = request, begin + size, 0
        if request.length > MOST_BODY:
            raise BadRequest(too_large())
        if not request.has_body:
            self._body = b""
            return self._give(self._application.answer(request, b""))
        self.state = State.BODY
        self._chunks = Chunks() if request.is_chunked else None
        asked = request.expects_continue and len(buffer) == self._at
        return CONTINUE if asked else b""

    def _skip_empty_lines(self) -> int:
        """Find where the head begins; what is skipped is kept, so that it counts."""
        begin = self._at
        while self._buffer.startswith(b"\r\n", begin):
            begin += 2
            if begin - self._at > 2 * _MOST_EMPTY:
                raise BadRequest(error(400, "Bad request. Too many empty lines"))
        return begin

    def _wait_for_head(self, begin: int, size: int) -> None:
        buffer = self._buffer
        head = buffer[begin : begin + MOST_HEAD]
        check_lines(head, max(0, self._searched - begin))
        if size > MOST_HEAD:
            raise BadRequest(error(431, f"The head is over {MOST_HEAD} bytes"))
        self.state = State.HEAD if begin < len(buffer) else State.IDLE
        self._searched = max(0, len(buffer) - self._at - len(_END) + 1)

    def _take_body(self, request: Request) -> bytes | None:
        if self._chunks is not None:
            self._at = self._chunks.take(self._buffer, self._at)
            if not self._chunks.is_whole:
                return None
            body, self._chunks = self._chunks.body, None
        else:
            end = self._at + request.length
            if len(self._buffer) < end:
                return None
            body, self._at = self._buffer[self._at : end], end
        self._body = body
        return self._give(self._application.answer(request, body))

    def _give(self, answer: bytes | _Deferred) -> bytes:
        if not isinstance(answer, bytes):
            self.deferred = answer
            self.state = State.BUSY
            return b""
        is_last = self._request is not None and self._request.is_last
        self._request = None
        if is_last:
            left = len(self._buffer) > self._at
            self.state = State.DRAIN if left else State.CLOSED
        else:
            self.state = _IDLE
        return answer
