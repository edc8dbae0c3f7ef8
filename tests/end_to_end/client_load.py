"""Concurrent clients that send requests until the service is gone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from itertools import cycle
from threading import Event, Thread
from typing import Any

from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.support.service import RunningService


class ClientLoad:
    """Clients that each send their share of the requests, one after the other."""

    def __init__(
        self,
        clients: int,
        items: Sequence[str],
        send: Callable[[str], int],
        *,
        is_endless: bool = False,
    ) -> None:
        """Start the clients; `send` requests one item and returns the status.

        If `is_endless`, they repeat their requests until the service is gone, so that
        it ends under load however late that is.
        """
        self.answered: list[str] = []  # items with a successful response
        self.refused: list[int] = []  # statuses of all other responses
        self._send = send
        self._threads = [
            Thread(target=self._run, args=(cycle(own) if is_endless else own,))
            for own in (items[share::clients] for share in range(clients))
        ]
        for thread in self._threads:
            thread.start()

    def wait_for_responses(self, count: int) -> None:
        """Wait until `count` items have a successful response."""
        until(lambda: len(self.answered) >= count)

    def join(self) -> None:
        """Wait until every client has finished or lost the service."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _run(self, items: Iterable[str]) -> None:
        for item in items:
            try:
                status = self._send(item)
            except (OSError, HTTPException):
                return  # the service is gone; the outcome is unknown
            if status < 300:
                self.answered.append(item)
            else:
                self.refused.append(status)


@contextmanager
def polling(service: RunningService, *vms: str) -> Iterator[Counter[int]]:
    """Poll as each of `vms` in turn, and count the statuses of all responses."""
    statuses: Counter[int] = Counter()
    over = Event()

    def poll() -> None:
        for vm in cycle(vms):
            if over.wait(0.01):
                return
            statuses[service.as_vm(vm).status] += 1

    with ThreadPoolExecutor(1) as pool:
        polls = pool.submit(poll)
        try:
            yield statuses
        finally:
            over.set()
        polls.result()


def journal(service: RunningService) -> list[Any]:
    """Read the whole journal, page by page."""
    facts: list[Any] = []
    while True:
        after = facts[-1]["position"] if facts else 0
        page = service.get(f"/v1/journal?limit=1000&after={after}")
        facts += page["items"]
        if page["next"] is None:
            return facts
