"""Deletions of VMs, most of them from a scale set."""

import pytest
from tests.stories.conftest import Make
from tests.stories.rows import COMPLETED, SCHEDULED, STARTED
from tests.stories.world import ServiceHarness

TEN = [f"batch_{number}" for number in (0, 1, *range(3, 11))]
*NINE, STUBBORN = TEN


@pytest.fixture
def world(make: Make) -> ServiceHarness:
    """Start a world with ten VMs to delete."""
    return with_ten(make())


@pytest.fixture
def worked(make: Make) -> ServiceHarness:
    """Start a world with ten VMs to delete, where an operator does the work."""
    return with_ten(make(driver="operator"))


def with_ten(world: ServiceHarness) -> ServiceHarness:
    """Add VMs until there are ten."""
    for vm in TEN:
        assert world.put(f"vms/{vm}", {"group": "batch"}).status in (200, 201)
    return world


def there(world: ServiceHarness) -> set[str]:
    """Return those of the ten VMs that are in the fleet."""
    vms = world.service.get("/v1/vms?limit=1000")["items"]
    return {vm["name"] for vm in vms} & {*TEN}


def test_nine_approved_deletions_wait_for_the_tenth_until_not_before(
    world: ServiceHarness,
) -> None:
    nine = [world.does(f"vms/{vm}/delete") for vm in NINE]
    world.wait(minutes=5)
    tenth = world.does(f"vms/{STUBBORN}/delete")
    for vm, maintenance in zip(NINE, nine, strict=True):
        world.approves(vm, maintenance)
    assert {world.phase(deletion) for deletion in (*nine, tenth)} == {SCHEDULED}

    world.wait(4 * 60 + 59)
    assert {world.phase(deletion) for deletion in nine} == {SCHEDULED}
    world.wait(1)
    assert {world.phase(deletion) for deletion in nine} == {STARTED}
    assert world.phase(tenth) == SCHEDULED
    assert there(world) == {*TEN}

    world.wait(5)
    assert {world.phase(deletion) for deletion in nine} == {COMPLETED}
    assert there(world) == {STUBBORN}
    assert world.sees(STUBBORN) == [f"Terminate of {STUBBORN}: Scheduled"]

    world.wait(4 * 60 + 55)
    assert world.phase(tenth) == STARTED
    world.wait(5)
    assert there(world) == set()


def test_ten_deletions_start_when_the_last_vm_approves(world: ServiceHarness) -> None:
    ten = [world.does(f"vms/{vm}/delete") for vm in TEN]
    for vm, maintenance in zip(TEN, ten, strict=True):
        assert {world.phase(deletion) for deletion in ten} == {SCHEDULED}
        world.approves(vm, maintenance)
    assert {world.phase(deletion) for deletion in ten} == {STARTED}
    world.wait(5)
    assert there(world) == set()


def test_a_canceled_deletion_unblocks_the_others(world: ServiceHarness) -> None:
    first, other = (world.does(f"vms/{vm}/delete") for vm in TEN[:2])
    world.approves(TEN[0], first)
    assert world.phase(first) == SCHEDULED
    world.tells(other, "cancel")
    assert world.phase(first) == STARTED
    world.wait(5)
    assert there(world) == {*TEN[1:]}


def test_a_vm_stays_until_its_deletion_is_complete(worked: ServiceHarness) -> None:
    first, other = (worked.does(f"vms/{vm}/delete") for vm in TEN[:2])
    worked.wait(minutes=60)
    assert (worked.phase(first), worked.phase(other)) == (STARTED, STARTED)
    assert there(worked) == {*TEN}

    worked.tells(first, "complete")
    assert there(worked) == {*TEN[1:]}
    assert worked.sees(TEN[1]) == [f"Terminate of {TEN[1]}: Started"]


def test_a_deleted_vm_gets_404(world: ServiceHarness) -> None:
    world.does("vms/pool_0/delete")
    world.wait(5)
    assert world.look("pool_0").status == 404
    assert world.service.ask("GET", "/v1/vms/pool_0").status == 404
    assert world.sees("pool_1") == []


def test_host_maintenance_does_not_wait_for_a_deleted_vm(world: ServiceHarness) -> None:
    host = world.does("hosts/host-a/maintain", type="Reboot")
    world.approves("web-0", host)
    world.approves("db-0", host)
    world.does("vms/lone/delete")
    world.wait(4)
    assert world.phase(host) == SCHEDULED
    world.wait(1)
    assert world.phase(host) == STARTED
    world.wait(5)
    assert world.phase(host) == COMPLETED
    assert world.service.ask("GET", "/v1/groups/lone").status == 404


def test_a_vm_can_be_deleted_during_host_maintenance(worked: ServiceHarness) -> None:
    host = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=15)
    gone = worked.does("vms/lone/delete")
    worked.wait(5)
    worked.tells(gone, "complete")
    assert worked.look("lone").status == 404
    assert worked.phase(host) == STARTED
    worked.tells(host, "complete")
    worked.wait(minutes=1)
    assert worked.phase(host) == COMPLETED
    assert worked.service.ask("GET", "/v1/groups/lone").status == 404


def test_a_second_deletion_of_a_vm_is_refused(world: ServiceHarness) -> None:
    maintenance = world.does("vms/batch_0/delete")
    answer = world.post("vms/batch_0/delete")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail


def test_removing_a_vm_cancels_its_deletion(world: ServiceHarness) -> None:
    maintenance = world.does("vms/batch_0/delete")
    assert world.delete("vms/batch_0").status == 204
    assert world.phase(maintenance) == "CANCELED"
    assert world.sees("batch_1") == []


def test_a_name_can_be_used_again_after_a_deletion(world: ServiceHarness) -> None:
    world.does("vms/pool_0/delete")
    world.wait(5)
    assert world.put("vms/pool_0", {"group": "pool"}).status in (200, 201)
    again = world.does("vms/pool_0/delete")
    world.wait(5)
    assert world.phase(again) == COMPLETED
    assert world.look("pool_0").status == 404
