"""Answers of the metadata plane as bytes.

What changes with every second (the date) and what changes with every document (tag,
length, body) are kept ready apart, so that an answer is two pieces put together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from forewarn.protocol.codec import rfc1123

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

CLOSE = b"Connection: close\r\n"
KEEP = b"Connection: keep-alive\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_REASONS: Mapping[int, str] = {
    200: "OK",
    304: "Not Modified",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    410: "Gone",
    413: "Content Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that does not depend on the second in which it is given."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def error(status: int, text: str, **headers: str) -> Response:
    """Make an error as the documentation shows them."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, f'{{ "error": {json.dumps(text)} }}'.encode(), JSON, named)


class Stamp:
    """The first lines of every answer given in one second."""

    def __init__(self, now: datetime, clock: str, faults: Sequence[str] = ()) -> None:
        """Show `now`; a `clock` that is not the system's is named, `faults` too."""
        self.now = now
        common = f"Server: forewarn\r\nDate: {rfc1123(now)}\r\n"
        if clock != "system":
            common += f"Forewarn-Clock: {clock.removeprefix('x')}\r\n"
        if faults:
            common += f"Forewarn-Faults: {', '.join(faults)}\r\n"
        self._common = common.encode()
        content = f"Content-Type: {JSON}\r\n".encode()
        self.ok = b"HTTP/1.1 200 OK\r\n" + content + self._common
        self.not_modified = b"HTTP/1.1 304 Not Modified\r\n" + self._common

    def render(
        self, response: Response, connection: bytes, *, is_head: bool = False
    ) -> bytes:
        """Write `response`; `connection` is the line about keeping it open, if any."""
        status = response.status
        lines = [f"HTTP/1.1 {status} {_REASONS[status]}\r\n".encode()]
        if response.body:
            lines.append(f"Content-Type: {response.content_type}\r\n".encode())
        lines += [self._common, connection]
        lines += [
            f"{name}: {value}\r\n".encode() for name, value in response.headers.items()
        ]
        lines.append(f"Content-Length: {len(response.body)}\r\n\r\n".encode())
        if not is_head:
            lines.append(response.body)
        return b"".join(lines)


def tail(tag: str, body: bytes) -> bytes:
    """The part of a 200 that changes only with the document."""
    return f'ETag: "{tag}"\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body


def not_modified_tail(tag: str) -> bytes:
    """The part of a 304 that changes only with the document."""
    return f'ETag: "{tag}"\r\n\r\n'.encode()
