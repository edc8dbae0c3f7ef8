"""Fleet changes that are possible while events are live."""

import pytest
from tests.stories.harness import ServiceHarness
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED


@pytest.mark.parametrize(
    "change",
    [{"group": "db", "update_domain": 0}, {"update_domain": 9}, {"group": None}],
)
@pytest.mark.parametrize("phase", [SCHEDULED, STARTED])
def test_a_vm_under_an_event_keeps_its_group_and_update_domain(
    operator_harness: ServiceHarness, phase: str, change: dict[str, object]
) -> None:
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    if phase == STARTED:
        operator_harness.approve("web-0", maintenance)
    before = operator_harness.service.get("/v1/vms/web-0")
    answer = operator_harness.change_vm("web-0", **change)
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    assert operator_harness.service.get("/v1/vms/web-0") == before


def test_a_host_cannot_be_removed_while_its_maintenance_is_live(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-c/maintain")
    answer = harness.delete("hosts/host-c")
    assert answer.status == 409
    harness.change_vm("FrontEnd_IN_0", host=None)
    answer = harness.delete("hosts/host-c")
    assert answer.status == 409
    harness.change_vm("gpu_0", host=None)
    assert harness.phase(maintenance) == CANCELED
    assert harness.delete("hosts/host-c").status == 204


def test_a_failed_host_without_vms_cannot_be_removed_while_its_event_is_live(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-c/failed")
    harness.change_vm("FrontEnd_IN_0", host=None)
    harness.change_vm("gpu_0", host=None)
    answer = harness.delete("hosts/host-c")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    harness.wait(5)
    harness.send_command(maintenance, "complete")
    assert harness.delete("hosts/host-c").status == 204


def test_a_group_cannot_be_removed_while_its_event_is_live(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["gpu_0"])
    operator_harness.approve("gpu_0", maintenance)
    assert operator_harness.phase(maintenance) == STARTED
    for vm in ("gpu_0", "gpu_1"):
        assert operator_harness.delete(f"vms/{vm}").status == 204
    answer = operator_harness.delete("groups/gpu")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    operator_harness.wait(5)
    operator_harness.send_command(maintenance, "complete")
    assert operator_harness.delete("groups/gpu").status == 204


def test_a_fleet_without_a_group_under_an_event_is_refused(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["gpu_0"])
    operator_harness.approve("gpu_0", maintenance)
    fleet = {
        name: operator_harness.service.get(f"/v1/{name}?limit=1000")["items"]
        for name in ("hosts", "groups", "vms")
    }
    less = {
        "hosts": fleet["hosts"],
        "groups": [item for item in fleet["groups"] if item["name"] != "gpu"],
        "vms": [item for item in fleet["vms"] if item["group"] != "gpu"],
    }
    answer = operator_harness.put("fleet?remove=true", less)
    assert answer.status == 409, answer.body
    assert maintenance["id"] in answer.detail
    assert operator_harness.service.get("/v1/vms?limit=1000")["items"] == fleet["vms"]


def test_a_vm_removed_before_the_start_needs_no_approval(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-c/maintain")
    harness.approve("gpu_0", maintenance)
    assert harness.delete("vms/FrontEnd_IN_0").status == 204
    assert harness.phase(maintenance) == STARTED
    assert harness.event_lines("FrontEnd_IN_1") == []
    (event,) = [
        e for e in harness.reload(maintenance)["events"] if e["group"] == "roles"
    ]
    assert (event["status"], event["resources"]) == (None, ["FrontEnd_IN_0"])


def test_removing_the_only_vm_cancels_its_maintenance(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["lone"])
    assert harness.delete("vms/lone").status == 204
    assert harness.phase(maintenance) == CANCELED
    harness.wait(minutes=20)
    assert harness.phase(maintenance) == CANCELED


def test_a_vm_removed_after_the_start_stays_listed_until_the_end(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    operator_harness.approve("web-0", maintenance)
    assert operator_harness.delete("vms/web-0").status == 204
    assert operator_harness.event_lines("web-1") == ["Reboot of web-0: Started"]
    operator_harness.wait(5)
    operator_harness.send_command(maintenance, "complete")
    assert operator_harness.phase(maintenance) == COMPLETED
    assert operator_harness.event_lines("web-1") == []


def test_the_group_of_a_removed_standalone_vm_stays_until_the_end(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create(
        "maintenances", type="Freeze", vms=["lone"], duration_seconds=60
    )
    operator_harness.approve("lone", maintenance)
    assert operator_harness.delete("vms/lone").status == 204
    assert operator_harness.service.request("GET", "/v1/groups/lone").status == 200
    assert operator_harness.phase(maintenance) == STARTED
    operator_harness.wait(60)
    assert operator_harness.phase(maintenance) == COMPLETED
    assert operator_harness.service.request("GET", "/v1/groups/lone").status == 404


def test_everything_else_may_change_while_an_event_is_live(
    harness: ServiceHarness,
) -> None:
    harness.create("maintenances", type="Reboot", vms=["web-0"])
    assert harness.change_vm("web-1", update_domain=9).status == 200
    assert harness.change_vm("web-0", zone="2", host="host-b").status == 200
    assert harness.delete("hosts/host-d").status == 204
