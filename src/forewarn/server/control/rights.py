"""Who may do what: one table, looked up before anything else is looked at.

A request that no line of it fits needs an admin. What a group's token may use is cut
to its group by the routes themselves.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from re import Pattern

from forewarn.core.tokens import Role


@dataclass(frozen=True, slots=True)
class Right:
    """What is needed at some paths."""

    methods: frozenset[str]
    path: Pattern[str]
    least: Role
    groups: bool = False  # whether a group's token will do


def _right(methods: str, path: str, least: Role, *, groups: bool = False) -> Right:
    return Right(frozenset(methods.split()), re.compile(path), least, groups)


_USERS = "restart|redeploy|reimage|evict|delete"

#: The first line that fits is the one that counts.
RIGHTS: Sequence[Right] = (
    _right("GET HEAD POST DELETE", r"/v1/session", Role.VIEWER, groups=True),
    _right("GET HEAD", r"/v1/(vms|groups|hosts)(/[^/]+)?", Role.VIEWER, groups=True),
    _right("GET HEAD", r"/v1/(maintenances|events)(/.*)?", Role.VIEWER, groups=True),
    _right("GET HEAD", r"/v1/(overview|fleet/map)", Role.VIEWER, groups=True),
    _right("GET HEAD", r"/v1/(journal|stream|clock)", Role.VIEWER, groups=True),
    _right("POST", rf"/v1/vms/[^/]+/({_USERS})", Role.OPERATOR, groups=True),
    _right("POST", r"/v1/events/[^/]+/approve", Role.OPERATOR, groups=True),
    _right("GET HEAD POST DELETE", r"/v1/tokens(/.*)?", Role.ADMIN),
    _right("POST DELETE", r"/v1/faults(/.*)?", Role.ADMIN),
    _right("GET HEAD", r"/v1/.*", Role.VIEWER),
    _right("GET HEAD", r"/metrics", Role.VIEWER),
    _right("PUT DELETE PATCH", r"/v1/.*", Role.ADMIN),
    _right("POST", r"/v1/.*", Role.OPERATOR),
    _right("GET HEAD", r"/+(?i:subscriptions)(/.*)?", Role.VIEWER, groups=True),
    _right("POST DELETE", r"/+(?i:subscriptions)/.*", Role.OPERATOR, groups=True),
)
_NEEDED = Right(frozenset(), re.compile(""), Role.ADMIN)


def right_for(method: str, path: str) -> Right:
    """Find what is needed for `method` at `path`."""
    for each in RIGHTS:
        if method in each.methods and each.path.fullmatch(path):
            return each
    return _NEEDED


def is_guarded(path: str) -> bool:
    """Whether `path` is nobody's without a token."""
    first = path.lstrip("/").partition("/")[0].lower()
    # Routes end with `$`, and so with a line end behind them they fit as well.
    return first.strip() in ("v1", "subscriptions", "metrics")


def may(role: Role, right: Right) -> bool:
    """Whether `role` is enough for `right`."""
    if role is Role.GROUP:
        return right.groups
    return role.is_at_least(right.least)
