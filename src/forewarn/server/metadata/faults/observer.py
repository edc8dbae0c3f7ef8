"""Request observer of a rehearsal: what it sees, and when it is notified."""

import time
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.server.metadata.directory import VmEntry
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

    def intercept(self, request: Request, body: bytes) -> Response | None:
        """Respond to a request for the rehearsal itself; None if it is for the VM."""

    def started(self, vm: str | None, at: float) -> None:
        """Record the arrival of a request, which may be held for a while."""

    def finished(self, record: RequestRecord) -> None:
        """Record the outcome of a request."""


class ObservedPlane(Protocol):
    """The parts of the metadata plane that are used here."""

    handler: MetadataHandler
    injector: FaultInjector
    has_faults: bool  # whether any fault is active
    observer: RequestObserver | None  # None if nothing observes


class ObservedRequest:
    """A request that is observed, or may be faulted, from arrival to response."""

    __slots__ = ("_address", "_connection", "_faulted", "_plane", "_since")

    def __init__(
        self, plane: ObservedPlane, connection: Http1Connection[Pending], address: str
    ) -> None:
        """Take the current request of `connection`, sent from `address`."""
        self._plane = plane
        self._connection = connection
        self._address = address
        self._since = time.monotonic()
        self._faulted = (
            plane.injector.match(connection.request, address)
            if plane.has_faults
            else None
        )

    @property
    def frozen(self) -> dict[str, VmEntry] | None:
        """Frozen documents for a stale fault; None if no fault applies."""
        return None if self._faulted is None else self._faulted.frozen

    def begin(self, *, may_wait: bool) -> bytes | LateResponse | BrokenResponse | None:
        """Return what happens before the request is handled; None if nothing does."""
        if self._faulted is None:
            return None
        instead = self._faulted.begin(may_wait=may_wait)
        if isinstance(instead, Response):
            return self._plane.handler.render(self._connection.request, instead)
        if instead is None and self._faulted.needs_body:
            self._connection.forget_tags()
        return instead

    def notify_started(self) -> None:
        """Notify the observer of the arrival, once the route is known."""
        if self._plane.observer is not None:
            self._plane.observer.started(self._vm_name(), self._since)

    def finish(self, result: bytes | Pending, *, may_wait: bool) -> bytes | Pending:
        """Apply injected faults to a response, and notify the observer."""
        if self._faulted is not None and isinstance(result, bytes):
            result = self._faulted.alter(result, may_wait=may_wait)
        if isinstance(result, bytes):
            self._notify_finished(result)
        elif isinstance(result, BrokenResponse):
            self._notify_finished(b"")
        return result

    def _notify_finished(self, response: bytes) -> None:
        if self._plane.observer is None:
            return
        request, body = self._connection.request, self._connection.body
        fault = None if self._faulted is None else self._faulted.fault.kind.value
        self._plane.observer.finished(
            request_record(request, body, response, self._vm_name(), self._since, fault)
        )

    def _vm_name(self) -> str | None:
        """Return the name of the VM that sent the request; None if unknown."""
        named = getattr(self._connection.request.route, "vm", None)
        entry = self._plane.handler.directory.find(self._address, named)
        return None if entry is None else entry.vm.name


def request_record(
    request: Request,
    body: bytes,
    response: bytes,
    vm: str | None,
    since: float,
    fault: str | None = None,
) -> RequestRecord:
    """Return the outcome of `request` of `vm`; `response` is empty if it was broken."""
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
