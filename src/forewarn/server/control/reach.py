"""Redaction per group: a caller sees everything, or what concerns the caller's group.

Anything that a caller may not see behaves as if it did not exist.
"""

from collections.abc import Sequence

from forewarn.core.fleet import VM, Group, key
from forewarn.core.maintenance import Maintenance
from forewarn.core.share import share_of, share_of_vm
from forewarn.engine.lookup import find_maintenance
from forewarn.engine.tokens import Holder
from forewarn.ports import Snapshot


def shown_to(holder: Holder, found: Maintenance) -> Maintenance:
    """Redact a maintenance that `holder` may see."""
    share = None if holder.group is None else share_of(found, holder.group)
    return found if share is None else share


def find_for(holder: Holder, snapshot: Snapshot, any_id: str) -> Maintenance:
    """Return the maintenance with this id or event id, redacted for `holder`."""
    return shown_to(holder, find_maintenance(snapshot, any_id, only=holder.group))


def vm_for(holder: Holder, vm: VM) -> VM | None:
    """Redact `vm` for `holder`; None if it belongs to another group."""
    return vm if holder.group is None else share_of_vm(vm, holder.group)


def vms_for(
    holder: Holder, snapshot: Snapshot, *, after: str, limit: int
) -> Sequence[VM]:
    """Return the VMs that `holder` may see, by name, after the name `after`."""
    if holder.group is None:
        return snapshot.vms(after=after, limit=limit)
    members = snapshot.part_of_fleet(groups=[holder.group]).vms.values()
    own = [vm for member in members if (vm := vm_for(holder, member))]
    listed = [vm for vm in own if key(vm.name) > key(after)]
    return sorted(listed, key=lambda vm: key(vm.name))[:limit]


def groups_for(
    holder: Holder, snapshot: Snapshot, *, after: str, limit: int
) -> Sequence[Group]:
    """Return the groups that `holder` may see, by name, after the name `after`."""
    if holder.group is None:
        return snapshot.groups(after=after, limit=limit)
    groups = snapshot.part_of_fleet(groups=[holder.group]).groups
    own = [group for name, group in groups.items() if name == holder.group]
    return [group for group in own if key(group.name) > key(after)][:limit]
