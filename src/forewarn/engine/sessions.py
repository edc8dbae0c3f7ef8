"""Sessions of those who have signed in: sealed, and kept by nobody but the browser.

1. A session is a text that its holder shows instead of the token. It names the token
   and the end of the session, and bears a seal over both.
2. The seal is made of the first token of the service, which is not in the store, and of
   the digest of the holder's own. So sessions outlive a restart, nobody makes one from
   what the store holds, and all end when the first token is another.
3. Nothing is forgotten by signing out: a copy is good until the session ends, or until
   its token is revoked or expires.
4. A session lasts hours of real time, whatever the clock of the service does.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cached_property

from forewarn.engine.tokens import Holder, Tokens, Unknown
from forewarn.errors import NotFound
from forewarn.ports import Clock

#: How long a session lasts.
LASTS = timedelta(hours=12)

_VERSION = "1"  # in every key, too: what another version has sealed is not known
_SALT = f"forewarn: sessions {_VERSION}".encode()
_COST = 2**14  # 60 ms, once: a first token that people made up is not quickly guessed


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session says: whose it is, and until when."""

    token: str | None  # its id; None: the one that the service was started with
    ends: int  # seconds since 1970


class Lapsed(Enum):
    """Why a session opens nothing, though its token might."""

    WRONG = "the session is not known; sign in again"
    OVER = "the session is over; sign in again"


class Sessions:
    """Begins sessions, and knows them again."""

    def __init__(self, tokens: Tokens, wall: Clock) -> None:
        """Let the holders of `tokens` sign in, by the time on the `wall`."""
        self._tokens = tokens
        self._wall = wall

    def begin(self, holder: Holder) -> tuple[str, Holder]:
        """Begin a session for who shows a token; answer its text, and who he is now."""
        key = self._key(holder.token)
        if key is None:
            raise NotFound(f"the token {holder.name} is not known any more")
        until = self._wall.now().replace(microsecond=0) + LASTS
        session = Session(token=holder.token, ends=int(until.timestamp()))
        return seal(session, key), replace(holder, signed_in_until=until)

    def holder_of(self, text: str) -> Holder | Unknown | Lapsed:
        """Find who shows the session `text`."""
        key = self._key(token_named(text))
        session = None if key is None else unseal(text, key)
        if session is None:
            return Lapsed.WRONG
        until = datetime.fromtimestamp(session.ends, UTC)
        if self._wall.now() >= until:
            return Lapsed.OVER
        found = self._tokens.holder_with(session.token)
        if isinstance(found, Unknown):
            return found
        return replace(found, signed_in_until=until)

    def is_good(self, holder: Holder) -> bool:
        """Whether `holder` could still ask: by his token, and his session if any."""
        until = holder.signed_in_until
        is_over = until is not None and self._wall.now() >= until
        return not is_over and self._tokens.is_good(holder)

    def _key(self, token: str | None) -> bytes | None:
        digest = self._tokens.digest_of(token)
        return None if digest is None else key_for(self._root, digest)

    @cached_property
    def _root(self) -> bytes:
        return root_key(self._tokens.digest_of(None) or "")


def root_key(first: str) -> bytes:
    """Make what all seals depend on from the digest of the `first` token."""
    return hashlib.scrypt(first.encode(), salt=_SALT, n=_COST, r=8, p=1, dklen=32)


def key_for(root: bytes, digest: str) -> bytes:
    """Make the key of the sessions of one token from its `digest`."""
    return hmac.digest(root, digest.encode(), "sha256")


def seal(session: Session, key: bytes) -> str:
    """Write `session` down, so that no byte of it can be changed."""
    said = f"{_VERSION}.{session.token or ''}.{session.ends}"
    return f"{said}.{_mark(said, key)}"


def unseal(text: str, key: bytes) -> Session | None:
    """Read a session; None: it was not sealed by `key`."""
    said, _, mark = text.rpartition(".")
    # As texts: the last letter of a mark could be another, and mean the same bytes.
    if not hmac.compare_digest(_bytes(mark), _mark(said, key).encode()):
        return None
    _, token, ends = said.split(".")
    return Session(token=token or None, ends=int(ends))


def token_named(text: str) -> str | None:
    """Find the id of the token that a session names, sealed or not; None: the first."""
    return text.partition(".")[2].partition(".")[0] or None


def _mark(said: str, key: bytes) -> str:
    made = hmac.digest(key, _bytes(said), "sha256")
    return urlsafe_b64encode(made).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
