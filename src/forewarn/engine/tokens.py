"""API tokens: creation, verification and revocation; only digests are stored.

Requests are checked against a copy in memory, because only one service uses the store.
The copy is refreshed after every transaction that may change the tokens.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from threading import Lock

from forewarn.core import tokens as core
from forewarn.core.fleet import fold_name
from forewarn.core.lifecycle import facts as f
from forewarn.core.tokens import Role, Token
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import declared_name
from forewarn.engine.observations import record_facts, revoke
from forewarn.errors import Conflict, InvalidInput, NotFound
from forewarn.ports import Transaction

#: The prefix of every token, by which leaked tokens can be recognized.
PREFIX = "fw"

_ID_BYTES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """The authenticated caller and its permissions."""

    name: str
    role: Role
    group: str | None = None  # None if it may see all groups
    token: str | None = None  # the token's ID; None for the admin token
    session: str | None = None  # ID; None if the token authenticated it
    signed_in_until: datetime | None = None  # None without a session


class UnknownToken(Enum):
    """Why a token is not valid."""

    WRONG = "unknown token"
    EXPIRED = "the token has expired; get a new one"
    REVOKED = "the token was revoked; get a new one"


class Tokens:
    """All tokens, including the admin token."""

    def __init__(self, engine: Engine, admin_token: str) -> None:
        """Create the tokens: those stored through `engine`, and `admin_token`."""
        self._engine = engine
        self._admin_digest = _digest(admin_token)
        self._tokens: Mapping[str, Token] = {}
        self._reload_lock = Lock()

    def reload(self) -> None:
        """Refresh the copy in memory from the store."""
        engine = self._engine
        with self._reload_lock:  # an older read must not replace a newer one
            engine.are_tokens_stale = False  # any later change sets it again
            try:
                with engine.store.snapshot() as snapshot:
                    self._tokens = {token.id: token for token in snapshot.tokens()}
            except Exception:
                engine.are_tokens_stale = True
                raise

    def reload_if_stale(self) -> None:
        """Refresh the copy in memory if tokens have changed since the last refresh."""
        if self._engine.are_tokens_stale:
            self.reload()

    def holder_of(self, text: str) -> TokenHolder | UnknownToken:
        """Return the holder of the token `text` and record the use of the token."""
        text_digest = _digest(text)
        if hmac.compare_digest(text_digest, self._admin_digest):
            return self.holder_with(None)
        token = self._tokens.get(_id_of(text))
        digest = text_digest if token is None else token.digest
        if not hmac.compare_digest(text_digest, digest) or token is None:
            return UnknownToken.WRONG
        return self.holder_with(token.id)

    def holder_with(self, token_id: str | None) -> TokenHolder | UnknownToken:
        """Return the holder of the token with this ID and record the use of the token.

        None stands for the admin token.
        """
        if token_id is None:
            return TokenHolder(name="admin", role=Role.ADMIN)
        token = self._tokens.get(token_id)
        if token is None:
            return UnknownToken.WRONG
        now = self._engine.clock.now()
        if token.revoked_at is not None:
            return UnknownToken.REVOKED
        if token.has_expired(now):
            return UnknownToken.EXPIRED
        self._engine.observations.add_token_use(token.id, now)
        return TokenHolder(
            name=token.name, role=token.role, group=token.group, token=token.id
        )

    def digest_of(self, token_id: str | None) -> str | None:
        """Return the digest of a token, even if revoked, or None if there is none."""
        if token_id is None:
            return self._admin_digest
        token = self._tokens.get(token_id)
        return None if token is None else token.digest

    def expiry_of(self, holder: TokenHolder) -> datetime | None:
        """Return when the holder's token expires, or None if it never does."""
        token = self._tokens.get(holder.token) if holder.token else None
        return None if token is None else token.expires_at

    def is_good(self, holder: TokenHolder) -> bool:
        """Return whether the token of `holder` is still valid."""
        if holder.token is None:
            return True
        token = self._tokens.get(holder.token)
        return token is not None and token.is_good(self._engine.clock.now())

    def listed(self) -> Sequence[Token]:
        """Return the tokens that are not revoked, oldest first."""
        self._engine.save_observations()
        with self._engine.store.snapshot() as snapshot:
            return [token for token in snapshot.tokens() if token.revoked_at is None]

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
        """Create a token; its text is only returned here and is never stored."""
        token_id = secrets.token_hex(_ID_BYTES)
        text = f"{PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"
        self._engine.are_tokens_stale = True  # until the outcome is known
        with self._engine.writing() as (transaction, context):
            now = context.now
            token = Token(
                id=token_id,
                name=name,
                role=role,
                group=group,
                digest=_digest(text),
                created_at=now,
                created_by=by,
                expires_at=_expiry(now, lasts) if lasts is not None else expires_at,
            )
            core.check_token(token, transaction.tokens(), now)
            token = _with_declared_group(transaction, token)
            transaction.keep_token(token)
            fact = f.TokenCreated(
                at=now,
                by=by,
                token=token.id,
                name=token.name,
                role=token.role,
                group=token.group,
                expires_at=token.expires_at,
            )
            record_facts(transaction, [fact])
        self.reload_if_stale()
        return token, text

    def revoke(self, name_or_id: str, *, by: str) -> Token:
        """Revoke a token; revoking it again has no effect."""
        if fold_name(name_or_id) == "admin":
            raise Conflict(
                "the admin token cannot be revoked; to replace it, change"
                " FOREWARN_TOKEN or remove the `token` file in the state directory,"
                " and restart the service"
            )
        self._engine.are_tokens_stale = True
        with self._engine.writing() as (transaction, context):
            token = core.find_token(transaction.tokens(), name_or_id, context.now)
            if token is None:
                raise NotFound(f"token {name_or_id} not found")
            if token.revoked_at is None:
                revoke(transaction, [token], by, context.now)
        self.reload_if_stale()
        return token


def _with_declared_group(transaction: Transaction, token: Token) -> Token:
    """Replace the group with its declared spelling; raise `NotFound` if missing."""
    if token.group is None:
        return token
    names = transaction.part_of_fleet(groups=[token.group]).groups
    return replace(token, group=declared_name(token.group, names, "group"))


def _expiry(now: datetime, lasts: timedelta) -> datetime:
    try:
        return now + lasts
    except OverflowError:
        raise InvalidInput("the expiration time is out of range") from None


def _id_of(text: str) -> str:
    prefix, _, rest = text.partition("_")
    return rest.partition("_")[0] if prefix == PREFIX else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
