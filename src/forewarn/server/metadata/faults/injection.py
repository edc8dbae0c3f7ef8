"""Fault injection into metadata requests.

1. Error responses (4xx, 5xx) are sent before anything is done, so an approval that
   receives an error response is not carried out.
2. An approval whose response is late, reset or truncated is still carried out, but the
   client cannot know that.
"""

import copy
import time
from asyncio import TimerHandle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.core.faults import Fault, FaultKind, FaultTrait
from forewarn.errors import NotFound
from forewarn.server.metadata.directory import CachedDocument, VmEntry, Waiter
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.handler import Deferred, MetadataHandler
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, error
from forewarn.server.metadata.waits import TimerLoop

#: Responses that replace the handling of a request.
_REPLACEMENTS: Mapping[FaultKind, Callable[[Fault], Response]] = {
    FaultKind.TOO_MANY: lambda fault: error(
        429, "Too many requests", Retry_After=str(fault.retry_after)
    ),
    FaultKind.GONE: lambda fault: error(
        410, "Gone. The service is being updated; try again within 70 seconds"
    ),
    FaultKind.ERROR: lambda fault: error(500, "Internal server error; try again"),
    FaultKind.UNAVAILABLE: lambda fault: error(
        503, "Service unavailable; try again", Retry_After=str(fault.retry_after)
    ),
    FaultKind.EMPTY: lambda fault: Response(200),
    FaultKind.ERROR_BODY: lambda fault: error(200, "upstream request timeout"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResponse(Deferred):
    """The response is sent after `seconds` of real time."""

    seconds: float
    response: bytes | None = None  # None if the request is handled after the delay


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenResponse(Deferred):
    """The connection closes after `sent`, or is reset if `sent` is empty."""

    sent: bytes = b""


class ObservedRequest:
    """One request from arrival to response, with the fault that applies to it."""

    __slots__ = ("_has_delay", "_is_read", "fault", "frozen", "late", "since", "timer")

    def __init__(
        self, fault: Fault | None, frozen: dict[str, CachedDocument], *, is_read: bool
    ) -> None:
        """Create a request to which `fault` applies, if any.

        `frozen` contains the documents of a stale fault, keyed by VM.
        """
        self.fault = fault
        self.frozen = frozen
        self.since = time.monotonic()
        self.late: LateResponse | None = None  # None if the response is not delayed
        self.timer: TimerHandle | None = None  # of `late`
        self._is_read = is_read
        # Cleared once the delay has been used.
        self._has_delay = fault is not None and fault.kind.trait is FaultTrait.DELAY

    @property
    def needs_body(self) -> bool:
        """Return whether the response needs a document even if the ETag matches."""
        return self._is(FaultKind.TRUNCATED) and self._is_read

    def begin(
        self, *, may_wait: bool
    ) -> Response | LateResponse | BrokenResponse | None:
        """Return what replaces or delays the handling of the request, if anything."""
        if self.fault is not None and self.fault.kind in _REPLACEMENTS:
            return _REPLACEMENTS[self.fault.kind](self.fault)
        if self._is_read and self._is(FaultKind.RESET):
            return BrokenResponse()
        return self._late(None) if self._is_read and may_wait else None

    def alter(
        self, response: bytes, *, may_wait: bool
    ) -> bytes | LateResponse | BrokenResponse:
        """Apply the fault to a response that is ready to be sent."""
        if self._is(FaultKind.RESET):
            return BrokenResponse()
        if self._is(FaultKind.TRUNCATED):
            return BrokenResponse(sent=half_of_body(response))
        late = self._late(response) if may_wait and not self._is_read else None
        return response if late is None else late

    @contextmanager
    def showing_frozen(self, entry: VmEntry | None) -> Iterator[None]:
        """Show `entry` the document frozen by a stale fault, if there is one."""
        frozen = None if entry is None else self.frozen.get(entry.vm.name)
        if entry is None or frozen is None:
            yield
            return
        current, entry.cached = entry.cached, frozen
        frozen.group_state = current.group_state
        try:
            yield
        finally:
            entry.cached = current

    def end_delay(self) -> None:
        """Stop delaying the response."""
        if self.timer is not None:
            self.timer.cancel()
        self.late = self.timer = None

    def _is(self, kind: FaultKind) -> bool:
        return self.fault is not None and self.fault.kind is kind

    def _late(self, response: bytes | None) -> LateResponse | None:
        """Return a `LateResponse` if the fault's delay has not been used yet."""
        has_delay, self._has_delay = self._has_delay, False
        if self.fault is None or not has_delay:
            return None
        return LateResponse(seconds=self.fault.delay, response=response)


class FaultInjector:
    """Applies the active faults to requests."""

    def __init__(
        self,
        loop: TimerLoop,
        handler: MetadataHandler,
        faults: ActiveFaults,
        *,
        on_change: Callable[[], None],
        wake: Callable[[Sequence[Waiter]], None],
        release_held: Callable[[], None],
    ) -> None:
        """Create an injector that uses the time of `loop`.

        `on_change` is called when a fault starts or ends. `release_held` is called when
        a fault starts, because faults apply only to new requests.
        """
        self._loop = loop
        self._handler = handler
        self._faults = faults
        self._on_change = on_change
        self._wake = wake
        self._release_held = release_held
        # Frozen documents, keyed by fault ID and then by VM.
        self._stale: dict[str, dict[str, CachedDocument]] = {}

    def add(self, fault: Fault, *, by: str, at: datetime) -> ActiveFault:
        """Activate `fault`; raise `NotFound` if one of its VMs is unknown."""
        resolved = replace(fault, vms=tuple(map(self._vm_name, fault.vms)))
        active = self._faults.add(resolved, self._loop.time(), by=by, at=at)
        if active.fault.kind is FaultKind.STALE:
            self._stale[active.id] = _freeze(self._handler.directory.entries())
        if active.until is not None:
            self._loop.call_at(active.until, lambda: self._expire(active.id))
        self._on_change()
        self._release_held()
        return active

    def clear(self, id_: str | None) -> None:
        """End the fault `id_`, or all faults."""
        ended = self._faults.clear(id_)
        self._on_change()
        for active in ended:
            self._release_stale(self._stale.pop(active.id, {}))

    def match(self, request: Request, address: str) -> ObservedRequest:
        """Return `request` with the fault that applies to it, if any."""
        is_read = request.method == "GET"
        entry, now = self._handler.sender(request, address), self._loop.time()
        if entry is None or not (
            active := self._faults.match(entry.vm.name, is_read=is_read, now=now)
        ):
            return ObservedRequest(None, {}, is_read=is_read)
        frozen = self._stale.get(active.id, {})
        if active.left == 1:  # this response still lists the fault
            self._stale.pop(active.id, None)
            self._loop.call_at(now, self._on_change)
        return ObservedRequest(active.fault, frozen, is_read=is_read)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call `callback` after `seconds` of real time."""
        return self._loop.call_at(self._loop.time() + seconds, callback)

    def _vm_name(self, vm: str) -> str:
        entry = self._handler.directory.find("", vm)
        if entry is None:
            raise NotFound(f"VM {vm} not found in the fleet")
        return entry.vm.name

    def _expire(self, id_: str) -> None:
        if any(active.id == id_ for active in self._faults.all()):
            self.clear(id_)

    def _release_stale(self, frozen: dict[str, CachedDocument]) -> None:
        """Wake requests that are waiting for a stale document to change."""
        documents = [*frozen.values()]
        waiters = [waiter for cached in documents for waiter in cached.waiters]
        for cached in documents:
            cached.waiters.clear()
        frozen.clear()  # woken requests see the current documents
        self._wake([*dict.fromkeys(waiters)])


def _freeze(entries: Sequence[VmEntry]) -> dict[str, CachedDocument]:
    """Return copies of the documents of `entries`, keyed by VM, without waiters."""
    copies = {entry.cached: copy.copy(entry.cached) for entry in entries}
    for frozen in copies.values():
        frozen.waiters = {}
    return {entry.vm.name: copies[entry.cached] for entry in entries}


def half_of_body(response: bytes) -> bytes:
    """Return half of the body of `response`, or of the first line if there is no body.

    A head cut off after any of its lines looks complete to clients.
    """
    head, end, body = response.partition(b"\r\n\r\n")
    if not body:
        first, _, _ = head.partition(b"\r\n")
        return first[: len(first) // 2]
    return head + end + body[: len(body) // 2]
