"""Taking connections that begin with a TLS handshake, each counted from the start."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from socket import socket

from forewarn.server.control.connections import Wire

_GOODBYE = 2.0  # seconds
_OUT_OF_FILES = 0.1  # seconds until the next try


class Handshakes:
    """Accepts on one socket, until it is closed."""

    def __init__(
        self, listening: socket, tls: ssl.SSLContext, connect: Callable[[], Wire]
    ) -> None:
        """Begin, on the loop that runs."""
        self._tls = tls
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._shaking: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(listening))

    def close(self) -> None:
        """Take no more, and leave those that have not shaken hands."""
        for each in (self._accepting, *self._shaking):
            each.cancel()

    async def _accept(self, listening: socket) -> None:
        while True:
            try:
                made, _ = await self._loop.sock_accept(listening)
            except OSError:  # out of files, or the caller has gone
                await asyncio.sleep(_OUT_OF_FILES)
                continue
            wire = self._connect()
            if not wire.enter():
                made.close()
                continue
            task = self._loop.create_task(self._shake(made, wire))
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)

    async def _shake(self, made: socket, wire: Wire) -> None:
        is_connected = False
        try:
            with suppress(OSError):  # whoever speaks no TLS is not told so
                await self._loop.connect_accepted_socket(
                    lambda: wire,
                    made,
                    ssl=self._tls,
                    ssl_handshake_timeout=wire.patience.handshake,
                    ssl_shutdown_timeout=_GOODBYE,
                )
                is_connected = True
        finally:
            if not is_connected:
                made.close()
                wire.leave()
