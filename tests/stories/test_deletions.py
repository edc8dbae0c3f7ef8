"""Deletions of VMs, most of them from a scale set."""

import pytest
from tests.stories.conftest import Make
from tests.stories.harness import ServiceHarness
from tests.stories.rows import COMPLETED, SCHEDULED, STARTED

TEN = [f"batch_{number}" for number in (0, 1, *range(3, 11))]
*NINE, STUBBORN = TEN


@pytest.fixture
def harness(make: Make) -> ServiceHarness:
    """Start a service with ten VMs to delete."""
    return with_ten(make())


@pytest.fixture
def operator_harness(make: Make) -> ServiceHarness:
    """Start a service with ten VMs to delete, where an operator does the work."""
    return with_ten(make(driver="operator"))


def with_ten(harness: ServiceHarness) -> ServiceHarness:
    """Add VMs until there are ten."""
    for vm in TEN:
        assert harness.put(f"vms/{vm}", {"group": "batch"}).status in (200, 201)
    return harness


def remaining_vms(harness: ServiceHarness) -> set[str]:
    """Return those of the ten VMs that are in the fleet."""
    vms = harness.service.get("/v1/vms?limit=1000")["items"]
    return {vm["name"] for vm in vms} & {*TEN}


def test_nine_approved_deletions_wait_for_the_tenth_until_not_before(
    harness: ServiceHarness,
) -> None:
    nine = [harness.create(f"vms/{vm}/delete") for vm in NINE]
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
    assert remaining_vms(harness) == {*TEN}

    harness.wait(5)
    assert {harness.phase(deletion) for deletion in nine} == {COMPLETED}
    assert remaining_vms(harness) == {STUBBORN}
    assert harness.event_lines(STUBBORN) == [f"Terminate of {STUBBORN}: Scheduled"]

    harness.wait(4 * 60 + 55)
    assert harness.phase(tenth) == STARTED
    harness.wait(5)
    assert remaining_vms(harness) == set()


def test_ten_deletions_start_when_the_last_vm_approves(harness: ServiceHarness) -> None:
    ten = [harness.create(f"vms/{vm}/delete") for vm in TEN]
    for vm, maintenance in zip(TEN, ten, strict=True):
        assert {harness.phase(deletion) for deletion in ten} == {SCHEDULED}
        harness.approve(vm, maintenance)
    assert {harness.phase(deletion) for deletion in ten} == {STARTED}
    harness.wait(5)
    assert remaining_vms(harness) == set()


def test_a_canceled_deletion_unblocks_the_others(harness: ServiceHarness) -> None:
    first, other = (harness.create(f"vms/{vm}/delete") for vm in TEN[:2])
    harness.approve(TEN[0], first)
    assert harness.phase(first) == SCHEDULED
    harness.send_command(other, "cancel")
    assert harness.phase(first) == STARTED
    harness.wait(5)
    assert remaining_vms(harness) == {*TEN[1:]}


def test_a_vm_stays_until_its_deletion_is_complete(
    operator_harness: ServiceHarness,
) -> None:
    first, other = (operator_harness.create(f"vms/{vm}/delete") for vm in TEN[:2])
    operator_harness.wait(minutes=60)
    assert (operator_harness.phase(first), operator_harness.phase(other)) == (
        STARTED,
        STARTED,
    )
    assert remaining_vms(operator_harness) == {*TEN}

    operator_harness.send_command(first, "complete")
    assert remaining_vms(operator_harness) == {*TEN[1:]}
    assert operator_harness.event_lines(TEN[1]) == [f"Terminate of {TEN[1]}: Started"]


def test_a_deleted_vm_gets_404(harness: ServiceHarness) -> None:
    harness.create("vms/pool_0/delete")
    harness.wait(5)
    assert harness.poll("pool_0").status == 404
    assert harness.service.request("GET", "/v1/vms/pool_0").status == 404
    assert harness.event_lines("pool_1") == []


def test_host_maintenance_does_not_wait_for_a_deleted_vm(
    harness: ServiceHarness,
) -> None:
    host = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.approve("web-0", host)
    harness.approve("db-0", host)
    harness.create("vms/lone/delete")
    harness.wait(4)
    assert harness.phase(host) == SCHEDULED
    harness.wait(1)
    assert harness.phase(host) == STARTED
    harness.wait(5)
    assert harness.phase(host) == COMPLETED
    assert harness.service.request("GET", "/v1/groups/lone").status == 404


def test_a_vm_can_be_deleted_during_host_maintenance(
    operator_harness: ServiceHarness,
) -> None:
    host = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.wait(minutes=15)
    gone = operator_harness.create("vms/lone/delete")
    operator_harness.wait(5)
    operator_harness.send_command(gone, "complete")
    assert operator_harness.poll("lone").status == 404
    assert operator_harness.phase(host) == STARTED
    operator_harness.send_command(host, "complete")
    operator_harness.wait(minutes=1)
    assert operator_harness.phase(host) == COMPLETED
    assert operator_harness.service.request("GET", "/v1/groups/lone").status == 404


def test_a_second_deletion_of_a_vm_is_refused(harness: ServiceHarness) -> None:
    maintenance = harness.create("vms/batch_0/delete")
    answer = harness.post("vms/batch_0/delete")
    assert answer.status == 409
    assert maintenance["id"] in answer.detail


def test_removing_a_vm_cancels_its_deletion(harness: ServiceHarness) -> None:
    maintenance = harness.create("vms/batch_0/delete")
    assert harness.delete("vms/batch_0").status == 204
    assert harness.phase(maintenance) == "CANCELED"
    assert harness.event_lines("batch_1") == []


def test_a_name_can_be_used_again_after_a_deletion(harness: ServiceHarness) -> None:
    harness.create("vms/pool_0/delete")
    harness.wait(5)
    assert harness.put("vms/pool_0", {"group": "pool"}).status in (200, 201)
    again = harness.create("vms/pool_0/delete")
    harness.wait(5)
    assert harness.phase(again) == COMPLETED
    assert harness.poll("pool_0").status == 404
