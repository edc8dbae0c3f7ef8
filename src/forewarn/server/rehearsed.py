"""Observation and fault injection for one request in a rehearsal."""

import time
from typing import Protocol, TypeAlias

from forewarn.server.befallen import Broken, Late
from forewarn.server.http import Connection
from forewarn.server.identity import Seat
from forewarn.server.inflicting import Inflicting
from forewarn.server.metadata import Deferred, Desk
from forewarn.server.responses import Response
from forewarn.server.witness import Witness, asked, caller

#: Work that precedes a response, or a fault that applies to it.
Pending: TypeAlias = Deferred | Late | Broken


class Plane(Protocol):
    """The parts of the metadata plane that are used here."""

    desk: Desk
    inflicting: Inflicting
    is_faulty: bool  # whether any fault is active
    witness: Witness | None  # None if nothing observes


class Rehearsed:
    """A request that is observed, or may be faulted, from arrival to response."""

    __slots__ = ("_address", "_befallen", "_came", "_connection", "_plane")

    def __init__(
        self, plane: Plane, connection: Connection[Pending], address: str
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
    def seats(self) -> dict[str, Seat] | None:
        """Frozen documents for a stale fault; None if no fault applies."""
        return None if self._befallen is None else self._befallen.seats

    def begin(self, *, may_wait: bool) -> bytes | Late | Broken | None:
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
        elif isinstance(answer, Broken):
            self._report(b"")
        return answer

    def _report(self, answer: bytes) -> None:
        if self._plane.witness is None:
            return
        request, body = self._connection.request, self._connection.body
        fault = None if self._befallen is None else self._befallen.fault.kind.value
        self._plane.witness.answered(
            asked(request, body, answer, self._asker(), self._came, fault)
        )

    def _asker(self) -> str | None:
        directory = self._plane.desk.directory
        return caller(self._connection.request, directory, self._address)
