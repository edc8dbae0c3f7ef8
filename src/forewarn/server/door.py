"""Where connections come in: sockets that are listened on, or on which nobody listens.

The sockets stay ours all the time, and so do their ports: the loop is given copies of
them, which it closes when nobody is to be let in.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

_BACKLOG = 4096


class Door:
    """Lets connections in."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make: Callable[[], asyncio.Protocol],
    ) -> None:
        """Let connections of `sockets`, each bound to its port, in to what is made."""
        self._sockets = sockets
        self._make = make
        self._servers: list[asyncio.Server] = []
        self._opening: asyncio.Task[None] | None = None
        self._is_shut = False
        self._is_closed = False  # for good

    async def open(self) -> None:
        """Listen, unless it was shut meanwhile."""
        loop = asyncio.get_running_loop()
        for each in self._sockets:
            if not self._is_shut:
                server = await loop.create_server(
                    self._make, sock=each.dup(), backlog=_BACKLOG
                )
                self._servers.append(server)
        if self._is_shut:
            self._shut()

    def set_shut(self, *, is_shut: bool) -> bool:
        """Refuse connections from now on, or take them; answer whether it is news."""
        if is_shut is self._is_shut or self._is_closed:
            return False
        self._is_shut = is_shut
        if is_shut:
            self._shut()
        else:
            for each in self._sockets:
                each.listen(_BACKLOG)  # at once: who connects now is let in soon
            self._opening = asyncio.get_running_loop().create_task(self.open())
        return True

    def close(self) -> None:
        """Let nobody in any more."""
        self._is_shut = self._is_closed = True
        self._close()
        for each in self._sockets:
            each.close()

    def _shut(self) -> None:
        self._close()
        for each in self._sockets:
            with suppress(OSError):  # nobody listens there by now
                each.shutdown(socket.SHUT_RD)

    def _close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
