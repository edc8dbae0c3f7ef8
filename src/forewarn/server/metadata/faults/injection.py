"""Fault injection into one request.

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

from forewarn.errors import NotFound
from forewarn.server.metadata.directory import CachedDocument, VmEntry, Waiter
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.faults.model import LATE, Fault, FaultKind
from forewarn.server.metadata.handler import MetadataHandler
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, error
from forewarn.server.metadata.waits import TimerLoop


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResponse:
    """The response is sent after `seconds` of real time."""

    seconds: float
    answer: bytes | None = None  # None if the request is handled after the delay


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenResponse:
    """The connection closes after `sent`; it is reset if `sent` is empty."""

    sent: bytes = b""


#: Responses that replace the handling of a request.
_INSTEAD: Mapping[FaultKind, Callable[[Fault], Response]] = {
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


class FaultedRequest:
    """One request and the fault that applies to it."""

    __slots__ = ("_is_read", "_waits", "fault", "seats")

    def __init__(self, fault: Fault, seats: dict[str, VmEntry], *, is_read: bool):
        """Apply `fault`; `seats` hold the frozen documents of a stale fault."""
        self.fault = fault
        self.seats = seats
        self._is_read = is_read
        self._waits = fault.kind in LATE

    @property
    def needs_body(self) -> bool:
        """Whether the response needs a document, even if the client's ETag matches."""
        return self.fault.kind is FaultKind.TRUNCATED and self._is_read

    def begin(
        self, *, may_wait: bool
    ) -> Response | LateResponse | BrokenResponse | None:
        """Return what happens before the request is handled; None if nothing does."""
        kind = self.fault.kind
        if kind in _INSTEAD:
            return _INSTEAD[kind](self.fault)
        if self._is_read and kind is FaultKind.RESET:
            return BrokenResponse()
        return self._late(None) if self._is_read and may_wait else None

    def spoil(
        self, answer: bytes, *, may_wait: bool
    ) -> bytes | LateResponse | BrokenResponse:
        """Apply the fault to a response that is ready to be sent."""
        if self.fault.kind is FaultKind.RESET:
            return BrokenResponse()
        if self.fault.kind is FaultKind.TRUNCATED:
            return BrokenResponse(sent=half_of_body(answer))
        late = self._late(answer) if may_wait and not self._is_read else None
        return answer if late is None else late

    def _late(self, answer: bytes | None) -> LateResponse | None:
        """Return the delay the first time; None if there is none or it is over."""
        waits, self._waits = self._waits, False
        return LateResponse(seconds=self.fault.delay, answer=answer) if waits else None


def half_of_body(answer: bytes) -> bytes:
    """Return half of the body of `answer`, or of its first line if it has no body.

    A head that is cut after any of its lines looks complete to clients.
    """
    head, end, body = answer.partition(b"\r\n\r\n")
    if not body:
        first, _, _ = head.partition(b"\r\n")
        return first[: len(first) // 2]
    return head + end + body[: len(body) // 2]


class LateWaiter(Protocol):
    """A request whose response is delayed by a fault."""

    def be_late(self) -> None:
        """Continue now that the delay is over."""


class FaultInjector:
    """Applies the active faults to requests."""

    def __init__(
        self,
        loop: TimerLoop,
        desk: MetadataHandler,
        faults: ActiveFaults,
        *,
        changed: Callable[[], None],
        wake: Callable[[Sequence[Waiter]], None],
        let_go: Callable[[], None],
    ) -> None:
        """Use the time of `loop`; call `changed` when a fault starts or ends.

        `let_go` releases all held requests when a fault starts, because faults apply to
        new requests only.
        """
        self._loop = loop
        self._let_go = let_go
        self._desk = desk
        self._faults = faults
        self._changed = changed
        self._wake = wake
        self._late: dict[LateWaiter, TimerHandle] = {}
        self._stale: dict[
            str, dict[str, VmEntry]
        ] = {}  # frozen documents by VM, by fault

    def add(self, fault: Fault, *, by: str, at: datetime) -> ActiveFault:
        """Activate `fault`; raise `NotFound` if one of its VMs is unknown."""
        resolved = replace(fault, vms=tuple(map(self._name, fault.vms)))
        standing = self._faults.add(resolved, self._loop.time(), by=by, at=at)
        if standing.fault.kind is FaultKind.STALE:
            self._stale[standing.id] = _still(self._desk.directory.seats())
        if standing.until is not None:
            self._loop.call_at(standing.until, lambda: self._expire(standing.id))
        self._changed()
        self._let_go()
        return standing

    def clear(self, id_: str | None) -> None:
        """End the fault `id_`, or all faults."""
        ended = self._faults.clear(id_)
        self._changed()
        for standing in ended:
            self._release(self._stale.pop(standing.id, {}))

    def befall(self, request: Request, address: str) -> FaultedRequest | None:
        """Return the fault that applies to `request`; None if none does."""
        seat = self._desk.asker(request, address)
        if seat is None:
            return None
        is_read = request.method == "GET"
        now = self._loop.time()
        standing = self._faults.befall(seat.vm.name, is_read=is_read, now=now)
        if standing is None:
            return None
        seats = self._stale.get(standing.id, {})
        if standing.left == 1:  # this response still lists the fault
            self._stale.pop(standing.id, None)
            self._loop.call_at(now, self._changed)
        return FaultedRequest(standing.fault, seats, is_read=is_read)

    def wait(self, waiter: LateWaiter, seconds: float) -> None:
        """Delay the response to `waiter` by `seconds` of real time."""
        until = self._loop.time() + seconds
        self._late[waiter] = self._loop.call_at(until, lambda: self._be_late(waiter))

    def leave(self, waiter: LateWaiter) -> None:
        """Forget `waiter`, whose response was delayed."""
        timer = self._late.pop(waiter, None)
        if timer is not None:
            timer.cancel()

    def _be_late(self, waiter: LateWaiter) -> None:
        del self._late[waiter]
        waiter.be_late()

    def _name(self, vm: str) -> str:
        seat = self._desk.directory.seat("", vm)
        if seat is None:
            raise NotFound(f"there is no VM {vm} in the fleet")
        return seat.vm.name

    def _expire(self, id_: str) -> None:
        if any(standing.id == id_ for standing in self._faults.listed()):
            self.clear(id_)

    def _release(self, seats: dict[str, VmEntry]) -> None:
        """Wake the requests that wait for a change of a stale document."""
        waiters = [waiter for seat in seats.values() for waiter in seat.shelf.waiters]
        for seat in seats.values():
            seat.shelf.waiters.clear()
        seats.clear()  # woken requests see the current documents
        self._wake([*dict.fromkeys(waiters)])


def _still(seats: Sequence[VmEntry]) -> dict[str, VmEntry]:
    """Return frozen copies of the documents, by VM."""
    shelves: dict[CachedDocument, CachedDocument] = {}
    for seat in seats:
        if seat.shelf not in shelves:
            shelves[seat.shelf] = seat.shelf.still()
    return {seat.vm.name: VmEntry(seat.vm, shelves[seat.shelf]) for seat in seats}
