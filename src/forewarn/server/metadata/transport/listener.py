"""Listening sockets that can refuse connections for a while.

The original sockets stay open, and so keep their ports. The event loop gets duplicates,
which are closed while connections are refused.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

_BACKLOG = 4096


class Listener:
    """Accepts connections, or refuses them."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make: Callable[[], asyncio.Protocol],
    ) -> None:
        """Accept on `sockets`, which are bound; `make` creates each protocol."""
        self._sockets = sockets
        self._make = make
        self._servers: list[asyncio.Server] = []
        self._opening: asyncio.Task[None] | None = None
        self._is_shut = False
        self._is_closed = False  # permanently

    async def open(self) -> None:
        """Start listening, unless shut in the meantime."""
        loop = asyncio.get_running_loop()
        for bound_socket in self._sockets:
            if not self._is_shut:
                server = await loop.create_server(
                    self._make, sock=bound_socket.dup(), backlog=_BACKLOG
                )
                self._servers.append(server)
        if self._is_shut:
            self._shut()

    def set_shut(self, *, is_shut: bool) -> bool:
        """Refuse or accept connections from now on; return whether that is a change."""
        if is_shut is self._is_shut or self._is_closed:
            return False
        self._is_shut = is_shut
        if is_shut:
            self._shut()
        else:
            for bound_socket in self._sockets:
                bound_socket.listen(_BACKLOG)  # from now on, clients are queued
            self._opening = asyncio.get_running_loop().create_task(self.open())
        return True

    def close(self) -> None:
        """Stop accepting connections, permanently."""
        self._is_shut = self._is_closed = True
        self._close()
        for bound_socket in self._sockets:
            bound_socket.close()

    def _shut(self) -> None:
        self._close()
        for bound_socket in self._sockets:
            with suppress(OSError):  # it is not listening any more
                bound_socket.shutdown(socket.SHUT_RD)

    def _close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
