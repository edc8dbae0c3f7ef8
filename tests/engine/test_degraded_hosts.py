"""Degraded hosts in a store: who leaves, and what the fleet shows afterwards."""

from dataclasses import replace

import pytest
from tests.engine.support.system import (
    MINUTE,
    OpenStore,
    RecordingDriver,
    System,
    a_system,
)

from forewarn.core import fleet_file
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.operations import VmOperation, order_for, order_for_host
from forewarn.engine.operations import HostResult, Operations

#: Two groups on host-a; VMs of one of them see only their own events.
FLEET = fleet_file.read_fleet(
    {
        "hosts": [{"name": "host-a"}, {"name": "host-b"}],
        "groups": [
            {"name": "gpu", "kind": "scale-set", "isolated": True},
            {"name": "web", "kind": "availability-set"},
        ],
        "vms": [
            {"name": "gpu_0", "group": "gpu", "host": "host-a"},
            {"name": "gpu_1", "group": "gpu", "host": "host-a"},
            {"name": "web-0", "group": "web", "host": "host-a", "update_domain": 0},
        ],
    }
)


@pytest.fixture
def system(open_store: OpenStore) -> System:
    return a_system(open_store(), driver=RecordingDriver(), fleet=FLEET)


def degrade(system: System) -> HostResult:
    return Operations(system.engine).degrade(order_for_host("host-a"), by="ops")


def redeploy(system: System, vm: str) -> Maintenance:
    what = VmOperation.REDEPLOY
    (maintenance,) = Operations(system.engine).operate(
        what, order_for(what, vm), by="ops", group=FLEET.vms[vm].group
    )
    return maintenance


def test_a_redeploy_by_the_owner_takes_the_vm_off_its_degraded_host(
    system: System,
) -> None:
    gpu_0, gpu_1, web_0 = degrade(system).announced
    redeploy(system, "gpu_0")  # immediately: the group is disabled
    system.advance.by(MINUTE)
    assert system.phase(gpu_0.id) is Phase.CANCELED
    assert {system.phase(item.id) for item in (gpu_1, web_0)} == {Phase.SCHEDULED}
    assert system.fleet().vms["gpu_0"] == replace(FLEET.vms["gpu_0"], host=None)
    assert degrade(system).concerned == [gpu_1, web_0]


def test_the_host_is_empty_after_every_group_has_approved(system: System) -> None:
    maintenances = degrade(system).announced
    for maintenance in maintenances:
        system.engine.approve(maintenance.events[0].id, by="ops")
    system.advance.by(MINUTE)
    assert {system.phase(item.id) for item in maintenances} == {Phase.COMPLETED}
    assert {vm.host for vm in system.fleet().vms.values()} == {None}
    assert degrade(system) == HostResult(announced=[], concerned=[])


def test_a_vm_reported_on_another_host_stays_there(system: System) -> None:
    *_, web_0 = degrade(system).announced
    moved = replace(FLEET.vms["web-0"], host="host-b")
    system.fleets.put_vm(moved, by="ops")
    assert system.phase(web_0.id) is Phase.CANCELED
    redeploy(system, "web-0")
    system.advance.by(MINUTE)
    assert system.fleet().vms["web-0"] == moved
