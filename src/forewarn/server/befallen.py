"""What becomes of one request that a fault befalls.

Refusals (4xx, 5xx) come before anything is done: an approval that meets one is not
carried out. An approval that is answered late, broken off or cut short is: whoever sent
it cannot know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forewarn.server.faults import LATE, Fault, FaultKind
from forewarn.server.identity import Seat
from forewarn.server.responses import Response, error


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The answer is given when `seconds` of real time have passed."""

    seconds: float
    answer: bytes | None = None  # None: that is found out by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The connection ends after `sent`; without a byte of it, it is reset."""

    sent: bytes = b""


#: Instead of an answer, before anything is done.
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
    """One request, and the fault that befalls it."""

    __slots__ = ("_is_read", "_waits", "fault", "seats")

    def __init__(self, fault: Fault, seats: dict[str, Seat], *, is_read: bool):
        """Let `fault` befall a request; `seats` show what is stale, if that is it."""
        self.fault = fault
        self.seats = seats
        self._is_read = is_read
        self._waits = fault.kind in LATE

    @property
    def needs_body(self) -> bool:
        """Whether there must be a document, whatever tag the caller knows."""
        return self.fault.kind is FaultKind.TRUNCATED and self._is_read

    def begin(self, *, may_wait: bool) -> Response | Late | Broken | None:
        """Say what happens before anything is done; None: nothing does."""
        kind = self.fault.kind
        if kind in _INSTEAD:
            return _INSTEAD[kind](self.fault)
        if self._is_read and kind is FaultKind.RESET:
            return Broken()
        return self._late(None) if self._is_read and may_wait else None

    def spoil(self, answer: bytes, *, may_wait: bool) -> bytes | Late | Broken:
        """Say what becomes of an answer that would be given now."""
        if self.fault.kind is FaultKind.RESET:
            return Broken()
        if self.fault.kind is FaultKind.TRUNCATED:
            return Broken(sent=cut(answer))
        late = self._late(answer) if may_wait and not self._is_read else None
        return answer if late is None else late

    def _late(self, answer: bytes | None) -> Late | None:
        """Be late, once."""
        waits, self._waits = self._waits, False
        return Late(seconds=self.fault.delay, answer=answer) if waits else None


def cut(answer: bytes) -> bytes:
    """Take half of the body of `answer`, or of its first line if there is no body.

    Clients take a head that ends somewhere for a whole one.
    """
    head, end, body = answer.partition(b"\r\n\r\n")
    if not body:
        first, _, _ = head.partition(b"\r\n")
        return first[: len(first) // 2]
    return head + end + body[: len(body) // 2]
