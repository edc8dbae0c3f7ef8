"""Tenants who approve, tenants who never do, and user operations."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import ServiceHarness

ROUNDS = 40


def test_a_tenant_who_never_approves_delays_the_others_until_not_before(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-a/maintain", type="Reboot")
    world.wait(minutes=1)
    world.approves("web-1", maintenance)
    world.approves("db-2", maintenance)
    for _ in range(2):
        assert world.sees("web-0") == ["Reboot of web-0: Scheduled"]
        assert world.sees("db-0") == ["Reboot of db-0: Scheduled"]
        world.wait(6 * 60 + 59)

    assert world.phase(maintenance) == SCHEDULED
    world.wait(2)
    for vm in ("web-0", "db-0", "lone"):
        assert world.sees(vm) == [f"Reboot of {vm}: Started"]
    assert world.again(maintenance)["started_at"] == maintenance["not_before"]
    (lone,) = [e for e in world.again(maintenance)["events"] if e["group"] == "lone"]
    assert (lone["approved_by"], lone["approved_via"]) == (None, None)


def test_a_user_operation_does_not_wait_for_host_maintenance(
    worked: ServiceHarness,
) -> None:
    host = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=15)
    restart = worked.does("vms/web-1/restart")
    assert (worked.phase(host), worked.phase(restart)) == (STARTED, SCHEDULED)

    worked.approves("web-1", restart)
    assert (worked.phase(host), worked.phase(restart)) == (STARTED, STARTED)
    assert worked.sees("web-2") == [
        "Reboot of web-0: Started",
        "Reboot of web-1: Started",
    ]


def test_host_maintenance_waits_for_a_user_operation(worked: ServiceHarness) -> None:
    restart = worked.does("vms/web-1/restart")
    host = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.approves("web-1", restart)
    worked.wait(minutes=20)
    assert (worked.phase(host), worked.phase(restart)) == (SCHEDULED, STARTED)

    worked.tells(restart, "complete")
    assert (worked.phase(host), worked.phase(restart)) == (STARTED, COMPLETED)


def test_two_restarts_in_one_group_do_not_wait_for_each_other(
    worked: ServiceHarness,
) -> None:
    first, other = (worked.does(f"vms/{vm}/restart") for vm in ("web-0", "web-1"))
    worked.approves("web-0", first)
    worked.approves("web-0", other)
    assert (worked.phase(first), worked.phase(other)) == (STARTED, STARTED)


def test_either_an_approval_or_a_cancellation_wins(world: ServiceHarness) -> None:
    winners = [_race(world) for _ in range(ROUNDS)]
    assert len(winners) == ROUNDS
    assert set(winners) <= {STARTED, CANCELED}


def _race(world: ServiceHarness) -> str:
    """Approve as a VM while the operator cancels, and return the resulting phase."""
    maintenance = world.does("maintenances", type="Reboot", vms=["lone"])
    (event,) = maintenance["events"]
    line = Barrier(2)

    def approve() -> int:
        line.wait(10)
        return world.service.approve_as("lone", event["id"]).status

    def cancel() -> int:
        line.wait(10)
        return world.post(f"maintenances/{maintenance['id']}/cancel").status

    with ThreadPoolExecutor(2) as pool:
        approved, canceled = pool.submit(approve), pool.submit(cancel)
    assert approved.result() == 200
    won = world.phase(maintenance)
    assert canceled.result() == {CANCELED: 200, STARTED: 409}[won]
    _check_journal(world, maintenance, won)
    world.wait(5)
    assert world.sees("lone") == []
    return won


def _check_journal(world: ServiceHarness, made: Any, won: str) -> None:
    page = world.service.get("/v1/journal?limit=1000&after=0")
    entries = page["items"]
    while page["next"] is not None:
        page = world.service.get(f"/v1/journal?limit=1000&after={page['next']}")
        entries += page["items"]
    mine = [entry["fact"] for entry in entries if entry["maintenance"] == made["id"]]
    assert mine.count("Started") == (won == STARTED)
    assert mine.count("Canceled") == (won == CANCELED)
    assert mine.count("Approved") == (won == STARTED)
