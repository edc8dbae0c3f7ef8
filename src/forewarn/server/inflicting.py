"""Fault injection on the metadata loop: start and end of faults, and their effects.

Only the loop calls what is here.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from forewarn.errors import NotFound
from forewarn.server.alarm import Loop
from forewarn.server.befallen import Befallen
from forewarn.server.fault_set import Faults, Standing
from forewarn.server.faults import Fault, FaultKind
from forewarn.server.identity import Seat, Shelf, Waiter
from forewarn.server.metadata import Desk
from forewarn.server.requests import Request


class LateWaiter(Protocol):
    """A request whose response is delayed by a fault."""

    def be_late(self) -> None:
        """Continue now that the delay is over."""


class Inflicting:
    """Applies the active faults to requests."""

    def __init__(
        self,
        loop: Loop,
        desk: Desk,
        faults: Faults,
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
        self._stale: dict[str, dict[str, Seat]] = {}  # frozen documents by VM, by fault

    def add(self, fault: Fault, *, by: str, at: datetime) -> Standing:
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

    def befall(self, request: Request, address: str) -> Befallen | None:
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
        return Befallen(standing.fault, seats, is_read=is_read)

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

    def _release(self, seats: dict[str, Seat]) -> None:
        """Wake the requests that wait for a change of a stale document."""
        waiters = [waiter for seat in seats.values() for waiter in seat.shelf.waiters]
        for seat in seats.values():
            seat.shelf.waiters.clear()
        seats.clear()  # woken requests see the current documents
        self._wake([*dict.fromkeys(waiters)])


def _still(seats: Sequence[Seat]) -> dict[str, Seat]:
    """Return frozen copies of the documents, by VM."""
    shelves: dict[Shelf, Shelf] = {}
    for seat in seats:
        if seat.shelf not in shelves:
            shelves[seat.shelf] = seat.shelf.still()
    return {seat.vm.name: Seat(seat.vm, shelves[seat.shelf]) for seat in seats}
