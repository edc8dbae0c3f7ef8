"""One request in a rehearsal: what befalls it, and who hears how it was answered."""

import time
from typing import Protocol, TypeAlias

from forewarn.server.befallen import Broken, Late
from forewarn.server.http import Connection
from forewarn.server.identity import Seat
from forewarn.server.inflicting import Inflicting
from forewarn.server.metadata import Deferred, Desk
from forewarn.server.responses import Response
from forewarn.server.witness import Witness, asked, caller

#: What must be done before an answer, or happens to it.
Pending: TypeAlias = Deferred | Late | Broken


class Plane(Protocol):
    """What is needed of the plane where it is answered."""

    desk: Desk
    inflicting: Inflicting
    is_faulty: bool  # whether there are faults in force
    witness: Witness | None  # None: nobody watches


class Rehearsed:
    """A request that is watched, or may be befallen, from its coming to its end."""

    __slots__ = ("_address", "_befallen", "_came", "_connection", "_plane")

    def __init__(
        self, plane: Plane, connection: Connection[Pending], address: str
    ) -> None:
        """Take the present request of `connection`, which comes from `address`."""
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
        """What VMs see to whom all is stale; None: nothing befalls the request."""
        return None if self._befallen is None else self._befallen.seats

    def begin(self, *, may_wait: bool) -> bytes | Late | Broken | None:
        """Say what happens before anything is done; None: nothing does."""
        if self._befallen is None:
            return None
        instead = self._befallen.begin(may_wait=may_wait)
        if isinstance(instead, Response):
            return self._plane.desk.write(self._connection.request, instead)
        if instead is None and self._befallen.needs_body:
            self._connection.forget_tags()
        return instead

    def tell(self) -> None:
        """Let the witness hear that it came, once it is known what is asked for."""
        if self._plane.witness is not None:
            self._plane.witness.came(self._asker(), self._came)

    def end(self, answer: bytes | Pending, *, may_wait: bool) -> bytes | Pending:
        """Spoil an answer that is about to be given, if it is to be, and tell of it."""
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
