"""Permissions: the role that each method and path needs.

They are checked before anything else. A request that matches no line of the table needs
an admin. The routes themselves restrict a group's token to its group.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from re import Pattern

from forewarn.core.tokens import Role


@dataclass(frozen=True, slots=True)
class Right:
    """The permission that some paths need."""

    methods: frozenset[str]
    path: Pattern[str]
    least: Role
    groups: bool = False  # whether a group's token is enough


def _right(methods: str, path: str, least: Role, *, groups: bool = False) -> Right:
    return Right(frozenset(methods.split()), re.compile(path), least, groups)


_USERS = "restart|redeploy|reimage|evict|delete"

#: The first line that matches applies.
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
    """Return the permission needed for `method` at `path`."""
    for right in RIGHTS:
        if method in right.methods and right.path.fullmatch(path):
            return right
    return _NEEDED


def is_guarded(path: str) -> bool:
    """Whether `path` needs a token."""
    first = path.lstrip("/").partition("/")[0].lower()
    # Route patterns end with `$`, which also matches before a final line break.
    return first.strip() in ("v1", "subscriptions", "metrics")


def may(role: Role, right: Right) -> bool:
    """Whether `role` has the permission `right`."""
    if role is Role.GROUP:
        return right.groups
    return role.is_at_least(right.least)
