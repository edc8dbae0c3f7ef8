"""The observer of metadata requests in a rehearsal, and what it receives."""

import time
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.server.metadata.directory import Directory, VmEntry
from forewarn.server.metadata.faults.injection import (
    BrokenResponse,
    FaultInjector,
    LateResponse,
)
from forewarn.server.metadata.handler import Deferred, MetadataHandler
from forewarn.server.metadata.transport.http1 import Http1Connection
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response

#: Work that precedes a response, or a fault that applies to it.
Pending: TypeAlias = Deferred | LateResponse | BrokenResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request and its outcome."""

    at: float  # monotonic time of the response
    vm: str | None  # the sender; None if unknown
    method: str
    path: str
    version: str  # api-version as sent; empty if none
    is_marked: bool  # `Metadata: true` was sent
    status: int  # 0 if the connection was broken instead
    events: tuple[str, ...] = ()  # ids to approve, as sent
    fault: str | None = None  # kind of injected fault; None if none
    since: float = 0.0  # monotonic time of arrival; well before `at` if held


class RequestObserver(Protocol):
    """Observes every request. Calls come from the metadata loop and must be short."""

    def take(self, request: Request, body: bytes) -> Response | None:
        """Respond to a request for the rehearsal itself; None if it is for the VM."""

    def came(self, vm: str | None, at: float) -> None:
        """Record the arrival of a request, which may be held for a while."""

    def answered(self, asked: RequestRecord) -> None:
        """Record the outcome of a request."""


def caller_name(request: Request, directory: Directory, address: str) -> str | None:
    """Return the name of the VM that sent `request`; None if unknown."""
    seat = directory.seat(address, getattr(request.route, "vm", None))
    return None if seat is None else seat.vm.name


def request_record(
    request: Request,
    body: bytes,
    answer: bytes,
    vm: str | None,
    since: float,
    fault: str | None = None,
) -> RequestRecord:
    """Return the outcome of `request` of `vm`; `answer` is empty if it was broken."""
    versions = [value for name, value in request.query if name.lower() == "api-version"]
    return RequestRecord(
        at=time.monotonic(),
        since=since,
        vm=vm,
        method=request.method,
        path=request.path,
        version=versions[0] if versions else "",
        is_marked=request.is_marked,
        status=int(answer[9:12] or b"0"),
        events=_events(body) if request.method == "POST" else (),
        fault=fault,
    )


def _events(body: bytes) -> tuple[str, ...]:
    try:
        return tuple(decode_start_requests(body))
    except Malformed:
        return ()


class ObservedPlane(Protocol):
    """The parts of the metadata plane that are used here."""

    desk: MetadataHandler
    inflicting: FaultInjector
    is_faulty: bool  # whether any fault is active
    witness: RequestObserver | None  # None if nothing observes


class ObservedRequest:
    """A request that is observed, or may be faulted, from arrival to response."""

    __slots__ = ("_address", "_befallen", "_came", "_connection", "_plane")

    def __init__(
        self, plane: ObservedPlane, connection: Http1Connection[Pending], address: str
    ) -> None:
        """Take the current request of `connection`, sent from `address`."""
        self._plane = plane
        self._connection = connection
        self._address = address
        self._came = time.monotonic()
        self._befallen = (
            plane.inflicting.befall(connection.request, address)
            if plane.is_faulty
            else None
        )

    @property
    def seats(self) -> dict[str, VmEntry] | None:
        """Frozen documents for a stale fault; None if no fault applies."""
        return None if self._befallen is None else self._befallen.seats

    def begin(self, *, may_wait: bool) -> bytes | LateResponse | BrokenResponse | None:
        """Return what happens before the request is handled; None if nothing does."""
        if self._befallen is None:
            return None
        instead = self._befallen.begin(may_wait=may_wait)
        if isinstance(instead, Response):
            return self._plane.desk.write(self._connection.request, instead)
        if instead is None and self._befallen.needs_body:
            self._connection.forget_tags()
        return instead

    def tell(self) -> None:
        """Notify the observer of the arrival, once the route is known."""
        if self._plane.witness is not None:
            self._plane.witness.came(self._asker(), self._came)

    def end(self, answer: bytes | Pending, *, may_wait: bool) -> bytes | Pending:
        """Apply injected faults to a response, and notify the observer."""
        if self._befallen is not None and isinstance(answer, bytes):
            answer = self._befallen.spoil(answer, may_wait=may_wait)
        if isinstance(answer, bytes):
            self._report(answer)
        elif isinstance(answer, BrokenResponse):
            self._report(b"")
        return answer

    def _report(self, answer: bytes) -> None:
        if self._plane.witness is None:
            return
        request, body = self._connection.request, self._connection.body
        fault = None if self._befallen is None else self._befallen.fault.kind.value
        self._plane.witness.answered(
            request_record(request, body, answer, self._asker(), self._came, fault)
        )

    def _asker(self) -> str | None:
        directory = self._plane.desk.directory
        return caller_name(self._connection.request, directory, self._address)
