"""API tokens and roles: the permissions of callers and their names in the journal."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.core.fleet import NAME, fold_name
from forewarn.errors import Conflict, InvalidInput

#: Names with a special meaning in the journal.
_RESERVED = frozenset({"admin", "forewarn", "serve --fleet"})


class Role(StrEnum):
    """The permissions of a token."""

    #: Reads, approves and requests user operations in one group.
    GROUP = "group"
    #: Reads everything.
    VIEWER = "viewer"
    #: Reads everything and runs commands.
    OPERATOR = "operator"
    #: Reads everything, runs commands, and manages tokens and the fleet.
    ADMIN = "admin"

    def is_at_least(self, least: "Role") -> bool:
        """Return whether this role has all permissions of `least`, in every group."""
        return _RANK[self] >= _RANK[least]


_RANK = {Role.GROUP: 0, Role.VIEWER: 1, Role.OPERATOR: 2, Role.ADMIN: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret, which is shown once and stored only by its holder."""

    id: str
    name: str
    role: Role
    group: str | None = None  # None unless the role is group
    digest: str = field(repr=False)  # SHA-256 of the secret part, in hex
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None  # None if it never expires
    revoked_at: datetime | None = None
    last_used: datetime | None = None  # to the minute

    def is_good(self, now: datetime) -> bool:
        """Return whether the token is valid at `now`: neither revoked nor expired."""
        return self.revoked_at is None and not self.has_expired(now)

    def has_expired(self, now: datetime) -> bool:
        """Return whether the token has expired at `now`."""
        return self.expires_at is not None and now >= self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedToken:
    """The number of invalid tokens received from one address."""

    address: str
    attempts: int


def check_token(token: Token, others: Iterable[Token], now: datetime) -> None:
    """Raise an error if `token` is invalid or its name is taken."""
    if not NAME.fullmatch(token.name):
        raise InvalidInput(
            "name: expected 1 to 80 characters from A-Z a-z 0-9 . _ -, not"
            f" {token.name!r}"
        )
    if fold_name(token.name) in _RESERVED:
        raise InvalidInput(f"name: {token.name} is reserved; choose another name")
    if (token.role is Role.GROUP) is (token.group is None):
        raise InvalidInput(
            "`group` is required for the role group and allowed only for that role"
        )
    if token.has_expired(now):
        raise InvalidInput("the expiration time is in the past")
    for other in others:
        if fold_name(other.name) == fold_name(token.name) and other.is_good(now):
            raise Conflict(
                f"token {other.name} already exists ({other.id}); revoke it, or choose"
                " another name"
            )


def find_token(tokens: Iterable[Token], name_or_id: str, now: datetime) -> Token | None:
    """Return the token with this ID or name.

    IDs take precedence over names. Valid tokens come before others with
    the same name.
    """
    folded, candidates = fold_name(name_or_id), [*tokens]
    having_id = [token for token in candidates if fold_name(token.id) == folded]
    named = [token for token in candidates if fold_name(token.name) == folded]
    good = [token for token in named if token.is_good(now)]
    return next(iter((*having_id, *good, *named)), None)
