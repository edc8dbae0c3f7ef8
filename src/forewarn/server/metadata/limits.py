"""Limits per caller (connections, request rate and turns), and refusal counts."""

import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from ipaddress import ip_network
from itertools import islice
from typing import Generic, Protocol, TypeVar

_T = TypeVar("_T")

_log = logging.getLogger(__name__)

_MAX_REFUSED = 64  # at once; further connections are closed without a response
_OUT_OF_TURN = 4  # reads per caller and round
_TURNS = 8  # callers per round
_PAUSE = 0.001  # seconds before each round during a write
_MAX_COUNTED = 10_000  # callers
_APPROVALS = 2  # per VM
_STRANGERS = 1024  # connections; fewer if few files may be open
_MAX_LIMITED = 1000  # VMs
_RECENT = timedelta(hours=1)  # by the service's clock


class Stranger(str):
    """The name of a caller that is not a VM: its address or IPv6 /64 network.

    The name contains a space, so no VM can have the same name.
    """

    __slots__ = ()

    @classmethod
    def at(cls, address: str) -> "Stranger":
        """Return the caller at `address`."""
        if ":" in address:
            address = str(ip_network((address, 64), strict=False))
        return cls(f"address {address}")


class RateLimit:
    """A rate limit per caller.

    An idle caller may send a burst, which by default is one second's quota.
    """

    def __init__(
        self,
        per_second: float,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        burst: float | None = None,
        max_callers: int | None = None,  # maximum number remembered; None for all
    ) -> None:
        """Create a limit of `per_second` requests per caller, timed by `monotonic`."""
        self._per_second = per_second
        self._burst = max(per_second, 1.0) if burst is None else burst
        self._max_callers = max_callers
        self._monotonic = monotonic
        # For each caller, the requests left at a given time; the latest callers are
        # last. In a plain dict, finding the first item is slow after many removals.
        self._left = OrderedDict[str, tuple[float, float]]()

    def wait(self, caller: str) -> float:
        """Count a request; return the seconds to wait, or 0 if within the limit."""
        now = self._monotonic()
        left, at = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        is_admitted = left >= 1
        self._left[caller] = (left - 1 if is_admitted else left, now)
        self._forget_oldest(now)
        return 0.0 if is_admitted else (1 - left) / self._per_second

    def _forget_oldest(self, now: float) -> None:
        """Forget the oldest caller if it may burst again or there are too many callers.

        Forgetting one caller per request is enough, because each request adds at most
        one caller.
        """
        oldest, (left, at) = next(iter(self._left.items()))
        is_full = left + (now - at) * self._per_second >= self._burst
        max_callers = self._max_callers
        if is_full or (max_callers is not None and len(self._left) > max_callers):
            del self._left[oldest]


class TurnTaker(Protocol):
    """A connection with more input than can be processed in one turn."""

    def take_turn(self) -> None:
        """Process some of the input; call `TurnQueue.add` again if any is left."""


class TurnQueue:
    """Turns for connections that are behind: one per caller in each round.

    Between two rounds, the event loop serves all other callers, and each caller has
    only a few requests served out of turn. This bounds the work that one caller can
    cause before others are served, regardless of how many connections it has.

    During a write, each round starts after a pause. The writing thread needs the
    interpreter many times and would otherwise wait for it each time.
    """

    def __init__(
        self,
        call_later: Callable[[float, Callable[[], None]], object],
        is_writing: Callable[[], bool],
    ) -> None:
        """Create an empty queue that schedules rounds with the loop's `call_later`."""
        self._call_later = call_later
        self._is_writing = is_writing
        self._waiting: dict[str, dict[TurnTaker, None]] = {}  # by caller, in order
        self._admitted: Counter[str] = Counter()  # since the last round
        self._is_scheduled = False
        self.deferred = 0  # number of times a connection waited for its turn

    def admits(self, caller: str) -> bool:
        """Count a read from `caller`; return False if it must wait for its turn."""
        self._admitted[caller] += 1
        if len(self._admitted) > _MAX_COUNTED:
            self._admitted.clear()
        return self._admitted[caller] <= _OUT_OF_TURN and caller not in self._waiting

    def add(self, connection: TurnTaker, caller: str) -> None:
        """Queue `connection` for a turn behind the caller's waiting connections."""
        waiting = self._waiting.setdefault(caller, {})
        self.deferred += connection not in waiting
        waiting[connection] = None
        self._schedule()

    def _serve(self) -> None:
        """Serve one connection per caller, longest wait first."""
        self._is_scheduled = False
        self._admitted.clear()
        try:
            for caller in [*islice(self._waiting, _TURNS)]:
                connections = self._waiting.pop(caller)
                first = next(iter(connections))
                del connections[first]
                if connections:
                    self._waiting[caller] = connections  # last in the next round
                first.take_turn()
        finally:  # even after an error, so that it does not stop other turns
            if self._waiting:
                self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_later(_PAUSE if self._is_writing() else 0, self._serve)


class ApprovalQueue(Generic[_T]):
    """Approvals waiting for a worker thread.

    Groups take turns, and so do the VMs in each group. A VM has at most two approvals
    here, including one in progress. Neither a VM nor a group with many VMs can
    therefore delay others' approvals.
    """

    def __init__(self, start: Callable[[_T], None], at_once: int) -> None:
        """Create a queue that begins approvals with `start`, `at_once` at a time."""
        self._start = start
        self._at_once = at_once
        self._in_progress: set[str] = set()  # VMs
        # By group and VM, next one first.
        self._waiting: dict[str, dict[str, deque[_T]]] = {}

    def add(self, group: str, vm: str, approval: _T) -> bool:
        """Begin or queue an approval; return False if `vm` already has too many."""
        waiting = self._waiting.setdefault(group, {}).setdefault(vm, deque())
        if len(waiting) + (vm in self._in_progress) == _APPROVALS:
            return False
        waiting.append(approval)
        self._begin_next()
        return True

    def finish(self, vm: str) -> None:
        """Begin the next approval after the one from `vm` that was in progress."""
        self._in_progress.remove(vm)
        self._begin_next()

    def _begin_next(self) -> None:
        free = (
            (group, vm)
            for group, vms in self._waiting.items()
            for vm in vms
            if vm not in self._in_progress
        )
        group, vm = next(free, ("", ""))
        if not vm or len(self._in_progress) == self._at_once:
            return
        vms = self._waiting.pop(group)
        waiting = vms.pop(vm)
        approval = waiting.popleft()
        if waiting:
            vms[vm] = waiting  # last of its group
        if vms:
            self._waiting[group] = vms  # last
        self._in_progress.add(vm)
        self._start(approval)


class MetadataLimit(StrEnum):
    """A limit that applies to callers."""

    CONNECTIONS = "connections"  #: for one VM
    STRANGERS = "strangers"  #: connections from addresses that belong to no VM
    TOTAL_CONNECTIONS = "total_connections"  #: for all callers together
    REQUESTS = "requests"  #: for one VM per second
    APPROVALS = "approvals"  #: for one VM at a time
    APPROVED_EVENTS = "approved_events"  #: in one request


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVm:
    """A VM that exceeded limits."""

    name: str
    counts: Mapping[MetadataLimit, int]  # since the last hour without refusals
    last: datetime  # by the service's clock

    @property
    def refused(self) -> int:
        """The number of refusals."""
        return sum(self.counts.values())


class Refusals:
    """Counts refusals in total and for the most recently refused VMs.

    Only the metadata loop counts; any thread may read.
    """

    def __init__(self) -> None:
        """Initialize all counts to zero."""
        self.totals = dict.fromkeys(MetadataLimit, 0)
        self._by_vm: dict[str, LimitedVm] = {}  # most recently refused last

    def add(self, limit: MetadataLimit, vm: str | None, now: datetime) -> None:
        """Count a refusal; `vm` is None if no single VM is concerned."""
        self.totals[limit] += 1
        if vm is None:
            return
        earlier = self._by_vm.pop(vm, None)
        is_recent = earlier is not None and now - earlier.last <= _RECENT
        counts = earlier.counts if earlier is not None and is_recent else {}
        counts = {**counts, limit: counts.get(limit, 0) + 1}
        self._by_vm[vm] = LimitedVm(name=vm, counts=counts, last=now)
        if len(self._by_vm) > _MAX_LIMITED:
            del self._by_vm[next(iter(self._by_vm))]

    def recent(self, now: datetime) -> Sequence[LimitedVm]:
        """Return the VMs that exceeded limits in the last hour, most recent first."""
        limited = reversed([*self._by_vm.values()])
        return [vm for vm in limited if now - vm.last <= _RECENT]


class Admission(Enum):
    """How a new connection is treated."""

    ADMITTED = auto()  #: served
    REFUSED = auto()  #: too many from this caller; it receives a 503
    DROPPED = auto()  #: far too many; closed without a response
    FULL = auto()  #: too many from all callers; closed without a response

    @property
    def is_open(self) -> bool:
        """Return whether the connection stays open, at least for a response."""
        return self in (Admission.ADMITTED, Admission.REFUSED)


class ConnectionCeiling:
    """A connection limit that logs one warning when it is reached."""

    def __init__(self, limit: int, warning: str) -> None:
        """Initialize the ceiling from `limit` and the text of `warning`."""
        self._limit = limit
        self._warning = warning
        self.count = 0
        self._has_warned = False

    def admit(self) -> bool:
        """Count a connection; return False if there are too many."""
        if self.count < self._limit:
            self.count += 1
            return True
        if not self._has_warned:
            self._has_warned = True
            _log.warning("%s", self._warning)
        return False

    def release(self) -> bool:
        """Stop counting a connection; return whether any are left."""
        self.count -= 1
        if self.count <= self._limit // 2:  # below half: warn again next time
            self._has_warned = False
        return self.count > 0


class ConnectionLimits:
    """Connection limits: per caller, for all strangers together, and in total."""

    def __init__(self, *, per_vm: int, total: int) -> None:
        """Create limits of `per_vm` connections per caller and `total` overall.

        Strangers may use one eighth of `total`, up to 1,024 connections.
        """
        self._per_vm = per_vm
        self._total = ConnectionCeiling(
            total,
            f"the metadata plane has {total} connections, which is the maximum;"
            " further connections are closed immediately. To allow more, raise the"
            " limit on open files (ulimit -n) or metadata.connections",
        )
        strangers = max(min(_STRANGERS, total // 8), 1)
        self._strangers = ConnectionCeiling(
            strangers,
            f"unknown addresses have {strangers} connections to the metadata plane;"
            " further ones receive a 503 response. If they belong to VMs, add them"
            " to the fleet",
        )
        self._by_caller: dict[str, ConnectionCeiling] = {}
        #: The number of connections not admitted, keyed by outcome.
        self.not_admitted = {
            Admission.REFUSED: 0,
            Admission.DROPPED: 0,
            Admission.FULL: 0,
        }
        self._being_refused = 0  # connections receiving a 503

    @property
    def count(self) -> int:
        """The number of connections."""
        return self._total.count

    def admit(self, caller: str | None) -> Admission:
        """Count a connection; `caller` is None if it cannot be identified."""
        admission = self._decide(caller)
        if admission is not Admission.ADMITTED:
            self.not_admitted[admission] += 1
        return admission

    def _decide(self, caller: str | None) -> Admission:
        if not self._total.admit():
            return Admission.FULL
        if caller is None or self._has_room(caller):
            return Admission.ADMITTED
        if self._being_refused < _MAX_REFUSED:
            self._being_refused += 1
            return Admission.REFUSED
        self._total.release()
        return Admission.DROPPED

    def release(self, caller: str | None, admission: Admission) -> None:
        """Stop counting a connection of `caller` that got `admission`."""
        if not admission.is_open:
            return
        self._total.release()
        if admission is Admission.REFUSED:
            self._being_refused -= 1
        elif caller is not None:
            if not self._by_caller[caller].release():
                del self._by_caller[caller]
            if isinstance(caller, Stranger):
                self._strangers.release()

    def _has_room(self, caller: str) -> bool:
        """Count a connection of `caller`, unless there are too many."""
        if not isinstance(caller, Stranger):
            return self._ceiling_of(caller).admit()
        if not self._strangers.admit():
            return False
        if not self._ceiling_of(caller).admit():
            self._strangers.release()
            return False
        return True

    def _ceiling_of(self, caller: str) -> ConnectionCeiling:
        ceiling = self._by_caller.get(caller)
        if ceiling is None:
            ceiling = self._by_caller[caller] = ConnectionCeiling(
                self._per_vm,
                f"{caller} has {self._per_vm} connections to the metadata plane;"
                " further ones receive a 503 response (setting"
                " metadata.connections_per_vm)",
            )
        return ceiling
