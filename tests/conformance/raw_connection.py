"""Raw HTTP connections that send exact bytes and keep a transcript.

Libraries normalize requests and responses. Here the spelling of a header matters, and a
failure has to show the exact bytes.
"""

import json
import select
import socket
import time
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any

_LONGEST_SHOWN = 2000


@dataclass(slots=True, kw_only=True)
class RequestPacer:
    """The minimum interval between requests."""

    interval: float = 0.0  # seconds
    next: float = 0.0

    def keep(self) -> None:
        """Wait until the next request may be sent."""
        time.sleep(max(0.0, self.next - time.monotonic()))
        self.next = time.monotonic() + self.interval


@dataclass(slots=True, kw_only=True)
class Transcript:
    """The transcript of one test."""

    pace: RequestPacer
    timeout: float
    lines: list[str] = field(default_factory=list, repr=False)

    def note(self, arrow: str, data: bytes) -> None:
        """Keep `data` for the failure report."""
        shown = data[:_LONGEST_SHOWN].decode("latin-1").replace("\r\n", "\n")
        more = f"... {len(data)} bytes" if len(data) > _LONGEST_SHOWN else ""
        self.lines += [f"{arrow} {line}" for line in f"{shown}{more}".split("\n")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedResponse:
    """A response."""

    protocol: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float  # until it was complete

    def header(self, name: str) -> str | None:
        """Return a header by its case-insensitive name, or None if it is missing."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    @property
    def json(self) -> Any:
        """Return the decoded body, which must be JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError(f"expected JSON, seen {self.body[:200]!r}") from None

    def __getitem__(self, name: str) -> Any:
        """Return a member of the body, which must be an object that has it."""
        plain = self.json
        has_it = isinstance(plain, dict) and name in plain
        assert has_it, f"expected an object with {name}, seen {self.body[:200]!r}"
        return plain[name]

    @property
    def error(self) -> str:
        """Return the message of an error, which must have the format of 8.0j."""
        assert self.header("Content-Type") == "application/json; charset=utf-8"
        text = self["error"]
        assert isinstance(text, str), f"error is text, not {text!r}"
        assert text, "expected an error message, seen none"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class RawConnection:
    """An open connection."""

    socket: socket.socket
    transcript: Transcript = field(repr=False)

    def write(self, data: bytes) -> None:
        """Send `data` unchanged."""
        self.transcript.pace.keep()
        self.transcript.note(">", data)
        self.socket.sendall(data)

    def read(self, method: str = "GET") -> ReceivedResponse:
        """Read one response to a request with `method`."""
        began = time.monotonic()
        response = HTTPResponse(self.socket, method=method)
        try:
            response.begin()
            body = response.read()
        finally:
            response.close()
        received = ReceivedResponse(
            protocol={11: "HTTP/1.1", 10: "HTTP/1.0"}[response.version],
            status=response.status,
            headers=tuple(response.headers.items()),
            body=body,
            seconds=time.monotonic() - began,
        )
        self._note(received, response.reason)
        return received

    def _note(self, received: ReceivedResponse, reason: str) -> None:
        head = [f"{received.protocol} {received.status} {reason}"]
        head += [f"{name}: {value}" for name, value in received.headers]
        self.transcript.note("<", "\r\n".join([*head, "", ""]).encode() + received.body)

    def is_quiet(self, seconds: float) -> bool:
        """Return whether nothing arrives for `seconds`."""
        return not select.select([self.socket], [], [], seconds)[0]

    def is_ended(self) -> bool:
        """Return whether the other side has closed the connection."""
        return not self.socket.recv(1)
