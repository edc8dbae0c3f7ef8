"""Fields of an event (5.2 to 5.11)."""

import re
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM, approval

GUID = r"[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}"
TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"


def announced(fleet: TemporaryFleet, type: str, **more: object) -> VM:
    """Return a VM with one event."""
    vm, _ = fleet.announce_to_vm(type, **more)
    return vm


# --- EventId, EventType, ResourceType ----------------------------------------


@fact("5.2a")
def test_an_event_id_is_an_uppercase_guid(notified_vm: VM) -> None:
    for event in notified_vm.events():
        assert re.fullmatch(GUID, event["EventId"])


@fact("5.2b")
def test_an_event_keeps_its_id(fleet: TemporaryFleet, clock: Clock) -> None:
    vm = announced(fleet, "Reboot")
    scheduled = vm.event()
    clock.advance(minutes=15)
    started = vm.event()
    assert (scheduled["EventStatus"], started["EventStatus"]) == (
        "Scheduled",
        "Started",
    )
    assert started["EventId"] == scheduled["EventId"]


@fact("5.2c")
def test_an_event_id_in_an_approval_is_case_insensitive(fleet: TemporaryFleet) -> None:
    vm = announced(fleet, "Reboot")
    assert vm.post(approval(vm.event()["EventId"].lower())).status == 200
    assert vm.statuses == ["Started"]


@fact("5.3a")
@pytest.mark.parametrize("type", TYPES)
def test_each_of_the_five_event_types_is_visible(
    fleet: TemporaryFleet, type: str
) -> None:
    assert announced(fleet, type).event()["EventType"] == type


@fact("5.4")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_resource_is_always_a_virtual_machine(notified_vm: VM, version: str) -> None:
    for event in notified_vm.events(version):
        assert event["ResourceType"] == "VirtualMachine"


# --- Resources ---------------------------------------------------------------


@fact("5.5a")
def test_resources_are_vm_names(fleet: TemporaryFleet) -> None:
    vm = announced(fleet, "Reboot")
    assert vm.event()["Resources"] == [vm.name]


@fact("5.5b")
def test_maintenance_on_one_host_is_one_event(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    first, second = fleet.group(vms={"host": host, "update_domain": 0})
    fleet.announce("Freeze", host=host)
    assert first.event()["Resources"] == [first.name, second.name]


@fact("5.5c")
def test_maintenance_that_can_be_canceled_separately_has_separate_events(
    fleet: TemporaryFleet,
) -> None:
    vm, peer = fleet.group()
    first, second = fleet.announce("Reboot", vm), fleet.announce("Reboot", peer)
    assert [event["Resources"] for event in vm.events()] == [[vm.name], [peer.name]]
    fleet.cancel(first)
    assert [event["EventId"] for event in vm.events()] == [second.event]


@fact("5.11a")
def test_the_order_of_resources_is_stable_and_the_same_for_all(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    host = fleet.host()
    vms = fleet.group(4, vms={"host": host, "update_domain": 0})
    fleet.announce("Freeze", host=host)
    before = {tuple(vm.event()["Resources"]) for vm in vms}
    clock.advance(minutes=15)
    after = {tuple(vm.event()["Resources"]) for vm in vms}
    assert before == after
    assert len(before) == 1


@fact("5.11b")
def test_events_are_in_announcement_order(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    orders = (("Reboot", 3600), ("Freeze", 1800), ("Redeploy", 7200))
    ids = [fleet.announce(t, vm, notice_seconds=n).event for t, n in orders]
    assert [event["EventId"] for event in vm.events()] == ids


@fact("5.11c")
def test_resources_are_in_natural_order(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    vms = fleet.group(11, vms={"host": host, "update_domain": 0})
    fleet.announce("Freeze", host=host)
    expected = [vm.name for vm in vms]
    assert expected != sorted(expected), (
        "expected names whose natural order is not alphabetical"
    )
    assert vms[0].event()["Resources"] == expected


# --- EventStatus -------------------------------------------------------------


@fact("5.6a")
def test_a_status_is_scheduled_or_started(fleet: TemporaryFleet, clock: Clock) -> None:
    vm = announced(fleet, "Reboot")
    before = vm.statuses
    clock.advance(minutes=15)
    assert (before, vm.statuses) == (["Scheduled"], ["Started"])


@fact("5.6b")
def test_a_finished_event_disappears(fleet: TemporaryFleet, clock: Clock) -> None:
    vm = announced(fleet, "Reboot")
    clock.advance(minutes=16)
    assert vm.events() == []


@fact("5.6d")
def test_the_status_never_returns_to_scheduled(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm = announced(fleet, "Freeze", duration_seconds=60)
    seen = []
    for _ in range(20):
        seen += vm.statuses or ["gone"]
        clock.advance(minutes=1)
    order = ["Scheduled", "Started", "gone"]
    assert seen == sorted(seen, key=order.index)
    assert set(seen) == set(order)


# --- NotBefore ---------------------------------------------------------------


@fact("5.7a")
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_not_before_is_an_http_date(notified_vm: VM, version: str) -> None:
    form = rf"({DAYS}), \d\d ({MONTHS}) \d{{4}} \d\d:\d\d:\d\d GMT"
    for event in notified_vm.events(version):
        assert re.fullmatch(form, event["NotBefore"])


@fact("5.7a")
def test_not_before_is_the_time_that_the_operator_specified(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    moment = (clock.now + timedelta(days=40)).replace(day=5, microsecond=0)
    vm = announced(fleet, "Reboot", not_before=moment.isoformat())
    assert parsedate_to_datetime(vm.event()["NotBefore"]) == moment


@fact("5.7b")
def test_with_2017_03_01_not_before_is_iso_8601(fleet: TemporaryFleet) -> None:
    vm = announced(fleet, "Reboot")
    old = vm.event("2017-03-01")["NotBefore"]
    assert re.fullmatch(ISO, old)
    same = parsedate_to_datetime(vm.event()["NotBefore"])
    assert datetime.fromisoformat(old) == same
