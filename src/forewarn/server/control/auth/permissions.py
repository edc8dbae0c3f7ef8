"""Permissions: the role that each method and path requires, and what a group may see.

Permissions are checked before anything else. A request that matches no line in the
table requires an admin. The routes themselves restrict a group's token to its group.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from re import Pattern

from forewarn.core.fleet import VM, Group, fold_name
from forewarn.core.lifecycle.commands import PossibleCommand
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.queries.visibility import visible_maintenance, visible_vm
from forewarn.core.tokens import Role
from forewarn.engine.lookup import find_maintenance
from forewarn.engine.tokens import TokenHolder
from forewarn.ports import Snapshot


@dataclass(frozen=True, slots=True)
class Permission:
    """The permission that some paths require."""

    methods: frozenset[str]
    path: Pattern[str]
    least: Role
    groups: bool = False  # whether a group's token is sufficient


def _allow(methods: str, path: str, least: Role, *, groups: bool = False) -> Permission:
    return Permission(frozenset(methods.split()), re.compile(path), least, groups)


_VM_OPERATIONS = "restart|redeploy|reimage|evict|delete|start"

#: The first matching line applies.
_PERMISSIONS: Sequence[Permission] = (
    _allow("GET HEAD POST DELETE", r"/v1/session", Role.VIEWER, groups=True),
    _allow("POST", r"/v1/portal/links", Role.VIEWER, groups=True),
    _allow("GET HEAD", r"/v1/(vms|groups|hosts)(/[^/]+)?", Role.VIEWER, groups=True),
    _allow("GET HEAD", r"/v1/vms/[^/]+/status", Role.VIEWER, groups=True),
    _allow("GET HEAD", r"/v1/(maintenances|events)(/.*)?", Role.VIEWER, groups=True),
    _allow(
        "GET HEAD",
        r"/v1/(overview|fleet/(map|limited|checks))",
        Role.VIEWER,
        groups=True,
    ),
    _allow("GET HEAD", r"/v1/(journal|stream|clock)", Role.VIEWER, groups=True),
    _allow("POST", rf"/v1/vms/[^/]+/({_VM_OPERATIONS})", Role.OPERATOR, groups=True),
    _allow("POST", r"/v1/events/[^/]+/approve", Role.OPERATOR, groups=True),
    _allow("GET HEAD POST DELETE", r"/v1/tokens(/.*)?", Role.ADMIN),
    _allow("POST DELETE", r"/v1/faults(/.*)?", Role.ADMIN),
    _allow("GET HEAD", r"/v1/.*", Role.VIEWER),
    _allow("GET HEAD", r"/metrics", Role.VIEWER),
    _allow("PUT DELETE PATCH", r"/v1/.*", Role.ADMIN),
    _allow("POST", r"/v1/.*", Role.OPERATOR),
    _allow("GET HEAD", r"/+(?i:subscriptions)(/.*)?", Role.VIEWER, groups=True),
    _allow("POST DELETE", r"/+(?i:subscriptions)/.*", Role.OPERATOR, groups=True),
)
_ADMIN_ONLY = Permission(frozenset(), re.compile(""), Role.ADMIN)


def permission_for(method: str, path: str) -> Permission:
    """Return the permission required for `method` at `path`."""
    for permission in _PERMISSIONS:
        if method in permission.methods and permission.path.fullmatch(path):
            return permission
    return _ADMIN_ONLY


def is_guarded(path: str) -> bool:
    """Return whether `path` requires a token."""
    first = path.lstrip("/").partition("/")[0].lower()
    # Route patterns end with `$`, which also matches before a final line break.
    return first.strip() in ("v1", "subscriptions", "metrics")


def may(role: Role, permission: Permission) -> bool:
    """Return whether `role` has `permission`."""
    if role is Role.GROUP:
        return permission.groups
    return role.is_at_least(permission.least)


def shown_to(holder: TokenHolder, maintenance: Maintenance) -> Maintenance:
    """Return `maintenance`, redacted for `holder`."""
    if holder.group is None:
        return maintenance
    return visible_maintenance(maintenance, holder.group) or maintenance


def find_for(
    holder: TokenHolder,
    snapshot: Snapshot,
    any_id: str,
    command: PossibleCommand | None = None,
) -> Maintenance:
    """Find maintenance as `find_maintenance` does, redacted for `holder`."""
    maintenance = find_maintenance(
        snapshot, any_id, group=holder.group, command=command
    )
    return shown_to(holder, maintenance)


def vm_for(holder: TokenHolder, vm: VM) -> VM | None:
    """Return `vm`, redacted for `holder`, or None if it belongs to another group."""
    return vm if holder.group is None else visible_vm(vm, holder.group)


def vms_for(
    holder: TokenHolder, snapshot: Snapshot, *, after: str, limit: int
) -> Sequence[VM]:
    """Return up to `limit` VMs that `holder` may see, sorted by name.

    Only VMs whose names sort after `after` are included.
    """
    if holder.group is None:
        return snapshot.vms(after=after, limit=limit)
    members = snapshot.part_of_fleet(groups=[holder.group]).vms.values()
    own = [vm for member in members if (vm := vm_for(holder, member))]
    listed = [vm for vm in own if fold_name(vm.name) > fold_name(after)]
    return sorted(listed, key=lambda vm: fold_name(vm.name))[:limit]


def groups_for(
    holder: TokenHolder, snapshot: Snapshot, *, after: str, limit: int
) -> Sequence[Group]:
    """Return up to `limit` groups that `holder` may see, sorted by name.

    Only groups whose names sort after `after` are included.
    """
    if holder.group is None:
        return snapshot.groups(after=after, limit=limit)
    groups = snapshot.part_of_fleet(groups=[holder.group]).groups
    own = [group for name, group in groups.items() if name == holder.group]
    return [group for group in own if fold_name(group.name) > fold_name(after)][:limit]
