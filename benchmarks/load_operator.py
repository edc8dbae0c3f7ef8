"""Operator of the load test: announces maintenance of all types and cancels some.

A lifecycle must fit into minutes of the system clock. A Preempt therefore gets its 30
seconds of notice, and everything else is an emergency with 10 to 40 seconds of notice.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from benchmarks.fleet import Fleet
from benchmarks.http_connection import KeepAliveConnection, ReceivedResponse
from benchmarks.oracle import Oracle
from benchmarks.program import TOKEN

_TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")
_ON_HOSTS = ("Freeze", "Reboot", "Redeploy")

_HOSTS = 0.25  # share for a whole host, if the type permits it
_CALLED_OFF = 0.15  # share that the operator cancels
_APPROVED = 0.08  # share that the operator approves
_AT_ONCE = 0.05  # share of emergencies without notice

_HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


@dataclass(slots=True, kw_only=True)
class OperatorLog:
    """What the operator did."""

    announcements: list[float] = field(default_factory=list)  # seconds each
    called_off: set[str] = field(default_factory=set)  # ids of maintenance
    errors: list[str] = field(default_factory=list)


class Operator:
    """Client of the control plane."""

    def __init__(self, address: str, fleet: Fleet, oracle: Oracle, seed: int) -> None:
        """Send requests to `address`; `seed` determines the random choices."""
        self.log = OperatorLog()
        self._address = address
        self._fleet = fleet
        self._oracle = oracle
        self._random = Random(seed)
        self._later: set[asyncio.Task[None]] = set()

    async def announce(self, count: int, seconds: float) -> None:
        """Make `count` announcements, evenly distributed over `seconds`."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for number in range(count):
            await asyncio.sleep(begun + seconds * number / count - loop.time())
            order = self._order(_TYPES[number % len(_TYPES)])
            answer = await self._request("POST", "/v1/maintenances", order)
            if answer is None or answer.status != 201:
                self.log.errors.append(f"announce: {order}: {answer}")
                continue
            self.log.announcements.append(answer.seconds)
            for maintenance in json.loads(answer.body)["maintenances"]:
                self._think_about(maintenance)
        for task in [*self._later]:
            await task

    async def phases(self) -> Counter[str]:
        """Count maintenance operations by phase."""
        return Counter(item["phase"] for item in await self.read("maintenances"))

    async def read(self, what: str) -> Sequence[Any]:
        """Read all pages of the list `what`."""
        items: list[Any] = []
        after = ""
        while True:
            path = f"/v1/{what}?limit=1000{after}"
            answer = await self._request("GET", path)
            if answer is None or answer.status != 200:
                self.log.errors.append(f"GET {path}: {answer}")
                return items
            page = json.loads(answer.body)
            items += page["items"]
            if page["next"] is None:
                return items
            after = f"&after={page['next']}"

    async def _request(
        self, method: str, path: str, body: object = None
    ) -> ReceivedResponse | None:
        data = b"" if body is None else json.dumps(body).encode()
        line = KeepAliveConnection(self._address)  # requests may overlap
        try:
            return await line.request(method, path, _HEADERS, data)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.log.errors.append(f"{method} {path}: {error!r}")
            return None
        finally:
            line.close()

    def _order(self, kind: str) -> dict[str, object]:
        order: dict[str, object] = {"type": kind}
        if kind in _ON_HOSTS and self._random.random() < _HOSTS:
            order["host"] = self._random.choice(self._fleet.hosts)
        else:
            order["vms"] = [self._random.choice(self._fleet.machines).name]
        if kind == "Preempt":
            return order
        order |= {"emergency": True, "reason": "the benchmark lasts only minutes"}
        if self._random.random() >= _AT_ONCE:
            order["notice_seconds"] = self._random.randint(10, 40)
        if kind == "Freeze":
            order["duration_seconds"] = self._random.randint(1, 9)
        return order

    def _think_about(self, maintenance: Any) -> None:
        chance = self._random.random()
        event = self._random.choice(maintenance["events"])["id"]
        if chance < _CALLED_OFF:
            self._do_later(self._cancel(maintenance["id"]))
        elif chance < _CALLED_OFF + _APPROVED:
            self._do_later(self._approve(event))

    def _do_later(self, deed: Any) -> None:
        async def after_a_while() -> None:
            await asyncio.sleep(self._random.uniform(2, 9))
            await deed

        task = asyncio.create_task(after_a_while())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _cancel(self, maintenance: str) -> None:
        answer = await self._request("POST", f"/v1/maintenances/{maintenance}/cancel")
        if answer is not None and answer.status == 200:
            self.log.called_off.add(maintenance)
        elif answer is None or answer.status != 409:  # it may have started
            self.log.errors.append(f"cancel {maintenance}: {answer}")

    async def _approve(self, event: str) -> None:
        self._oracle.approved.add(event)
        answer = await self._request("POST", f"/v1/events/{event}/approve")
        if answer is None or answer.status not in (200, 409):  # it may be over
            self.log.errors.append(f"approve {event}: {answer}")
