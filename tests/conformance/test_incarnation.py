"""The document incarnation (5.1)."""

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM


@fact("5.1a")
def test_the_incarnation_increases_when_the_events_change(
    fleet: TemporaryFleet,
) -> None:
    (vm, _) = fleet.group()
    before = vm.incarnation
    fleet.announce("Reboot", vm)
    assert vm.incarnation > before


@fact("5.1b")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_incarnation_means_the_same_document(vm: VM, version: str) -> None:
    first, second = vm.get(version=version), vm.get(version=version)
    if first["DocumentIncarnation"] == second["DocumentIncarnation"]:
        assert first.body == second.body


@fact("5.1b")
def test_time_alone_does_not_change_the_document(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm, _ = fleet.announce_to_vm()
    before = vm.get().body
    clock.advance(minutes=14)
    assert vm.get().body == before


@fact("5.1c")
def test_the_incarnation_increases_by_one_each_time(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    seen = [vm.incarnation]
    fleet.announce("Reboot", vm)
    seen.append(vm.incarnation)
    clock.advance(minutes=15)
    seen.append(vm.incarnation)
    clock.advance(minutes=1)
    seen.append(vm.incarnation)
    assert seen == [0, 1, 2, 3]


@fact("5.1d")
def test_the_first_event_in_a_group_produces_incarnation_1(
    fleet: TemporaryFleet,
) -> None:
    (vm, _) = fleet.group()
    assert vm.incarnation == 0
    fleet.announce("Reboot", vm)
    assert vm.incarnation == 1


@fact("5.1e")
def test_an_added_event_changes_the_incarnation(fleet: TemporaryFleet) -> None:
    (vm, other) = fleet.group()
    fleet.announce("Reboot", vm)
    before = vm.incarnation
    fleet.announce("Reboot", other)
    assert vm.incarnation == before + 1


@fact("5.1e")
def test_the_start_of_an_event_changes_the_incarnation(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    before = vm.incarnation
    vm.approve(event)
    assert (vm.statuses, vm.incarnation) == (["Started"], before + 1)


@fact("5.1e")
def test_the_end_of_an_event_changes_the_incarnation(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.approve(fleet.announce("Reboot", vm).event)
    before = vm.incarnation
    clock.advance(minutes=1)
    assert (vm.events(), vm.incarnation) == ([], before + 1)


@fact("5.1e")
def test_a_cancellation_changes_the_incarnation(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    announced = fleet.announce("Reboot", vm)
    before = vm.incarnation
    fleet.cancel(announced)
    assert (vm.events(), vm.incarnation) == ([], before + 1)


@fact("5.1g")
def test_an_approval_that_starts_nothing_leaves_the_document_unchanged(
    fleet: TemporaryFleet,
) -> None:
    host = fleet.host()
    (vm, *_), _ = fleet.group(vms={"host": host}), fleet.group(vms={"host": host})
    fleet.announce("Reboot", host=host)
    before = vm.get()
    mine = [event["EventId"] for event in vm.events()]
    assert vm.approve(*mine).status == 200
    after = vm.get()
    assert after.body == before.body
    assert after.header("ETag") == before.header("ETag")


@fact("5.1h")
def test_all_vms_in_a_group_read_the_same_document(fleet: TemporaryFleet) -> None:
    first, second, third = fleet.group(3)
    fleet.announce("Reboot", second)
    assert first.get().body == second.get().body == third.get().body


@fact("5.1h")
def test_another_group_has_its_own_incarnation(fleet: TemporaryFleet) -> None:
    (vm, _), (other, _) = fleet.group(), fleet.group()
    assert (vm.incarnation, other.incarnation) == (0, 0)
    fleet.announce("Reboot", vm)
    assert (vm.incarnation, other.incarnation) == (1, 0)


@fact("5.1i")
def test_the_incarnation_restarts_after_24_hours_without_requests(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    assert vm.incarnation == 0
    fleet.cancel(fleet.announce("Reboot", vm))
    assert vm.incarnation == 2
    clock.advance(hours=24)
    assert vm.incarnation == 0


@fact("5.1i")
def test_the_incarnation_continues_with_requests_within_24_hours(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    assert vm.incarnation == 0
    fleet.cancel(fleet.announce("Reboot", vm))
    assert vm.incarnation == 2
    clock.advance(hours=23)
    assert vm.incarnation == 2
