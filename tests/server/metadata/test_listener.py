"""Listener: refusing and accepting connections on one port."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from tests.patience import PATIENCE

from forewarn.configfile.values import Address
from forewarn.server.metadata.transport.listener import Listener
from forewarn.service.sockets import listen

ANY_PORT = Address(host="127.0.0.1", port=0)


def connect_and_close(address: tuple[str, int]) -> None:
    socket.create_connection(address, timeout=PATIENCE).close()


def with_listener(play: Callable[[Listener, tuple[str, int]], None]) -> None:
    async def playing(own: socket.socket) -> None:
        door = Listener([own], asyncio.Protocol)
        await door.open()
        play(door, own.getsockname())
        door.close()

    with ExitStack() as cleanup:
        asyncio.run(playing(listen(ANY_PORT, cleanup)))


def test_reopened_listener_accepts_connections_immediately() -> None:
    def play(door: Listener, address: tuple[str, int]) -> None:
        assert door.set_refusing(is_refusing=True)
        with pytest.raises(ConnectionRefusedError):
            connect_and_close(address)
        assert door.set_refusing(is_refusing=False)
        connect_and_close(address)

    with_listener(play)


def test_change_is_reported_only_once() -> None:
    def play(door: Listener, address: tuple[str, int]) -> None:
        assert not door.set_refusing(is_refusing=False)
        assert door.set_refusing(is_refusing=True)
        assert not door.set_refusing(is_refusing=True)

    with_listener(play)


def test_closed_listener_is_not_reopened() -> None:
    def play(door: Listener, address: tuple[str, int]) -> None:
        door.close()
        assert not door.set_refusing(is_refusing=False)
        with pytest.raises(ConnectionRefusedError):
            connect_and_close(address)

    with_listener(play)


def test_connections_inherit_a_small_receive_buffer() -> None:
    with ExitStack() as cleanup:
        own = listen(ANY_PORT, cleanup)
        Listener([own], asyncio.Protocol)
        client = socket.create_connection(own.getsockname(), timeout=PATIENCE)
        cleanup.callback(client.close)
        accepted, _ = own.accept()
        cleanup.callback(accepted.close)
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 64 * 1024
