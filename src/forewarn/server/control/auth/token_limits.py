"""Limits per token: how many requests and streams its holder may have at once.

1. Every token has the same limits, however many addresses or sessions use it. The admin
   token has twice as much, so that an operator can work while others are limited.
2. All tokens but the admin token together leave room for the admin token, and for
   connections without one: requests for health, and those of new callers.
3. What is refused is counted by the token's name, for a bounded number of names.
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
_OTHER = "other"  # for names beyond that
_RECENT = 300.0  # seconds that a refusal is shown


class TokenLimit(StrEnum):
    """What a token's holder may have only so much of at once."""

    REQUESTS = "requests"
    STREAMS = "streams"
    RUNNING = "running"  #: requests that run, and do not only wait
    ALL_TOKENS = "all tokens"  #: requests and streams of all but the admin token


_RETRY_AFTER = {  # seconds
    TokenLimit.REQUESTS: 1,
    TokenLimit.STREAMS: 5,
    TokenLimit.RUNNING: 5,
    TokenLimit.ALL_TOKENS: 5,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShares:
    """How many requests and streams there may be at once."""

    own: dict[TokenLimit, int]  # of each token but the admin token
    admin: dict[TokenLimit, int]  # of the admin token
    together: int  # of all tokens but the admin token


def token_shares(places: ConnectionPlaces) -> TokenShares:
    """Return the shares that fit into `places`."""
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
    """A request that a limit refuses."""

    detail: str
    retry_after: int  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedToken:
    """A token of which requests were refused recently."""

    token: str  # its name
    refused: int
    limit: TokenLimit  # the one reached last
    allowed: int


class TokenLimits:
    """Counts the requests of token holders; only on the control plane's loop."""

    def __init__(
        self, shares: TokenShares, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `shares`; `monotonic` gives the real time in seconds."""
        self._shares = shares
        self._monotonic = monotonic
        self._active: Counter[tuple[str | None, TokenLimit]] = Counter()
        self._together = 0
        #: All refusals by the token's name and the limit.
        self.refused: Counter[tuple[str, ...]] = Counter()
        self._recent: dict[str, tuple[float, LimitedToken]] = {}  # by name, with time

    def begin(self, holder: TokenHolder, kind: TokenLimit) -> TokenRefusal | None:
        """Count a request that starts; if it is refused, it is not counted."""
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
        """Uncount a request."""
        if holder.token is not None:
            self._together -= 1
        self._active[holder.token, kind] -= 1
        if not self._active[holder.token, kind]:
            del self._active[holder.token, kind]

    def recent(self) -> Sequence[LimitedToken]:
        """Return the tokens that were limited recently; safe from any thread."""
        now = self._monotonic()
        return [
            limited for at, limited in [*self._recent.values()] if now - at <= _RECENT
        ]

    def _allowed(self, holder: TokenHolder) -> dict[TokenLimit, int]:
        return self._shares.admin if holder.token is None else self._shares.own

    def refuse_waiting(
        self, holder: TokenHolder, allowed: int, seconds: float
    ) -> TokenRefusal:
        """Count a request that `allowed` others have kept waiting for `seconds`."""
        wait = self._count_refusal(holder, TokenLimit.RUNNING, allowed)
        detail = f"the request waited {seconds:g} s for others to end, and did nothing"
        return TokenRefusal(detail=f"{detail}; try again in {wait} s", retry_after=wait)

    def _refuse(
        self, holder: TokenHolder, limit: TokenLimit, allowed: int
    ) -> TokenRefusal:
        wait = self._count_refusal(holder, limit, allowed)
        who = f"the token {holder.name} has"
        what = f"{limit} at once, as many as it may"
        if limit is TokenLimit.ALL_TOKENS:
            who, what = "all tokens together have", "requests and streams at once"
        return TokenRefusal(
            detail=f"{who} {allowed} {what}; try again in {wait} s", retry_after=wait
        )

    def _count_refusal(
        self, holder: TokenHolder, limit: TokenLimit, allowed: int
    ) -> int:
        """Count a refusal; return after how many seconds to try again."""
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
