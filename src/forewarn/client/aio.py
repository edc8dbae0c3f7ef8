"""Asyncio client with the same interface as `forewarn.client.Client`, without threads.

Canceling a request ends it immediately and closes its connection.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Self, TypeVar, Unpack, assert_never

from forewarn.client import client as threaded
from forewarn.client.changes import Change
from forewarn.client.client import BaseClient, ClientOptions
from forewarn.client.conversation import Exchange, Pause, advance
from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.responses import Instance, Reading
from forewarn.client.transport.async_pool import AsyncConnectionPool
from forewarn.client.transport.http1 import HttpResponse
from forewarn.errors import ClientClosed, ForewarnError
from forewarn.protocol.types import Document, ScheduledEvent

T = TypeVar("T")


class Client(BaseClient[AsyncConnectionPool]):
    """Asyncio client for this VM's metadata service; see `forewarn.client.Client`."""

    def _new_pool(
        self, location: Endpoint, connect_timeout: float
    ) -> AsyncConnectionPool:
        return AsyncConnectionPool(location, connect_timeout=connect_timeout)

    @classmethod
    async def discover(
        cls,
        endpoint: str | None = None,
        *,
        interface: str | None = None,
        dhcp_timeout: float = 15.0,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """Find the service, using a thread; see `forewarn.client.Client.discover`."""
        threaded_client = await asyncio.to_thread(
            threaded.Client.discover,
            endpoint,
            interface=interface,
            dhcp_timeout=dhcp_timeout,
            **options,
        )
        return cls(threaded_client.endpoint, **options)

    async def document(self) -> Document:
        """Fetch the Scheduled Events document."""
        return await self._run(self._conversation.document())

    async def approve(self, *events: ScheduledEvent | str) -> None:
        """Approve either all of `events` or none, so that they can start early."""
        await self._run(self._conversation.approve(events))

    async def instance(self, api_version: str = "2021-02-01") -> Instance:
        """Fetch the metadata of this VM."""
        return await self._run(self._conversation.instance(api_version))

    async def watch(
        self, poll: float = 1.0, *, since: Document | None = None
    ) -> AsyncIterator[Change]:
        """Yield the current document, then each change, until the client is closed."""
        exchange = self._conversation.watch(poll, since)
        reply: HttpResponse | ForewarnError | None = None
        while True:
            try:
                action = advance(exchange, reply)
                reply = None
                if isinstance(action, Change):
                    yield action
                else:
                    reply = await self._perform(action)
            except ClientClosed:
                return

    async def read(
        self, *, tag: str | None = None, wait: float | None = None
    ) -> Reading:
        """Send exactly one request for the document, without retries."""
        return await self._run(self._conversation.read(tag, wait))

    async def close(self) -> None:
        """Abort running requests; a closed client sends no more."""
        self._pool.close()
        await asyncio.sleep(0)  # so that the event loop drops the sockets

    async def __aenter__(self) -> Self:
        """Return this client; leaving the block closes it."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the client."""
        await self.close()

    async def _run(self, exchange: Exchange[T]) -> T:
        """Run `exchange` to completion and return its result."""
        reply: HttpResponse | ForewarnError | None = None
        while True:
            try:
                action = advance(exchange, reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = await self._perform(action)

    async def _perform(
        self, action: ClientRequest | Pause
    ) -> HttpResponse | ForewarnError | None:
        match action:
            case ClientRequest():
                try:
                    return await self._pool.send(action)
                except ForewarnError as error:
                    return error
            case Pause():
                return await self._pool.pause(action.seconds)
            case _:
                assert_never(action)
