"""The client: asks a metadata service, Azure's or forewarn's.

It may be used by several threads at once: each question has a connection to itself.
"""

import os
import socket
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Event
from types import TracebackType
from typing import Self, TypedDict, TypeVar, Unpack, assert_never

from forewarn.client import endpoint as endpoints
from forewarn.client.asking import Ask
from forewarn.client.connections import Connections
from forewarn.client.http import Answer
from forewarn.client.instance import Instance
from forewarn.client.reading import Reading
from forewarn.client.retries import rule_for
from forewarn.client.talks import Manner, Pause, Talk, Talks, go_on
from forewarn.client.watch import Change
from forewarn.errors import (
    Closed,
    ForewarnError,
    Misunderstood,
    Refused,
    Unreachable,
)
from forewarn.protocol.types import Document, ScheduledEvent

_KNOCK = 2.0  # seconds for a connection to an address that may not exist

T = TypeVar("T")


class Options(TypedDict, total=False):
    """How a client asks, as its constructor explains."""

    timeout: float
    first_timeout: float
    api_version: str
    patience: float


class Client:
    """Asks the metadata service of this VM.

    Nothing is asked, and no connection made, before a method is called. What goes
    wrong is a `Refused`, `Unreachable` or `Misunderstood` of `forewarn.errors`.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = 10.0,
        first_timeout: float = 130.0,
        api_version: str = "2020-07-01",
        patience: float = 30.0,
    ) -> None:
        """Ask at `endpoint`, else $FOREWARN_ENDPOINT, else http://169.254.169.254.

        A question may take `timeout` seconds; the first one for events takes Azure up
        to two minutes. Troubles that pass are put up with for `patience` seconds.
        """
        where = endpoints.find(endpoint, os.environ)
        self._endpoint = str(where)
        self._connections = Connections(where, connect_timeout=timeout)
        self._closing = Event()
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
    def discover(
        cls,
        endpoint: str | None = None,
        *,
        interface: str | None = None,
        dhcp_timeout: float = 15.0,
        **options: Unpack[Options],
    ) -> Self:
        """Find the service also where no virtual network leads to 169.254.169.254.

        What is named is taken. Else that address, then $SCHEDULEDEVENTSIP, then what
        a DHCP server tells on `interface` are tried, which may take minutes. DHCP
        takes root, and Linux.
        """
        from forewarn.client import discovery  # few machines need it

        found = discovery.find(
            endpoint,
            os.environ,
            lambda where: _answers(where, **options),
            lambda: discovery.ask_dhcp(interface, dhcp_timeout),
        )
        return cls(str(found), **options)

    @property
    def endpoint(self) -> str:
        """The base address of the service."""
        return self._endpoint

    def document(self) -> Document:
        """Ask what is coming."""
        return self._hold(self._talks.document())

    def approve(self, *events: ScheduledEvent | str) -> None:
        """Let `events` start before their time; all of them, or none."""
        self._hold(self._talks.approve(events))

    def instance(self, api_version: str = "2021-02-01") -> Instance:
        """Ask who this VM is."""
        return self._hold(self._talks.instance(api_version))

    def watch(
        self, poll: float = 1.0, *, since: Document | None = None
    ) -> Iterator[Change]:
        """Tell what is there, then each change, until the client is closed.

        Where the service holds questions a change comes at once, elsewhere within
        `poll` seconds. It raises when nothing was heard for longer than the client's
        patience; the last change, given as `since`, lets another watch go on there.
        """
        talk = self._talks.watch(poll, since)
        reply: Answer | ForewarnError | None = None
        while True:
            try:
                act = go_on(talk, reply)
                reply = None
                if isinstance(act, Change):
                    yield act
                else:
                    reply = self._do(act)
            except Closed:
                return

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Ask for the document exactly once, whatever happens.

        With the `tag` of an earlier reading the service need not repeat itself, and
        may `wait` so many seconds for another document.
        """
        return self._hold(self._talks.read(tag, wait))

    def now(self) -> datetime:
        """Say what time it is for the service: by its last answers, not this clock."""
        return self._talks.now()

    def time_left(self, event: ScheduledEvent) -> timedelta | None:
        """Count the time until `event` may start by itself; None if it has begun."""
        return self._talks.time_left(event)

    def close(self) -> None:
        """End whatever is on its way; a closed client asks nothing more."""
        self._closing.set()
        self._connections.close()

    def __enter__(self) -> Self:
        """Be closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _hold(self, talk: Talk[T]) -> T:
        """Ask and pause as `talk` says, to its end."""
        reply: Answer | ForewarnError | None = None
        try:
            while True:
                reply = self._do(go_on(talk, reply))
        except StopIteration as done:
            result: T = done.value
            return result

    def _do(self, act: Ask | Pause) -> Answer | ForewarnError | None:
        match act:
            case Ask():
                try:
                    return self._connections.ask(act)
                except ForewarnError as error:
                    return error
            case Pause():
                if self._closing.wait(act.seconds):
                    return Closed("this client was closed")
                return None
            case _:
                assert_never(act)


def _answers(where: endpoints.Endpoint, **options: Unpack[Options]) -> bool:
    """Whether a metadata service is there; it may have troubles that pass."""
    try:
        socket.create_connection((where.host, where.port), _KNOCK).close()
    except OSError:
        return False
    try:
        with Client(str(where), **options) as client:
            client.read()
    except Refused as refusal:
        return refusal.status != 404 and rule_for(refusal) is not None
    except (Unreachable, Misunderstood):
        return False
    return True


def a_chance() -> float:
    """Throw the dice: something between 0 and 1."""
    return int.from_bytes(os.urandom(2)) / 65_536
