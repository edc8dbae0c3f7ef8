"""VMs of the load test, which poll like real programs and approve events."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

from benchmarks.fleet import FleetVm
from benchmarks.http_connection import KeepAliveConnection, ReceivedResponse
from benchmarks.oracle import Oracle

WAIT = 10  # seconds of a long poll

EVENTS = "/vm/{}/metadata/scheduledevents?api-version=2020-07-01"
_LATE = 1.5  # seconds that the response to a long poll may be late
_LONGEST_THOUGHT = 8.0  # seconds from seeing an event to approving it


class PollMode(Enum):
    """How a VM polls."""

    KEPT = "keep-alive"
    FRESH = "a new connection each time"
    TAGGED = "keep-alive, If-None-Match"
    HELD = f"long poll, Prefer: wait={WAIT}"


#: The ways in which ten VMs poll.
WAYS = (
    *[PollMode.KEPT] * 4,
    *[PollMode.FRESH] * 2,
    *[PollMode.TAGGED] * 2,
    *[PollMode.HELD] * 2,
)


@dataclass(slots=True, kw_only=True)
class LoadStatistics:
    """Counts and durations of all VMs together."""

    gets: list[float] = field(default_factory=list)  # seconds
    held: list[float] = field(default_factory=list)  # seconds beyond the wait
    woken: int = 0  # long polls that ended with a change
    posts: list[float] = field(default_factory=list)  # seconds
    statuses: Counter[int] = field(default_factory=Counter)
    by_peers: int = 0  # approvals by VMs that the event does not list
    missed: int = 0  # polls that could not be sent in time
    errors: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """Number of requests with a response."""
        return self.statuses.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    """State that all VMs share."""

    address: str
    every: float  # seconds
    oracle: Oracle
    tally: LoadStatistics
    ended: asyncio.Event


class VM:
    """One VM, which polls until the load test ends."""

    def __init__(
        self, world: SharedState, machine: FleetVm, number: int, seed: int
    ) -> None:
        """Create a VM; `number` determines how it polls and whether it approves."""
        self._world = world
        self._machine = machine
        self._way = WAYS[number % len(WAYS)]
        self._approves = number // len(WAYS) % 2 == 0
        self._random = Random(seed * 1_000_003 + number)
        self._path = EVENTS.format(machine.name)
        self._line = KeepAliveConnection(world.address)
        self._second_line = KeepAliveConnection(world.address)  # for POSTs
        self._tag = ""
        self._thought_of: set[str] = set()  # events
        self._thoughts: set[asyncio.Task[None]] = set()

    async def live(self) -> None:
        """Poll at a steady pace, or by back-to-back long polls."""
        world = self._world
        loop = asyncio.get_running_loop()
        following = loop.time() + self._random.random() * world.every
        while not world.ended.is_set():
            if self._way is not PollMode.HELD:
                await asyncio.sleep(following - loop.time())
                following += world.every
                if following < loop.time():
                    world.tally.missed += 1
                    following = loop.time()
            await self._poll()
        for thought in [*self._thoughts]:
            await thought
        self._line.close()
        self._second_line.close()

    async def _poll(self) -> None:
        headers = {"Metadata": "true"}
        if self._way in (PollMode.TAGGED, PollMode.HELD) and self._tag:
            headers["If-None-Match"] = self._tag
        if self._way is PollMode.HELD:
            headers["Prefer"] = f"wait={WAIT}"
        if self._way is PollMode.FRESH and self._random.random() < 0.5:
            headers["Connection"] = "close"
        floor = self._world.oracle.floor(self._machine)
        answer = await self._request(self._line, "GET", headers)
        if answer is None:
            return
        if self._way is PollMode.FRESH:
            self._line.close()
        self._judge(answer, headers, floor)

    async def _request(
        self,
        line: KeepAliveConnection,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
    ) -> ReceivedResponse | None:
        tally, wait = self._world.tally, WAIT if "Prefer" in headers else 0
        try:
            answer = await line.request(method, self._path, headers, body, wait=wait)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            tally.errors.append(f"{self._machine.name}: {method}: {error!r}")
            await asyncio.sleep(self._world.every)
            return None
        tally.statuses[answer.status] += 1
        return answer

    def _judge(
        self, answer: ReceivedResponse, headers: Mapping[str, str], floor: int
    ) -> None:
        tally, oracle, tag = self._world.tally, self._world.oracle, self._tag
        is_held = "Prefer" in headers and bool(tag)
        if answer.status == 304:
            same = bool(tag) and answer.headers.get("etag") == tag and not answer.body
            oracle.expect(same, f"{self._machine.name}: 304 to {tag}")
            known = int(tag.strip('"').split(".")[1])
            oracle.expect(
                known >= floor, f"{self._machine.name}: {tag} after incarnation {floor}"
            )
        elif answer.status == 200:
            is_news = answer.headers.get("etag") != tag
            oracle.expect(
                is_news or not is_held, f"{self._machine.name}: {tag} returned again"
            )
            self._tag = answer.headers.get("etag", "")
            self._think(oracle.read(self._machine, answer, floor))
        else:
            tally.errors.append(f"{self._machine.name}: GET: {answer.status}")
        self._time(answer, is_held=is_held)

    def _time(self, answer: ReceivedResponse, *, is_held: bool) -> None:
        tally = self._world.tally
        if not is_held:
            tally.gets.append(answer.seconds)
        elif answer.status == 200:
            tally.woken += 1
        elif not self._world.ended.is_set():
            beyond = answer.seconds - WAIT
            tally.held.append(beyond)
            in_time = -0.1 <= beyond <= _LATE
            who = f"{self._machine.name}: long poll took {answer.seconds:.2f} s"
            self._world.oracle.expect(in_time, who)

    # --- approvals -----------------------------------------------------------

    def _think(self, events: Sequence[Any]) -> None:
        """Decide whether to approve new events."""
        for event in events:
            id_ = event["EventId"]
            if id_ in self._thought_of or event["EventStatus"] != "Scheduled":
                continue
            self._thought_of.add(id_)
            if self._approves and _is_approved(id_):
                thought = asyncio.create_task(self._approve(event))
                self._thoughts.add(thought)
                thought.add_done_callback(self._thoughts.discard)

    async def _approve(self, event: Any) -> None:
        world, id_ = self._world, event["EventId"]
        await asyncio.sleep(self._random.random() * _LONGEST_THOUGHT)
        body = json.dumps({"StartRequests": [{"EventId": id_}]}).encode()
        world.oracle.approved.add(id_)
        headers = {"Metadata": "true", "Content-Type": "application/json"}
        answer = await self._request(self._second_line, "POST", headers, body)
        if answer is None:
            return
        if self._way is PollMode.FRESH:
            self._second_line.close()
        world.tally.posts.append(answer.seconds)
        world.tally.by_peers += self._machine.name not in event["Resources"]
        if (answer.status, answer.body) != (200, b""):
            text = f"POST: {answer.status} {answer.body!r}"
            world.tally.errors.append(f"{self._machine.name}: {text}")


def _is_approved(event: str) -> bool:
    """Whether VMs approve `event`, as they do for seven in ten."""
    return int(event[:4], 16) % 10 < 7


async def lag(ended: asyncio.Event) -> list[float]:
    """Measure by how much timers of this program are late, in seconds."""
    late: list[float] = []
    while not ended.is_set():
        begun = time.perf_counter()
        await asyncio.sleep(0.05)
        late.append(time.perf_counter() - begun - 0.05)
    return late
