"""Sessions of signed-in users: signed text, stored only in the browser.

1. A session is a text that its holder sends instead of a token. It holds the token's id
   and its own expiry, with a signature (seal) over both.
2. The signing key derives from the admin token, which is not in the store, and from the
   digest of the holder's own token. So sessions survive a restart, the contents of the
   store are not enough to forge one, and changing the admin token ends all of them.
3. Signing out revokes nothing: a copy stays valid until the session ends, or its token
   is revoked or expires.
4. A session lasts hours of real time, whatever the service's clock does.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cached_property

from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken
from forewarn.errors import NotFound
from forewarn.ports import Clock

#: The lifetime of a session.
LASTS = timedelta(hours=12)

_VERSION = "1"  # part of every key: sessions of other versions are invalid
_SALT = f"forewarn: sessions {_VERSION}".encode()
_COST = 2**14  # 60 ms, once; slows down guessing a weak admin token


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalSession:
    """The contents of a session: whose it is, and when it ends."""

    token: str | None  # its id; None for the admin token
    ends: int  # seconds since 1970


class Lapsed(Enum):
    """Why a session is not valid although its token might be."""

    WRONG = "the session is not known; sign in again"
    OVER = "the session is over; sign in again"


class Sessions:
    """Creates and verifies sessions."""

    def __init__(self, tokens: Tokens, wall: Clock) -> None:
        """Let holders of `tokens` sign in; `wall` gives the real time."""
        self._tokens = tokens
        self._wall = wall

    def begin(self, holder: TokenHolder) -> tuple[str, TokenHolder]:
        """Sign in a token's holder; return the session's text and the new holder."""
        key = self._key(holder.token)
        if key is None:
            raise NotFound(f"the token {holder.name} is not known any more")
        until = self._wall.now().replace(microsecond=0) + LASTS
        session = PortalSession(token=holder.token, ends=int(until.timestamp()))
        return seal(session, key), replace(holder, signed_in_until=until)

    def holder_of(self, text: str) -> TokenHolder | UnknownToken | Lapsed:
        """Return the holder of the session `text`."""
        key = self._key(token_named(text))
        session = None if key is None else unseal(text, key)
        if session is None:
            return Lapsed.WRONG
        until = datetime.fromtimestamp(session.ends, UTC)
        if self._wall.now() >= until:
            return Lapsed.OVER
        holder = self._tokens.holder_with(session.token)
        if isinstance(holder, UnknownToken):
            return holder
        return replace(holder, signed_in_until=until)

    def is_good(self, holder: TokenHolder) -> bool:
        """Whether the holder's token, and session if any, are still valid."""
        until = holder.signed_in_until
        is_over = until is not None and self._wall.now() >= until
        return not is_over and self._tokens.is_good(holder)

    def _key(self, token: str | None) -> bytes | None:
        digest = self._tokens.digest_of(token)
        return None if digest is None else key_for(self._root, digest)

    @cached_property
    def _root(self) -> bytes:
        return root_key(self._tokens.digest_of(None) or "")


def root_key(admin_digest: str) -> bytes:
    """Derive the key behind all signatures from the digest of the admin token."""
    return hashlib.scrypt(
        admin_digest.encode(), salt=_SALT, n=_COST, r=8, p=1, dklen=32
    )


def key_for(root: bytes, digest: str) -> bytes:
    """Derive the session key of one token from its `digest`."""
    return hmac.digest(root, digest.encode(), "sha256")


def seal(session: PortalSession, key: bytes) -> str:
    """Encode and sign `session`."""
    payload = f"{_VERSION}.{session.token or ''}.{session.ends}"
    return f"{payload}.{_mark(payload, key)}"


def unseal(text: str, key: bytes) -> PortalSession | None:
    """Decode a session; None if it was not signed with `key`."""
    payload, _, mark = text.rpartition(".")
    # Compared as text: the last Base64 character may differ for the same bytes.
    if not hmac.compare_digest(_bytes(mark), _mark(payload, key).encode()):
        return None
    _, token, ends = payload.split(".")
    return PortalSession(token=token or None, ends=int(ends))


def token_named(text: str) -> str | None:
    """Return the token id in a session, verified or not; None for the admin token."""
    return text.partition(".")[2].partition(".")[0] or None


def _mark(payload: str, key: bytes) -> str:
    digest = hmac.digest(key, _bytes(payload), "sha256")
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
