"""Sessions of signed-in users: a signed cookie and a key that only the page has.

1. A session has two halves, and a request needs both. The cookie contains the token's
   ID, the session's end, a digest of the key, and a signature (seal) over all three.
   The key is random. The service stores neither half.
2. Browsers send a cookie to every port of a host, but separate page storage by port.
   Another server on the same host therefore receives the cookie but never the key.
3. The signing key derives from the admin token, which is not in the store, and from the
   digest of the holder's own token. Sessions therefore survive a restart, cannot be
   forged from the contents of the store alone, and end when the admin token changes.
4. A sign-out is saved before the response is sent. The sign-out is remembered until the
   session would have ended anyway.
5. Sessions expire in real time, regardless of the service's clock.
"""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cached_property
from threading import Lock

from forewarn.engine.engine import Engine, command_rank
from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken
from forewarn.errors import NotFound, Unavailable
from forewarn.ports import Clock

#: The lifetime of a session.
LASTS = timedelta(hours=12)

#: The maximum number of one token's sign-outs that are remembered individually.
MOST_SIGN_OUTS = 100

_SIGN_OUTS = "sign_outs"  # the name of the setting
_VERSION = "2"  # part of every key: invalidates sessions of other versions
_BEFORE = "1."  # the prefix of sessions without a key, created by earlier releases
_SALT = f"forewarn: sessions {_VERSION}".encode()
_COST = 2**14  # 60 ms, once; slows down guessing of a weak admin token


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalSession:
    """The contents of a session: its holder, end and identity."""

    token: str | None  # the token's ID; None for the admin token
    ends: int  # seconds since 1970
    digest: str  # of the key; also identifies the session


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSession:
    """A new session: both halves and the holder."""

    cookie: str
    key: str
    holder: TokenHolder


class Lapsed(Enum):
    """Why a session is not valid even if its token is."""

    WRONG = "unknown session; sign in again"
    OVER = "the session has expired; sign in again"
    SIGNED_OUT = "the session was signed out; sign in again"
    BEFORE_UPGRADE = (
        "the session started before the service was upgraded; sign in again"
    )
    NO_KEY = (
        "the request has a session cookie but lacks the session key that the portal"
        " sends; reload the portal and sign in again"
    )
    WRONG_KEY = "the session key does not match the session; sign in again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOuts:
    """One token's sessions that were signed out before their end.

    At most `MOST_SIGN_OUTS` are listed. Beyond that, the earliest are replaced by
    `floor`, which signs out all of the token's sessions that end at `floor` or earlier.
    """

    sessions: Mapping[str, int] = field(default_factory=dict)  # ends, keyed by digest
    floor: int = 0  # sessions that end at this second or earlier are signed out

    def has(self, session: PortalSession) -> bool:
        """Return whether `session` was signed out."""
        return session.digest in self.sessions or session.ends <= self.floor

    def add(self, session: PortalSession) -> "SignOuts":
        """Sign out `session`."""
        sessions, floor = {**self.sessions, session.digest: session.ends}, self.floor
        if len(sessions) > MOST_SIGN_OUTS:
            floor = max(floor, min(sessions.values()))
        return replace(self, sessions=_later_than(floor, sessions), floor=floor)

    def at(self, now: int) -> "SignOuts | None":
        """Drop sessions that have ended by `now`; return None if none are left."""
        sessions = _later_than(now, self.sessions)
        return (
            replace(self, sessions=sessions) if sessions or self.floor > now else None
        )


class Sessions:
    """Starts, verifies and ends sessions."""

    def __init__(self, engine: Engine, tokens: Tokens, wall: Clock) -> None:
        """Create sessions for holders of `tokens`; `wall` gives the real time."""
        self._engine = engine
        self._tokens = tokens
        self._wall = wall
        self._sign_outs: Mapping[str, SignOuts] = {}  # keyed by token ID
        self._lock = Lock()  # older state must not replace newer state
        self._is_stale = False  # whether a sign-out not known here may have been saved

    def reload(self) -> None:
        """Load the signed-out sessions from the store."""
        with self._lock:
            self._is_stale = True  # cleared only if all of this succeeds
            with self._engine.store.snapshot() as snapshot:
                self._sign_outs = decode_sign_outs(snapshot.setting(_SIGN_OUTS))
            self._is_stale = False

    def reload_if_stale(self) -> None:
        """Reload the sign-outs if the store did not confirm the last one."""
        if self._is_stale:
            self.reload()

    def begin(self, holder: TokenHolder) -> StartedSession:
        """Sign in the holder of a token."""
        signing_key = self._key(holder.token)
        if signing_key is None:
            raise NotFound(f"token {holder.name} no longer exists")
        until = self._wall.now().replace(microsecond=0) + LASTS
        key = secrets.token_urlsafe(32)
        session = PortalSession(
            token=holder.token, ends=int(until.timestamp()), digest=key_digest(key)
        )
        return StartedSession(
            cookie=seal(session, signing_key),
            key=key,
            holder=replace(holder, session=session.digest, signed_in_until=until),
        )

    def holder_of(
        self, cookie: str, key: str | None
    ) -> TokenHolder | UnknownToken | Lapsed:
        """Return the holder of a session; `key` is None if the request had no key."""
        if cookie.startswith(_BEFORE):
            return Lapsed.BEFORE_UPGRADE
        signing_key = self._key(token_named(cookie))
        session = None if signing_key is None else unseal(cookie, signing_key)
        if session is None:
            return Lapsed.WRONG
        lapsed = self._lapsed(session) or _mismatch(session, key)
        if lapsed is not None:
            return lapsed
        holder = self._tokens.holder_with(session.token)
        if isinstance(holder, UnknownToken):
            return holder
        until = datetime.fromtimestamp(session.ends, UTC)
        return replace(holder, session=session.digest, signed_in_until=until)

    def is_good(self, holder: TokenHolder) -> bool:
        """Return whether the holder's token, and session if any, are still valid."""
        session = _session_of(holder)
        is_lapsed = session is not None and self._lapsed(session) is not None
        return not is_lapsed and self._tokens.is_good(holder)

    def end(self, holder: TokenHolder) -> None:
        """Sign out the holder's session, if it has one."""
        session = _session_of(holder)
        if session is None:
            return
        now, token = self._now(), session.token or ""
        rank = command_rank(holder.group)
        try:
            with self._engine.writing(holder.name, rank=rank) as (transaction, _):
                known = decode_sign_outs(transaction.setting(_SIGN_OUTS))
                added = known.get(token, SignOuts()).add(session)
                kept = _kept({**known, token: added}, now)
                transaction.keep(_SIGN_OUTS, encode_sign_outs(kept))
        except Unavailable:
            self._is_stale = True  # it may have been saved anyway
            raise
        self.reload()

    def _lapsed(self, session: PortalSession) -> Lapsed | None:
        if self._now() >= session.ends:
            return Lapsed.OVER
        sign_outs = self._sign_outs.get(session.token or "")
        is_signed_out = sign_outs is not None and sign_outs.has(session)
        return Lapsed.SIGNED_OUT if is_signed_out else None

    def _now(self) -> int:
        return int(self._wall.now().timestamp())

    def _key(self, token: str | None) -> bytes | None:
        digest = self._tokens.digest_of(token)
        return None if digest is None else key_for(self._root, digest)

    @cached_property
    def _root(self) -> bytes:
        return root_key(self._tokens.digest_of(None) or "")


def _session_of(holder: TokenHolder) -> PortalSession | None:
    if holder.session is None or holder.signed_in_until is None:
        return None
    ends = int(holder.signed_in_until.timestamp())
    return PortalSession(token=holder.token, ends=ends, digest=holder.session)


def _mismatch(session: PortalSession, key: str | None) -> Lapsed | None:
    if key is None:
        return Lapsed.NO_KEY
    is_own = hmac.compare_digest(key_digest(key), session.digest)
    return None if is_own else Lapsed.WRONG_KEY


# --- sign-outs ---------------------------------------------------------------


def encode_sign_outs(sign_outs: Mapping[str, SignOuts]) -> str:
    """Encode the sign-outs of all tokens."""
    return json.dumps(
        {
            token: {"sessions": dict(one.sessions), "floor": one.floor}
            for token, one in sign_outs.items()
        }
    )


def decode_sign_outs(text: str | None) -> Mapping[str, SignOuts]:
    """Decode the sign-outs of all tokens; `None` means no sign-outs."""
    plain = {} if text is None else json.loads(text)
    return {token: SignOuts(**one) for token, one in plain.items()}


def _kept(sign_outs: Mapping[str, SignOuts], now: int) -> Mapping[str, SignOuts]:
    current = {token: one.at(now) for token, one in sign_outs.items()}
    return {token: one for token, one in current.items() if one is not None}


def _later_than(moment: int, sessions: Mapping[str, int]) -> Mapping[str, int]:
    return {digest: ends for digest, ends in sessions.items() if ends > moment}


# --- seals -------------------------------------------------------------------


def root_key(admin_digest: str) -> bytes:
    """Derive the root key of all signatures from the admin token's digest."""
    return hashlib.scrypt(
        admin_digest.encode(), salt=_SALT, n=_COST, r=8, p=1, dklen=32
    )


def key_for(root: bytes, digest: str) -> bytes:
    """Derive a token's session key from the token's `digest`."""
    return hmac.digest(root, digest.encode(), "sha256")


def seal(session: PortalSession, key: bytes) -> str:
    """Encode and sign `session`."""
    payload = f"{_VERSION}.{session.token or ''}.{session.ends}.{session.digest}"
    return f"{payload}.{_mark(payload, key)}"


def unseal(text: str, key: bytes) -> PortalSession | None:
    """Decode a session; None if it was not signed with `key`."""
    payload, _, mark = text.rpartition(".")
    # Compare strings: the last Base64 character may differ for the same bytes.
    if not hmac.compare_digest(_bytes(mark), _mark(payload, key).encode()):
        return None
    _, token, ends, digest = payload.split(".")
    return PortalSession(token=token or None, ends=int(ends), digest=digest)


def key_digest(key: str) -> str:
    """Return the digest that represents `key` in the cookie."""
    return _text(hashlib.sha256(_bytes(key)).digest())


def token_named(text: str) -> str | None:
    """Return the token ID in an unverified session, or None for the admin token."""
    return text.partition(".")[2].partition(".")[0] or None


def _mark(payload: str, key: bytes) -> str:
    return _text(hmac.digest(key, _bytes(payload), "sha256"))


def _text(digest: bytes) -> str:
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
