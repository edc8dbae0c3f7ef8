"""Keep-alive connections: what may happen to them between two requests."""

import asyncio
import gc
import multiprocessing
import socket
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.client.support.service import EMPTY, Act, a_service, respond
from tests.patience import PATIENCE

from forewarn.client import Client, aio
from forewarn.client.endpoint import parse
from forewarn.client.transport import pool as connections
from forewarn.errors import ClientClosed, Refused, Unreachable

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"


def respond_and_add(more: bytes, when: Event, done: Event) -> Act:
    """Respond well, and send unsolicited bytes later."""
    answer = respond(EMPTY)

    def act(connection: socket.socket) -> bool:
        answer(connection)
        assert when.wait(PATIENCE)
        connection.sendall(more)
        done.set()
        return False

    return act


def test_unsolicited_bytes_are_not_taken_for_a_response() -> None:
    when, done = Event(), Event()
    acts = respond_and_add(TOO_SLOW, when, done), respond(EMPTY)
    with a_service(*acts) as service, Client(service.url, patience=0) as client:
        client.document()
        when.set()
        assert done.wait(PATIENCE)
        client.document()
    assert service.connections == 2


def test_the_async_client_ignores_unsolicited_bytes() -> None:
    async def read_twice(url: str, when: Event, done: Event) -> None:
        async with aio.Client(url, patience=0) as client:
            await client.document()
            when.set()
            assert await asyncio.to_thread(done.wait, 10)
            await client.document()

    when, done = Event(), Event()
    with a_service(respond_and_add(TOO_SLOW, when, done), respond(EMPTY)) as service:
        asyncio.run(read_twice(service.url, when, done))
    assert service.connections == 2


@needs_fork
def test_a_forked_process_opens_its_own_connections() -> None:
    acts = [respond(EMPTY)] * 3
    with a_service(*acts) as service, Client(service.url, patience=0) as client:
        client.document()
        child = multiprocessing.get_context("fork").Process(target=client.document)
        child.start()
        child.join()
        client.document()
    assert child.exitcode == 0
    assert service.connections == 2


@needs_fork
def test_a_forked_process_does_not_close_its_parent_s_connections() -> None:
    answer = Event()

    def act(connection: socket.socket) -> bool:
        assert answer.wait(PATIENCE)
        return respond(EMPTY)(connection)

    with (
        a_service(act) as service,
        Client(service.url, patience=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        pending = pool.submit(client.document)
        service.wait()
        child = multiprocessing.get_context("fork").Process(target=client.close)
        child.start()
        child.join()
        answer.set()
        assert pending.result(PATIENCE).events == ()


def test_an_async_client_works_in_several_event_loops() -> None:
    async def two_changes(client: aio.Client) -> None:
        changes = client.watch(0.001)
        await anext(changes)
        await anext(changes)

    document = {"DocumentIncarnation": 1, "Events": [{"EventId": "A"}]}
    acts = [respond(EMPTY), respond(document)] * 2
    with a_service(*acts) as service, warnings.catch_warnings():
        # Python warns that the connection of the first loop is dropped with its loop.
        warnings.simplefilter("ignore", ResourceWarning)
        client = aio.Client(service.url, patience=0)
        asyncio.run(two_changes(client))
        asyncio.run(two_changes(client))
        asyncio.run(client.close())
        gc.collect()
    assert service.connections == 2


def test_closing_the_client_does_not_end_a_response_without_length() -> None:
    begun, closed = Event(), Event()

    def act(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        begun.set()
        return not closed.wait(PATIENCE)

    with (
        a_service(act) as service,
        Client(service.url, patience=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        pending = pool.submit(client.document)
        assert begun.wait(PATIENCE)
        client.close()
        with pytest.raises(ClientClosed):
            pending.result(PATIENCE)
        closed.set()


def test_a_response_sent_before_the_whole_request_is_read() -> None:
    def refuse(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n")

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        ThreadPoolExecutor(1) as pool,
    ):
        pool.submit(refuse, listener)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with Client(url, patience=0) as client, pytest.raises(Refused, match="413"):
            client.approve("E" * 10_000_000)


# --- waits in steps, as on Windows -------------------------------------------


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_LONGEST_WAIT", 0.001)


@pytest.mark.usefixtures("short_waits")
def test_a_response_may_take_many_steps_of_a_wait() -> None:
    answer = respond(EMPTY)

    def act(connection: socket.socket) -> bool:
        Event().wait(0.05)  # seconds; 50 steps
        return answer(connection)

    with a_service(act) as service, Client(service.url, patience=0) as client:
        assert client.document().incarnation == 0


@pytest.mark.usefixtures("short_waits")
def test_the_time_limit_counts_all_steps_of_a_wait() -> None:
    ended = Event()

    def act(connection: socket.socket) -> bool:
        return not ended.wait(PATIENCE)

    with (
        a_service(act) as service,
        Client(service.url, timeout=0.1, first_timeout=0.1, patience=0) as client,
    ):
        with pytest.raises(Unreachable, match=r"within 0\.1 s"):
            client.document()
        ended.set()


@pytest.mark.usefixtures("short_waits")
def test_a_pause_lasts_for_all_of_its_steps() -> None:
    pool = connections.ConnectionPool(parse("http://127.0.0.1:1"), connect_timeout=1)
    began = time.monotonic()
    assert pool.pause(0.05) is None
    assert time.monotonic() - began >= 0.05
    pool.close()
    assert isinstance(pool.pause(PATIENCE), ClientClosed)
