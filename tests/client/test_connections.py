"""Connections that are kept: what may happen to them between two questions."""

import asyncio
import gc
import multiprocessing
import socket
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.client.service import EMPTY, Act, a_service, says

from forewarn.client import Client, aio
from forewarn.errors import Closed, Refused

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"


def says_and_adds(more: bytes, when: Event, done: Event) -> Act:
    """Answer well, and later say something that nobody has asked for."""
    answer = says(EMPTY)

    def act(connection: socket.socket) -> bool:
        answer(connection)
        assert when.wait(10)
        connection.sendall(more)
        done.set()
        return False

    return act


def test_what_was_said_before_a_question_is_not_the_answer_to_it() -> None:
    when, done = Event(), Event()
    acts = says_and_adds(TOO_SLOW, when, done), says(EMPTY)
    with a_service(*acts) as service, Client(service.url, patience=0) as client:
        client.document()
        when.set()
        assert done.wait(10)
        client.document()
    assert service.connections == 2


def test_it_is_not_for_those_who_await_either() -> None:
    async def ask_twice(url: str, when: Event, done: Event) -> None:
        async with aio.Client(url, patience=0) as client:
            await client.document()
            when.set()
            assert await asyncio.to_thread(done.wait, 10)
            await client.document()

    when, done = Event(), Event()
    with a_service(says_and_adds(TOO_SLOW, when, done), says(EMPTY)) as service:
        asyncio.run(ask_twice(service.url, when, done))
    assert service.connections == 2


@needs_fork
def test_a_process_that_was_split_off_has_connections_of_its_own() -> None:
    acts = [says(EMPTY)] * 3
    with a_service(*acts) as service, Client(service.url, patience=0) as client:
        client.document()
        child = multiprocessing.get_context("fork").Process(target=client.document)
        child.start()
        child.join()
        client.document()
    assert child.exitcode == 0
    assert service.connections == 2


@needs_fork
def test_a_process_that_was_split_off_closes_nothing_of_the_other() -> None:
    answer = Event()

    def act(connection: socket.socket) -> bool:
        assert answer.wait(10)
        return says(EMPTY)(connection)

    with (
        a_service(act) as service,
        Client(service.url, patience=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(client.document)
        service.wait()
        child = multiprocessing.get_context("fork").Process(target=client.close)
        child.start()
        child.join()
        answer.set()
        assert asked.result(10).events == ()


def test_those_who_await_may_do_so_in_one_loop_after_the_other() -> None:
    async def two_changes(client: aio.Client) -> None:
        changes = client.watch(0.001)
        await anext(changes)
        await anext(changes)

    one = {"DocumentIncarnation": 1, "Events": [{"EventId": "A"}]}
    acts = [says(EMPTY), says(one)] * 2
    with a_service(*acts) as service, warnings.catch_warnings():
        # The connection of the first loop is dropped with it, as Python remarks.
        warnings.simplefilter("ignore", ResourceWarning)
        client = aio.Client(service.url, patience=0)
        asyncio.run(two_changes(client))
        asyncio.run(two_changes(client))
        asyncio.run(client.close())
        gc.collect()
    assert service.connections == 2


def test_an_answer_without_a_length_does_not_end_because_the_client_is_closed() -> None:
    begun, closed = Event(), Event()

    def act(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        begun.set()
        return not closed.wait(10)

    with (
        a_service(act) as service,
        Client(service.url, patience=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(client.document)
        assert begun.wait(10)
        client.close()
        with pytest.raises(Closed):
            asked.result(10)
        closed.set()


def test_a_service_that_has_heard_enough_is_heard() -> None:
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
