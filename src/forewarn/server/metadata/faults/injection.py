"""Fault injection into metadata requests.

1. Error responses (4xx, 5xx) are sent before anything is done: an approval that meets
   one is not carried out.
2. An approval is carried out if its response is late, reset or truncated. The client
   cannot know.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from forewarn.core.faults import Fault, FaultKind, FaultTrait
from forewarn.errors import NotFound
from forewarn.server.metadata.directory import CachedDocument, VmEntry, Waiter
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.handler import MetadataHandler
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
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResponse:
    """The response is sent after `seconds` of real time."""

    seconds: float
    response: bytes | None = None  # None if the request is handled after the delay


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenResponse:
    """The connection closes after `sent`; it is reset if `sent` is empty."""

    sent: bytes = b""


class FaultedRequest:
    """One request and the fault that applies to it."""

    __slots__ = ("_has_delay", "_is_read", "fault", "frozen")

    def __init__(self, fault: Fault, frozen: dict[str, VmEntry], *, is_read: bool):
        """Apply `fault`; `frozen` has the documents of a stale fault, by VM."""
        self.fault = fault
        self.frozen = frozen
        self._is_read = is_read
        self._has_delay = fault.kind.trait is FaultTrait.DELAY  # until it is used up

    @property
    def needs_body(self) -> bool:
        """Whether the response needs a document, even if the client's ETag matches."""
        return self.fault.kind is FaultKind.TRUNCATED and self._is_read

    def begin(
        self, *, may_wait: bool
    ) -> Response | LateResponse | BrokenResponse | None:
        """Return what happens before the request is handled; None if nothing does."""
        kind = self.fault.kind
        if kind in _REPLACEMENTS:
            return _REPLACEMENTS[kind](self.fault)
        if self._is_read and kind is FaultKind.RESET:
            return BrokenResponse()
        return self._late(None) if self._is_read and may_wait else None

    def alter(
        self, response: bytes, *, may_wait: bool
    ) -> bytes | LateResponse | BrokenResponse:
        """Apply the fault to a response that is ready to be sent."""
        if self.fault.kind is FaultKind.RESET:
            return BrokenResponse()
        if self.fault.kind is FaultKind.TRUNCATED:
            return BrokenResponse(sent=half_of_body(response))
        late = self._late(response) if may_wait and not self._is_read else None
        return response if late is None else late

    def _late(self, response: bytes | None) -> LateResponse | None:
        """Return the delay the first time; None if there is none or it is over."""
        has_delay, self._has_delay = self._has_delay, False
        if not has_delay:
            return None
        return LateResponse(seconds=self.fault.delay, response=response)


class LateWaiter(Protocol):
    """A request whose response is delayed by a fault."""

    def resume_late(self) -> None:
        """Continue now that the delay is over."""


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
        """Use the time of `loop`; call `on_change` when a fault starts or ends.

        `release_held` is called when a fault starts, because faults apply to new
        requests only.
        """
        self._loop = loop
        self._handler = handler
        self._faults = faults
        self._on_change = on_change
        self._wake = wake
        self._release_held = release_held
        self._late: dict[LateWaiter, TimerHandle] = {}
        # Frozen documents by VM, by fault.
        self._stale: dict[str, dict[str, VmEntry]] = {}

    def add(self, fault: Fault, *, by: str, at: datetime) -> ActiveFault:
        """Activate `fault`; raise `NotFound` if one of its VMs is unknown."""
        resolved = replace(fault, vms=tuple(map(self._vm_name, fault.vms)))
        active = self._faults.add(resolved, self._loop.time(), by=by, at=at)
        if active.fault.kind is FaultKind.STALE:
            self._stale[active.id] = _frozen_entries(self._handler.directory.entries())
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

    def match(self, request: Request, address: str) -> FaultedRequest | None:
        """Return the fault that applies to `request`; None if none does."""
        entry = self._handler.sender(request, address)
        if entry is None:
            return None
        is_read = request.method == "GET"
        now = self._loop.time()
        active = self._faults.match(entry.vm.name, is_read=is_read, now=now)
        if active is None:
            return None
        frozen = self._stale.get(active.id, {})
        if active.left == 1:  # this response still lists the fault
            self._stale.pop(active.id, None)
            self._loop.call_at(now, self._on_change)
        return FaultedRequest(active.fault, frozen, is_read=is_read)

    def hold(self, waiter: LateWaiter, seconds: float) -> None:
        """Delay the response to `waiter` by `seconds` of real time."""
        until = self._loop.time() + seconds
        self._late[waiter] = self._loop.call_at(until, lambda: self._resume(waiter))

    def forget(self, waiter: LateWaiter) -> None:
        """Forget `waiter`, whose response was delayed."""
        timer = self._late.pop(waiter, None)
        if timer is not None:
            timer.cancel()

    def _resume(self, waiter: LateWaiter) -> None:
        del self._late[waiter]
        waiter.resume_late()

    def _vm_name(self, vm: str) -> str:
        entry = self._handler.directory.find("", vm)
        if entry is None:
            raise NotFound(f"there is no VM {vm} in the fleet")
        return entry.vm.name

    def _expire(self, id_: str) -> None:
        if any(active.id == id_ for active in self._faults.all()):
            self.clear(id_)

    def _release_stale(self, frozen: dict[str, VmEntry]) -> None:
        """Wake the requests that wait for a change of a stale document."""
        documents = [entry.cached for entry in frozen.values()]
        waiters = [waiter for cached in documents for waiter in cached.waiters]
        for cached in documents:
            cached.waiters.clear()
        frozen.clear()  # woken requests see the current documents
        self._wake([*dict.fromkeys(waiters)])


def _frozen_entries(entries: Sequence[VmEntry]) -> dict[str, VmEntry]:
    """Return copies of `entries` with frozen documents, by VM."""
    copies: dict[CachedDocument, CachedDocument] = {}
    for entry in entries:
        if entry.cached not in copies:
            copies[entry.cached] = entry.cached.frozen_copy()
    return {entry.vm.name: VmEntry(entry.vm, copies[entry.cached]) for entry in entries}


def half_of_body(response: bytes) -> bytes:
    """Return half of the body of `response`, or of its first line if it has no body.

    A head that is cut after any of its lines looks complete to clients.
    """
    head, end, body = response.partition(b"\r\n\r\n")
    if not body:
        first, _, _ = head.partition(b"\r\n")
        return first[: len(first) // 2]
    return head + end + body[: len(body) // 2]
