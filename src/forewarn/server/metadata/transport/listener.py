"""Listening sockets that can temporarily refuse connections.

The original sockets stay open to keep their ports. The event loop uses duplicates,
which are closed while connections are refused.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

_BACKLOG = 4096
_RECEIVE_BUFFER = 16 * 1024  # bytes; the most that the loop reads at once


class Listener:
    """Accepts or refuses connections."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make_protocol: Callable[[], asyncio.Protocol],
    ) -> None:
        """Create a listener on the bound `sockets`.

        `make_protocol` is called for each connection.
        """
        for bound_socket in sockets:  # accepted sockets inherit it
            bound_socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER
            )
        self._sockets = sockets
        self._make_protocol = make_protocol
        self._servers: list[asyncio.Server] = []
        self._opening: asyncio.Task[None] | None = None
        self._is_refusing = False
        self._is_closed = False  # permanently

    async def open(self) -> None:
        """Start listening, unless connections are already being refused."""
        loop = asyncio.get_running_loop()
        for bound_socket in self._sockets:
            if not self._is_refusing:
                server = await loop.create_server(
                    self._make_protocol, sock=bound_socket.dup(), backlog=_BACKLOG
                )
                self._servers.append(server)
        if self._is_refusing:
            self._refuse()

    def set_refusing(self, *, is_refusing: bool) -> bool:
        """Refuse or accept connections from now on; return whether this is a change."""
        if is_refusing is self._is_refusing or self._is_closed:
            return False
        self._is_refusing = is_refusing
        if is_refusing:
            self._refuse()
        else:
            for bound_socket in self._sockets:
                bound_socket.listen(_BACKLOG)  # from now on, clients are queued
            self._opening = asyncio.get_running_loop().create_task(self.open())
        return True

    def close(self) -> None:
        """Stop accepting connections, permanently."""
        self._is_refusing = self._is_closed = True
        self._close_servers()
        for bound_socket in self._sockets:
            bound_socket.close()

    def _refuse(self) -> None:
        self._close_servers()
        for bound_socket in self._sockets:
            with suppress(OSError):  # it is no longer listening
                bound_socket.shutdown(socket.SHUT_RD)

    def _close_servers(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
