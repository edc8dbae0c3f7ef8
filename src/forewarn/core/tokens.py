"""Tokens: who may ask for what, by the name that the journal will tell."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.core.fleet import NAME, key
from forewarn.errors import Conflict, InvalidInput

#: Names that stand for something else in the journal.
RESERVED = frozenset({"admin", "forewarn", "serve --fleet"})


class Role(StrEnum):
    """What the holder of a token may do."""

    #: Reads, approves and asks for user operations, in one group.
    GROUP = "group"
    #: Reads.
    VIEWER = "viewer"
    #: Reads and commands.
    OPERATOR = "operator"
    #: Reads, commands, and manages tokens and the fleet.
    ADMIN = "admin"

    def is_at_least(self, least: "Role") -> bool:
        """Whether this role may do all that `least` may do, for every group."""
        return _RANK[self] >= _RANK[least]


_RANK = {Role.GROUP: 0, Role.VIEWER: 1, Role.OPERATOR: 2, Role.ADMIN: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token, without what makes it one: that is shown once and kept by its holder."""

    id: str
    name: str
    role: Role
    group: str | None = None  # of a group's token; None: any other
    digest: str = field(repr=False)  # SHA-256 of the secret part, in hex
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None  # None: never
    revoked_at: datetime | None = None
    last_used: datetime | None = None  # to the minute

    def is_good(self, now: datetime) -> bool:
        """Whether it can be used at `now`."""
        return self.revoked_at is None and not self.has_expired(now)

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over at `now`."""
        return self.expires_at is not None and now >= self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How often somebody at one address has shown a token that is none."""

    address: str
    attempts: int


def check(token: Token, known: Iterable[Token], now: datetime) -> None:
    """Refuse a new `token` that makes no sense, or whose name is taken."""
    if not NAME.fullmatch(token.name):
        raise InvalidInput(
            "name: expected 1 to 80 of A-Z a-z 0-9 . _ - , not " + repr(token.name)
        )
    if key(token.name) in RESERVED:
        raise InvalidInput(f"name: {token.name} stands for another in the journal")
    if (token.role is Role.GROUP) is (token.group is None):
        raise InvalidInput("role group needs a `group`, and no other role has one")
    if token.has_expired(now):
        raise InvalidInput("it would expire before it could be used")
    for each in known:
        if key(each.name) == key(token.name) and each.is_good(now):
            raise Conflict(
                f"there is a token {each.name} ({each.id}); revoke it, or choose"
                " another name"
            )


def find(tokens: Iterable[Token], name_or_id: str, now: datetime) -> Token | None:
    """Find the token with this id, or else the good one of this name."""
    wanted, known = key(name_or_id), [*tokens]
    having_id = [each for each in known if key(each.id) == wanted]
    named = [each for each in known if key(each.name) == wanted]
    good = [each for each in named if each.is_good(now)]
    return next(iter((*having_id, *good, *named)), None)
