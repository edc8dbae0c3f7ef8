"""The client for those who await: the same surface, without threads.

A question that is canceled ends at once, and its connection with it.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar, Unpack, assert_never

from forewarn.client import client as threaded
from forewarn.client import endpoint as endpoints
from forewarn.client.asking import Ask
from forewarn.client.client import Options, a_chance
from forewarn.client.http import Answer
from forewarn.client.instance import Instance
from forewarn.client.reading import Reading
from forewarn.client.streams import StreamConnections
from forewarn.client.talks import Manner, Pause, Talk, Talks, go_on
from forewarn.client.watch import Change
from forewarn.errors import Closed, ForewarnError
from forewarn.protocol.types import Document, ScheduledEvent

T = TypeVar("T")


class Client:
    """Asks the metadata service of this VM, as `forewarn.client.Client` does."""

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = 10.0,
        first_timeout: float = 130.0,
        api_version: str = "2020-07-01",
        patience: float = 30.0,
    ) -> None:
        """Ask at `endpoint`; all is as in `forewarn.client.Client`."""
        where = endpoints.find(endpoint, os.environ)
        self._endpoint = str(where)
        self._connections = StreamConnections(where, connect_timeout=timeout)
        self._talks = Talks(
            Manner(
                endpoint=self._endpoint,
                timeout=timeout,
                first_timeout=first_timeout,
                api_version=api_version,
                patience=patience,
                monotonic=time.monotonic,
                chance=a_chance,
            )
        )

    @classmethod
    async def discover(
        cls,
        endpoint: str | None = None,
        *,
        interface: str | None = None,
        dhcp_timeout: float = 15.0,
        **options: Unpack[Options],
    ) -> Self:
        """Find the service as `forewarn.client.Client` does; in a thread."""
        found = await asyncio.to_thread(
            threaded.Client.discover,
            endpoint,
            interface=interface,
            dhcp_timeout=dhcp_timeout,
            **options,
        )
        return cls(found.endpoint, **options)

    @property
    def endpoint(self) -> str:
        """The base address of the service."""
        return self._endpoint

    async def document(self) -> Document:
        """Ask what is coming."""
        return await self._hold(self._talks.document())

    async def approve(self, *events: ScheduledEvent | str) -> None:
        """Let `events` start before their time; all of them, or none."""
        await self._hold(self._talks.approve(events))

    async def instance(self, api_version: str = "2021-02-01") -> Instance:
        """Ask who this VM is."""
        return await self._hold(self._talks.instance(api_version))

    async def watch(
        self, poll: float = 1.0, *, since: Document | None = None
    ) -> AsyncIterator[Change]:
        """Tell what is there, then each change, until the client is closed."""
        talk = self._talks.watch(poll, since)
        reply: Answer | ForewarnError | None = None
        while True:
            try:
                act = go_on(talk, reply)
                reply = None
                if isinstance(act, Change):
                    yield act
                else:
                    reply = await self._do(act)
            except Closed:
                return

    async def read(
        self, *, tag: str | None = None, wait: float | None = None
    ) -> Reading:
        """Ask for the document exactly once, whatever happens."""
        return await self._hold(self._talks.read(tag, wait))

    def now(self) -> datetime:
        """Say what time it is for the service: by its last answers, not this clock."""
        return self._talks.now()

    def time_left(self, event: ScheduledEvent) -> timedelta | None:
        """Count the time until `event` may start by itself; None if it has begun."""
        return self._talks.time_left(event)

    async def close(self) -> None:
        """End whatever is on its way; a closed client asks nothing more."""
        self._connections.close()
        await asyncio.sleep(0)  # lets the loop drop the sockets

    async def __aenter__(self) -> Self:
        """Be closed at the end of the block."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()

    async def _hold(self, talk: Talk[T]) -> T:
        """Ask and pause as `talk` says, to its end."""
        reply: Answer | ForewarnError | None = None
        while True:
            try:
                act = go_on(talk, reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = await self._do(act)

    async def _do(self, act: Ask | Pause) -> Answer | ForewarnError | None:
        match act:
            case Ask():
                try:
                    return await self._connections.ask(act)
                except ForewarnError as error:
                    return error
            case Pause():
                return await self._connections.pause(act.seconds)
            case _:
                assert_never(act)
