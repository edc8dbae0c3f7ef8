"""Lets faults happen on the metadata loop: when they begin and end, and whom they meet.

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
    """Whoever is to be answered late."""

    def be_late(self) -> None:
        """Be answered now."""


class Inflicting:
    """Carries out the faults in force."""

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
        """Go by the time of `loop`; say `changed` when a fault begins or ends.

        Held requests are `let_go` when one begins: only who asks again can meet it.
        """
        self._loop = loop
        self._let_go = let_go
        self._desk = desk
        self._faults = faults
        self._changed = changed
        self._wake = wake
        self._late: dict[LateWaiter, TimerHandle] = {}
        self._stale: dict[str, dict[str, Seat]] = {}  # what each VM sees, by fault

    def add(self, fault: Fault, *, by: str, at: datetime) -> Standing:
        """Put `fault` in force; its VMs must be known."""
        known = replace(fault, vms=tuple(map(self._name, fault.vms)))
        made = self._faults.add(known, self._loop.time(), by=by, at=at)
        if made.fault.kind is FaultKind.STALE:
            self._stale[made.id] = _still(self._desk.directory.seats())
        if made.until is not None:
            self._loop.call_at(made.until, lambda: self._expire(made.id))
        self._changed()
        self._let_go()
        return made

    def clear(self, id_: str | None) -> None:
        """End the fault `id_`, or all of them."""
        ended = self._faults.clear(id_)
        self._changed()
        for each in ended:
            self._release(self._stale.pop(each.id, {}))

    def befall(self, request: Request, address: str) -> Befallen | None:
        """Find what befalls `request`; None: nothing, or nothing can."""
        seat = self._desk.asker(request, address)
        if seat is None:
            return None
        is_read = request.method == "GET"
        now = self._loop.time()
        met = self._faults.befall(seat.vm.name, is_read=is_read, now=now)
        if met is None:
            return None
        seats = self._stale.get(met.id, {})
        if met.left == 1:  # this answer still says that there is a fault
            self._stale.pop(met.id, None)
            self._loop.call_at(now, self._changed)
        return Befallen(met.fault, seats, is_read=is_read)

    def wait(self, waiter: LateWaiter, seconds: float) -> None:
        """Let `waiter` be late by so many seconds."""
        until = self._loop.time() + seconds
        self._late[waiter] = self._loop.call_at(until, lambda: self._be_late(waiter))

    def leave(self, waiter: LateWaiter) -> None:
        """Forget `waiter`, who was to be late."""
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
        if any(each.id == id_ for each in self._faults.listed()):
            self.clear(id_)

    def _release(self, seats: dict[str, Seat]) -> None:
        """Let those look again who wait for a change of what is stale."""
        waiters = [each for seat in seats.values() for each in seat.shelf.waiters]
        for seat in seats.values():
            seat.shelf.waiters.clear()
        seats.clear()  # whoever is woken sees what is true
        self._wake([*dict.fromkeys(waiters)])


def _still(seats: Sequence[Seat]) -> dict[str, Seat]:
    """Copy what every VM sees, so that it changes no more."""
    shelves: dict[Shelf, Shelf] = {}
    for seat in seats:
        if seat.shelf not in shelves:
            shelves[seat.shelf] = seat.shelf.still()
    return {seat.vm.name: Seat(seat.vm, shelves[seat.shelf]) for seat in seats}
