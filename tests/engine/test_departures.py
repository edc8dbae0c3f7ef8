"""VMs and hosts that leave during started maintenance."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core import fleet_file
from forewarn.core.fleet import VM
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.operations import VmOperation, order_for, order_for_host
from forewarn.drivers.registry import OperatorDriver
from forewarn.engine.operations import Operations
from forewarn.errors import InUse, TooLate
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventType

#: Two standalone VMs on one host; web and db share another.
FLEET = fleet_file.read_fleet(
    {
        "hosts": [{"name": "host-a"}, {"name": "host-b"}],
        "groups": [
            {"name": "web", "kind": "availability-set"},
            {"name": "db", "kind": "availability-set"},
        ],
        "vms": [
            {"name": "lone", "host": "host-a"},
            {"name": "solo", "host": "host-a"},
            {"name": "web-0", "group": "web", "host": "host-a", "update_domain": 0},
            {"name": "web-1", "group": "web", "host": "host-b", "update_domain": 1},
            {"name": "db-0", "group": "db", "host": "host-b", "update_domain": 0},
        ],
    }
)


def fail_on_lone(work: Work) -> list[Report]:
    """Reboot all VMs except `lone`; carry out all deletions."""
    reboots = work.type is EventType.REBOOT
    return [
        Report(vm=vm.name, failed=reboots and vm.name == "lone", detail="no disk")
        for vm in work.vms
    ]


@pytest.fixture
def system(open_store: OpenStore) -> System:
    driver = RecordingDriver(fail_on_lone)
    return a_system(open_store(), driver=driver, fleet=FLEET)


def a_stuck_host(system: System) -> Maintenance:
    """Return a maintenance of host-a that is stuck at the VM `lone`."""
    order = Order(type=EventType.REBOOT, host="host-a", emergency=True, reason="smoke")
    maintenance = system.announce(order)
    system.advance.by(MINUTE)
    assert system.maintenance(maintenance.id).to_do == ("lone",)
    return maintenance


def operate(system: System, operation: VmOperation, vm: str) -> Maintenance:
    order = order_for(operation, vm)
    (maintenance,) = Operations(system.engine).operate(operation, order, by="ops")
    return maintenance


def remove(system: System) -> None:
    system.fleets.remove_vm("lone", by="ops")


def delete(system: System) -> None:
    operate(system, VmOperation.DELETE, "lone")


@pytest.mark.parametrize("leave", [remove, delete])
def test_a_leaving_vm_removes_only_its_own_group(
    system: System, leave: Callable[[System], None]
) -> None:
    maintenance = a_stuck_host(system)
    leave(system)
    system.advance.by(MINUTE)
    assert system.phase(maintenance.id) is Phase.COMPLETED
    assert system.fleet().groups.keys() == {"web", "db", "solo"}


def test_closing_a_maintenance_removes_an_empty_group(
    system: System,
) -> None:
    maintenance = a_stuck_host(system)
    system.fleets.put_vm(replace(FLEET.vms["solo"], host=None), by="ops")
    system.fleets.remove_vm("solo", by="ops")
    assert "solo" in system.fleet().groups
    system.engine.close(maintenance.id, by="ops")
    assert "solo" not in system.fleet().groups


def test_a_restart_that_ends_with_a_deletion_removes_the_group(system: System) -> None:
    operate(system, VmOperation.DELETE, "solo")
    operate(system, VmOperation.RESTART, "solo")
    system.advance.by(MINUTE)
    assert "solo" not in system.fleet().groups


def test_a_vm_that_returns_in_another_group_removes_its_own(
    system: System,
) -> None:
    maintenance = a_stuck_host(system)
    system.fleets.remove_vm("solo", by="ops")
    system.fleets.put_vm(VM(name="solo", group="web", update_domain=2), by="ops")
    system.engine.complete(maintenance.id, by="ops")
    assert "solo" not in system.fleet().groups


def test_a_returned_vm_is_not_deleted_instead_of_the_one_that_left(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    maintenance = operate(system, VmOperation.DELETE, "web-2")
    old = system.fleet().vms["web-2"]
    system.fleets.remove_vm("web-2", by="ops")
    system.fleets.put_vm(old, by="ops")
    system.advance.by(MINUTE)
    assert system.phase(maintenance.id) is Phase.COMPLETED
    assert "web-2" in system.fleet().vms


def test_a_returned_vm_can_be_deleted_itself(open_store: OpenStore) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    operate(system, VmOperation.DELETE, "web-2")
    old = system.fleet().vms["web-2"]
    system.fleets.remove_vm("web-2", by="ops")
    system.fleets.put_vm(old, by="ops")
    again = operate(system, VmOperation.DELETE, "web-2")
    system.advance.by(MINUTE)
    assert system.phase(again.id) is Phase.STARTED
    system.engine.complete(again.id, by="ops")
    assert "web-2" not in system.fleet().vms


def test_a_group_kept_for_its_work_keeps_its_spelling(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    maintenance = system.announce(an_emergency("lone"))
    system.fleets.remove_vm("lone", by="ops")
    with pytest.raises(InUse, match=f": {maintenance.label}$"):
        system.fleets.put_vm(VM(name="LONE", group="LONE"), by="ops")
    system.advance.by(MINUTE)
    system.fleets.put_vm(VM(name="LONE", group="LONE"), by="ops")
    assert "LONE" in system.fleet().groups


def test_an_ending_maintenance_starts_another_that_reaches_further_groups(
    system: System,
) -> None:
    maintenance = a_stuck_host(system)  # lone, solo and web
    behind = system.announce(a_reboot(host="host-b"))  # web and db
    system.advance.by(HOUR)
    assert system.phase(behind.id) is Phase.SCHEDULED
    system.fleets.remove_vm("lone", by="ops")
    assert system.phase(maintenance.id) is Phase.COMPLETED
    assert system.phase(behind.id) is Phase.STARTED


def test_a_host_stays_during_its_maintenance_even_without_vms(
    system: System,
) -> None:
    order = order_for_host("host-a")
    (maintenance,) = Operations(system.engine).fail(order, by="ops").announced
    for name in maintenance.vms:
        moved = replace(system.fleet().vms[name], host="host-b")
        system.fleets.put_vm(moved, by="ops")
    with pytest.raises(InUse, match=f": {maintenance.label}$"):
        system.fleets.remove_host("host-a", by="ops")
    Operations(system.engine).recover(order, by="ops")
    system.advance.by(MINUTE)
    system.fleets.remove_host("host-a", by="ops")
    assert system.fleet().hosts.keys() == {"host-b"}


def test_approving_a_withdrawn_event_is_refused_with_the_reason(system: System) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    (its,) = [event.id for event in maintenance.events if event.group == "solo"]
    system.fleets.remove_vm("solo", by="ops")
    with pytest.raises(TooLate, match="was withdrawn because"):
        system.engine.approve(its, by="ops")
    assert system.phase(maintenance.id) is Phase.SCHEDULED
