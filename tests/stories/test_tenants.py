"""Tenants who approve, tenants who never do, and user operations."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.stories.harness import ServiceHarness
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED

ROUNDS = 40


def test_a_tenant_who_never_approves_delays_the_others_until_not_before(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.wait(minutes=1)
    harness.approve("web-1", maintenance)
    harness.approve("db-2", maintenance)
    for _ in range(2):
        assert harness.event_lines("web-0") == ["Reboot of web-0: Scheduled"]
        assert harness.event_lines("db-0") == ["Reboot of db-0: Scheduled"]
        harness.wait(6 * 60 + 59)

    assert harness.phase(maintenance) == SCHEDULED
    harness.wait(2)
    for vm in ("web-0", "db-0", "lone"):
        assert harness.event_lines(vm) == [f"Reboot of {vm}: Started"]
    assert harness.reload(maintenance)["started_at"] == maintenance["not_before"]
    (lone,) = [e for e in harness.reload(maintenance)["events"] if e["group"] == "lone"]
    assert (lone["approved_by"], lone["approved_via"]) == (None, None)


def test_a_user_operation_does_not_wait_for_host_maintenance(
    operator_harness: ServiceHarness,
) -> None:
    host = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.wait(minutes=15)
    restart = operator_harness.create("vms/web-1/restart")
    assert (operator_harness.phase(host), operator_harness.phase(restart)) == (
        STARTED,
        SCHEDULED,
    )

    operator_harness.approve("web-1", restart)
    assert (operator_harness.phase(host), operator_harness.phase(restart)) == (
        STARTED,
        STARTED,
    )
    assert operator_harness.event_lines("web-2") == [
        "Reboot of web-0: Started",
        "Reboot of web-1: Started",
    ]


def test_host_maintenance_waits_for_a_user_operation(
    operator_harness: ServiceHarness,
) -> None:
    restart = operator_harness.create("vms/web-1/restart")
    host = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.approve("web-1", restart)
    operator_harness.wait(minutes=20)
    assert (operator_harness.phase(host), operator_harness.phase(restart)) == (
        SCHEDULED,
        STARTED,
    )

    operator_harness.send_command(restart, "complete")
    assert (operator_harness.phase(host), operator_harness.phase(restart)) == (
        STARTED,
        COMPLETED,
    )


def test_two_restarts_in_one_group_do_not_wait_for_each_other(
    operator_harness: ServiceHarness,
) -> None:
    first, other = (
        operator_harness.create(f"vms/{vm}/restart") for vm in ("web-0", "web-1")
    )
    operator_harness.approve("web-0", first)
    operator_harness.approve("web-0", other)
    assert (operator_harness.phase(first), operator_harness.phase(other)) == (
        STARTED,
        STARTED,
    )


def test_either_an_approval_or_a_cancellation_wins(harness: ServiceHarness) -> None:
    winners = [_race(harness) for _ in range(ROUNDS)]
    assert len(winners) == ROUNDS
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
    page = harness.service.get("/v1/journal?limit=1000&after=0")
    entries = page["items"]
    while page["next"] is not None:
        page = harness.service.get(f"/v1/journal?limit=1000&after={page['next']}")
        entries += page["items"]
    mine = [entry["fact"] for entry in entries if entry["maintenance"] == made["id"]]
    assert mine.count("Started") == (won == STARTED)
    assert mine.count("Canceled") == (won == CANCELED)
    assert mine.count("Approved") == (won == STARTED)
