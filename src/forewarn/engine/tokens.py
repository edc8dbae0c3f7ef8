"""The tokens of the control plane: made, shown once, kept as digests, revoked.

What is asked on every request is answered from memory: one service has the store to
itself. Memory follows the store at the end of every transaction that may change it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from threading import Lock

from forewarn.core import facts as f
from forewarn.core import tokens as core
from forewarn.core.fleet import key
from forewarn.core.tokens import Role, Token
from forewarn.engine.engine import Engine
from forewarn.engine.revoking import record, revoke
from forewarn.errors import Conflict, InvalidInput, NotFound
from forewarn.ports import Transaction

#: How every token begins, so that it is known for one wherever it turns up.
PREFIX = "fw"

_ID_BYTES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who asks, and what he may do."""

    name: str
    role: Role
    group: str | None = None  # None: he may know of all groups
    token: str | None = None  # its id; None: the one that the service was started with
    signed_in_until: datetime | None = None  # None: he shows the token itself


class Unknown(Enum):
    """Why a token opens nothing."""

    WRONG = "the token is not known"
    EXPIRED = "the token has expired; ask for a new one"
    REVOKED = "the token was revoked; ask for a new one"


class Tokens:
    """All tokens, and the one that the service was started with."""

    def __init__(self, engine: Engine, first: str) -> None:
        """Keep tokens where `engine` keeps everything; `first` is the admin's."""
        self._engine = engine
        self._first = _digest(first)
        self._known: Mapping[str, Token] = {}
        self._turn = Lock()

    def reload(self) -> None:
        """Follow the store."""
        engine = self._engine
        with self._turn:  # else an older look could come after a newer one
            engine.are_tokens_stale = False  # whoever changes them now, says so again
            try:
                with engine.store.snapshot() as snapshot:
                    self._known = {each.id: each for each in snapshot.tokens()}
            except Exception:
                engine.are_tokens_stale = True
                raise

    def _follow(self) -> None:
        """Follow the store, unless whoever hears of commits has done so."""
        if self._engine.are_tokens_stale:
            self.reload()

    def holder_of(self, text: str) -> Holder | Unknown:
        """Find who holds the token `text`; note that it was used."""
        given = _digest(text)
        if hmac.compare_digest(given, self._first):
            return self.holder_with(None)
        token = self._known.get(_id_of(text))
        digest = given if token is None else token.digest
        if not hmac.compare_digest(given, digest) or token is None:
            return Unknown.WRONG
        return self.holder_with(token.id)

    def holder_with(self, token_id: str | None) -> Holder | Unknown:
        """Find who holds the token with this id; None: the first. Note its use."""
        if token_id is None:
            return Holder(name="admin", role=Role.ADMIN)
        token = self._known.get(token_id)
        if token is None:
            return Unknown.WRONG
        now = self._engine.clock.now()
        if token.revoked_at is not None:
            return Unknown.REVOKED
        if token.has_expired(now):
            return Unknown.EXPIRED
        self._engine.notes.use(token.id, now)
        return Holder(
            name=token.name, role=token.role, group=token.group, token=token.id
        )

    def digest_of(self, token_id: str | None) -> str | None:
        """Look up the digest of a token, revoked or not; None: there is no such one."""
        if token_id is None:
            return self._first
        token = self._known.get(token_id)
        return None if token is None else token.digest

    def is_good(self, holder: Holder) -> bool:
        """Whether the token of `holder` could still be used."""
        if holder.token is None:
            return True
        known = self._known.get(holder.token)
        return known is not None and known.is_good(self._engine.clock.now())

    def listed(self) -> Sequence[Token]:
        """The tokens that are not revoked, the oldest first."""
        self._engine.write_notes()
        with self._engine.store.snapshot() as snapshot:
            return [each for each in snapshot.tokens() if each.revoked_at is None]

    def create(
        self,
        name: str,
        role: Role,
        *,
        group: str | None = None,
        expires_at: datetime | None = None,
        lasts: timedelta | None = None,
        by: str,
    ) -> tuple[Token, str]:
        """Make a token; its text is known to nobody but the caller from now on."""
        made = secrets.token_hex(_ID_BYTES)
        text = f"{PREFIX}_{made}_{secrets.token_urlsafe(32)}"
        self._engine.are_tokens_stale = True  # until it is known what was kept
        with self._engine.writing() as (transaction, now):
            token = Token(
                id=made,
                name=name,
                role=role,
                group=group,
                digest=_digest(text),
                created_at=now,
                created_by=by,
                expires_at=_later(now, lasts) if lasts is not None else expires_at,
            )
            core.check(token, transaction.tokens(), now)
            token = _of_known_group(transaction, token)
            transaction.keep_token(token)
            record(transaction, [_created(token, by, now)])
        self._follow()
        return token, text

    def revoke(self, name_or_id: str, *, by: str) -> Token:
        """Let a token be good for nothing; a second time changes nothing."""
        if key(name_or_id) == "admin":
            raise Conflict(
                "the service was started with the token admin; to change it, change"
                " FOREWARN_TOKEN or remove the file `token` in the state directory,"
                " and restart"
            )
        self._engine.are_tokens_stale = True
        with self._engine.writing() as (transaction, now):
            found = core.find(transaction.tokens(), name_or_id, now)
            if found is None:
                raise NotFound(f"there is no token {name_or_id}")
            if found.revoked_at is None:
                revoke(transaction, [found], by, now)
        self._follow()
        return found


def _created(token: Token, by: str, now: datetime) -> f.TokenCreated:
    return f.TokenCreated(
        at=now,
        by=by,
        token=token.id,
        name=token.name,
        role=token.role,
        group=token.group,
        expires_at=token.expires_at,
    )


def _of_known_group(transaction: Transaction, token: Token) -> Token:
    """Write the group's name as the fleet does; refuse one that is not there."""
    if token.group is None:
        return token
    known = transaction.part_of_fleet(groups=[token.group]).groups
    for name in known:
        if key(name) == key(token.group):
            return replace(token, group=name)
    raise NotFound(f"there is no group {token.group}")


def _later(now: datetime, lasts: timedelta) -> datetime:
    try:
        return now + lasts
    except OverflowError:
        raise InvalidInput("it would expire after the end of time") from None


def _id_of(text: str) -> str:
    prefix, _, rest = text.partition("_")
    return rest.partition("_")[0] if prefix == PREFIX else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
