"""Stories of hosts: shared ones, worn ones, and those that VMs leave in time."""

from datetime import timedelta

import pytest
from tests.stories.conftest import Make
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import NOON, World


def test_two_hosts_that_share_groups_go_one_after_the_other(worked: World) -> None:
    first = worked.does("hosts/host-a/maintain", type="Reboot")
    second = worked.does("hosts/host-b/maintain", type="Reboot")

    worked.wait(minutes=15)
    assert (worked.phase(first), worked.phase(second)) == (STARTED, SCHEDULED)
    worked.wait(minutes=60)
    assert worked.phase(second) == SCHEDULED
    assert worked.sees("db-2") == [
        "Reboot of db-0: Started",
        "Reboot of db-1: Scheduled",
        "Reboot of db-2: Scheduled",
    ]

    worked.tells(first, "complete")
    assert (worked.phase(first), worked.phase(second)) == (COMPLETED, STARTED)
    assert worked.again(second)["started_at"] == worked.again(first)["ended_at"]
    assert worked.sees("lone") == []


def test_approvals_in_crossing_order_keep_nobody_waiting_for_ever(
    worked: World,
) -> None:
    first = worked.does("hosts/host-a/maintain")
    second = worked.does("hosts/host-b/maintain")
    worked.approves("web-0", second)
    worked.approves("db-0", first)
    worked.approves("db-0", second)
    assert (worked.phase(first), worked.phase(second)) == (SCHEDULED, STARTED)

    worked.approves("web-0", first)
    worked.approves("lone", first)
    assert worked.phase(first) == SCHEDULED
    worked.wait(9)
    worked.tells(second, "complete")
    assert (worked.phase(first), worked.phase(second)) == (STARTED, COMPLETED)


def test_a_young_one_does_not_overtake_an_old_one_that_waits(worked: World) -> None:
    running = worked.does("maintenances", type="Reboot", vms=["db-0"])
    worked.approves("db-1", running)
    old = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=1)
    young = worked.does("maintenances", type="Reboot", vms=["web-2"])
    worked.wait(minutes=30)
    assert [worked.phase(each) for each in (running, old, young)] == [
        STARTED,
        SCHEDULED,
        SCHEDULED,
    ]

    worked.tells(running, "complete")
    assert (worked.phase(old), worked.phase(young)) == (STARTED, SCHEDULED)
    worked.wait(5)
    worked.tells(old, "complete")
    assert (worked.phase(old), worked.phase(young)) == (COMPLETED, STARTED)


def test_a_degraded_host_dies_on_the_third_day(world: World) -> None:
    worn = world.does("hosts/host-a/degraded")
    restart = world.does("vms/web-0/restart", notice_seconds=6 * 24 * 3600)
    world.wait(days=1)
    world.approves("web-0", worn)
    assert world.phase(worn) == SCHEDULED

    world.wait(days=2)
    dead = world.does("hosts/host-a/failed")
    assert (world.phase(worn), world.phase(dead)) == (CANCELED, STARTED)
    assert world.phase(restart) == SCHEDULED
    assert world.sees("db-1") == ["Reboot of db-0: Started"]
    assert world.sees("web-1") == [
        "Reboot of web-0: Scheduled",
        "Reboot of web-0: Started",
    ]

    world.wait(3600)
    assert world.post("hosts/host-a/recovered").status == 200
    assert world.phase(dead) == COMPLETED
    assert world.phase(restart) == SCHEDULED
    world.wait(days=7)
    assert world.sees("db-0") == []
    assert len(world.service.facts("Announced")) == 3


def test_a_host_that_fails_during_its_maintenance_tells_only_those_left(
    worked: World,
) -> None:
    planned = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.moves("web-1", host="host-a")
    worked.wait(minutes=15)
    assert worked.phase(planned) == STARTED
    dead = worked.does("hosts/host-a/failed")
    assert dead["vms"] == ["web-1"]
    assert worked.phase(planned) == STARTED
    assert worked.sees("db-1") == ["Reboot of db-0: Started"]


def test_a_vm_that_has_come_back_is_told_of_the_failure(worked: World) -> None:
    planned = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.moves("web-0", host="host-d")
    worked.wait(minutes=15)
    assert worked.phase(planned) == STARTED
    worked.moves("web-0", host="host-a")
    assert worked.does("hosts/host-a/failed")["vms"] == ["web-0"]
    assert worked.sees("web-0") == ["Reboot of web-0: Started"]


def test_a_failure_is_told_as_a_redeployment_where_that_is_set(make: Make) -> None:
    world = make(host_failure_type="redeploy")
    world.does("hosts/host-a/failed")
    assert world.sees("web-1") == ["Redeploy of web-0: Started"]


@pytest.mark.parametrize("what", ["maintain", "degraded", "failed", "recovered"])
def test_on_an_empty_host_there_is_nobody_to_tell(world: World, what: str) -> None:
    answer = world.post(f"hosts/host-d/{what}")
    assert (answer.status, answer.json) == (200, {"maintenances": []})


def test_a_vm_that_was_moved_away_is_listed_on_but_needs_no_approval(
    world: World,
) -> None:
    world.moves("FrontEnd_IN_1", host="host-c")
    made = world.does("hosts/host-c/maintain", type="Reboot")
    listed = "Reboot of FrontEnd_IN_0 FrontEnd_IN_1"
    assert world.sees("FrontEnd_IN_1") == [f"{listed}: Scheduled"]

    assert world.moves("FrontEnd_IN_0", host="host-a").status == 200
    assert world.sees("FrontEnd_IN_0") == [f"{listed}: Scheduled"]
    world.approves("FrontEnd_IN_1", made)
    assert world.phase(made) == SCHEDULED
    world.approves("gpu_0", made)
    assert world.phase(made) == STARTED
    assert world.sees("FrontEnd_IN_0") == [f"{listed}: Started"]


def test_when_all_vms_of_a_group_have_moved_away_it_hears_no_more_of_it(
    world: World,
) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    world.approves("db-0", made)
    world.approves("lone", made)
    assert world.phase(made) == SCHEDULED

    world.moves("web-0", host="host-d")
    assert world.phase(made) == STARTED
    assert world.sees("web-0") == []
    assert world.sees("db-0") == ["Reboot of db-0: Started"]
    (event,) = [e for e in world.again(made)["events"] if e["group"] == "web"]
    assert (event["status"], event["resources"]) == (None, ["web-0"])


def test_when_all_vms_have_moved_away_there_is_nothing_to_do(world: World) -> None:
    made = world.does("hosts/host-c/maintain", type="Reboot")
    world.moves("FrontEnd_IN_0", host="host-d")
    assert world.phase(made) == SCHEDULED
    world.moves("gpu_0", host=None)
    assert world.phase(made) == CANCELED
    assert world.sees("gpu_0") == []
    assert world.again(made)["ended_at"] == world.service.get("/v1/clock")["now"]


def test_a_late_approval_of_what_was_withdrawn_is_no_mistake(world: World) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    (event,) = [e["id"] for e in made["events"] if e["group"] == "web"]
    world.moves("web-0", host="host-d")
    assert world.service.approve_as("web-0", event).status == 200
    assert world.phase(made) == SCHEDULED


def test_a_vm_that_moves_after_the_start_is_told_to_the_end(worked: World) -> None:
    made = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=15)
    assert worked.moves("web-0", host="host-d").status == 200
    assert worked.sees("web-0") == ["Reboot of web-0: Started"]
    worked.wait(5)
    worked.tells(made, "complete")
    assert worked.sees("web-0") == []


def test_maintenance_of_a_vm_goes_with_the_vm(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.moves("web-0", host="host-d")
    assert world.sees("web-0") == ["Reboot of web-0: Scheduled"]
    world.wait_until(NOON + timedelta(minutes=15))
    assert world.phase(made) == STARTED
