"""TCP proxy between the service and its database, which breaks connections."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST


class Proxy:
    """A proxy on a port of its own that forwards everything, at first."""

    def __init__(self, to: int) -> None:
        """Forward to the port `to` of this machine."""
        self._to = to
        self._writers: set[asyncio.StreamWriter] = set()
        self._silenced: set[asyncio.StreamWriter] = set()  # connections cut off
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._refuses = False
        self.port = 0

    def reset(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            sock = writer.get_extra_info("socket")
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    def refuse(self, is_refusing: bool) -> None:
        """Reset all connections, and new ones while `is_refusing`."""
        self._refuses = is_refusing
        if is_refusing:
            self.reset()

    def silence(self, is_disabled: bool) -> None:
        """Forward nothing while `is_disabled`, and close nothing."""
        if is_disabled:
            self._speaks.clear()
        else:
            self._speaks.set()

    def abandon(self) -> None:
        """Never forward data again on connections that exist now.

        They end when one side closes them, as keep-alives would achieve in time.
        """
        self._silenced |= self._writers

    async def accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one connection in both directions."""
        self._writers.add(writer)
        try:
            if self._refuses:
                raise ConnectionRefusedError
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            self._close(writer)
            return
        self._writers.add(back)
        with suppress(asyncio.CancelledError):  # when the loop ends
            await asyncio.gather(
                self._forward(reader, back), self._forward(there, writer)
            )

    async def _forward(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                await self._speaks.wait()
                if sink in self._silenced:
                    continue  # swallowed
                sink.write(data)
                await sink.drain()
        self._close(sink)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()

    def close(self) -> None:
        """Close all connections."""
        self._speaks.set()
        for writer in self._writers | self._silenced:
            writer.transport.abort()


@asynccontextmanager
async def a_proxy(to: int) -> AsyncIterator[Proxy]:
    """Run a proxy until the block ends."""
    proxy = Proxy(to)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
