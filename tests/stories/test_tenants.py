"""Stories of those who approve, of those who never do, and of users."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import World

ROUNDS = 40


def test_a_tenant_who_never_approves_keeps_the_others_until_not_before(
    world: World,
) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    world.wait(minutes=1)
    world.approves("web-1", made)
    world.approves("db-2", made)
    for _ in range(2):
        assert world.sees("web-0") == ["Reboot of web-0: Scheduled"]
        assert world.sees("db-0") == ["Reboot of db-0: Scheduled"]
        world.wait(6 * 60 + 59)

    assert world.phase(made) == SCHEDULED
    world.wait(2)
    for vm in ("web-0", "db-0", "lone"):
        assert world.sees(vm) == [f"Reboot of {vm}: Started"]
    assert world.again(made)["started_at"] == made["not_before"]
    (lone,) = [e for e in world.again(made)["events"] if e["group"] == "lone"]
    assert (lone["approved_by"], lone["approved_via"]) == (None, None)


def test_a_user_need_not_wait_for_the_maintenance_of_a_host(worked: World) -> None:
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


def test_the_maintenance_of_a_host_waits_for_a_user(worked: World) -> None:
    restart = worked.does("vms/web-1/restart")
    host = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.approves("web-1", restart)
    worked.wait(minutes=20)
    assert (worked.phase(host), worked.phase(restart)) == (SCHEDULED, STARTED)

    worked.tells(restart, "complete")
    assert (worked.phase(host), worked.phase(restart)) == (STARTED, COMPLETED)


def test_two_restarts_of_one_group_need_not_wait_for_each_other(
    worked: World,
) -> None:
    one, other = (worked.does(f"vms/{vm}/restart") for vm in ("web-0", "web-1"))
    worked.approves("web-0", one)
    worked.approves("web-0", other)
    assert (worked.phase(one), worked.phase(other)) == (STARTED, STARTED)


def test_of_an_approval_and_a_cancellation_exactly_one_wins(world: World) -> None:
    winners = [_race(world) for _ in range(ROUNDS)]
    assert len(winners) == ROUNDS
    assert set(winners) <= {STARTED, CANCELED}


def _race(world: World) -> str:
    """Let a VM approve while the operator cancels; answer what became of it."""
    made = world.does("maintenances", type="Reboot", vms=["lone"])
    (event,) = made["events"]
    line = Barrier(2)

    def approve() -> int:
        line.wait(10)
        return world.service.approve_as("lone", event["id"]).status

    def cancel() -> int:
        line.wait(10)
        return world.post(f"maintenances/{made['id']}/cancel").status

    with ThreadPoolExecutor(2) as pool:
        approved, canceled = pool.submit(approve), pool.submit(cancel)
    assert approved.result() == 200
    won = world.phase(made)
    assert canceled.result() == {CANCELED: 200, STARTED: 409}[won]
    _check_journal(world, made, won)
    world.wait(5)
    assert world.sees("lone") == []
    return won


def _check_journal(world: World, made: Any, won: str) -> None:
    told = world.service.get("/v1/journal?limit=1000&after=0")
    entries = told["items"]
    while told["next"] is not None:
        told = world.service.get(f"/v1/journal?limit=1000&after={told['next']}")
        entries += told["items"]
    mine = [each["fact"] for each in entries if each["maintenance"] == made["id"]]
    assert mine.count("Started") == (won == STARTED)
    assert mine.count("Canceled") == (won == CANCELED)
    assert mine.count("Approved") == (won == STARTED)
