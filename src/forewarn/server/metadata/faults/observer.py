"""Observers of requests during a rehearsal, and the records that they receive."""

import time
from dataclasses import dataclass
from typing import Protocol

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request and its outcome."""

    at: float  # monotonic time of the response
    vm: str | None  # the sender; None if unknown
    method: str
    path: str
    version: str  # api-version as sent; empty if none
    is_marked: bool  # whether `Metadata: true` was sent
    status: int  # 0 if the connection was broken instead
    events: tuple[str, ...] = ()  # IDs to approve, as sent
    fault: str | None = None  # kind of injected fault, if any
    since: float = 0.0  # monotonic time of arrival; well before `at` if held


class RequestObserver(Protocol):
    """Observes all requests. Calls come from the metadata loop and must be short."""

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Respond to a request meant for the rehearsal; return None for any other."""

    def started(self, vm: str | None, at: float) -> None:
        """Record the arrival of a request, which may then be held."""

    def finished(self, record: RequestRecord) -> None:
        """Record the outcome of a request."""


def request_record(
    request: Request,
    body: bytes,
    response: bytes,
    vm: str | None,
    since: float,
    fault: str | None = None,
) -> RequestRecord:
    """Return the record of a request from `vm`, which arrived at `since`.

    `response` is empty if the connection was broken instead.
    """
    versions = [value for name, value in request.query if name.lower() == "api-version"]
    return RequestRecord(
        at=time.monotonic(),
        since=since,
        vm=vm,
        method=request.method,
        path=request.path,
        version=versions[0] if versions else "",
        is_marked=request.has_metadata_header,
        status=int(response[9:12] or b"0"),
        events=_approved_events(body) if request.method == "POST" else (),
        fault=fault,
    )


def _approved_events(body: bytes) -> tuple[str, ...]:
    try:
        return tuple(decode_start_requests(body))
    except Malformed:
        return ()
