"""Bodies sent in chunks; strict, because a lenient reader invites smuggling."""

import re

from forewarn.server.requests import MOST_BODY, BadRequest
from forewarn.server.responses import Response, error

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[!-~ \t]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")
_MOST_LINE = 1024
_MOST_TRAILERS = 32


class Chunks:
    """Puts a body together from chunks as they arrive."""

    def __init__(self) -> None:
        """Begin before the first chunk."""
        self.body = b""
        self._left = 0  # of the present chunk, with its line end
        self._in_trailers = False
        self._trailers = 0

    def take(self, buffer: bytes) -> tuple[bool, bytes]:
        """Take what belongs to the body; answer whether it is whole, and the rest."""
        while True:
            if self._left:
                buffer = self._take_data(buffer)
                if self._left:
                    return False, buffer
            line, found, rest = buffer.partition(b"\r\n")
            if len(line.removesuffix(b"\r")) > _MOST_LINE:
                raise _broken()
            if not found:
                return False, buffer
            buffer = rest
            if self._take_line(line):
                return True, buffer

    def _take_data(self, buffer: bytes) -> bytes:
        data = buffer[: self._left]
        self._left -= len(data)
        self.body += data
        if self._left == 0:
            if not self.body.endswith(b"\r\n"):
                raise _broken()
            self.body = self.body[:-2]
        return buffer[len(data) :]

    def _take_line(self, line: bytes) -> bool:
        """Read a size or a trailer; answer whether the body is whole."""
        if self._in_trailers:
            if not line:
                return True
            self._trailers += 1
            if self._trailers > _MOST_TRAILERS or not _TRAILER.fullmatch(line):
                raise _broken()
            return False
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _broken()
        length = int(size[1], 16)
        if len(self.body) + length > MOST_BODY:
            raise BadRequest(too_large())
        if length == 0:
            self._in_trailers = True
        else:
            self._left = length + 2
        return False


def too_large() -> Response:
    """The answer to a body over the limit."""
    return error(413, f"The body is larger than {MOST_BODY} bytes")


def _broken() -> BadRequest:
    return BadRequest(error(400, "Bad request. The chunks of the body are broken"))
