"""A VM under test that sends exact bytes."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.conformance.raw_connection import RawConnection, ReceivedResponse, Transcript

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VM:
    """The endpoint of one VM."""

    endpoint: str  # without /metadata
    transcript: Transcript = field(repr=False)
    name: str = ""  # empty for the VM that the endpoint belongs to
    source: str | None = None  # the source address of requests; None for any

    @contextmanager
    def line(self) -> Iterator[RawConnection]:
        """Open a connection."""
        where = urlsplit(self.endpoint)
        connection = socket.create_connection(
            (where.hostname or "", where.port or 80),
            self.transcript.timeout,
            None if self.source is None else (self.source, 0),
        )
        with connection:
            yield RawConnection(socket=connection, transcript=self.transcript)

    def request(
        self,
        target: str,
        *headers: str,
        method: str = "GET",
        body: bytes | None = None,
        marked: bool = True,
    ) -> bytes:
        """Build a request; `marked` adds `Metadata: true` before `headers`."""
        where = urlsplit(self.endpoint)
        lines = [f"{method} {where.path.rstrip('/')}{target} HTTP/1.1"]
        lines += [f"Host: {where.netloc}", *(["Metadata: true"] if marked else [])]
        lines += [*headers]
        lines += [] if body is None else [f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")

    def send(
        self,
        target: str,
        *headers: str,
        method: str = "GET",
        body: bytes | None = None,
        marked: bool = True,
    ) -> ReceivedResponse:
        """Send one request over its own connection."""
        data = self.request(target, *headers, method=method, body=body, marked=marked)
        with self.line() as line:
            line.write(data)
            return line.read(method)

    def get(
        self, *headers: str, version: str = NEWEST, marked: bool = True
    ) -> ReceivedResponse:
        """Read the document."""
        return self.send(events(version), *headers, marked=marked)

    def post(
        self, body: bytes, *headers: str, version: str = NEWEST, marked: bool = True
    ) -> ReceivedResponse:
        """Post `body` as an approval."""
        return self.send(
            events(version), *headers, method="POST", body=body, marked=marked
        )

    def approve(self, *ids: str, version: str = NEWEST) -> ReceivedResponse:
        """Approve the events with these `ids`."""
        return self.post(approval(*ids), version=version)

    def document(self, version: str = NEWEST) -> Any:
        """Read the document, which must exist."""
        response = self.get(version=version)
        assert response.status == 200, (
            f"expected a document, seen status {response.status}"
        )
        return response.json

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
        return [event["EventStatus"] for event in self.events()]


def events(version: str) -> str:
    """Return the path and query of the document in `version`."""
    return f"{EVENTS}?api-version={version}"


def approval(*ids: str) -> bytes:
    """Return the body that approves `ids`."""
    return json.dumps(
        {"StartRequests": [{"EventId": event_id} for event_id in ids]}
    ).encode()
