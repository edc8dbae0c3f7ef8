"""Notice and start of an event (6.0 to 6.5)."""

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
from tests.conformance.control import Clock, Refused
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VM

NOTICE = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30}


def not_before(vm: VM) -> datetime:
    """Return the time before which the only event does not start."""
    return parsedate_to_datetime(vm.event()["NotBefore"])


def on_one_host(fleet: TemporaryFleet) -> tuple[VM, VM]:
    """Return two VMs of two groups whose host has a scheduled Reboot."""
    host = fleet.host()
    (first,), (second,) = (fleet.group(1, vms={"host": host}) for _ in range(2))
    fleet.announce("Reboot", host=host)
    return first, second


# --- lifecycle ---------------------------------------------------------------


@fact("6.0a")
def test_an_event_is_scheduled_then_started_then_gone(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm, _ = fleet.announce_to_vm()
    seen = [vm.statuses]
    clock.advance(minutes=15)
    seen.append(vm.statuses)
    clock.advance(minutes=1)
    seen.append(vm.statuses)
    assert seen == [["Scheduled"], ["Started"], []]


@fact("6.0b")
def test_an_event_may_disappear_without_having_started(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    announced = fleet.announce("Reboot", vm)
    clock.advance(minutes=14)
    fleet.cancel(announced)
    clock.advance(minutes=2)
    assert vm.events() == []
    assert fleet.phase(announced) == "CANCELED"


@fact("6.0c")
def test_an_event_may_appear_as_started(fleet: TemporaryFleet) -> None:
    vm, _ = fleet.announce_to_vm("Redeploy", emergency=True, reason="smoke")
    assert vm.statuses == ["Started"]


# --- notice ------------------------------------------------------------------


@fact("6.1a")
@pytest.mark.parametrize(("type", "seconds"), NOTICE.items())
def test_no_type_has_less_notice_than_promised(
    fleet: TemporaryFleet, clock: Clock, type: str, seconds: int
) -> None:
    vm, _ = fleet.announce_to_vm(type)
    assert not_before(vm) - clock.now >= timedelta(seconds=seconds)
    with pytest.raises(Refused, match="notice"):
        fleet.announce(type, vm, notice_seconds=seconds - 1)


@fact("6.1b", "6.14b")
@pytest.mark.parametrize("seconds", [300, 450, 900])
def test_the_group_sets_the_notice_for_a_terminate(
    fleet: TemporaryFleet, clock: Clock, seconds: int
) -> None:
    (vm,) = fleet.group(1, kind="scale-set", terminate_notice_seconds=seconds)
    fleet.announce("Terminate", vm)
    assert not_before(vm) == clock.now + timedelta(seconds=seconds)


@fact("6.14b")
def test_a_terminate_has_five_minutes_of_notice_by_default(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm,) = fleet.group(1, kind="scale-set")
    fleet.announce("Terminate", vm)
    assert not_before(vm) == clock.now + timedelta(minutes=5)


@fact("6.1c")
@pytest.mark.parametrize(("type", "seconds"), NOTICE.items())
def test_not_before_is_the_announcement_time_plus_the_notice_to_the_second(
    fleet: TemporaryFleet, clock: Clock, type: str, seconds: int
) -> None:
    vm, _ = fleet.announce_to_vm(type)
    assert not_before(vm) == clock.now + timedelta(seconds=seconds)


# --- start -------------------------------------------------------------------


@fact("6.2b")
def test_an_event_can_be_approved_days_ahead(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm("Redeploy", notice_seconds=7 * 86400)
    assert vm.approve(event).status == 200
    assert vm.statuses == ["Started"]


@fact("6.3a")
@pytest.mark.parametrize("type", ["Reboot", "Redeploy"])
def test_an_event_without_notice_appears_as_started_with_an_empty_not_before(
    fleet: TemporaryFleet, type: str
) -> None:
    (vm, _) = fleet.group()
    assert vm.events() == []
    fleet.announce(type, vm, emergency=True, reason="smoke")
    event = vm.event()
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


@fact("6.4a")
@pytest.mark.parametrize(("type", "seconds"), NOTICE.items())
def test_an_event_starts_at_not_before_without_an_approval(
    fleet: TemporaryFleet, clock: Clock, type: str, seconds: int
) -> None:
    vm, _ = fleet.announce_to_vm(type)
    clock.advance(seconds - 1)
    assert vm.statuses == ["Scheduled"]
    clock.advance(1)
    assert vm.statuses == ["Started"]


@fact("6.5a")
@pytest.mark.parametrize("type", [*NOTICE, "Terminate"])
def test_an_approval_starts_the_event_early(fleet: TemporaryFleet, type: str) -> None:
    vm, event = fleet.announce_to_vm(type)
    assert vm.statuses == ["Scheduled"]
    assert vm.approve(event).status == 200
    assert vm.statuses == ["Started"]


@fact("6.5b")
def test_all_groups_on_the_host_must_approve(fleet: TemporaryFleet) -> None:
    first, second = on_one_host(fleet)
    assert first.approve(first.event()["EventId"]).status == 200
    assert (first.statuses, second.statuses) == (["Scheduled"], ["Scheduled"])
    assert second.approve(second.event()["EventId"]).status == 200
    assert (first.statuses, second.statuses) == (["Started"], ["Started"])


@fact("6.5b")
def test_events_start_at_not_before_if_only_some_groups_approve(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    first, second = on_one_host(fleet)
    first.approve(first.event()["EventId"])
    clock.advance(minutes=15)
    assert (first.statuses, second.statuses) == (["Started"], ["Started"])


@fact("6.5c")
def test_one_approval_covers_all_resources(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    vms = fleet.group(3, vms={"host": host, "update_domain": 0})
    event = fleet.announce("Freeze", host=host).event
    vms[1].approve(event)
    shown = vms[0].event()
    assert (shown["EventStatus"], len(shown["Resources"])) == ("Started", 3)
