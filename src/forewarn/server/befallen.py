"""Fault injection into one request.

1. Error responses (4xx, 5xx) are sent before anything is done: an approval that meets
   one is not carried out.
2. An approval is carried out if its response is late, reset or truncated. The client
   cannot know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forewarn.server.faults import LATE, Fault, FaultKind
from forewarn.server.identity import Seat
from forewarn.server.responses import Response, error


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The response is sent after `seconds` of real time."""

    seconds: float
    answer: bytes | None = None  # None if the request is handled after the delay


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
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


class Befallen:
    """One request and the fault that applies to it."""

    __slots__ = ("_is_read", "_waits", "fault", "seats")

    def __init__(self, fault: Fault, seats: dict[str, Seat], *, is_read: bool):
        """Apply `fault`; `seats` hold the frozen documents of a stale fault."""
        self.fault = fault
        self.seats = seats
        self._is_read = is_read
        self._waits = fault.kind in LATE

    @property
    def needs_body(self) -> bool:
        """Whether the response needs a document, even if the client's ETag matches."""
        return self.fault.kind is FaultKind.TRUNCATED and self._is_read

    def begin(self, *, may_wait: bool) -> Response | Late | Broken | None:
        """Return what happens before the request is handled; None if nothing does."""
        kind = self.fault.kind
        if kind in _INSTEAD:
            return _INSTEAD[kind](self.fault)
        if self._is_read and kind is FaultKind.RESET:
            return Broken()
        return self._late(None) if self._is_read and may_wait else None

    def spoil(self, answer: bytes, *, may_wait: bool) -> bytes | Late | Broken:
        """Apply the fault to a response that is ready to be sent."""
        if self.fault.kind is FaultKind.RESET:
            return Broken()
        if self.fault.kind is FaultKind.TRUNCATED:
            return Broken(sent=cut(answer))
        late = self._late(answer) if may_wait and not self._is_read else None
        return answer if late is None else late

    def _late(self, answer: bytes | None) -> Late | None:
        """Return the delay the first time; None if there is none or it is over."""
        waits, self._waits = self._waits, False
        return Late(seconds=self.fault.delay, answer=answer) if waits else None


def cut(answer: bytes) -> bytes:
    """Return half of the body of `answer`, or of its first line if it has no body.

    A head that is cut after any of its lines looks complete to clients.
    """
    head, end, body = answer.partition(b"\r\n\r\n")
    if not body:
        first, _, _ = head.partition(b"\r\n")
        return first[: len(first) // 2]
    return head + end + body[: len(body) // 2]
