"""A metadata service whose address the agent discovers.

1. Only the poller's thread searches, so no other thread waits. A failed search counts
   as a failed read, which the poller reports and retries.
2. The address is considered lost when reads have found no metadata service there for a
   while. The next read then searches again. If that search finds nothing, the old
   address stays in use until the next search.
3. The first read at a new address sends no tag, because two services may use the same
   tags.
"""

import logging
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from forewarn.client.responses import Instance, Reading
from forewarn.errors import (
    ClientClosed,
    ForewarnError,
    Misunderstood,
    Refused,
    Unreachable,
)

_log = logging.getLogger("forewarn.agent")

T = TypeVar("T")


class ServiceClient(Protocol):
    """A client of a service at one address."""

    @property
    def endpoint(self) -> str:
        """The base URL of the service."""
        ...

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Request the document once."""
        ...

    def instance(self) -> Instance:
        """Request the metadata of this VM."""
        ...

    def approve(self, event: str, /) -> None:
        """Approve an event."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class DiscoveredService:
    """A client of the service at the last discovered address."""

    def __init__(
        self,
        search: Callable[[], str],
        connect: Callable[[str], ServiceClient],
        *,
        lost_after: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the client; the service's address is unknown until the first read.

        `search` returns an endpoint or raises a `ForewarnError`. The first read
        calls `search`, as does a read after reads have failed for `lost_after` seconds.
        """
        self._search = search
        self._connect = connect
        self._lost_after = lost_after
        self._monotonic = monotonic
        self._client: ServiceClient | None = None  # None until the first one is found
        self._failing_since: float | None = None  # None if the last read succeeded
        self._is_new = False  # whether no read at this address has succeeded yet
        self._is_closed = False

    @property
    def endpoint(self) -> str:
        """The base URL of the service, or an empty string until it is found."""
        return "" if self._client is None else self._client.endpoint

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Request the document once, after searching if a search is due."""

        def send(client: ServiceClient) -> Reading:
            if self._is_new:
                return client.read()
            return client.read(tag=tag, wait=wait)

        reading = self._request(send)
        self._is_new = False
        return reading

    def instance(self) -> Instance:
        """Request the metadata of this VM, after searching if a search is due."""
        return self._request(lambda client: client.instance())

    def approve(self, event: str) -> None:
        """Approve an event at the current address; raise if none is known."""
        client = self._client
        if client is None:
            raise Unreachable("the metadata service has not been found yet")
        try:
            client.approve(event)
        except ClientClosed as error:
            if self._is_closed:
                raise
            raise Unreachable("the metadata service has a new address") from error

    def close(self) -> None:
        """Close the connections; later requests fail."""
        self._is_closed = True
        if self._client is not None:
            self._client.close()

    def _request(self, send: Callable[[ServiceClient], T]) -> T:
        client = self._current()
        try:
            response = send(client)
        except ForewarnError as error:
            if not _is_lost(error):
                self._failing_since = None
            elif self._failing_since is None:
                self._failing_since = self._monotonic()
            raise
        self._failing_since = None
        return response

    def _current(self) -> ServiceClient:
        """Return the client to use; search first if necessary."""
        if self._client is not None and not self._is_search_due():
            return self._client
        self._failing_since = None  # wait again before the next search
        endpoint = self._search()
        if self._is_closed:
            raise ClientClosed("the agent is stopping")
        before = self._client
        if before is not None and before.endpoint == endpoint:
            return before
        _log.info("found the metadata service at %s", endpoint)
        self._client = client = self._connect(endpoint)
        self._is_new = True
        if before is not None:
            before.close()
        return client

    def _is_search_due(self) -> bool:
        since = self._failing_since
        return since is not None and self._monotonic() - since >= self._lost_after


def _is_lost(error: ForewarnError) -> bool:
    """Return whether `error` may mean that the service is no longer at its address."""
    if isinstance(error, Refused):
        return error.status == 404
    return isinstance(error, Unreachable | Misunderstood)
