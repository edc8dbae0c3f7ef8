"""What may be changed about the fleet while events are live."""

import pytest
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import World


@pytest.mark.parametrize(
    "change",
    [{"group": "db", "update_domain": 0}, {"update_domain": 9}, {"group": None}],
)
@pytest.mark.parametrize("phase", [SCHEDULED, STARTED])
def test_a_vm_keeps_its_group_and_update_domain(
    worked: World, phase: str, change: dict[str, object]
) -> None:
    made = worked.does("maintenances", type="Reboot", vms=["web-0"])
    if phase == STARTED:
        worked.approves("web-0", made)
    known = worked.service.get("/v1/vms/web-0")
    answer = worked.moves("web-0", **change)
    assert answer.status == 409
    assert made["id"] in answer.detail
    assert worked.service.get("/v1/vms/web-0") == known


def test_a_host_stays_while_its_maintenance_is_live(world: World) -> None:
    made = world.does("hosts/host-c/maintain")
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    world.moves("FrontEnd_IN_0", host=None)
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    world.moves("gpu_0", host=None)
    assert world.phase(made) == CANCELED
    assert world.delete("hosts/host-c").status == 204


def test_a_host_stays_while_vms_that_have_left_it_are_told_of_its_failure(
    world: World,
) -> None:
    made = world.does("hosts/host-c/failed")
    world.moves("FrontEnd_IN_0", host=None)
    world.moves("gpu_0", host=None)
    answer = world.delete("hosts/host-c")
    assert answer.status == 409
    assert made["id"] in answer.detail
    world.wait(5)
    world.tells(made, "complete")
    assert world.delete("hosts/host-c").status == 204


def test_a_group_stays_while_an_event_of_it_is_live(worked: World) -> None:
    made = worked.does("maintenances", type="Reboot", vms=["gpu_0"])
    worked.approves("gpu_0", made)
    assert worked.phase(made) == STARTED
    for vm in ("gpu_0", "gpu_1"):
        assert worked.delete(f"vms/{vm}").status == 204
    answer = worked.delete("groups/gpu")
    assert answer.status == 409
    assert made["id"] in answer.detail
    worked.wait(5)
    worked.tells(made, "complete")
    assert worked.delete("groups/gpu").status == 204


def test_a_fleet_without_the_group_is_refused_as_a_whole(worked: World) -> None:
    made = worked.does("maintenances", type="Reboot", vms=["gpu_0"])
    worked.approves("gpu_0", made)
    fleet = {
        name: worked.service.get(f"/v1/{name}?limit=1000")["items"]
        for name in ("hosts", "groups", "vms")
    }
    less = {
        "hosts": fleet["hosts"],
        "groups": [each for each in fleet["groups"] if each["name"] != "gpu"],
        "vms": [each for each in fleet["vms"] if each["group"] != "gpu"],
    }
    answer = worked.put("fleet?remove=true", less)
    assert answer.status == 409, answer.body
    assert made["id"] in answer.detail
    assert worked.service.get("/v1/vms?limit=1000")["items"] == fleet["vms"]


def test_a_vm_that_is_taken_out_before_the_start_is_not_waited_for(
    world: World,
) -> None:
    made = world.does("hosts/host-c/maintain")
    world.approves("gpu_0", made)
    assert world.delete("vms/FrontEnd_IN_0").status == 204
    assert world.phase(made) == STARTED
    assert world.sees("FrontEnd_IN_1") == []
    (event,) = [e for e in world.again(made)["events"] if e["group"] == "roles"]
    assert (event["status"], event["resources"]) == (None, ["FrontEnd_IN_0"])


def test_when_the_only_vm_is_taken_out_its_maintenance_is_off(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["lone"])
    assert world.delete("vms/lone").status == 204
    assert world.phase(made) == CANCELED
    world.wait(minutes=20)
    assert world.phase(made) == CANCELED


def test_a_vm_that_is_taken_out_after_the_start_is_told_of_to_the_end(
    worked: World,
) -> None:
    made = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", made)
    assert worked.delete("vms/web-0").status == 204
    assert worked.sees("web-1") == ["Reboot of web-0: Started"]
    worked.wait(5)
    worked.tells(made, "complete")
    assert worked.phase(made) == COMPLETED
    assert worked.sees("web-1") == []


def test_the_group_of_a_vm_on_its_own_stays_to_the_end(worked: World) -> None:
    made = worked.does("maintenances", type="Freeze", vms=["lone"], duration_seconds=60)
    worked.approves("lone", made)
    assert worked.delete("vms/lone").status == 204
    assert worked.service.ask("GET", "/v1/groups/lone").status == 200
    assert worked.phase(made) == STARTED
    worked.wait(60)
    assert worked.phase(made) == COMPLETED
    assert worked.service.ask("GET", "/v1/groups/lone").status == 404


def test_what_is_not_under_an_event_may_change(world: World) -> None:
    world.does("maintenances", type="Reboot", vms=["web-0"])
    assert world.moves("web-1", update_domain=9).status == 200
    assert world.moves("web-0", zone="2", host="host-b").status == 200
    assert world.delete("hosts/host-d").status == 204
