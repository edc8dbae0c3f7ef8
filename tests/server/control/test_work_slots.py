"""Work slots: how many requests of each token run at once, and who is next."""

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.control.test_journal import following, read_stream
from tests.server.control.test_token_limits import ADMIN, a_holder

from forewarn.engine.tokens import TokenHolder
from forewarn.server.app import make_app
from forewarn.server.arm.app import ArmApp
from forewarn.server.control.auth.guard import Guard, WorkTurns, work_of
from forewarn.server.control.auth.token_limits import (
    TokenLimit,
    TokenLimits,
    token_shares,
)
from forewarn.server.control.auth.work_slots import WorkKind, WorkSlots
from forewarn.server.control.context import Services
from forewarn.server.control.http.body_limits import BodyLimits
from forewarn.server.control.http.shares import ConnectionPlaces
from forewarn.server.control.routes.journal import JournalStreams
from forewarn.server.metrics.endpoint import TrafficCounter

A, B, C, D = (a_holder(name) for name in "abcd")


class Workload:
    """Requests that hold their slots until the test ends them."""

    def __init__(self) -> None:
        self.slots = WorkSlots()
        self.running: list[str] = []  # in the order of their start
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def start(
        self, name: str, holder: TokenHolder, work: WorkKind = WorkKind.ORDINARY
    ) -> None:
        """Start a request; it waits if there is no slot for it."""
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._run(name, holder, work))
        await settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks.pop(name)
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks.pop(name).cancel()
        await settle()

    async def _run(self, name: str, holder: TokenHolder, work: WorkKind) -> None:
        assert await self.slots.enter(holder, work)
        self.running.append(name)
        try:
            await self._ends[name].wait()
        finally:
            self.running.remove(name)
            self.slots.leave(holder, work)


async def settle() -> None:
    """Run all tasks until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


def run(scenario: Coroutine[object, object, None]) -> None:
    async def run_and_cancel() -> None:
        await scenario
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(run_and_cancel())


def test_two_requests_of_a_token_run_at_once_and_others_have_their_own() -> None:
    async def scenario() -> None:
        load = Workload()
        for name in ("a1", "a2", "a3"):
            await load.start(name, A)
        await load.start("b1", B)
        assert load.running == ["a1", "a2", "b1"]
        assert load.slots.waiting == 1
        await load.end("a1")
        assert load.running == ["a2", "b1", "a3"]

    run(scenario())


def test_tokens_take_turns_when_all_slots_are_taken() -> None:
    async def scenario() -> None:
        load = Workload()
        for holder in (A, B, C):
            for number in (1, 2):
                await load.start(f"{holder.name}{number}", holder)
        for name in ("a3", "a4", "a5"):
            await load.start(name, A)
        await load.start("d1", D)
        assert len(load.running) == 6
        await load.end("a1")
        await load.end("b1")
        assert load.running[4:] == ["a3", "d1"]  # not all requests of a first

    run(scenario())


def test_admin_token_has_slots_of_its_own() -> None:
    async def scenario() -> None:
        load = Workload()
        for number in range(2):
            for holder in (A, B, C):
                await load.start(f"{holder.name}{number}", holder)
        for number in range(5):
            await load.start(f"admin{number}", ADMIN)
        assert load.running[6:] == ["admin0", "admin1", "admin2", "admin3"]

    run(scenario())


def test_expensive_reads_leave_a_slot_for_others() -> None:
    async def scenario() -> None:
        load = Workload()
        for name, holder in (("a1", A), ("a2", A), ("b1", B), ("c1", C)):
            await load.start(name, holder, WorkKind.LARGE)
        assert load.running == ["a1", "b1"]
        await load.start("a3", A)
        await load.start("c2", C, WorkKind.METRICS)
        await load.start("d1", D, WorkKind.METRICS)
        assert load.running == ["a1", "b1", "a3", "c2"]
        await load.start("a4", A, WorkKind.LARGE)
        await load.end("a1")
        await load.end("a2")
        assert load.running[-1] == "c1"  # before a4
        await load.end("c2")
        assert load.running[-1] == "d1"

    run(scenario())


def test_canceled_requests_return_their_slots() -> None:
    async def scenario() -> None:
        load = Workload()
        for name in ("a1", "a2", "a3", "a4"):
            await load.start(name, A)
        await load.cancel("a3")  # it waits
        await load.cancel("a1")  # it runs
        assert load.running == ["a2", "a4"]
        assert load.slots.waiting == 0

    run(scenario())


def test_request_that_gets_no_slot_in_time_leaves_the_queue() -> None:
    async def scenario() -> None:
        load = Workload()
        await load.start("a1", A)
        await load.start("a2", A)
        assert not await load.slots.enter(A, WorkKind.ORDINARY, 0.01)
        assert load.slots.waiting == 0

    run(scenario())


# --- the middleware ----------------------------------------------------------


class ServicesOfTokens:
    """The services that the middleware uses."""

    def __init__(self) -> None:
        self.work_slots = WorkSlots()
        self.token_limits = TokenLimits(token_shares(ConnectionPlaces(total=512)))
        self.sessions = self
        self.revoked: set[TokenHolder] = set()

    def is_good(self, holder: TokenHolder) -> bool:
        return holder not in self.revoked


async def call(
    app: ASGIApp,
    services: ServicesOfTokens,
    holder: TokenHolder | None,
    seconds: float = 0.01,
) -> list[Message]:
    """Send a request that waits `seconds` for a slot; return the response."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/v1/vms", "state": {"caller": holder}}
    turns = WorkTurns(app, cast(Services, services), seconds=seconds)
    await turns(scope, receive, send)
    return sent


def test_slot_is_returned_before_the_response_is_sent() -> None:
    services = ServicesOfTokens()

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        first = await call(quick, services, A)
        assert first[0]["status"] == 200  # the second slot
        await send({"type": "http.response.start", "status": 200})
        for _ in range(2):  # both are free
            assert await services.work_slots.enter(A, WorkKind.ORDINARY, 0.01)

    async def quick(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})

    asyncio.run(call(respond, services, A))


def test_slot_is_returned_when_a_request_fails() -> None:
    services = ServicesOfTokens()

    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError

    async def scenario() -> None:
        for _ in range(3):
            with pytest.raises(LookupError):
                await call(fail, services, A)

    asyncio.run(scenario())


def test_request_that_waits_too_long_gets_429_and_is_counted() -> None:
    services = ServicesOfTokens()

    async def unreachable(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    async def scenario() -> None:
        for _ in range(2):
            await services.work_slots.enter(A, WorkKind.ORDINARY)
        start, body = await call(unreachable, services, A)
        assert start["status"] == 429
        assert (b"retry-after", b"5") in start["headers"]
        assert b"no slot became free within 0.01 s; nothing was done" in body["body"]

    asyncio.run(scenario())
    assert services.token_limits.refused["a", TokenLimit.RUNNING] == 1
    (limited,) = services.token_limits.recent()
    assert limited.allowed == 2


def test_token_revoked_while_its_request_waits_gets_401() -> None:
    services = ServicesOfTokens()

    async def unreachable(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    async def scenario() -> None:
        slots = services.work_slots
        for _ in range(2):
            await slots.enter(A, WorkKind.ORDINARY)
        waiting = asyncio.create_task(call(unreachable, services, A, PATIENCE))
        await settle()
        services.revoked.add(A)
        slots.leave(A, WorkKind.ORDINARY)
        start, body = await waiting
        assert start["status"] == 401
        assert b"nothing was changed" in body["body"]
        assert await slots.enter(A, WorkKind.ORDINARY, 0.01)  # it was returned

    asyncio.run(scenario())


def test_requests_without_a_token_need_no_slot() -> None:
    services = ServicesOfTokens()

    async def quick(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def scenario() -> None:
        for holder in (A, B, C):
            for _ in range(2):
                await services.work_slots.enter(holder, WorkKind.ORDINARY)
        assert (await call(quick, services, None))[0]["status"] == 200

    asyncio.run(scenario())


# --- in a service ------------------------------------------------------------


def test_slots_are_taken_after_the_body_was_read() -> None:
    app = make_app(cast(Services, None), JournalStreams())
    order: list[object] = [middleware.cls for middleware in app.user_middleware]
    assert order == [TrafficCounter, Guard, BodyLimits, WorkTurns, ArmApp]


def test_stream_takes_a_slot_for_each_read(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[float | None] = []  # how long each waits at most
    enter = WorkSlots.enter

    async def record_and_enter(
        slots: WorkSlots,
        holder: TokenHolder,
        work: WorkKind,
        seconds: float | None = None,
    ) -> bool:
        taken.append(seconds)
        return await enter(slots, holder, work, seconds)

    service = serve()
    service.announce(vms=["web-0"])
    monkeypatch.setattr(WorkSlots, "enter", record_and_enter)
    with following(service, "?after=0") as stream:
        read_stream(stream, 1)
    assert taken[:2] == [10.0, None]  # for the request, and for the first read


def test_stream_that_finds_nothing_reads_in_small_steps(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "many.toml"
    names = [f"v-{i}" for i in range(350)]
    file.write_text("".join(f'[[vms]]\nname = "{name}"\n' for name in names))
    service = serve(fleet=str(file))
    order = {"type": "Freeze", "vms": names}
    for _ in range(2):
        assert service.request("POST", "/v1/maintenances", order).status == 201
    end = service.get("/v1/journal?order=newest&limit=1")["items"][0]["position"]
    assert end > 1000
    with following(service, "?after=0&vm=nothere") as stream:
        positions = [0]
        while positions[-1] < end:
            line = stream.readline().decode()
            if line.startswith("id: "):
                positions.append(int(line.removeprefix("id: ")))
    assert max(b - a for a, b in pairwise(positions)) <= 500


@pytest.mark.parametrize(
    ("path", "query", "work"),
    [
        ("/v1/overview", "limit=100", WorkKind.ORDINARY),
        ("/v1/overview", "limit=101", WorkKind.LARGE),
        ("/v1/journal", "limit=1&limit=1000", WorkKind.LARGE),
        ("/v1/journal", "limit=0000000001000", WorkKind.LARGE),
        ("/v1/vms", "", WorkKind.ORDINARY),
        ("/v1/report", "", WorkKind.LARGE),
        ("/v1/fleet/map", "", WorkKind.LARGE),
        ("/metrics", "", WorkKind.METRICS),
        ("/Subscriptions/s/providers/c/virtualMachines/", "", WorkKind.LARGE),
        ("/subscriptions/s/providers/c/virtualMachines/web-0", "", WorkKind.ORDINARY),
    ],
)
def test_request_has_a_kind_of_work(path: str, query: str, work: WorkKind) -> None:
    assert work_of({"path": path, "query_string": query.encode()}) is work
