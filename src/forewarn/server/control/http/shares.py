"""Shares that prevent any caller from taking all control-plane connections.

1. Loopback may use every place, and some places are reserved for loopback. An operator
   on this machine can therefore connect even while strangers use their whole share.
2. Every other address has a share. A trusted proxy may use all places that are not
   reserved.
3. When a limit is reached, a new connection replaces the oldest connection that no
   token holder is using. A connection in use is never closed for a new one; if all are
   in use, the new connection is refused. `auth.token_limits` limits how many
   connections a token holder can use.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol, TypeAlias

_log = logging.getLogger(__name__)

_LOOPBACK = "loopback"
_LOG_INTERVAL = 60.0  # seconds
_MAX_ADDRESSES = 10  # addresses named in a log line
_OTHER_ADDRESSES = "other addresses"

#: An event loop's `call_later`.
CallLater: TypeAlias = Callable[[float, Callable[[], None]], object]


class SharedConnection(Protocol):
    """A connection that counts toward a share."""

    @property
    def is_in_use(self) -> bool:
        """Return whether a request with an accepted token is in progress."""

    @property
    def was_used(self) -> bool:
        """Return whether the connection has sent a complete request."""

    def drop(self) -> None:
        """Close the connection immediately."""


class ConnectionEnd(StrEnum):
    """Why a limit caused a connection to be refused or closed."""

    ADDRESS = "address"  #: the address already uses its whole share
    TOTAL = "total"  #: all places are taken and in use
    REPLACED = "replaced"  #: unused and replaced by a new connection
    SILENT = "silent"  #: sent no complete request in time
    UNREAD = "unread"  #: did not read its responses


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPlaces:
    """The maximum numbers of connections."""

    total: int

    @property
    def reserved(self) -> int:
        """The places reserved for loopback."""
        return self.total // 8

    @property
    def per_address(self) -> int:
        """The share for each address."""
        return max(self.total // 4, 1)


class ConnectionShares:
    """Counts connections and decides which to admit."""

    def __init__(
        self,
        places: ConnectionPlaces,
        proxies: Sequence[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Initialize shares from `places`; addresses in `proxies` are trusted.

        `monotonic` returns real time in seconds.
        """
        self._places = places
        self._monotonic = monotonic
        self._proxies = [ip_network(proxy, strict=False) for proxy in proxies]
        self._keys: dict[SharedConnection, str] = {}  # oldest first
        self._counts: Counter[str] = Counter()
        self._warned: dict[ConnectionEnd, float] = {}  # when last warned
        #: The number of connections refused or closed, keyed by reason.
        self.ended = dict.fromkeys(ConnectionEnd, 0)

    @property
    def count(self) -> int:
        """The number of connections."""
        return len(self._keys)

    def enter(self, connection: SharedConnection, address: str) -> bool:
        """Count a connection from `address`; return False if it must be closed."""
        key = _key_of(address)
        limit = self._limit_reached(key)
        if limit is not None:
            reason, is_affected = limit
            unused = self._unused(is_affected)
            self._warn(reason, address, key)
            if unused is None:
                self.ended[reason] += 1
                return False
            self.leave(unused)
            self.ended[ConnectionEnd.REPLACED] += 1
            unused.drop()
        self._keys[connection] = key
        self._counts[key] += 1
        return True

    def leave(self, connection: SharedConnection) -> None:
        """Stop counting a connection; repeated calls have no effect."""
        key = self._keys.pop(connection, None)
        if key is None:
            return
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def _limit_reached(
        self, key: str
    ) -> tuple[ConnectionEnd, Callable[[str], bool]] | None:
        """Return the limit that a new connection exceeds, if any.

        Also return a predicate for the keys whose connections count toward that limit.
        """
        places = self._places
        if key != _LOOPBACK:
            unreserved = max(places.total - places.reserved, 1)
            share = unreserved if self._is_proxy(key) else places.per_address
            if self._counts[key] >= share:
                return ConnectionEnd.ADDRESS, lambda other: other == key
            if len(self._keys) - self._counts[_LOOPBACK] >= unreserved:
                return ConnectionEnd.TOTAL, lambda other: other != _LOOPBACK
        if len(self._keys) >= places.total:
            return ConnectionEnd.TOTAL, lambda other: True
        return None

    def _unused(self, is_affected: Callable[[str], bool]) -> SharedConnection | None:
        """Return the affected connection to close first, or None if all are in use.

        Connections that have sent no complete request come first, followed by those
        from the address with the most connections.
        """
        unused = [
            (connection.was_used, -self._counts[key], age, connection)
            for age, (connection, key) in enumerate(self._keys.items())
            if is_affected(key) and not connection.is_in_use
        ]
        return min(unused)[-1] if unused else None

    def _is_proxy(self, key: str) -> bool:
        try:
            network = ip_network(key)
        except ValueError:
            return False
        return any(
            proxy.version == network.version and proxy.overlaps(network)
            for proxy in self._proxies
        )

    def _warn(self, reason: ConnectionEnd, address: str, key: str) -> None:
        now = self._monotonic()
        if reason in self._warned and now - self._warned[reason] < _LOG_INTERVAL:
            return
        self._warned[reason] = now
        is_own = reason is ConnectionEnd.ADDRESS
        _log.warning(
            "%s %s control plane connections, which is the limit; new connections"
            " replace idle ones, or are closed immediately if none are idle",
            f"{address} has" if is_own else "there are",
            self._counts[key] if is_own else self.count,
        )


class InvalidRequests:
    """Counts upgrade requests and requests that are not HTTP; logs once a minute."""

    def __init__(self) -> None:
        """Initialize all counts to zero."""
        self.total = 0
        self._recent: Counter[str] = Counter()  # by address, since the last line

    def add(self, address: str, call_later: CallLater) -> None:
        """Count a request from `address`; schedule a log line with `call_later`."""
        self.total += 1
        if not self._recent:
            call_later(_LOG_INTERVAL, self.log)
        is_named = address in self._recent or len(self._recent) < _MAX_ADDRESSES
        self._recent[address if is_named else _OTHER_ADDRESSES] += 1

    def log(self) -> None:
        """Log the requests counted since the last line, if any."""
        recent, self._recent = self._recent, Counter()
        if recent:
            _log.warning(
                "invalid requests to the control plane in the last minute: %s",
                ", ".join(f"{n} from {name}" for name, n in recent.most_common()),
            )


def _key_of(address: str) -> str:
    """Return the caller whose share a connection uses; loopback is a single caller."""
    network = caller_network(address)
    try:
        return _LOOPBACK if ip_address(network).is_loopback else network
    except ValueError:  # an IPv6 network, or unknown
        return network


def caller_network(address: str) -> str:
    """Return what counts as a single caller: an address or an IPv6 /64 network."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a proxy may send anything
        return "unknown"
    if isinstance(parsed, IPv6Address) and not parsed.is_loopback:
        mapped = parsed.ipv4_mapped
        return str(mapped or f"{IPv6Address(int(parsed) >> 64 << 64)}/64")
    return str(parsed)
