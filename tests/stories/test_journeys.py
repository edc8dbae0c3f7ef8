"""Journeys of several hosts, tenants and VMs through the whole service."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.end_to_end.client_load import journal
from tests.stories.conftest import Make
from tests.stories.support.harness import ServiceHarness
from tests.stories.support.rows import CANCELED, COMPLETED, SCHEDULED, STARTED

TEN = [f"batch_{number}" for number in (0, 1, *range(3, 11))]
*NINE, STUBBORN = TEN

ROUNDS = 40


# --- hosts -------------------------------------------------------------------


def test_two_hosts_that_share_groups_are_maintained_one_after_the_other(
    operator_harness: ServiceHarness,
) -> None:
    first = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    second = operator_harness.create("hosts/host-b/maintain", type="Reboot")

    operator_harness.wait(minutes=75)
    assert operator_harness.phase(first) == STARTED
    assert operator_harness.phase(second) == SCHEDULED
    assert operator_harness.event_lines("db-2") == [
        "Reboot of db-0: Started",
        "Reboot of db-1: Scheduled",
        "Reboot of db-2: Scheduled",
    ]

    operator_harness.send_command(first, "complete")
    assert operator_harness.phase(first) == COMPLETED
    assert operator_harness.phase(second) == STARTED
    assert (
        operator_harness.reload(second)["started_at"]
        == operator_harness.reload(first)["ended_at"]
    )
    assert operator_harness.event_lines("lone") == []


def test_a_degraded_host_fails_on_the_third_day(harness: ServiceHarness) -> None:
    worn = {
        maintenance["vms"][0]: maintenance
        for maintenance in harness.post("hosts/host-a/degraded").json["maintenances"]
    }
    restart = harness.create("vms/web-0/restart", notice_seconds=6 * 24 * 3600)
    harness.wait(days=1)
    harness.approve("lone", worn["lone"])
    assert harness.phase(worn["lone"]) == STARTED
    harness.wait(minutes=1)
    assert harness.phase(worn["lone"]) == COMPLETED

    harness.wait(days=2)
    dead = harness.create("hosts/host-a/failed")
    assert dead["vms"] == ["db-0", "web-0"]
    assert (harness.phase(worn["db-0"]), harness.phase(dead)) == (CANCELED, STARTED)
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
    assert len(harness.service.facts("Announced")) == 5


def test_a_host_failure_can_be_announced_as_a_redeploy(make: Make) -> None:
    harness = make(host_failure_type="redeploy")
    harness.create("hosts/host-a/failed")
    assert harness.event_lines("web-1") == ["Redeploy of web-0: Started"]


def test_an_event_is_withdrawn_when_all_vms_of_its_group_have_moved_away(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    (mine,) = [e["id"] for e in maintenance["events"] if e["group"] == "web"]
    harness.approve("db-0", maintenance)
    harness.approve("lone", maintenance)
    assert harness.phase(maintenance) == SCHEDULED

    assert harness.change_vm("web-0", host="host-d").status == 200
    assert harness.phase(maintenance) == STARTED
    assert harness.event_lines("web-0") == []
    assert harness.event_lines("db-0") == ["Reboot of db-0: Started"]
    (event,) = [e for e in harness.reload(maintenance)["events"] if e["group"] == "web"]
    assert (event["status"], event["resources"]) == (None, ["web-0"])
    assert harness.service.approve_as("web-0", mine).status == 200  # too late


# --- tenants -----------------------------------------------------------------


def test_a_tenant_who_never_approves_delays_the_others_until_not_before(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.wait(minutes=1)
    harness.approve("web-1", maintenance)
    harness.approve("db-2", maintenance)
    harness.wait(13 * 60 + 59)
    for vm in ("web-0", "db-0", "lone"):
        assert harness.event_lines(vm) == [f"Reboot of {vm}: Scheduled"]
    harness.wait(1)
    for vm in ("web-0", "db-0", "lone"):
        assert harness.event_lines(vm) == [f"Reboot of {vm}: Started"]
    assert harness.reload(maintenance)["started_at"] == maintenance["not_before"]
    (lone,) = [e for e in harness.reload(maintenance)["events"] if e["group"] == "lone"]
    assert (lone["approved_by"], lone["approved_via"]) == (None, None)


def test_either_an_approval_or_a_cancellation_wins(harness: ServiceHarness) -> None:
    winners = [_race(harness) for _ in range(ROUNDS)]
    assert set(winners) <= {STARTED, CANCELED}


def _race(harness: ServiceHarness) -> str:
    """Approve as a VM while the operator cancels, and return the resulting phase."""
    maintenance = harness.create("maintenances", type="Reboot", vms=["lone"])
    (event,) = maintenance["events"]
    line = Barrier(2)

    def approve() -> int:
        line.wait(10)
        return harness.service.approve_as("lone", event["id"]).status

    def cancel() -> int:
        line.wait(10)
        return harness.post(f"maintenances/{maintenance['id']}/cancel").status

    with ThreadPoolExecutor(2) as pool:
        approved, canceled = pool.submit(approve), pool.submit(cancel)
    assert approved.result() == 200
    won = harness.phase(maintenance)
    assert canceled.result() == {CANCELED: 200, STARTED: 409}[won]
    _check_journal(harness, maintenance, won)
    harness.wait(5)
    assert harness.event_lines("lone") == []
    return won


def _check_journal(harness: ServiceHarness, made: Any, won: str) -> None:
    entries = journal(harness.service)
    mine = [entry["fact"] for entry in entries if entry["maintenance"] == made["id"]]
    assert mine.count("Started") == (won == STARTED)
    assert mine.count("Canceled") == (won == CANCELED)
    assert mine.count("Approved") == (won == STARTED)


# --- deletions ---------------------------------------------------------------


def test_nine_approved_deletions_wait_for_the_tenth_until_not_before(
    harness: ServiceHarness,
) -> None:
    for vm in TEN:
        assert harness.put(f"vms/{vm}", {"group": "batch"}).status in (200, 201)
    nine = [harness.create(f"vms/{vm}/delete") for vm in NINE]
    assert harness.post(f"vms/{NINE[0]}/delete").status == 409  # already being deleted
    harness.wait(minutes=5)
    tenth = harness.create(f"vms/{STUBBORN}/delete")
    for vm, maintenance in zip(NINE, nine, strict=True):
        harness.approve(vm, maintenance)
    assert {harness.phase(deletion) for deletion in (*nine, tenth)} == {SCHEDULED}

    harness.wait(4 * 60 + 59)
    assert {harness.phase(deletion) for deletion in nine} == {SCHEDULED}
    harness.wait(1)
    assert {harness.phase(deletion) for deletion in nine} == {STARTED}
    assert harness.phase(tenth) == SCHEDULED
    assert _remaining_vms(harness) == {*TEN}

    harness.wait(5)
    assert {harness.phase(deletion) for deletion in nine} == {COMPLETED}
    assert _remaining_vms(harness) == {STUBBORN}
    assert harness.event_lines(STUBBORN) == [f"Terminate of {STUBBORN}: Scheduled"]

    harness.wait(4 * 60 + 55)
    assert harness.phase(tenth) == STARTED
    harness.wait(5)
    assert _remaining_vms(harness) == set()


def _remaining_vms(harness: ServiceHarness) -> set[str]:
    """Return those of the ten VMs that are in the fleet."""
    vms = harness.service.get("/v1/vms?limit=1000")["items"]
    return {vm["name"] for vm in vms} & {*TEN}
