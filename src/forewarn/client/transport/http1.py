"""HTTP/1.1 for clients, without I/O: builds request bytes and parses response bytes.

1. Nothing here waits or opens anything.
2. An incomplete response raises `Lost`; an invalid response raises `Misunderstood`.
3. A response that is too large is rejected before it is stored.

The standard library's client would work but imports TLS and MIME. These imports double
the memory of a program that needs neither and triple the program's import time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.errors import Lost, Misunderstood

MAX_BODY = 16 * 1024 * 1024  # bytes of a body; a document has a few thousand
_MAX_HEAD = 64 * 1024  # bytes of a head, or of a line in a chunked body
_MAX_INTERIM = 100  # responses with a 1xx status before the final response
_MAX_LINES = 1024 * 1024  # bytes of all chunk sizes and trailers together
_NO_BODY = (204, 304)
_HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """The response to one request."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    at: float = 0.0  # when its last byte arrived, on the monotonic clock


def request_bytes(
    method: str, target: str, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """Return the bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


class ResponseParser:
    """A parser for one response; accepts bytes as they arrive."""

    def __init__(self) -> None:
        """Create a parser that has not received any bytes."""
        self.is_complete = False
        self.stays_open = False  # whether the connection can be reused
        self.has_begun = False  # whether at least one byte has arrived
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._body = bytearray()
        self._rest = bytearray()  # received but not parsed yet
        self._left: int | None = None  # bytes to come; None means until closed
        self._is_chunked = False
        self._in_chunk = False
        self._in_trailers = False
        self._interim = 0  # interim responses so far
        self._line_bytes = 0  # of chunk sizes and trailers so far

    def feed(self, data: bytes) -> None:
        """Parse received bytes; empty `data` means that the connection ended."""
        if not data:
            self._end()
            return
        self.has_begun = True
        self._rest += data
        while self._advance():
            pass
        if self.is_complete and self._rest:
            self.stays_open = False  # the extra bytes were not requested

    def response(self, at: float) -> HttpResponse:
        """Return the complete response; `at` is when its last byte arrived."""
        return HttpResponse(
            status=self._status, headers=self._headers, body=bytes(self._body), at=at
        )

    def _end(self) -> None:
        is_whole = bool(self._status) and not self._is_chunked and self._left is None
        if not is_whole:
            raise Lost("the response is incomplete")
        self.is_complete = True

    def _advance(self) -> bool:
        """Parse one more part; return False if more bytes are needed."""
        if self.is_complete:
            return False
        if not self._status:
            return self._head()
        if self._is_chunked and not self._in_chunk:
            return self._trailers() if self._in_trailers else self._size_line()
        return self._content()

    # --- the head ------------------------------------------------------------

    def _head(self) -> bool:
        end = self._rest.find(b"\r\n\r\n")
        if end < 0:
            if not b"HTTP/1.".startswith(self._rest[:7]):
                raise Misunderstood("the response is not HTTP")
            self._check_head_size()
            return False
        lines = self._rest[:end].decode("latin-1").split("\r\n")
        del self._rest[: end + 4]
        version, status = _status(lines[0])
        if status // 100 == 1:  # the final response follows
            self._interim += 1
            if self._interim > _MAX_INTERIM:
                raise Misunderstood("the server sent too many interim responses")
            return True
        self._status, self._headers = status, _headers(lines[1:])
        self.stays_open = version == "HTTP/1.1" and not self._has_token(
            "connection", "close"
        )
        self._frame()
        return True

    def _check_head_size(self) -> None:
        if len(self._rest) > _MAX_HEAD:
            raise Misunderstood("the response head is too long")

    def _has_token(self, name: str, word: str) -> bool:
        words = self._headers.get(name, "").lower().split(",")
        return word in [part.strip() for part in words]

    def _frame(self) -> None:
        """Determine where the body ends."""
        if self._status in _NO_BODY:
            self.is_complete = True
        elif "transfer-encoding" in self._headers:
            if not self._has_token("transfer-encoding", "chunked"):
                raise Misunderstood("the response has an unknown transfer encoding")
            self._is_chunked = True
        elif "content-length" in self._headers:
            self._left = _length(self._headers["content-length"])
            self.is_complete = self._left == 0
        else:
            self.stays_open = False

    # --- the body ------------------------------------------------------------

    def _content(self) -> bool:
        count = len(self._rest) if self._left is None else self._left
        part = self._rest[:count]
        if not part:
            return False
        if len(self._body) + len(part) > MAX_BODY:
            raise Misunderstood(f"the response is larger than {MAX_BODY // 1024**2} MB")
        self._body += part
        del self._rest[: len(part)]
        if self._left is not None:
            self._left -= len(part)
            if self._left == 0:
                self._end_part()
        return True

    def _end_part(self) -> None:
        if self._is_chunked:
            self._in_chunk = False
            if not self._body.endswith(b"\r\n"):
                raise Misunderstood("a chunk in the response has the wrong size")
            del self._body[-2:]  # the line end after the chunk
        else:
            self.is_complete = True

    def _size_line(self) -> bool:
        line = self._line()
        if line is None:
            return False
        size = line.split(b";")[0].strip()
        if not size or not _HEX.issuperset(size) or len(size) > 8:
            raise Misunderstood("a chunk in the response has no size")
        count = int(size, 16)
        self._in_trailers = count == 0
        self._in_chunk = count > 0
        self._left = count + 2
        return True

    def _trailers(self) -> bool:
        line = self._line()
        if line is not None and not line:
            self.is_complete = True
        return line is not None

    def _line(self) -> bytes | None:
        """Return the next line, or None if its end has not arrived."""
        end = self._rest.find(b"\r\n")
        if end < 0:
            self._check_head_size()
            return None
        self._line_bytes += end + 2
        if self._line_bytes > _MAX_LINES:
            raise Misunderstood("the response has too many chunks or trailers")
        line = bytes(self._rest[:end])
        del self._rest[: end + 2]
        return line


def _status(line: str) -> tuple[str, int]:
    version, _, rest = line.partition(" ")
    number = rest[:3]
    if not version.startswith("HTTP/1.") or not number.isdecimal():
        raise Misunderstood("the response is not HTTP")
    status = int(number) if number.isascii() and len(number) == 3 else 0
    if not 100 <= status <= 599:
        raise Misunderstood(f"the response has an unknown status: {number!r}")
    return version, status


def _headers(lines: list[str]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise Misunderstood("the response has a header without a name")
        key = name.strip().lower()
        text = value.strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _length(text: str) -> int:
    sizes = {part.strip() for part in text.split(",")}
    size = sizes.pop()
    if sizes or not (size.isascii() and size.isdecimal()) or len(size) > 15:
        raise Misunderstood(f"the response has an invalid Content-Length: {text!r}")
    if int(size) > MAX_BODY:
        raise Misunderstood(f"the response is larger than {MAX_BODY // 1024**2} MB")
    return int(size)
