"""One-time sign-in links: random codes that each start one session of a token's holder.

1. Only digests of codes are kept, and only in memory. A restart ends all links.
2. A code can be used once, within a minute of real time.
3. A code has the rights that its token has when the code is used. It cannot be used
   after the token was revoked or has expired.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock

from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken

#: Seconds for which a link can be used.
LASTS = 60

_PER_TOKEN = 8  # links; beyond that, a new link replaces the token's oldest one
_TOTAL = 1_000  # links; beyond that, a new link replaces the oldest one
_BYTES = 32  # of randomness
_NEXT = "get a new link with `forewarn portal --open`, or sign in with a token"


class UnusableLink(Enum):
    """Why a sign-in link cannot be used even if its token is valid."""

    USED = f"this sign-in link has already been used; {_NEXT}"
    UNKNOWN = (
        "this sign-in link is not valid, because it is older than one minute, was"
        f" replaced by newer links, or is incomplete; {_NEXT}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """A link that was created in the last minute."""

    digest: bytes  # of the code
    token: str | None  # the token's ID; None for the admin token
    until: float  # monotonic time
    is_used: bool = False


class SignInLinks:
    """Creates and redeems links; safe to call from any thread."""

    def __init__(
        self, tokens: Tokens, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create links for holders of `tokens`; `monotonic` returns real seconds."""
        self._tokens = tokens
        self._monotonic = monotonic
        self._links: Sequence[SignInLink] = ()  # oldest first
        self._lock = Lock()

    def create(self, holder: TokenHolder) -> str:
        """Return a new code for the holder of a token."""
        code = secrets.token_urlsafe(_BYTES)
        with self._lock:
            now = self._monotonic()
            link = SignInLink(
                digest=_digest(code), token=holder.token, until=now + LASTS
            )
            links = self._current(now)
            own = [other for other in links if other.token == holder.token]
            replaced = own[: max(0, len(own) - _PER_TOKEN + 1)]
            kept = [other for other in links if other not in replaced]
            self._links = [*kept, link][-_TOTAL:]
        return code

    def redeem(self, code: str) -> TokenHolder | UnknownToken | UnusableLink:
        """Use up a code, and return the holder of its token."""
        digest = _digest(code)
        with self._lock:
            links = self._current(self._monotonic())
            # Compare with all links, so that the time does not depend on the code.
            found = [hmac.compare_digest(link.digest, digest) for link in links]
            if True not in found:
                return UnusableLink.UNKNOWN
            index = found.index(True)
            link = links[index]
            links[index] = replace(link, is_used=True)
            self._links = links
        if link.is_used:
            return UnusableLink.USED
        return self._tokens.holder_with(link.token)

    def _current(self, now: float) -> list[SignInLink]:
        return [link for link in self._links if now < link.until]


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).digest()
