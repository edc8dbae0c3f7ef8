"""Write queue: runs one transaction at a time, in an order that starves no writer.

The store serializes writers, but not fairly. With this queue, a writer finds the store
free when its turn comes.

1. The service goes first, so only the write in progress can delay a deadline.
2. Operators go next. After a few operator commands, one write of a lower rank follows.
3. The lower ranks take turns: tenants' commands, VMs' writes, and observations.
4. Within a rank, writers take turns by name, so that a VM or token with many commands
   delays each of the others by only one command.
"""

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Lock

from forewarn.errors import Crowded, Throttled, Unavailable

#: The maximum number of commands that one tenant's token may have waiting.
MOST_WAITING = 4

_MOST_IN_A_ROW = 4  # operator commands in a row while others wait


class WriteRank(Enum):
    """The rank of a writer, most urgent first."""

    SERVICE = "service"  #: deadlines, heartbeats, driver reports and positions
    OPERATOR = "operator"  #: commands with a token that is not limited to a group
    TENANT = "tenant"  #: commands with a group's token
    VM = "VM"  #: approvals by VMs and first polls
    OBSERVATION = "observation"  #: polls and events shown, when someone reads them


class WriteQueue:
    """A lock that serves waiters by rank. Within a rank, names take turns."""

    def __init__(self, patience: float = 10.0) -> None:
        """Create a queue in which each writer waits at most `patience` seconds."""
        self._patience = patience
        self._lock = Lock()  # guards the fields below
        self._is_taken = False
        self._ended = 0  # turns
        # Waiters' locked tickets, keyed by name. A turn unlocks its ticket.
        self._waiting: dict[WriteRank, dict[str, deque[Lock]]] = {
            rank: {} for rank in WriteRank
        }
        self._lower = [WriteRank.VM, WriteRank.TENANT, WriteRank.OBSERVATION]
        self._in_a_row = 0  # turns of operators while lower ranks waited
        #: The number of refused writes, keyed by the limit that was reached.
        self.refused = Counter({"waiting": 0, "time": 0})

    @property
    def waiting(self) -> int:
        """The number of waiting writers."""
        with self._lock:
            ranks = self._waiting.values()
            return sum(len(tickets) for names in ranks for tickets in names.values())

    @contextmanager
    def turn(self, rank: WriteRank, name: str) -> Iterator[None]:
        """Wait for a turn, but no longer than the queue's patience allows."""
        self._enter(rank, name)
        try:
            yield
        finally:
            self._pass_on()

    def _enter(self, rank: WriteRank, name: str) -> None:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            self._refuse_excess(rank, name)
            ended = self._ended
            ticket = Lock()
            ticket.acquire()
            self._waiting[rank].setdefault(name, deque()).append(ticket)
        if not ticket.acquire(timeout=self._patience):
            self._withdraw(rank, name, ticket, ended)

    def _refuse_excess(self, rank: WriteRank, name: str) -> None:
        tickets = self._waiting[rank].get(name, ())
        if rank is WriteRank.TENANT and len(tickets) >= MOST_WAITING:
            self.refused["waiting"] += 1
            raise Throttled(
                f"token {name} already has the maximum of {MOST_WAITING} commands"
                " waiting; try again in 1 s"
            )

    def _withdraw(
        self, rank: WriteRank, name: str, ticket: Lock, ended_before: int
    ) -> None:
        """Stop waiting and raise the reason, unless the turn has already come."""
        with self._lock:
            tickets = self._waiting[rank].get(name)
            if tickets is None or ticket not in tickets:
                return
            tickets.remove(ticket)
            if not tickets:
                del self._waiting[rank][name]
            if self._ended == ended_before:
                raise Unavailable("the store does not respond")
            self.refused["time"] += 1
            raise Crowded("too many commands are waiting; try again")

    def _pass_on(self) -> None:
        with self._lock:
            self._ended += 1
            rank = self._next_rank()
            if rank is None:
                self._is_taken = False
                return
            names = self._waiting[rank]
            name = next(iter(names))
            tickets = names.pop(name)
            tickets.popleft().release()
            if tickets:
                names[name] = tickets  # after the others

    def _next_rank(self) -> WriteRank | None:
        """Choose the rank that has the next turn; return None if nobody is waiting."""
        if self._waiting[WriteRank.SERVICE]:
            return WriteRank.SERVICE
        lower = next((rank for rank in self._lower if self._waiting[rank]), None)
        if self._waiting[WriteRank.OPERATOR] and (
            lower is None or self._in_a_row < _MOST_IN_A_ROW
        ):
            self._in_a_row += lower is not None
            return WriteRank.OPERATOR
        self._in_a_row = 0
        if lower is not None:
            self._lower.remove(lower)
            self._lower.append(lower)
        return lower
