"""HTTP connection to a plane that measures the duration of each request."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

_TIMEOUT = 20.0  # seconds beyond the wait of a long poll


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedResponse:
    """A response, and how long it took."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    seconds: float


class KeepAliveConnection:
    """A connection that is opened on demand and kept alive if possible."""

    def __init__(self, address: str) -> None:
        """Connect to `address`, a host and a port."""
        self._host, _, self._port = address.rpartition(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        wait: float = 0.0,
    ) -> ReceivedResponse:
        """Send a request and read the response; a long poll takes up to `wait`."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        request = "\r\n".join([*lines, "", ""]).encode() + body
        async with self._turn:
            begun = time.perf_counter()
            try:
                async with asyncio.timeout(_TIMEOUT + wait):
                    reader, writer = await self._connected()
                    writer.write(request)
                    status, received, content = await _read(reader)
            except BaseException:
                self.close()
                raise
            took = time.perf_counter() - begun
            if received.get("connection") == "close":
                self.close()
        return ReceivedResponse(
            status=status, headers=received, body=content, seconds=took
        )

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and self._streams[0].at_eof():
            self.close()  # closed by the server after an idle time
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, int(self._port))
        return self._streams


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].decode().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return int(first.split()[1]), headers, body
