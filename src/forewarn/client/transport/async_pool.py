"""Asyncio connection pool for one service, with the same rules as `pool`."""

import asyncio
import time
from typing import TypeAlias

from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse, ResponseParser
from forewarn.client.transport.pool import BasePool
from forewarn.errors import ClientClosed, Lost

_READ_SIZE = 65_536  # bytes per read
_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncConnectionPool(BasePool):
    """A pool of connections to one service; each request has its own connection."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Create a pool for the service at `endpoint`.

        Connecting may take at most `connect_timeout` seconds. The request's own timeout
        still applies.
        """
        super().__init__(endpoint, connect_timeout=connect_timeout)
        self._idle: list[_Streams] = []
        self._busy: set[_Streams] = set()
        self._closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # None before the first use

    async def send(self, request: ClientRequest) -> HttpResponse:
        """Send one request; raise every failure as a `ForewarnError`."""
        self._use_running_loop()
        with self._explained_errors(request.timeout):
            async with asyncio.timeout(request.timeout):
                return await self._send_bytes(self._bytes_of(request))

    async def pause(self, seconds: float) -> ClientClosed | None:
        """Wait; return `ClientClosed` early if the client is closed in the meantime."""
        self._use_running_loop()
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return None
        return ClientClosed("this client was closed")

    def close(self) -> None:
        """Close all connections and open no more."""
        self._use_running_loop()
        self._is_closed = True
        self._closing.set()
        for _, writer in (*self._idle, *self._busy):
            writer.transport.abort()
        self._idle.clear()

    def _use_running_loop(self) -> None:
        """Drop the connections of another event loop, which may have ended."""
        loop = asyncio.get_running_loop()
        if self._loop not in (loop, None) and not self._is_closed:
            self._idle, self._busy = [], set()
            self._closing = asyncio.Event()
        self._loop = loop

    async def _send_bytes(self, data: bytes) -> HttpResponse:
        self._check_open()
        idle = await self._take_idle()
        if idle is not None:
            parser = ResponseParser()
            try:
                return await self._exchange(idle, data, parser)
            except (ConnectionError, Lost):
                if parser.has_begun:
                    raise
        return await self._exchange(await self._open(), data, ResponseParser())

    async def _take_idle(self) -> _Streams | None:
        while self._idle:
            idle = self._idle.pop()
            if await _is_quiet(*idle):
                return idle
            idle[1].transport.abort()
        return None

    async def _open(self) -> _Streams:
        self._check_open()
        address = (self._endpoint.host, self._endpoint.port)
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await asyncio.open_connection(*address)
        except TimeoutError as error:
            raise self._no_connection(self._connect_timeout) from error

    async def _exchange(
        self, streams: _Streams, data: bytes, parser: ResponseParser
    ) -> HttpResponse:
        reader, writer = streams
        self._busy.add(streams)
        try:
            self._check_open()
            writer.write(data)
            while not parser.is_complete:
                part = await reader.read(_READ_SIZE)
                if not part:
                    self._check_open()  # otherwise the response seems to end
                parser.feed(part)
            response = parser.response(time.monotonic())
        except BaseException:
            writer.transport.abort()
            raise
        finally:
            self._busy.discard(streams)
        if parser.stays_open:
            self._idle.append(streams)
        else:
            writer.transport.abort()
        return response


async def _is_quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Return True if no unexpected data or end of stream has arrived."""
    try:
        await asyncio.sleep(0)  # so that the event loop reads available data
        async with asyncio.timeout(0):
            await reader.read(1)
    except TimeoutError:
        return True
    except OSError:
        return False
    except BaseException:
        writer.transport.abort()
        raise
    return False
