"""Hosts: shared groups, degraded and failed hosts, and VMs that move away in time."""

from datetime import timedelta

import pytest
from tests.stories.conftest import Make
from tests.stories.harness import NOON, ServiceHarness
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED


def test_two_hosts_that_share_groups_are_maintained_one_after_the_other(
    operator_harness: ServiceHarness,
) -> None:
    first = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    second = operator_harness.create("hosts/host-b/maintain", type="Reboot")

    operator_harness.wait(minutes=15)
    assert (operator_harness.phase(first), operator_harness.phase(second)) == (
        STARTED,
        SCHEDULED,
    )
    operator_harness.wait(minutes=60)
    assert operator_harness.phase(second) == SCHEDULED
    assert operator_harness.event_lines("db-2") == [
        "Reboot of db-0: Started",
        "Reboot of db-1: Scheduled",
        "Reboot of db-2: Scheduled",
    ]

    operator_harness.send_command(first, "complete")
    assert (operator_harness.phase(first), operator_harness.phase(second)) == (
        COMPLETED,
        STARTED,
    )
    assert (
        operator_harness.reload(second)["started_at"]
        == operator_harness.reload(first)["ended_at"]
    )
    assert operator_harness.event_lines("lone") == []


def test_approvals_in_crossing_order_cause_no_deadlock(
    operator_harness: ServiceHarness,
) -> None:
    first = operator_harness.create("hosts/host-a/maintain")
    second = operator_harness.create("hosts/host-b/maintain")
    operator_harness.approve("web-0", second)
    operator_harness.approve("db-0", first)
    operator_harness.approve("db-0", second)
    assert (operator_harness.phase(first), operator_harness.phase(second)) == (
        SCHEDULED,
        STARTED,
    )

    operator_harness.approve("web-0", first)
    operator_harness.approve("lone", first)
    assert operator_harness.phase(first) == SCHEDULED
    operator_harness.wait(9)
    operator_harness.send_command(second, "complete")
    assert (operator_harness.phase(first), operator_harness.phase(second)) == (
        STARTED,
        COMPLETED,
    )


def test_a_newer_maintenance_does_not_overtake_an_older_waiting_one(
    operator_harness: ServiceHarness,
) -> None:
    running = operator_harness.create("maintenances", type="Reboot", vms=["db-0"])
    operator_harness.approve("db-1", running)
    old = operator_harness.create("hosts/host-b/maintain", type="Reboot")
    operator_harness.wait(minutes=1)
    young = operator_harness.create("maintenances", type="Reboot", vms=["web-2"])
    operator_harness.wait(minutes=30)
    assert [
        operator_harness.phase(maintenance) for maintenance in (running, old, young)
    ] == [
        STARTED,
        SCHEDULED,
        SCHEDULED,
    ]

    operator_harness.send_command(running, "complete")
    assert (operator_harness.phase(old), operator_harness.phase(young)) == (
        STARTED,
        SCHEDULED,
    )
    operator_harness.wait(5)
    operator_harness.send_command(old, "complete")
    assert (operator_harness.phase(old), operator_harness.phase(young)) == (
        COMPLETED,
        STARTED,
    )


def test_a_degraded_host_fails_on_the_third_day(harness: ServiceHarness) -> None:
    worn = harness.create("hosts/host-a/degraded")
    restart = harness.create("vms/web-0/restart", notice_seconds=6 * 24 * 3600)
    harness.wait(days=1)
    harness.approve("web-0", worn)
    assert harness.phase(worn) == SCHEDULED

    harness.wait(days=2)
    dead = harness.create("hosts/host-a/failed")
    assert (harness.phase(worn), harness.phase(dead)) == (CANCELED, STARTED)
    assert harness.phase(restart) == SCHEDULED
    assert harness.event_lines("db-1") == ["Reboot of db-0: Started"]
    assert harness.event_lines("web-1") == [
        "Reboot of web-0: Scheduled",
        "Reboot of web-0: Started",
    ]

    harness.wait(3600)
    assert harness.post("hosts/host-a/recovered").status == 200
    assert harness.phase(dead) == COMPLETED
    assert harness.phase(restart) == SCHEDULED
    harness.wait(days=7)
    assert harness.event_lines("db-0") == []
    assert len(harness.service.facts("Announced")) == 3


def test_a_host_failure_during_maintenance_notifies_only_the_other_vms(
    operator_harness: ServiceHarness,
) -> None:
    planned = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.change_vm("web-1", host="host-a")
    operator_harness.wait(minutes=15)
    assert operator_harness.phase(planned) == STARTED
    dead = operator_harness.create("hosts/host-a/failed")
    assert dead["vms"] == ["web-1"]
    assert operator_harness.phase(planned) == STARTED
    assert operator_harness.event_lines("db-1") == ["Reboot of db-0: Started"]


def test_a_vm_that_came_back_is_notified_of_the_failure(
    operator_harness: ServiceHarness,
) -> None:
    planned = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.change_vm("web-0", host="host-d")
    operator_harness.wait(minutes=15)
    assert operator_harness.phase(planned) == STARTED
    operator_harness.change_vm("web-0", host="host-a")
    assert operator_harness.create("hosts/host-a/failed")["vms"] == ["web-0"]
    assert operator_harness.event_lines("web-0") == ["Reboot of web-0: Started"]


def test_a_host_failure_can_be_announced_as_a_redeploy(make: Make) -> None:
    harness = make(host_failure_type="redeploy")
    harness.create("hosts/host-a/failed")
    assert harness.event_lines("web-1") == ["Redeploy of web-0: Started"]


@pytest.mark.parametrize("what", ["maintain", "degraded", "failed", "recovered"])
def test_an_empty_host_notifies_nobody(harness: ServiceHarness, what: str) -> None:
    answer = harness.post(f"hosts/host-d/{what}")
    assert (answer.status, answer.json) == (200, {"maintenances": []})


def test_a_vm_that_moved_away_stays_listed_but_needs_no_approval(
    harness: ServiceHarness,
) -> None:
    harness.change_vm("FrontEnd_IN_1", host="host-c")
    maintenance = harness.create("hosts/host-c/maintain", type="Reboot")
    listed = "Reboot of FrontEnd_IN_0 FrontEnd_IN_1"
    assert harness.event_lines("FrontEnd_IN_1") == [f"{listed}: Scheduled"]

    assert harness.change_vm("FrontEnd_IN_0", host="host-a").status == 200
    assert harness.event_lines("FrontEnd_IN_0") == [f"{listed}: Scheduled"]
    harness.approve("FrontEnd_IN_1", maintenance)
    assert harness.phase(maintenance) == SCHEDULED
    harness.approve("gpu_0", maintenance)
    assert harness.phase(maintenance) == STARTED
    assert harness.event_lines("FrontEnd_IN_0") == [f"{listed}: Started"]


def test_an_event_is_withdrawn_when_all_vms_of_its_group_have_moved_away(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.approve("db-0", maintenance)
    harness.approve("lone", maintenance)
    assert harness.phase(maintenance) == SCHEDULED

    harness.change_vm("web-0", host="host-d")
    assert harness.phase(maintenance) == STARTED
    assert harness.event_lines("web-0") == []
    assert harness.event_lines("db-0") == ["Reboot of db-0: Started"]
    (event,) = [e for e in harness.reload(maintenance)["events"] if e["group"] == "web"]
    assert (event["status"], event["resources"]) == (None, ["web-0"])


def test_maintenance_is_canceled_when_all_vms_have_moved_away(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-c/maintain", type="Reboot")
    harness.change_vm("FrontEnd_IN_0", host="host-d")
    assert harness.phase(maintenance) == SCHEDULED
    harness.change_vm("gpu_0", host=None)
    assert harness.phase(maintenance) == CANCELED
    assert harness.event_lines("gpu_0") == []
    assert (
        harness.reload(maintenance)["ended_at"]
        == harness.service.get("/v1/clock")["now"]
    )


def test_a_late_approval_of_a_withdrawn_event_is_accepted(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    (event,) = [e["id"] for e in maintenance["events"] if e["group"] == "web"]
    harness.change_vm("web-0", host="host-d")
    assert harness.service.approve_as("web-0", event).status == 200
    assert harness.phase(maintenance) == SCHEDULED


def test_a_vm_that_moves_after_the_start_sees_the_event_until_its_end(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.wait(minutes=15)
    assert operator_harness.change_vm("web-0", host="host-d").status == 200
    assert operator_harness.event_lines("web-0") == ["Reboot of web-0: Started"]
    operator_harness.wait(5)
    operator_harness.send_command(maintenance, "complete")
    assert operator_harness.event_lines("web-0") == []


def test_maintenance_of_a_vm_follows_the_vm(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
    harness.change_vm("web-0", host="host-d")
    assert harness.event_lines("web-0") == ["Reboot of web-0: Scheduled"]
    harness.wait_until(NOON + timedelta(minutes=15))
    assert harness.phase(maintenance) == STARTED
