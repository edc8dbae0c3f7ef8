"""Metadata-plane responses as bytes.

The head changes every second, and the tail changes with the document. They are prepared
separately, so building a response only requires joining a few pieces.
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
    """A response, independent of the second in which it is sent."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def error(status: int, text: str, **headers: str) -> Response:
    """Return an error response in the documented format."""
    body = f'{{ "error": {json.dumps(text)} }}'.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, body, JSON, named)


class ResponseHead:
    """The first lines of all responses sent within the same second."""

    def __init__(self, now: datetime, clock: str, faults: Sequence[str] = ()) -> None:
        """Create a head that shows `now` and the active `faults`.

        `clock` is shown unless it is the system clock.
        """
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
        """Return the bytes of `response`; `connection` is its Connection line."""
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
    """Return the part of a 200 response that changes only with the document."""
    return f'ETag: "{tag}"\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body


def not_modified_tail(tag: str) -> bytes:
    """Return the part of a 304 response that changes only with the document."""
    return f'ETag: "{tag}"\r\n\r\n'.encode()
