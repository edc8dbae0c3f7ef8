"""Asyncio connection pool for one service; the rules are those of `connections`."""

import asyncio
import time
from typing import TypeAlias

from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse, ResponseParser, request
from forewarn.client.transport.pool import (
    connection_error,
    no_connection,
    with_endpoint,
)
from forewarn.errors import ClientClosed, Lost, Misunderstood

_PIECE = 65_536  # bytes per read
_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncConnectionPool:
    """Pool of connections to one service; each request has its own."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Allow `connect_timeout` seconds to connect, within a request's timeout."""
        self._endpoint = endpoint
        self._connect_timeout = connect_timeout
        self._idle: list[_Streams] = []
        self._busy: set[_Streams] = set()
        self._closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # None before the first use

    async def ask(self, ask: ClientRequest) -> HttpResponse:
        """Send one request; every failure is raised as a `ForewarnError`."""
        self._settle()
        headers = {"Host": self._endpoint.authority, **ask.headers}
        target = f"{self._endpoint.prefix}{ask.path}"
        data = request(ask.method, target, headers, ask.body)
        where = str(self._endpoint)
        try:
            async with asyncio.timeout(ask.timeout):
                return await self._exchange(data)
        except OSError as error:
            self._refuse_if_closed()
            raise connection_error(error, where, ask.timeout) from error
        except (Lost, Misunderstood) as error:
            self._refuse_if_closed()
            raise with_endpoint(error, where) from error

    async def pause(self, seconds: float) -> ClientClosed | None:
        """Wait; return `Closed` early if the client is closed meanwhile."""
        self._settle()
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return None
        return ClientClosed("this client was closed")

    def close(self) -> None:
        """Close all connections and open no more."""
        self._settle()
        self._closing.set()
        for _, writer in (*self._idle, *self._busy):
            writer.transport.abort()
        self._idle.clear()

    def _settle(self) -> None:
        """Drop the connections of another event loop, which may have ended."""
        loop = asyncio.get_running_loop()
        if self._loop not in (loop, None) and not self._closing.is_set():
            self._idle, self._busy = [], set()
            self._closing = asyncio.Event()
        self._loop = loop

    async def _exchange(self, data: bytes) -> HttpResponse:
        self._refuse_if_closed()
        kept = await self._take()
        if kept is not None:
            incoming = ResponseParser()
            try:
                return await self._talk(kept, data, incoming)
            except (ConnectionError, Lost):
                if incoming.has_begun:
                    raise
        return await self._talk(await self._open(), data, ResponseParser())

    async def _take(self) -> _Streams | None:
        while self._idle:
            kept = self._idle.pop()
            if await _is_quiet(*kept):
                return kept
            kept[1].transport.abort()
        return None

    async def _open(self) -> _Streams:
        self._refuse_if_closed()
        where = (self._endpoint.host, self._endpoint.port)
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await asyncio.open_connection(*where)
        except TimeoutError as error:
            raise no_connection(str(self._endpoint), self._connect_timeout) from error

    async def _talk(
        self, to: _Streams, data: bytes, incoming: ResponseParser
    ) -> HttpResponse:
        reader, writer = to
        self._busy.add(to)
        try:
            self._refuse_if_closed()
            writer.write(data)
            while not incoming.is_complete:
                part = await reader.read(_PIECE)
                if not part:
                    self._refuse_if_closed()  # else the response seems to end
                incoming.feed(part)
            answer = incoming.answer(time.monotonic())
        except BaseException:
            writer.transport.abort()
            raise
        finally:
            self._busy.discard(to)
        if incoming.stays_open:
            self._idle.append(to)
        else:
            writer.transport.abort()
        return answer

    def _refuse_if_closed(self) -> None:
        if self._closing.is_set():
            raise ClientClosed("this client was closed")


async def _is_quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Return whether no unexpected data and no end of stream has arrived."""
    try:
        await asyncio.sleep(0)  # lets the event loop read what has arrived
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
