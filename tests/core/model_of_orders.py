"""What orders may lead to, written out by hand as `tests.core.model` is."""

from datetime import datetime, timedelta

from tests.core.model import Memory, promised, runs

from forewarn.core.announcing import Order
from forewarn.core.fleet import VM, Group
from forewarn.core.maintenance import Maintenance, Slice


def check_befallen(before: Slice, after: Slice, host: str, has_failed: bool) -> None:
    """A host that failed has nothing scheduled, and each of its VMs is told once."""
    known = before.maintenances
    new = [each for each in after.maintenances.values() if each.id not in known]
    assert len(new) <= 1
    assert all(each.host == host for each in new)
    if not has_failed:
        return
    mine = [each for each in after.maintenances.values() if each.host == host]
    assert all(each.phase.value != "SCHEDULED" for each in mine)
    ran = [each for each in known.values() if each.host == host and runs(each)]
    told = {
        vm
        for each in ran
        if each.completed_by is None
        for vm in each.vms
        if vm not in each.left
    }
    there_now = {vm.name for vm in before.vms.values() if vm.host == host}
    assert {vm for each in new for vm in each.vms} == there_now - told


def check_announced(
    order: Order,
    made: list[Maintenance],
    vms: list[VM],
    slice_: Slice,
    now: datetime,
    memory: Memory,
) -> None:
    """Each VM is told once, by an event of its group and update domain."""
    listed = [
        name for each in made for event in each.events for name in event.resources
    ]
    assert sorted(listed) == sorted(vm.name for vm in vms)
    known = {vm.name: vm for vm in vms}
    for maintenance in made:
        for event in maintenance.events:
            members = [known[name] for name in event.resources]
            assert {vm.group for vm in members} == {event.group}
            assert {vm.update_domain for vm in members} == {event.update_domain}
        groups = [slice_.groups[event.group] for event in maintenance.events]
        at_once = starts_at_once(order, groups[0], memory)
        assert maintenance.at_once is at_once
        check_notice(order, maintenance, groups, now)
    alone = order.source is not None and order.source.value == "User"
    if alone or order.type.value in ("Preempt", "Terminate"):
        assert all(len(each.vms) == 1 for each in made)
    elif order.host is not None:
        assert len(made) == 1


def check_notice(
    order: Order, made: Maintenance, groups: list[Group], now: datetime
) -> None:
    if made.at_once:
        assert made.not_before == now
        return
    notice = promised(made, groups) if order.notice is None else order.notice
    assert made.not_before.microsecond == 0
    assert timedelta(0) <= made.not_before - (now + notice) < timedelta(seconds=1)


def starts_at_once(order: Order, group: Group, memory: Memory) -> bool:
    if order.emergency and order.notice is None:
        return True
    setting = {"Reboot": "user-reboot", "Redeploy": "user-redeploy"}
    user = order.source is not None and order.source.value == "User"
    if not user or order.type.value not in setting:
        return False
    return memory.is_silent(group) or setting[order.type.value] in group.auto_approve
