"""Client for a metadata service, either Azure's or forewarn's.

The client is thread-safe: each running request has its own connection.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Generic, Self, TypedDict, TypeVar, Unpack, assert_never

from forewarn.client import endpoint as endpoints
from forewarn.client.changes import Change
from forewarn.client.conversation import (
    ClientSettings,
    Conversation,
    Exchange,
    Pause,
    advance,
)
from forewarn.client.requests import ClientRequest
from forewarn.client.responses import Instance, Reading
from forewarn.client.retries import can_retry
from forewarn.client.transport.http1 import HttpResponse
from forewarn.client.transport.pool import ConnectionPool
from forewarn.errors import (
    ClientClosed,
    ForewarnError,
    Misunderstood,
    Refused,
    Unreachable,
)
from forewarn.protocol.types import Document, ScheduledEvent

_CONNECT_TIMEOUT = 2.0  # seconds to connect to an address that may not exist

T = TypeVar("T")
Pool = TypeVar("Pool")


class ClientOptions(TypedDict, total=False):
    """Optional arguments of a client, as explained in its constructor."""

    timeout: float
    first_timeout: float
    api_version: str
    patience: float


class BaseClient(Generic[Pool]):
    """The part of a client without I/O: its settings and clock."""

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = 10.0,
        first_timeout: float = 130.0,
        api_version: str = "2020-07-01",
        patience: float = 30.0,
    ) -> None:
        """Create a client for the service at `endpoint`.

        The default endpoint is $FOREWARN_ENDPOINT, or http://169.254.169.254 if that
        variable is not set.

        A request may take `timeout` seconds. The first request for events may take
        `first_timeout` seconds, because Azure needs up to two minutes for it. The
        client retries temporary failures for `patience` seconds.
        """
        location = endpoints.find(endpoint, os.environ)
        self._endpoint = str(location)
        self._pool = self._new_pool(location, timeout)
        self._conversation = Conversation(
            ClientSettings(
                endpoint=self._endpoint,
                timeout=timeout,
                first_timeout=first_timeout,
                api_version=api_version,
                patience=patience,
                monotonic=time.monotonic,
                chance=random_fraction,
            )
        )

    def _new_pool(self, location: endpoints.Endpoint, connect_timeout: float) -> Pool:
        raise NotImplementedError

    @property
    def endpoint(self) -> str:
        """The base URL of the service."""
        return self._endpoint

    def now(self) -> datetime:
        """Return the service's current time, which may differ from this machine's."""
        return self._conversation.clock.now()

    def time_left(self, event: ScheduledEvent) -> timedelta | None:
        """Return the time until `event` may start, or None if it has started."""
        return None if event.not_before is None else event.not_before - self.now()


class Client(BaseClient[ConnectionPool]):
    """Client for this VM's metadata service.

    The client opens no connection until a method is called. Failures raise `Refused`,
    `Unreachable` or `Misunderstood` from `forewarn.errors`.
    """

    def _new_pool(
        self, location: endpoints.Endpoint, connect_timeout: float
    ) -> ConnectionPool:
        return ConnectionPool(location, connect_timeout=connect_timeout)

    @classmethod
    def discover(
        cls,
        endpoint: str | None = None,
        *,
        interface: str | None = None,
        dhcp_timeout: float = 15.0,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """Find the service even if the network has no route to 169.254.169.254.

        If `endpoint` or $FOREWARN_ENDPOINT is set, use it without searching. Otherwise,
        try 169.254.169.254, then $SCHEDULEDEVENTSIP, then the address that a DHCP
        server offers on `interface`. The search may take minutes. DHCP requires root
        and Linux.
        """
        location = endpoint or os.environ.get(endpoints.VARIABLE)
        if not location:
            location = discover_endpoint(
                interface=interface, dhcp_timeout=dhcp_timeout, **options
            )
        return cls(location, **options)

    def document(self) -> Document:
        """Fetch the Scheduled Events document."""
        return self._run(self._conversation.document())

    def approve(self, *events: ScheduledEvent | str) -> None:
        """Approve either all of `events` or none, so that they can start early."""
        self._run(self._conversation.approve(events))

    def instance(self, api_version: str = "2021-02-01") -> Instance:
        """Fetch the metadata of this VM."""
        return self._run(self._conversation.instance(api_version))

    def watch(
        self, poll: float = 1.0, *, since: Document | None = None
    ) -> Iterator[Change]:
        """Yield the current document, then each change, until the client is closed.

        If the service supports long polls, changes arrive immediately; otherwise, they
        arrive within `poll` seconds. Raise an error if the service fails for longer
        than the client's patience. To continue after an error, pass the last change as
        `since` to a new watch.
        """
        exchange = self._conversation.watch(poll, since)
        reply: HttpResponse | ForewarnError | None = None
        while True:
            try:
                action = advance(exchange, reply)
                reply = None
                if isinstance(action, Change):
                    yield action
                else:
                    reply = self._perform(action)
            except ClientClosed:
                return

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Send exactly one request for the document, without retries.

        If you pass the `tag` of an earlier reading, the service can omit an unchanged
        document and waits up to `wait` seconds for a change before it responds.
        """
        return self._run(self._conversation.read(tag, wait))

    def close(self) -> None:
        """Abort running requests; a closed client sends no more."""
        self._pool.close()

    def __enter__(self) -> Self:
        """Return this client; leaving the block closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the client."""
        self.close()

    def _run(self, exchange: Exchange[T]) -> T:
        """Run `exchange` to completion and return its result."""
        reply: HttpResponse | ForewarnError | None = None
        try:
            while True:
                reply = self._perform(advance(exchange, reply))
        except StopIteration as done:
            result: T = done.value
            return result

    def _perform(
        self, action: ClientRequest | Pause
    ) -> HttpResponse | ForewarnError | None:
        match action:
            case ClientRequest():
                try:
                    return self._pool.send(action)
                except ForewarnError as error:
                    return error
            case Pause():
                return self._pool.pause(action.seconds)
            case _:
                assert_never(action)


def discover_endpoint(
    report: Callable[[str], None] = lambda _: None,
    *,
    interface: str | None = None,
    dhcp_timeout: float = 15.0,
    **options: Unpack[ClientOptions],
) -> str:
    """Search for the service like `Client.discover`, even if an endpoint is set.

    `report` is called with a sentence before each step that may take a while.
    """
    from forewarn.client import discovery  # rarely needed

    def responds(candidate: endpoints.Endpoint) -> bool:
        report(f"trying {candidate}")
        return _responds(candidate, **options)

    def query() -> str:
        report(f"requesting the address via DHCP, for up to {dhcp_timeout:g} s")
        return discovery.query_dhcp(interface, dhcp_timeout)

    location = discovery.find(os.environ, responds, query)
    report(f"found the metadata service at {location}")
    return str(location)


def _responds(location: endpoints.Endpoint, **options: Unpack[ClientOptions]) -> bool:
    """Return whether a metadata service responds at `location`.

    Temporary failures such as 429 or 5xx also count as a response.
    """
    try:
        socket.create_connection(
            (location.host, location.port), _CONNECT_TIMEOUT
        ).close()
    except OSError:
        return False
    try:
        with Client(str(location), **options) as client:
            client.read()
    except Refused as refusal:
        return refusal.status != 404 and can_retry(refusal)
    except (Unreachable, Misunderstood):
        return False
    return True


def random_fraction() -> float:
    """Return a random number from 0 to 1, for the jitter of retries."""
    return int.from_bytes(os.urandom(2)) / 65_536
