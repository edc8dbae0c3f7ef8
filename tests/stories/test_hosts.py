"""Hosts: shared groups, degraded and failed hosts, and VMs that move away in time."""

from datetime import timedelta

import pytest
from tests.stories.conftest import Make
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import NOON, ServiceHarness


def test_two_hosts_that_share_groups_are_maintained_one_after_the_other(
    worked: ServiceHarness,
) -> None:
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


def test_approvals_in_crossing_order_cause_no_deadlock(
    worked: ServiceHarness,
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


def test_a_newer_maintenance_does_not_overtake_an_older_waiting_one(
    worked: ServiceHarness,
) -> None:
    running = worked.does("maintenances", type="Reboot", vms=["db-0"])
    worked.approves("db-1", running)
    old = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=1)
    young = worked.does("maintenances", type="Reboot", vms=["web-2"])
    worked.wait(minutes=30)
    assert [worked.phase(maintenance) for maintenance in (running, old, young)] == [
        STARTED,
        SCHEDULED,
        SCHEDULED,
    ]

    worked.tells(running, "complete")
    assert (worked.phase(old), worked.phase(young)) == (STARTED, SCHEDULED)
    worked.wait(5)
    worked.tells(old, "complete")
    assert (worked.phase(old), worked.phase(young)) == (COMPLETED, STARTED)


def test_a_degraded_host_fails_on_the_third_day(world: ServiceHarness) -> None:
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


def test_a_host_failure_during_maintenance_notifies_only_the_other_vms(
    worked: ServiceHarness,
) -> None:
    planned = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.moves("web-1", host="host-a")
    worked.wait(minutes=15)
    assert worked.phase(planned) == STARTED
    dead = worked.does("hosts/host-a/failed")
    assert dead["vms"] == ["web-1"]
    assert worked.phase(planned) == STARTED
    assert worked.sees("db-1") == ["Reboot of db-0: Started"]


def test_a_vm_that_came_back_is_notified_of_the_failure(worked: ServiceHarness) -> None:
    planned = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.moves("web-0", host="host-d")
    worked.wait(minutes=15)
    assert worked.phase(planned) == STARTED
    worked.moves("web-0", host="host-a")
    assert worked.does("hosts/host-a/failed")["vms"] == ["web-0"]
    assert worked.sees("web-0") == ["Reboot of web-0: Started"]


def test_a_host_failure_can_be_announced_as_a_redeploy(make: Make) -> None:
    world = make(host_failure_type="redeploy")
    world.does("hosts/host-a/failed")
    assert world.sees("web-1") == ["Redeploy of web-0: Started"]


@pytest.mark.parametrize("what", ["maintain", "degraded", "failed", "recovered"])
def test_an_empty_host_notifies_nobody(world: ServiceHarness, what: str) -> None:
    answer = world.post(f"hosts/host-d/{what}")
    assert (answer.status, answer.json) == (200, {"maintenances": []})


def test_a_vm_that_moved_away_stays_listed_but_needs_no_approval(
    world: ServiceHarness,
) -> None:
    world.moves("FrontEnd_IN_1", host="host-c")
    maintenance = world.does("hosts/host-c/maintain", type="Reboot")
    listed = "Reboot of FrontEnd_IN_0 FrontEnd_IN_1"
    assert world.sees("FrontEnd_IN_1") == [f"{listed}: Scheduled"]

    assert world.moves("FrontEnd_IN_0", host="host-a").status == 200
    assert world.sees("FrontEnd_IN_0") == [f"{listed}: Scheduled"]
    world.approves("FrontEnd_IN_1", maintenance)
    assert world.phase(maintenance) == SCHEDULED
    world.approves("gpu_0", maintenance)
    assert world.phase(maintenance) == STARTED
    assert world.sees("FrontEnd_IN_0") == [f"{listed}: Started"]


def test_an_event_is_withdrawn_when_all_vms_of_its_group_have_moved_away(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-a/maintain", type="Reboot")
    world.approves("db-0", maintenance)
    world.approves("lone", maintenance)
    assert world.phase(maintenance) == SCHEDULED

    world.moves("web-0", host="host-d")
    assert world.phase(maintenance) == STARTED
    assert world.sees("web-0") == []
    assert world.sees("db-0") == ["Reboot of db-0: Started"]
    (event,) = [e for e in world.again(maintenance)["events"] if e["group"] == "web"]
    assert (event["status"], event["resources"]) == (None, ["web-0"])


def test_maintenance_is_canceled_when_all_vms_have_moved_away(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-c/maintain", type="Reboot")
    world.moves("FrontEnd_IN_0", host="host-d")
    assert world.phase(maintenance) == SCHEDULED
    world.moves("gpu_0", host=None)
    assert world.phase(maintenance) == CANCELED
    assert world.sees("gpu_0") == []
    assert world.again(maintenance)["ended_at"] == world.service.get("/v1/clock")["now"]


def test_a_late_approval_of_a_withdrawn_event_is_accepted(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-a/maintain", type="Reboot")
    (event,) = [e["id"] for e in maintenance["events"] if e["group"] == "web"]
    world.moves("web-0", host="host-d")
    assert world.service.approve_as("web-0", event).status == 200
    assert world.phase(maintenance) == SCHEDULED


def test_a_vm_that_moves_after_the_start_sees_the_event_until_its_end(
    worked: ServiceHarness,
) -> None:
    maintenance = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=15)
    assert worked.moves("web-0", host="host-d").status == 200
    assert worked.sees("web-0") == ["Reboot of web-0: Started"]
    worked.wait(5)
    worked.tells(maintenance, "complete")
    assert worked.sees("web-0") == []


def test_maintenance_of_a_vm_follows_the_vm(world: ServiceHarness) -> None:
    maintenance = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.moves("web-0", host="host-d")
    assert world.sees("web-0") == ["Reboot of web-0: Scheduled"]
    world.wait_until(NOON + timedelta(minutes=15))
    assert world.phase(maintenance) == STARTED
