"""Many clients at once, who go on until nobody answers any more."""

from collections.abc import Callable, Sequence
from http.client import HTTPException
from threading import Thread
from typing import Any

from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.support.service import RunningService


class Rush:
    """Clients that ask for their shares of some items, one after the other."""

    def __init__(
        self, clients: int, items: Sequence[str], ask: Callable[[str], int]
    ) -> None:
        """Let each item be asked for once; `ask` answers a status."""
        self.answered: list[str] = []  # with success
        self.refused: list[int] = []  # with these statuses
        self._ask = ask
        self._threads = [
            Thread(target=self._run, args=(items[share::clients],))
            for share in range(clients)
        ]
        for each in self._threads:
            each.start()

    def until_answered(self, count: int) -> None:
        """Wait until `count` items were answered."""
        until(lambda: len(self.answered) >= count)

    def join(self) -> None:
        """Wait until every client is done, or has lost the service."""
        for each in self._threads:
            each.join(PATIENCE)
            assert not each.is_alive()

    def _run(self, items: Sequence[str]) -> None:
        for item in items:
            try:
                status = self._ask(item)
            except (OSError, HTTPException):
                return  # the service is gone; whether it was done is not known
            if status < 300:
                self.answered.append(item)
            else:
                self.refused.append(status)


def journal(service: RunningService) -> list[Any]:
    """Read the whole journal, page by page."""
    facts: list[Any] = []
    while True:
        after = facts[-1]["position"] if facts else 0
        page = service.get(f"/v1/journal?limit=1000&after={after}")
        facts += page["items"]
        if page["next"] is None:
            return facts
