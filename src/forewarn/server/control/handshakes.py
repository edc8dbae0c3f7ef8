"""TLS handshakes of the control plane; connections count from the start."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from socket import socket

from forewarn.server.control.connections import Wire

_GOODBYE = 2.0  # seconds for the TLS shutdown
_OUT_OF_FILES = 0.1  # seconds until the next try


class Handshakes:
    """Accepts TLS connections on one socket, until it is closed."""

    def __init__(
        self, listening: socket, tls: ssl.SSLContext, connect: Callable[[], Wire]
    ) -> None:
        """Start accepting, on the running loop."""
        self._tls = tls
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._shaking: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(listening))

    def close(self) -> None:
        """Stop accepting, and drop connections that are still in their handshake."""
        for task in (self._accepting, *self._shaking):
            task.cancel()

    async def _accept(self, listening: socket) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(listening)
            except OSError:  # out of file descriptors, or the client has gone
                await asyncio.sleep(_OUT_OF_FILES)
                continue
            wire = self._connect()
            if not wire.enter():
                accepted.close()
                continue
            task = self._loop.create_task(self._shake(accepted, wire))
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)

    async def _shake(self, made: socket, wire: Wire) -> None:
        is_connected = False
        try:
            with suppress(OSError):  # clients that do not speak TLS get no response
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
