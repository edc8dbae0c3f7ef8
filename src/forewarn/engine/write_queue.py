"""Write queue: one transaction at a time, in an order that starves nobody.

The store serializes writers, but not fairly. The writer whose turn it is finds the
store free. The next turn goes to the most urgent rank. Within a rank, writers take
turns by name, so that a VM or an operator with many commands delays the others by one.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from threading import Lock

from forewarn.errors import Unavailable


class WriteRank(IntEnum):
    """How urgent a write is; the lowest number goes first."""

    SERVICE = 0  #: deadlines, heartbeats, reports of drivers, positions
    COMMAND = 1  #: commands over the control API
    POLL = 2  #: approvals by VMs, and first polls


class WriteQueue:
    """A lock whose waiters are served by rank, and in turn by name."""

    def __init__(self, patience: float = 10.0) -> None:
        """Let a writer wait for its turn for `patience` seconds."""
        self._patience = patience
        self._lock = Lock()  # guards what follows
        self._is_taken = False
        # Locked tickets of waiters, by name; a ticket is unlocked when it has the turn.
        self._waiting: dict[WriteRank, dict[str, deque[Lock]]] = {
            rank: {} for rank in WriteRank
        }

    @property
    def waiting(self) -> int:
        """The number of writers that wait."""
        with self._lock:
            ranks = self._waiting.values()
            return sum(len(tickets) for names in ranks for tickets in names.values())

    @contextmanager
    def turn(self, rank: WriteRank, name: str) -> Iterator[None]:
        """Wait for a turn, at most as long as the queue's patience."""
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
            ticket = Lock()
            ticket.acquire()
            self._waiting[rank].setdefault(name, deque()).append(ticket)
        if not ticket.acquire(timeout=self._patience) and self._withdraw(
            rank, name, ticket
        ):
            raise Unavailable("the store does not answer")

    def _withdraw(self, rank: WriteRank, name: str, ticket: Lock) -> bool:
        """Stop waiting; return False if the turn has come meanwhile."""
        with self._lock:
            tickets = self._waiting[rank].get(name)
            if tickets is None or ticket not in tickets:
                return False
            tickets.remove(ticket)
            if not tickets:
                del self._waiting[rank][name]
            return True

    def _pass_on(self) -> None:
        with self._lock:
            for names in self._waiting.values():
                if names:
                    name = next(iter(names))
                    tickets = names.pop(name)
                    tickets.popleft().release()
                    if tickets:
                        names[name] = tickets  # after the others
                    return
            self._is_taken = False
