"""Async client."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.client.support.service import (
    EMPTY,
    Act,
    Service,
    a_service,
    drip,
    hang_up,
    is_disabled,
    respond,
    sends,
)
from tests.patience import PATIENCE

from forewarn import client as threaded
from forewarn.client.aio import Client
from forewarn.errors import ClientClosed, Misunderstood, Unreachable

SOON = 10.0  # seconds; half of the longest pause here

ONE = {"DocumentIncarnation": 7, "Events": [{"EventId": "E0"}]}


def awaiting(
    test: Callable[[Service, Client], Awaitable[None]], *acts: Act, **options: float
) -> Service:
    """Run `test` with a client of a service that plays `acts`."""

    async def run(service: Service) -> None:
        async with Client(service.url, **options) as client:  # type: ignore[arg-type]
            await test(service, client)

    with a_service(*acts) as service:
        asyncio.run(run(service))
        return service


def test_it_has_every_name_of_the_sync_client() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(Client) == names(threaded.Client)


def test_it_sends_the_requests_of_the_sync_client() -> None:
    async def test(service: Service, client: Client) -> None:
        assert (await client.document()).incarnation == 7
        await client.approve("E0")
        assert (await client.instance()).name == "web-0"
        assert service.connections == 1

    body = {"compute": {"name": "web-0"}}
    service = awaiting(test, respond(ONE), respond(b""), respond(body))
    assert service.line(0).startswith("GET /metadata/scheduledevents?")
    assert service.body(1) == b'{"StartRequests":[{"EventId":"E0"}]}'


def test_a_watch_yields_changes_and_can_be_stopped() -> None:
    async def test(service: Service, client: Client) -> None:
        changes = []
        async for change in client.watch(poll=0.01):
            changes.append(change)
            if len(changes) == 2:
                break
        assert [len(seen.events) for seen in changes] == [1, 0]

    awaiting(test, respond(ONE, ETag='"1"'), respond(EMPTY, ETag='"2"'))


def test_a_canceled_long_poll_ends_immediately() -> None:
    async def test(service: Service, client: Client) -> None:
        held = asyncio.create_task(client.read())
        await asyncio.to_thread(service.wait)
        held.cancel()
        async with asyncio.timeout(SOON):
            with pytest.raises(asyncio.CancelledError):
                await held
            assert (await client.document()).incarnation == 7

    awaiting(test, is_disabled, respond(ONE))


def test_closing_ends_a_watch_in_another_task() -> None:
    async def test(service: Service, client: Client) -> None:
        async def watch() -> int:
            return len([change async for change in client.watch()])

        watching = asyncio.create_task(watch())
        await asyncio.to_thread(service.wait, 2)
        await client.close()
        async with asyncio.timeout(SOON):
            assert await watching == 1
        with pytest.raises(ClientClosed):
            await client.document()

    awaiting(test, respond(ONE, ETag='"1"'), is_disabled)


def test_closing_ends_a_retry_pause() -> None:
    async def test(service: Service, client: Client) -> None:
        request = asyncio.create_task(client.document())
        await asyncio.to_thread(service.wait)
        await client.close()
        async with asyncio.timeout(SOON):
            with pytest.raises(ClientClosed):
                await request

    awaiting(test, respond(status=429, Retry_After="20"))


def test_a_dead_keep_alive_connection_is_replaced() -> None:
    async def test(service: Service, client: Client) -> None:
        await client.read()
        assert (await client.read()).document is not None
        assert service.connections == 2

    awaiting(test, respond(EMPTY), hang_up, respond(ONE))


HEAD = b"HTTP/1.1 200 OK\r\n"

BAD = {
    "no HTTP": (sends(b"SSH-2.0\r\n"), Misunderstood),
    "cut": (sends(HEAD + b"Content-Length: 9\r\n\r\n{"), Unreachable),
    "hangs up": (hang_up, Unreachable),
    "never": (is_disabled, Unreachable),
    "drip": (drip(HEAD + b"Content-Length: 900000\r\n\r\n", b" "), Unreachable),
    "endless": (drip(HEAD + b"\r\n", b" " * 1_000_000), Misunderstood),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_response_is_an_error(name: str) -> None:
    act, kind = BAD[name]

    async def test(service: Service, client: Client) -> None:
        with pytest.raises(kind) as caught:
            await client.read()
        assert service.url in str(caught.value)

    seconds = 0.2 if name in ("never", "drip") else PATIENCE
    awaiting(test, act, timeout=seconds, first_timeout=seconds)
