"""Limits per token: how many concurrent requests and streams a holder may have.

1. Every token has the same limits, regardless of how many addresses or sessions use it.
   The admin token's limits are twice as high, so that an operator can work while others
   are limited.
2. All other tokens together leave room for the admin token and for connections without
   a token, such as health checks and new callers.
3. Refusals are counted by token name, for a bounded number of names.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forewarn.engine.tokens import TokenHolder
from forewarn.server.control.http.shares import ConnectionPlaces

_REQUESTS = 16
_STREAMS = 32
_LEAST = 2  # even if few connections are possible
_MAX_NAMES = 100
_OTHER = "other"  # counts all further names
_RECENT = 300.0  # seconds for which a refusal is shown


class TokenLimit(StrEnum):
    """A limit on how much a token's holder may have open at once."""

    REQUESTS = "requests"
    STREAMS = "streams"
    RUNNING = "running"  #: requests that are running, not just waiting
    ALL_TOKENS = "all tokens"  #: for all tokens except the admin token


_RETRY_AFTER = {  # seconds
    TokenLimit.REQUESTS: 1,
    TokenLimit.STREAMS: 5,
    TokenLimit.RUNNING: 5,
    TokenLimit.ALL_TOKENS: 5,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShares:
    """The maximum numbers of concurrent requests and streams."""

    own: dict[TokenLimit, int]  # for each token except the admin token
    admin: dict[TokenLimit, int]  # for the admin token
    together: int  # for all tokens except the admin token


def token_shares(places: ConnectionPlaces) -> TokenShares:
    """Return the shares for `places` connections."""
    most = max(places.total // 8, _LEAST)
    own = {
        TokenLimit.REQUESTS: min(_REQUESTS, most),
        TokenLimit.STREAMS: min(_STREAMS, most),
    }
    admin = {limit: 2 * count for limit, count in own.items()}
    left = places.total - places.reserved - sum(admin.values())
    return TokenShares(own=own, admin=admin, together=max(left, 2 * _LEAST))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRefusal:
    """A request refused because of a limit."""

    detail: str
    retry_after: int  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedToken:
    """A token with recently refused requests."""

    token: str  # the token's name
    refused: int
    limit: TokenLimit  # the most recently reached limit
    allowed: int


class TokenLimits:
    """Counts token holders' requests, only on the control plane's loop."""

    def __init__(
        self, shares: TokenShares, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create limits from `shares`; `monotonic` returns real time in seconds."""
        self._shares = shares
        self._monotonic = monotonic
        self._active: Counter[tuple[str | None, TokenLimit]] = Counter()
        self._together = 0
        #: The number of refusals, keyed by token name and limit.
        self.refused: Counter[tuple[str, ...]] = Counter()
        self._recent: dict[str, tuple[float, LimitedToken]] = {}  # keyed by name

    def begin(self, holder: TokenHolder, kind: TokenLimit) -> TokenRefusal | None:
        """Count a request as running, or return the reason to refuse it."""
        allowed = self._allowed(holder)[kind]
        if self._active[holder.token, kind] >= allowed:
            return self._refuse(holder, kind, allowed)
        if holder.token is not None:
            if self._together >= self._shares.together:
                return self._refuse(
                    holder, TokenLimit.ALL_TOKENS, self._shares.together
                )
            self._together += 1
        self._active[holder.token, kind] += 1
        return None

    def end(self, holder: TokenHolder, kind: TokenLimit) -> None:
        """Stop counting a request."""
        if holder.token is not None:
            self._together -= 1
        self._active[holder.token, kind] -= 1
        if not self._active[holder.token, kind]:
            del self._active[holder.token, kind]

    def recent(self) -> Sequence[LimitedToken]:
        """Return recently limited tokens; safe to call from any thread."""
        now = self._monotonic()
        return [
            limited for at, limited in [*self._recent.values()] if now - at <= _RECENT
        ]

    def _allowed(self, holder: TokenHolder) -> dict[TokenLimit, int]:
        return self._shares.admin if holder.token is None else self._shares.own

    def refuse_waiting(
        self, holder: TokenHolder, allowed: int, seconds: float
    ) -> TokenRefusal:
        """Refuse a request that waited `seconds` for a slot.

        Up to `allowed` requests from `holder` may run at once.
        """
        wait = self._count_refusal(holder, TokenLimit.RUNNING, allowed)
        detail = f"no slot became free within {seconds:g} s; nothing was done"
        return TokenRefusal(detail=f"{detail}; try again in {wait} s", retry_after=wait)

    def _refuse(
        self, holder: TokenHolder, limit: TokenLimit, allowed: int
    ) -> TokenRefusal:
        wait = self._count_refusal(holder, limit, allowed)
        detail = (
            f"token {holder.name} already has the maximum of {allowed} open {limit}"
        )
        if limit is TokenLimit.ALL_TOKENS:
            detail = (
                f"all tokens together already have the maximum of {allowed} open"
                " requests and streams"
            )
        return TokenRefusal(detail=f"{detail}; try again in {wait} s", retry_after=wait)

    def _count_refusal(
        self, holder: TokenHolder, limit: TokenLimit, allowed: int
    ) -> int:
        """Count a refusal; return the seconds to wait before a retry."""
        now = self._monotonic()
        is_named = holder.name in self._recent or len(self._recent) < _MAX_NAMES
        name = holder.name if is_named else _OTHER
        self.refused[name, limit] += 1
        at, before = self._recent.get(name, (now, None))
        refused = before.refused if before and now - at <= _RECENT else 0
        limited = LimitedToken(
            token=name, refused=refused + 1, limit=limit, allowed=allowed
        )
        self._recent[name] = now, limited
        return _RETRY_AFTER[limit]
