"""Chunked request bodies (`Transfer-Encoding: chunked`).

Parsing is strict, because a lenient parser invites request smuggling.
"""

import re

from forewarn.server.requests import MOST_BODY, MOST_HEAD, BadRequest
from forewarn.server.responses import Response, error

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
#: Without the spaces around `;` and `=` that RFC 9112 tolerates: others reject them.
_EXTENSION = rb";%s(?:=(?:%s|%s))?" % (_TOKEN, _TOKEN, _QUOTED)
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:%s)*" % _EXTENSION)
_TRAILER = re.compile(rb"(%s):[\t -~\x80-\xff]*" % _TOKEN)
_FRAMING = (b"content-length", b"transfer-encoding")  # not allowed in a trailer
_FREE = 16  # bytes of each size line that do not count as extra
_MOST_EXTRA = MOST_HEAD  # bytes of extensions and trailers together


class Chunks:
    """Assembles a body from chunks as they arrive."""

    def __init__(self) -> None:
        """Start before the first chunk."""
        self.is_whole = False
        self._body = bytearray()
        self._left = 0  # bytes still to come of this chunk and its line end
        self._extra = _MOST_EXTRA  # bytes of extensions and trailers still allowed
        self._in_trailers = False

    @property
    def body(self) -> bytes:
        """The part of the body that has arrived."""
        return bytes(self._body)

    def take(self, buffer: bytes, at: int) -> int:
        """Consume body bytes from `at` on; return where the rest of `buffer` begins."""
        while not self.is_whole:
            if self._left:
                at = self._take_data(buffer, at)
                if self._left:
                    break
            end = buffer.find(b"\n", at)
            length = (end if end >= 0 else len(buffer)) - at
            if length > self._extra + _FREE:
                raise _broken()
            if end < 0:
                break
            self._take_line(buffer[at : end + 1])
            at = end + 1
        return at

    def _take_data(self, buffer: bytes, at: int) -> int:
        data = buffer[at : at + self._left]
        self._left -= len(data)
        self._body += data
        if self._left == 0:
            if not self._body.endswith(b"\r\n"):
                raise _broken()
            del self._body[-2:]
        return at + len(data)

    def _take_line(self, ended: bytes) -> None:
        """Parse a chunk size, a trailer, or the empty line at the end."""
        if not ended.endswith(b"\r\n"):
            raise _broken()
        line = ended[:-2]
        if not self._in_trailers:
            self._extra -= max(0, len(line) - _FREE)
            self._take_size(line)
        elif line:
            self._extra -= len(line)
            trailer = _TRAILER.fullmatch(line)
            if trailer is None or trailer[1].lower() in _FRAMING:
                raise _broken()
        else:
            self.is_whole = True

    def _take_size(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _broken()
        length = int(size[1], 16)
        if len(self._body) + length > MOST_BODY:
            raise BadRequest(too_large())
        self._in_trailers = length == 0
        self._left = length + 2 if length else 0


def too_large() -> Response:
    """Return the 413 response for a body over the limit."""
    return error(413, f"The body is larger than {MOST_BODY} bytes")


def _broken() -> BadRequest:
    return BadRequest(error(400, "Bad request. The chunks of the body are broken"))
