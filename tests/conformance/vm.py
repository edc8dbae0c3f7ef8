"""A VM that asks: exact bytes out, exact bytes in.

Libraries tidy up what they send and what they read; here the spelling of a header
matters, so requests are written by hand and everything said is kept for the report.
"""

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
)
NEWEST = VERSIONS[-1]
EVENTS = "/metadata/scheduledevents"

_LONGEST_SHOWN = 2000


@dataclass(slots=True, kw_only=True)
class Pace:
    """How fast requests may follow each other."""

    interval: float = 0.0  # seconds
    next: float = 0.0

    def keep(self) -> None:
        """Wait until the next request may be sent."""
        time.sleep(max(0.0, self.next - time.monotonic()))
        self.next = time.monotonic() + self.interval


@dataclass(slots=True, kw_only=True)
class Wire:
    """What one test says and hears."""

    pace: Pace
    timeout: float
    said: list[str] = field(default_factory=list, repr=False)

    def note(self, arrow: str, data: bytes) -> None:
        """Keep `data` for the report of a failure."""
        shown = data[:_LONGEST_SHOWN].decode("latin-1").replace("\r\n", "\n")
        more = f"... {len(data)} bytes" if len(data) > _LONGEST_SHOWN else ""
        self.said += [f"{arrow} {line}" for line in f"{shown}{more}".split("\n")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    protocol: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float  # that it took

    def header(self, name: str) -> str | None:
        """Find a header whatever the case of its name."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    @property
    def json(self) -> Any:
        """What the body says, which must be JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError(f"expected JSON, seen {self.body[:200]!r}") from None

    def __getitem__(self, name: str) -> Any:
        """Find a member of the body, which must be an object that has it."""
        plain = self.json
        has_it = isinstance(plain, dict) and name in plain
        assert has_it, f"expected an object with {name}, seen {self.body[:200]!r}"
        return plain[name]

    @property
    def error(self) -> str:
        """The sentence of an error, which must be as 8.0j has it."""
        assert self.header("Content-Type") == "application/json; charset=utf-8"
        text = self["error"]
        assert isinstance(text, str), f"error is text, not {text!r}"
        assert text, "an error is a sentence, not nothing"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An open connection."""

    socket: socket.socket
    wire: Wire = field(repr=False)

    def write(self, data: bytes) -> None:
        """Send `data` as it is."""
        self.wire.pace.keep()
        self.wire.note(">", data)
        self.socket.sendall(data)

    def read(self, method: str = "GET") -> Answer:
        """Read one answer to a request of `method`."""
        began = time.monotonic()
        response = HTTPResponse(self.socket, method=method)
        try:
            response.begin()
            body = response.read()
        finally:
            response.close()
        answer = Answer(
            protocol={11: "HTTP/1.1", 10: "HTTP/1.0"}[response.version],
            status=response.status,
            headers=tuple(response.headers.items()),
            body=body,
            seconds=time.monotonic() - began,
        )
        self._note(answer, response.reason)
        return answer

    def _note(self, answer: Answer, reason: str) -> None:
        head = [f"{answer.protocol} {answer.status} {reason}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        self.wire.note("<", "\r\n".join([*head, "", ""]).encode() + answer.body)

    def is_quiet(self, seconds: float) -> bool:
        """Whether nothing arrives for some `seconds`."""
        return not select.select([self.socket], [], [], seconds)[0]

    def is_ended(self) -> bool:
        """Whether the other side has closed it."""
        return not self.socket.recv(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class VM:
    """One VM's endpoint."""

    endpoint: str  # without /metadata
    wire: Wire = field(repr=False)
    name: str = ""  # empty: whoever the endpoint speaks for
    source: str | None = None  # the address to ask from; None: any

    @contextmanager
    def line(self) -> Iterator[Line]:
        """Connect."""
        where = urlsplit(self.endpoint)
        made = socket.create_connection(
            (where.hostname or "", where.port or 80),
            self.wire.timeout,
            None if self.source is None else (self.source, 0),
        )
        with made:
            yield Line(socket=made, wire=self.wire)

    def request(
        self,
        target: str,
        *headers: str,
        method: str = "GET",
        body: bytes | None = None,
        marked: bool = True,
    ) -> bytes:
        """Write a request; `marked` puts `Metadata: true` before `headers`."""
        where = urlsplit(self.endpoint)
        lines = [f"{method} {where.path.rstrip('/')}{target} HTTP/1.1"]
        lines += [f"Host: {where.netloc}", *(["Metadata: true"] if marked else [])]
        lines += [*headers]
        lines += [] if body is None else [f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")

    def ask(
        self,
        target: str,
        *headers: str,
        method: str = "GET",
        body: bytes | None = None,
        marked: bool = True,
    ) -> Answer:
        """Send one request over a connection of its own."""
        data = self.request(target, *headers, method=method, body=body, marked=marked)
        with self.line() as line:
            line.write(data)
            return line.read(method)

    def get(self, *headers: str, version: str = NEWEST, marked: bool = True) -> Answer:
        """Read the document."""
        return self.ask(events(version), *headers, marked=marked)

    def post(
        self, body: bytes, *headers: str, version: str = NEWEST, marked: bool = True
    ) -> Answer:
        """Post `body` as an approval."""
        return self.ask(
            events(version), *headers, method="POST", body=body, marked=marked
        )

    def approve(self, *ids: str, version: str = NEWEST) -> Answer:
        """Approve the events with these `ids`."""
        return self.post(approval(*ids), version=version)

    def document(self, version: str = NEWEST) -> Any:
        """Read the document, which must be one."""
        answer = self.get(version=version)
        assert answer.status == 200, f"expected a document, seen {answer.status}"
        return answer.json

    def events(self, version: str = NEWEST) -> list[Any]:
        """Read the events of the document."""
        listed = self.document(version)["Events"]
        assert isinstance(listed, list), f"Events is an array, not {listed!r}"
        return listed

    def event(self, version: str = NEWEST) -> Any:
        """Read the only event of the document."""
        listed = self.events(version)
        assert len(listed) == 1, f"expected one event, seen {len(listed)}"
        return listed[0]

    @property
    def incarnation(self) -> int:
        """Read the incarnation of the document."""
        number = self.document()["DocumentIncarnation"]
        assert type(number) is int, f"the incarnation is an integer, not {number!r}"
        return number

    @property
    def statuses(self) -> list[str]:
        """Read the status of each event."""
        return [each["EventStatus"] for each in self.events()]


def events(version: str) -> str:
    """The target of the document in `version`."""
    return f"{EVENTS}?api-version={version}"


def approval(*ids: str) -> bytes:
    """Write the body that approves `ids`."""
    return json.dumps({"StartRequests": [{"EventId": each} for each in ids]}).encode()
