"""VMs and hosts that go while something has started: what stays, and what goes on."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.engine.system import (
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
from forewarn.core.announcing import Order
from forewarn.core.causes import Operation, order_for, order_for_host
from forewarn.core.fleet import VM
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.drivers.operator import OperatorDriver
from forewarn.engine.causes import Causes
from forewarn.errors import InUse, TooLate
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventType

#: Two VMs that stand alone on one host; web and db share another.
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
    """Reboot all but the VM `lone`; delete whatever is to be deleted."""
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
    """A maintenance of host-a, which is stuck at the VM `lone`."""
    order = Order(type=EventType.REBOOT, host="host-a", emergency=True, reason="smoke")
    made = system.announce(order)
    system.advance.by(MINUTE)
    assert system.maintenance(made.id).to_do == ("lone",)
    return made


def operate(system: System, operation: Operation, vm: str) -> Maintenance:
    order = order_for(operation, vm)
    (made,) = Causes(system.engine).operate(operation, order, by="ops")
    return made


def remove(system: System) -> None:
    system.fleets.remove_vm("lone", by="ops")


def delete(system: System) -> None:
    operate(system, Operation.DELETE, "lone")


@pytest.mark.parametrize("leave", [remove, delete])
def test_a_vm_that_leaves_takes_no_group_along_but_its_own(
    system: System, leave: Callable[[System], None]
) -> None:
    made = a_stuck_host(system)
    leave(system)
    system.advance.by(MINUTE)
    assert system.phase(made.id) is Phase.COMPLETED
    assert system.fleet().groups.keys() == {"web", "db", "solo"}


def test_a_maintenance_that_is_given_up_keeps_no_group_that_nobody_is_in(
    system: System,
) -> None:
    made = a_stuck_host(system)
    system.fleets.put_vm(replace(FLEET.vms["solo"], host=None), by="ops")
    system.fleets.remove_vm("solo", by="ops")
    assert "solo" in system.fleet().groups
    system.engine.close(made.id, by="ops")
    assert "solo" not in system.fleet().groups


def test_a_restart_that_ends_with_a_deletion_keeps_no_group(system: System) -> None:
    operate(system, Operation.DELETE, "solo")
    operate(system, Operation.RESTART, "solo")
    system.advance.by(MINUTE)
    assert "solo" not in system.fleet().groups


def test_a_vm_that_comes_back_elsewhere_keeps_no_group_of_its_own(
    system: System,
) -> None:
    made = a_stuck_host(system)
    system.fleets.remove_vm("solo", by="ops")
    system.fleets.put_vm(VM(name="solo", group="web", update_domain=2), by="ops")
    system.engine.complete(made.id, by="ops")
    assert "solo" not in system.fleet().groups


def test_a_vm_that_came_back_is_not_deleted_in_place_of_the_one_that_left(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    made = operate(system, Operation.DELETE, "web-2")
    old = system.fleet().vms["web-2"]
    system.fleets.remove_vm("web-2", by="ops")
    system.fleets.put_vm(old, by="ops")
    system.advance.by(MINUTE)
    assert system.phase(made.id) is Phase.COMPLETED
    assert "web-2" in system.fleet().vms


def test_a_vm_that_came_back_can_be_deleted_itself(open_store: OpenStore) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    operate(system, Operation.DELETE, "web-2")
    old = system.fleet().vms["web-2"]
    system.fleets.remove_vm("web-2", by="ops")
    system.fleets.put_vm(old, by="ops")
    again = operate(system, Operation.DELETE, "web-2")
    system.advance.by(MINUTE)
    assert system.phase(again.id) is Phase.STARTED
    system.engine.complete(again.id, by="ops")
    assert "web-2" not in system.fleet().vms


def test_the_group_that_is_kept_for_its_work_keeps_its_spelling(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    made = system.announce(an_emergency("lone"))
    system.fleets.remove_vm("lone", by="ops")
    with pytest.raises(InUse, match=made.id):
        system.fleets.put_vm(VM(name="LONE", group="LONE"), by="ops")
    system.advance.by(MINUTE)
    system.fleets.put_vm(VM(name="LONE", group="LONE"), by="ops")
    assert "LONE" in system.fleet().groups


def test_the_end_of_one_starts_another_that_reaches_two_groups_farther(
    system: System,
) -> None:
    made = a_stuck_host(system)  # lone, solo and web
    behind = system.announce(a_reboot(host="host-b"))  # web and db
    system.advance.by(HOUR)
    assert system.phase(behind.id) is Phase.SCHEDULED
    system.fleets.remove_vm("lone", by="ops")
    assert system.phase(made.id) is Phase.COMPLETED
    assert system.phase(behind.id) is Phase.STARTED


def test_a_host_stays_while_something_is_told_of_it_though_its_vms_have_left(
    system: System,
) -> None:
    order = order_for_host("host-a")
    (made,) = Causes(system.engine).fail(order, by="ops").made
    for name in made.vms:
        moved = replace(system.fleet().vms[name], host="host-b")
        system.fleets.put_vm(moved, by="ops")
    with pytest.raises(InUse, match=made.id):
        system.fleets.remove_host("host-a", by="ops")
    Causes(system.engine).recover(order, by="ops")
    system.advance.by(MINUTE)
    system.fleets.remove_host("host-a", by="ops")
    assert system.fleet().hosts.keys() == {"host-b"}


def test_an_operator_who_approves_a_withdrawn_event_is_told_so(system: System) -> None:
    made = system.announce(a_reboot(host="host-a"))
    (its,) = [each.id for each in made.events if each.group == "solo"]
    system.fleets.remove_vm("solo", by="ops")
    with pytest.raises(TooLate, match="is withdrawn"):
        system.engine.approve(its, by="ops")
    assert system.phase(made.id) is Phase.SCHEDULED
