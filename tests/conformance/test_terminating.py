"""Terminate events of one scale set, which wait for each other (6.14)."""

from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VM


def terminated(
    fleet: TemporaryFleet, *notices: int
) -> tuple[tuple[VM, ...], list[str]]:
    """Announce the deletion of VMs of one scale set; return them and the event ids."""
    vms = fleet.group(len(notices), kind="scale-set")
    ids = [
        fleet.announce("Terminate", vm, notice_seconds=notice).event
        for vm, notice in zip(vms, notices, strict=True)
    ]
    return vms, ids


@fact("6.14c")
def test_an_approved_terminate_waits_for_the_others(fleet: TemporaryFleet) -> None:
    (first, second), (first_id, second_id) = terminated(fleet, 600, 600)
    assert first.approve(first_id).status == 200
    assert first.statuses == ["Scheduled", "Scheduled"]
    assert second.approve(second_id).status == 200
    assert first.statuses == ["Started", "Started"]


@fact("6.14c")
def test_an_approved_terminate_does_not_wait_for_one_that_is_due(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (first, _), (first_id, _) = terminated(fleet, 900, 300)
    first.approve(first_id)
    clock.advance(minutes=5)
    assert first.statuses == ["Started", "Started"]


@fact("6.14d")
def test_no_terminate_waits_beyond_its_own_not_before(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (first, _), (first_id, _) = terminated(fleet, 300, 900)
    first.approve(first_id)
    clock.advance(299)
    assert first.statuses == ["Scheduled", "Scheduled"]
    clock.advance(1)
    assert first.statuses == ["Started", "Scheduled"]


@fact("6.14e")
def test_a_terminate_does_not_wait_for_others_announced_later(
    fleet: TemporaryFleet,
) -> None:
    first, second, third = fleet.group(3, kind="scale-set")
    first_id, second_id = (
        fleet.announce("Terminate", vm).event for vm in (first, second)
    )
    first.approve(first_id)
    fleet.announce("Terminate", third)
    second.approve(second_id)
    assert first.statuses == ["Started", "Scheduled", "Scheduled"]


@fact("6.14f")
def test_another_vm_may_approve_a_terminate(fleet: TemporaryFleet) -> None:
    vm, other = fleet.group(kind="scale-set")
    event = fleet.announce("Terminate", vm).event
    assert other.approve(event).status == 200
    assert vm.statuses == ["Started"]
