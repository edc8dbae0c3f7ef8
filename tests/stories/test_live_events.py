"""Fleet changes that are possible while events are live."""

import pytest
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import ServiceHarness


@pytest.mark.parametrize(
    "change",
    [{"group": "db", "update_domain": 0}, {"update_domain": 9}, {"group": None}],
)
@pytest.mark.parametrize("phase", [SCHEDULED, STARTED])
def test_a_vm_under_an_event_keeps_its_group_and_update_domain(
    worked: ServiceHarness, phase: str, change: dict[str, object]
) -> None:
    maintenance = worked.does("maintenances", type="Reboot", vms=["web-0"])
    if phase == STARTED:
        worked.approves("web-0", maintenance)
    before = worked.service.get("/v1/vms/web-0")
    answer = worked.moves("web-0", **change)
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    assert worked.service.get("/v1/vms/web-0") == before


def test_a_host_cannot_be_removed_while_its_maintenance_is_live(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-c/maintain")
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    world.moves("FrontEnd_IN_0", host=None)
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    world.moves("gpu_0", host=None)
    assert world.phase(maintenance) == CANCELED
    assert world.delete("hosts/host-c").status == 204


def test_a_failed_host_without_vms_cannot_be_removed_while_its_event_is_live(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-c/failed")
    world.moves("FrontEnd_IN_0", host=None)
    world.moves("gpu_0", host=None)
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    world.wait(5)
    world.tells(maintenance, "complete")
    assert world.delete("hosts/host-c").status == 204


def test_a_group_cannot_be_removed_while_its_event_is_live(
    worked: ServiceHarness,
) -> None:
    maintenance = worked.does("maintenances", type="Reboot", vms=["gpu_0"])
    worked.approves("gpu_0", maintenance)
    assert worked.phase(maintenance) == STARTED
    for vm in ("gpu_0", "gpu_1"):
        assert worked.delete(f"vms/{vm}").status == 204
    answer = worked.delete("groups/gpu")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail
    worked.wait(5)
    worked.tells(maintenance, "complete")
    assert worked.delete("groups/gpu").status == 204


def test_a_fleet_without_a_group_under_an_event_is_refused(
    worked: ServiceHarness,
) -> None:
    maintenance = worked.does("maintenances", type="Reboot", vms=["gpu_0"])
    worked.approves("gpu_0", maintenance)
    fleet = {
        name: worked.service.get(f"/v1/{name}?limit=1000")["items"]
        for name in ("hosts", "groups", "vms")
    }
    less = {
        "hosts": fleet["hosts"],
        "groups": [item for item in fleet["groups"] if item["name"] != "gpu"],
        "vms": [item for item in fleet["vms"] if item["group"] != "gpu"],
    }
    answer = worked.put("fleet?remove=true", less)
    assert answer.status == 409, answer.body
    assert maintenance["id"] in answer.detail
    assert worked.service.get("/v1/vms?limit=1000")["items"] == fleet["vms"]


def test_a_vm_removed_before_the_start_needs_no_approval(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-c/maintain")
    world.approves("gpu_0", maintenance)
    assert world.delete("vms/FrontEnd_IN_0").status == 204
    assert world.phase(maintenance) == STARTED
    assert world.sees("FrontEnd_IN_1") == []
    (event,) = [e for e in world.again(maintenance)["events"] if e["group"] == "roles"]
    assert (event["status"], event["resources"]) == (None, ["FrontEnd_IN_0"])


def test_removing_the_only_vm_cancels_its_maintenance(world: ServiceHarness) -> None:
    maintenance = world.does("maintenances", type="Reboot", vms=["lone"])
    assert world.delete("vms/lone").status == 204
    assert world.phase(maintenance) == CANCELED
    world.wait(minutes=20)
    assert world.phase(maintenance) == CANCELED


def test_a_vm_removed_after_the_start_stays_listed_until_the_end(
    worked: ServiceHarness,
) -> None:
    maintenance = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", maintenance)
    assert worked.delete("vms/web-0").status == 204
    assert worked.sees("web-1") == ["Reboot of web-0: Started"]
    worked.wait(5)
    worked.tells(maintenance, "complete")
    assert worked.phase(maintenance) == COMPLETED
    assert worked.sees("web-1") == []


def test_the_group_of_a_removed_standalone_vm_stays_until_the_end(
    worked: ServiceHarness,
) -> None:
    maintenance = worked.does(
        "maintenances", type="Freeze", vms=["lone"], duration_seconds=60
    )
    worked.approves("lone", maintenance)
    assert worked.delete("vms/lone").status == 204
    assert worked.service.ask("GET", "/v1/groups/lone").status == 200
    assert worked.phase(maintenance) == STARTED
    worked.wait(60)
    assert worked.phase(maintenance) == COMPLETED
    assert worked.service.ask("GET", "/v1/groups/lone").status == 404


def test_everything_else_may_change_while_an_event_is_live(
    world: ServiceHarness,
) -> None:
    world.does("maintenances", type="Reboot", vms=["web-0"])
    assert world.moves("web-1", update_domain=9).status == 200
    assert world.moves("web-0", zone="2", host="host-b").status == 200
    assert world.delete("hosts/host-d").status == 204
