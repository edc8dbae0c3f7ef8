"""HTTP/1.1 state machine for one metadata connection, without I/O: bytes in, bytes out.

1. Parsing is strict, because a lenient parser invites request smuggling.
2. Responses are sent in the order of their requests. While a response is deferred,
   later requests wait in the buffer.
3. A request that repeats the bytes of an earlier request is not parsed again. Pollers
   send only such requests.
4. Every call does a bounded amount of work, called a turn. If more input has arrived,
   `is_behind` is set, and the caller continues with `proceed` after serving others.
"""

import re
from dataclasses import replace
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from forewarn.server.metadata.transport.requests import (
    MAX_BODY,
    MAX_HEAD,
    BadRequest,
    Request,
    check_lines,
    parse_head,
)
from forewarn.server.metadata.transport.responses import (
    CLOSE,
    CONTINUE,
    Response,
    error,
)

_END = b"\r\n\r\n"
_MAX_EMPTY_LINES = 4  # before a request; RFC 9112, 2.2, recommends at least one
_IS_HEAD_METHOD = re.compile(rb"(?:\r\n){0,%d}HEAD " % _MAX_EMPTY_LINES)
_MAX_WAITING = 256 * 1024  # bytes of requests sent before the last response
_MAX_WRITTEN = 64 * 1024  # bytes of responses per turn
_MAX_PARSED = 16  # heads and bodies per turn
_MAX_READ = 16 * 1024  # bytes of requests per turn, unless a request is larger
_MAX_CHUNKS = 1000  # bytes of one body
_MAX_CACHED_HEADS = 2048  # heads in each generation
_MAX_CACHED_HEAD = 1024  # bytes

# Chunked bodies (`Transfer-Encoding: chunked`); RFC 9112, 7.1.
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
#: Without the spaces around `;` and `=` that RFC 9112 tolerates, because other
#: parsers reject them.
_EXTENSION = rb";%s(?:=(?:%s|%s))?" % (_TOKEN, _TOKEN, _QUOTED)
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:%s)*" % _EXTENSION)
_TRAILER = re.compile(rb"(%s):[\t -~\x80-\xff]*" % _TOKEN)
_FRAMING = (b"content-length", b"transfer-encoding")  # not allowed in a trailer
_FREE = 16  # bytes of each size line that do not count as extra
_MAX_EXTRA = MAX_HEAD  # bytes of extensions and trailers together

_Deferred = TypeVar("_Deferred")
_Covariant = TypeVar("_Covariant", covariant=True)


class ConnectionState(Enum):
    """What the connection is waiting for."""

    IDLE = auto()  #: the first byte of a request
    HEAD = auto()  #: the rest of a head
    BODY = auto()  #: the rest of a body
    BUSY = auto()  #: a deferred response
    DRAIN = auto()  #: the end of input that is read and dropped
    CLOSED = auto()  #: nothing; close once everything is written


# A lookup on the class costs more than the comparison.
_IDLE = ConnectionState.IDLE
_BUSY = ConnectionState.BUSY
_OVER = (ConnectionState.DRAIN, ConnectionState.CLOSED)


class Application(Protocol[_Covariant]):
    """Handles requests."""

    def handle(self, request: Request, body: bytes) -> bytes | _Covariant:
        """Return the response, or the work that must be done first."""

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Return a connection's last response."""

    def may_proceed(self) -> bool:
        """Return whether requests may be parsed now, without waiting for a turn."""


class HeadCache:
    """Cache of parsed heads, which are a pure function of their bytes.

    A head with an ETag is no longer used once the document has changed, so unused heads
    must be dropped. The cache keeps a new and an old generation. When a head is used,
    it moves to the new generation. The old generation is dropped when the new
    generation is full or a minute old.
    """

    def __init__(self) -> None:
        """Create an empty cache."""
        self._new: dict[bytes, Request] = {}
        self._old: dict[bytes, Request] = {}
        #: New-generation heads that are whole requests because they have no body.
        self.whole: dict[bytes, Request] = {}

    def read(self, head: bytes) -> Request:
        """Parse `head`, or return the cached result."""
        request = self._new.get(head)
        if request is None:
            request = self._old.get(head) or parse_head(head)
            if len(head) <= _MAX_CACHED_HEAD:
                self._store(head, request)
        return request

    def drop_unused(self) -> None:
        """Drop heads not used since the last call and start a new generation."""
        self._old, self._new, self.whole = self._new, {}, {}

    def _store(self, head: bytes, request: Request) -> None:
        if len(self._new) >= _MAX_CACHED_HEADS:
            self.drop_unused()
        self._new[head] = request
        if not request.has_body:
            self.whole[head] = request


class Http1Connection(Generic[_Deferred]):
    """One HTTP/1.1 connection."""

    __slots__ = (
        "_application",
        "_at",
        "_body",
        "_buffer",
        "_chunks",
        "_head_cache",
        "_request",
        "_searched",
        "deferred",
        "is_behind",
        "state",
    )

    def __init__(
        self, application: Application[_Deferred], head_cache: HeadCache
    ) -> None:
        """Create a connection whose requests are handled by `application`."""
        self.state = ConnectionState.IDLE
        self.is_behind = False  # more has arrived than one turn handles
        self.deferred: _Deferred | None = None
        self._application = application
        self._head_cache = head_cache
        self._body = b""
        self._buffer = b""
        self._at = 0  # bytes of it consumed so far by `proceed`
        self._searched = 0  # bytes of it known to contain no end of a head
        self._request: Request | None = None
        self._chunks: _ChunkedBody | None = None

    @property
    def request(self) -> Request:
        """The request whose response is deferred."""
        if self._request is None:
            raise LookupError("no response is deferred")
        return self._request

    @property
    def body(self) -> bytes:
        """The body of the request whose response is deferred."""
        return self._body

    def receive(self, data: bytes) -> bytes:
        """Process incoming bytes; return the bytes to write."""
        if self.state is _IDLE and not self._buffer:
            request = self._head_cache.whole.get(data)
            if request is not None:  # the usual case: pollers repeat the same request
                self._request, self._body = request, b""
                result = self._application.handle(request, b"")
                if isinstance(result, bytes) and not request.is_last:
                    self._request = None
                    return result
                return self._finish(result)
        if self.state in _OVER:
            return b""
        self._buffer = self._buffer + data if self._buffer else data
        if self.state is _BUSY or self.is_behind:
            if len(self._buffer) > _MAX_WAITING:
                self._buffer, self.is_behind = b"", False
                self.state = ConnectionState.CLOSED
            return b""
        if not self._application.may_proceed():
            self.is_behind = True
            return b""
        return self.proceed()

    def resume(self, result: bytes | _Deferred) -> bytes:
        """Send the deferred response; later requests wait for their turn."""
        if self.state is not _BUSY:
            return b""
        self.deferred = None
        written = self._finish(result)
        self.is_behind = bool(self._buffer) and self.state is _IDLE
        return written

    def end(self) -> None:
        """Mark the deferred response as the connection's last one."""
        self._request = replace(
            self.request, is_last=True, connection=CLOSE, route=None
        )

    def forget_tags(self) -> None:
        """Drop `If-None-Match` and `wait`, so that the response contains a document."""
        self._request = replace(self.request, if_none_match=None, wait=None, route=None)

    def fail(self, response: Response) -> bytes:
        """Return an error response and end the connection with it."""
        if self._request is not None:
            is_head = self._request.is_head
        else:
            is_head = _IS_HEAD_METHOD.match(self._buffer, self._at) is not None
        self.state = ConnectionState.DRAIN
        self._buffer, self._chunks = b"", None
        return self._application.refuse(response, is_head=is_head)

    def proceed(self) -> bytes:
        """Process bytes that have already arrived; return the bytes to write.

        A call processes at most one turn's worth.
        """
        written: list[bytes] = []
        left = _MAX_WRITTEN
        self.is_behind = False
        try:
            while self.state is not _BUSY and self.state not in _OVER:
                is_over = len(written) == _MAX_PARSED or self._at >= _MAX_READ
                if is_over or left <= 0:
                    self.is_behind = self._at < len(self._buffer)
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
        """Parse one head or body; return None if more bytes are needed."""
        if self._request is None:
            return self._read_head()
        return self._read_body(self._request)

    def _read_head(self) -> bytes | None:
        buffer, begin = self._buffer, self._skip_empty_lines()
        end = buffer.find(_END, max(begin, self._searched))
        size = end + len(_END) - begin if end >= 0 else len(buffer) + 1 - begin
        if end < 0 or size > MAX_HEAD:
            self._wait_for_head(begin, size)
            return None
        request = self._head_cache.read(buffer[begin : begin + size])
        self._request, self._at, self._searched = request, begin + size, 0
        if request.length > MAX_BODY:
            raise _too_large()
        if not request.has_body:
            self._body = b""
            return self._finish(self._application.handle(request, b""))
        self.state = ConnectionState.BODY
        self._chunks = _ChunkedBody() if request.is_chunked else None
        should_continue = request.expects_continue and len(buffer) == self._at
        return CONTINUE if should_continue else b""

    def _skip_empty_lines(self) -> int:
        """Return where the head begins; skipped lines still count toward its size."""
        begin = self._at
        while self._buffer.startswith(b"\r\n", begin):
            begin += 2
            if begin - self._at > 2 * _MAX_EMPTY_LINES:
                raise BadRequest(error(400, "Bad request. Too many empty lines"))
        return begin

    def _wait_for_head(self, begin: int, size: int) -> None:
        buffer = self._buffer
        head = buffer[begin : begin + MAX_HEAD]
        check_lines(head, max(0, self._searched - begin))
        if size > MAX_HEAD:
            raise BadRequest(error(431, f"The head is larger than {MAX_HEAD} bytes"))
        self.state = (
            ConnectionState.HEAD if begin < len(buffer) else ConnectionState.IDLE
        )
        self._searched = max(0, len(buffer) - self._at - len(_END) + 1)

    def _read_body(self, request: Request) -> bytes | None:
        if self._chunks is not None:
            self._at = self._chunks.feed(self._buffer, self._at)
            if not self._chunks.is_whole:
                return None
            body, self._chunks = self._chunks.body, None
        else:
            end = self._at + request.length
            if len(self._buffer) < end:
                return None
            body, self._at = self._buffer[self._at : end], end
        self._body = body
        return self._finish(self._application.handle(request, body))

    def _finish(self, result: bytes | _Deferred) -> bytes:
        if not isinstance(result, bytes):
            self.deferred = result
            self.state = ConnectionState.BUSY
            return b""
        is_last = self._request is not None and self._request.is_last
        self._request = None
        if is_last:
            has_more = len(self._buffer) > self._at
            self.state = ConnectionState.DRAIN if has_more else ConnectionState.CLOSED
        else:
            self.state = _IDLE
        return result


class _ChunkedBody:
    """Assembles a body from chunks as they arrive."""

    def __init__(self) -> None:
        self.is_whole = False
        self._body = bytearray()
        self._chunks = 0
        self._left = 0  # bytes still to come in this chunk and its line end
        self._extra = _MAX_EXTRA  # bytes of extensions and trailers still allowed
        self._in_trailers = False

    @property
    def body(self) -> bytes:
        """The part of the body that has arrived."""
        return bytes(self._body)

    def feed(self, buffer: bytes, at: int) -> int:
        """Consume body bytes from `at`; return where the rest of `buffer` begins."""
        while not self.is_whole:
            if self._left:
                at = self._read_data(buffer, at)
                if self._left:
                    break
            end = buffer.find(b"\n", at)
            length = (end if end >= 0 else len(buffer)) - at
            if length > self._extra + _FREE:
                raise _broken_chunks()
            if end < 0:
                break
            self._read_line(buffer[at : end + 1])
            at = end + 1
        return at

    def _read_data(self, buffer: bytes, at: int) -> int:
        data = buffer[at : at + self._left]
        self._left -= len(data)
        self._body += data
        if self._left == 0:
            if not self._body.endswith(b"\r\n"):
                raise _broken_chunks()
            del self._body[-2:]
        return at + len(data)

    def _read_line(self, line_with_end: bytes) -> None:
        """Parse a chunk size, a trailer, or the empty line at the end."""
        if not line_with_end.endswith(b"\r\n"):
            raise _broken_chunks()
        line = line_with_end[:-2]
        if not self._in_trailers:
            self._extra -= max(0, len(line) - _FREE)
            self._read_size(line)
        elif line:
            self._extra -= len(line)
            trailer = _TRAILER.fullmatch(line)
            if trailer is None or trailer[1].lower() in _FRAMING:
                raise _broken_chunks()
        else:
            self.is_whole = True

    def _read_size(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _broken_chunks()
        length = int(size[1], 16)
        if len(self._body) + length > MAX_BODY:
            raise _too_large()
        self._chunks += 1
        if self._chunks > _MAX_CHUNKS and length:
            raise BadRequest(error(413, f"The body has more than {_MAX_CHUNKS} chunks"))
        self._in_trailers = length == 0
        self._left = length + 2 if length else 0


def _too_large() -> BadRequest:
    return BadRequest(error(413, f"The body is larger than {MAX_BODY} bytes"))


def _broken_chunks() -> BadRequest:
    return BadRequest(error(400, "Bad request. The chunked body is malformed"))
