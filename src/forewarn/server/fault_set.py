"""The faults in force: which of them befalls a request; pure.

Only the metadata loop changes them. The list may be copied by any thread: what stands
in it is replaced, never changed. Time comes in as `now`, in seconds of real time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.errors import NotFound
from forewarn.server.faults import OF_READS, Fault, FaultKind, FaultOn, check

_ON: Mapping[FaultOn, frozenset[bool]] = {  # whether it befalls reads, and others
    FaultOn.ANY: frozenset({True, False}),
    FaultOn.READ: frozenset({True}),
    FaultOn.APPROVE: frozenset({False}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A fault in force."""

    id: str
    fault: Fault
    set_by: str
    set_at: datetime  # by the service's clock
    until: float | None  # None: until it is cleared
    left: int | None  # requests that it will befall; None: all
    called: frozenset[str] = frozenset()  # VMs whose first call is behind them

    def concerns(self, vm: str, *, is_read: bool, now: float) -> bool:
        """Whether it may befall a request of `vm`; chance has its say later."""
        fault = self.fault
        if self.until is not None and now >= self.until:
            return False
        if fault.kind is FaultKind.REFUSED or is_read not in _ON[fault.on]:
            return False
        if fault.kind in OF_READS and not is_read:
            return False
        return vm not in self.called and (not fault.vms or vm in fault.vms)


class Faults:
    """All faults in force, in the order in which they were set."""

    def __init__(self, chance: Callable[[], float]) -> None:
        """Begin without faults; `chance` draws numbers from 0 to 1."""
        self._chance = chance
        self._standing: dict[str, Standing] = {}
        self._given = 0  # ids so far
        self._befell: dict[FaultKind, int] = {}

    def add(self, fault: Fault, now: float, *, by: str, at: datetime) -> Standing:
        """Put `fault` in force; it comes after those that are."""
        check(fault)
        self._given += 1
        made = Standing(
            id=f"f{self._given}",
            fault=fault,
            set_by=by,
            set_at=at,
            until=None if fault.seconds is None else now + fault.seconds,
            left=fault.count,
        )
        self._standing[made.id] = made
        return made

    def clear(self, id_: str | None = None) -> Sequence[Standing]:
        """End the fault `id_`, or all of them; answer which."""
        if id_ is None:
            ended = [*self._standing.values()]
        elif id_ in self._standing:
            ended = [self._standing[id_]]
        else:
            raise NotFound(f"there is no fault {id_} in force; it may have ended")
        for each in ended:
            del self._standing[each.id]
        return ended

    def befall(self, vm: str, *, is_read: bool, now: float) -> Standing | None:
        """Choose what befalls a request of `vm`: the first that does; None: nothing."""
        for standing in self.listed():
            if standing.concerns(vm, is_read=is_read, now=now):
                hit = self._hits(standing.fault)
                self._spend(standing, vm, is_hit=hit)
                if hit:
                    return standing
        return None

    def listed(self) -> Sequence[Standing]:
        """Copy the list of all in force; from any thread."""
        return [*self._standing.values()]

    @property
    def kinds(self) -> Sequence[str]:
        """What is in force, each kind once; from any thread."""
        return [*dict.fromkeys(each.fault.kind.value for each in self.listed())]

    def counts(self) -> Mapping[FaultKind, int]:
        """Tell how many requests each kind has befallen; from any thread."""
        return self._befell.copy()

    def _hits(self, fault: Fault) -> bool:
        return fault.probability >= 1 or self._chance() < fault.probability

    def _spend(self, standing: Standing, vm: str, *, is_hit: bool) -> None:
        kind, left, called = standing.fault.kind, standing.left, standing.called
        if kind is FaultKind.SLOW_FIRST_CALL:
            called |= {vm}
        if is_hit:
            self._befell[kind] = self._befell.get(kind, 0) + 1
            left = None if left is None else left - 1
        if left == 0:
            del self._standing[standing.id]
        else:
            self._standing[standing.id] = replace(standing, left=left, called=called)
