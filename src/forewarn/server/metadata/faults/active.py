"""Active faults, and the choice of the fault that applies to a request.

1. Only the metadata loop changes the faults. Any thread may copy the list, because its
   items are replaced and never changed.
2. The module does no I/O and reads no clock. Callers pass the time as `now`, in seconds
   of real time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.core.faults import Fault, FaultKind, FaultOn, FaultTrait, check_fault
from forewarn.errors import NotFound

_ON: Mapping[FaultOn, frozenset[bool]] = {  # matching values of `is_read`
    FaultOn.ANY: frozenset({True, False}),
    FaultOn.READ: frozenset({True}),
    FaultOn.APPROVE: frozenset({False}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveFault:
    """An active fault."""

    id: str
    fault: Fault
    set_by: str
    set_at: datetime  # according to the service's clock
    until: float | None  # None if it lasts until cleared
    left: int | None  # remaining requests to affect; None if unlimited
    called: frozenset[str] = frozenset()  # VMs that have made their first call

    def applies_to(self, vm: str, *, is_read: bool, now: float) -> bool:
        """Return whether the fault matches a request from `vm`.

        The fault's probability is not considered.
        """
        fault = self.fault
        if self.until is not None and now >= self.until:
            return False
        trait = fault.kind.trait
        if trait is FaultTrait.SERVICE or is_read not in _ON[fault.on]:
            return False
        if trait is FaultTrait.READS and not is_read:
            return False
        return vm not in self.called and (not fault.vms or vm in fault.vms)


class ActiveFaults:
    """All active faults, in creation order."""

    def __init__(self, chance: Callable[[], float]) -> None:
        """Initialize with no faults; `chance` returns random numbers from 0 to 1."""
        self._chance = chance
        self._active: dict[str, ActiveFault] = {}
        self._last_id = 0
        self._hits: dict[FaultKind, int] = {}  # requests to which it was applied

    def add(self, fault: Fault, now: float, *, by: str, at: datetime) -> ActiveFault:
        """Add `fault` after the faults that are already active."""
        check_fault(fault)
        self._last_id += 1
        active = ActiveFault(
            id=f"f{self._last_id}",
            fault=fault,
            set_by=by,
            set_at=at,
            until=None if fault.duration is None else now + fault.duration,
            left=fault.count,
        )
        self._active[active.id] = active
        return active

    def clear(self, id_: str | None = None) -> Sequence[ActiveFault]:
        """End the fault `id_`, or all faults; return the faults that ended."""
        if id_ is None:
            ended = [*self._active.values()]
        elif id_ in self._active:
            ended = [self._active[id_]]
        else:
            raise NotFound(f"active fault {id_} not found; it may have ended")
        for active in ended:
            del self._active[active.id]
        return ended

    def match(self, vm: str, *, is_read: bool, now: float) -> ActiveFault | None:
        """Return the first active fault that applies to a request from `vm`, if any."""
        for active in self.all():
            if active.applies_to(vm, is_read=is_read, now=now):
                is_hit = self._is_drawn(active.fault)
                self._count(active, vm, is_hit=is_hit)
                if is_hit:
                    return active
        return None

    def all(self) -> Sequence[ActiveFault]:
        """Return a copy of all active faults; safe to call from any thread."""
        return [*self._active.values()]

    @property
    def kinds(self) -> Sequence[str]:
        """The distinct kinds of active faults; safe to read from any thread."""
        return [*dict.fromkeys(active.fault.kind.value for active in self.all())]

    def counts(self) -> Mapping[FaultKind, int]:
        """Return the number of affected requests, keyed by kind of fault.

        It is safe to call this from any thread.
        """
        return self._hits.copy()

    def _is_drawn(self, fault: Fault) -> bool:
        return fault.probability >= 1 or self._chance() < fault.probability

    def _count(self, active: ActiveFault, vm: str, *, is_hit: bool) -> None:
        kind, left, called = active.fault.kind, active.left, active.called
        if kind is FaultKind.SLOW_FIRST_CALL:
            called |= {vm}
        if is_hit:
            self._hits[kind] = self._hits.get(kind, 0) + 1
            left = None if left is None else left - 1
        if left == 0:
            del self._active[active.id]
        else:
            self._active[active.id] = replace(active, left=left, called=called)
