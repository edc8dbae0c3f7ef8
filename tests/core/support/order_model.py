"""Invariants for orders, written by hand like `tests.core.support.model`."""

from datetime import datetime, timedelta

from tests.core.support.model import LIVE, CommandHistory, promised, runs

from forewarn.core.fleet import VM, Group
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Maintenance, Slice


def check_host_failure(
    before: Slice, after: Slice, host: str, has_failed: bool
) -> None:
    """Check that a failed host has nothing scheduled and notifies each VM once."""
    existing = before.maintenances
    new = [
        maintenance
        for maintenance in after.maintenances.values()
        if maintenance.id not in existing
    ]
    assert all(maintenance.host == host for maintenance in new)
    if not has_failed:
        check_degraded_host(new, before, after, host)
        return
    assert len(new) <= 1
    on_host = [
        maintenance
        for maintenance in after.maintenances.values()
        if maintenance.host == host
    ]
    assert all(maintenance.phase.value != "SCHEDULED" for maintenance in on_host)
    ran = [
        maintenance
        for maintenance in existing.values()
        if maintenance.host == host and runs(maintenance)
    ]
    notified = {
        vm
        for maintenance in ran
        if maintenance.completed_by is None
        for vm in maintenance.vms
        if vm not in maintenance.left
    }
    announced = {vm for maintenance in new for vm in maintenance.vms}
    assert announced == running_on(before, host) - notified


def check_degraded_host(
    new: list[Maintenance], before: Slice, after: Slice, host: str
) -> None:
    """Check that each audience leaves on its own, and each VM is listed once."""
    assert all(len(maintenance.events) == 1 for maintenance in new)
    for maintenance in new:
        (event,) = maintenance.events
        isolated = before.groups[event.group].isolated
        assert len(event.resources) == 1 or not isolated
    if not new:
        return
    listed = [
        vm
        for maintenance in after.maintenances.values()
        if maintenance.host == host
        and maintenance.cause.value == "degraded"
        and maintenance.phase.value in LIVE
        for vm in maintenance.vms
        if vm not in maintenance.left
    ]
    assert len(listed) == len(set(listed))
    assert running_on(after, host) <= set(listed)


def running_on(slice_: Slice, host: str) -> set[str]:
    return {
        vm.name for vm in slice_.vms.values() if vm.host == host and not vm.deallocated
    }


def check_announced(
    order: Order,
    made: list[Maintenance],
    vms: list[VM],
    slice_: Slice,
    now: datetime,
    memory: CommandHistory,
) -> None:
    """Check that each VM gets one event, of its own group and update domain."""
    listed = [
        name for item in made for event in item.events for name in event.resources
    ]
    assert sorted(listed) == sorted(vm.name for vm in vms)
    vms_by_name = {vm.name: vm for vm in vms}
    for maintenance in made:
        for event in maintenance.events:
            members = [vms_by_name[name] for name in event.resources]
            assert {vm.group for vm in members} == {event.group}
            assert {vm.update_domain for vm in members} == {event.update_domain}
        groups = [slice_.groups[event.group] for event in maintenance.events]
        at_once = starts_at_once(order, groups[0], memory)
        assert maintenance.at_once is at_once
        check_notice(order, maintenance, groups, now)
    alone = order.source is not None and order.source.value == "User"
    if alone or order.type.value in ("Preempt", "Terminate"):
        assert all(len(item.vms) == 1 for item in made)
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


def starts_at_once(order: Order, group: Group, memory: CommandHistory) -> bool:
    if order.emergency and order.notice is None:
        return True
    setting = {"Reboot": "user-reboot", "Redeploy": "user-redeploy"}
    user = order.source is not None and order.source.value == "User"
    if not user or order.type.value not in setting:
        return False
    return memory.is_disabled(group) or setting[order.type.value] in group.auto_approve
