"""The lifecycle of an event, and user-initiated operations (6.6 to 6.17)."""

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet


@fact("6.6a")
def test_the_start_of_an_event_creates_a_new_document(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    before = vm.document()
    vm.approve(event)
    started = {**before["Events"][0], "EventStatus": "Started", "NotBefore": ""}
    assert vm.document() == {
        "DocumentIncarnation": before["DocumentIncarnation"] + 1,
        "Events": [started],
    }


@fact("6.6c")
def test_the_end_of_an_event_creates_a_new_document(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.approve(fleet.announce("Freeze", vm, duration_seconds=30).event)
    before = vm.incarnation
    clock.advance(29)
    assert vm.statuses == ["Started"]
    clock.advance(1)
    assert vm.document() == {"DocumentIncarnation": before + 1, "Events": []}


@fact("6.6e")
def test_started_is_visible_for_five_seconds(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.approve(fleet.announce("Reboot", vm).event)
    seen = []
    for _ in range(6):
        seen += vm.statuses or ["gone"]
        clock.advance(1)
    assert seen == ["Started"] * 5 + ["gone"]


@fact("6.7")
def test_a_canceled_event_disappears_and_nothing_happens(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    announced = fleet.announce("Reboot", vm)
    clock.advance(minutes=8)
    fleet.cancel(announced)
    assert vm.events() == []
    clock.advance(minutes=30)
    assert (vm.events(), fleet.phase(announced)) == ([], "CANCELED")


@fact("6.8a")
def test_not_before_is_unchanged_until_the_start(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, other) = fleet.group()
    fleet.announce("Reboot", vm)
    first = vm.event()["NotBefore"]
    clock.advance(minutes=7)
    fleet.announce("Freeze", other)
    clock.advance(minutes=7)
    assert vm.events()[0]["NotBefore"] == first


@fact("6.8b")
def test_one_vm_may_have_several_events(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    ids = [fleet.announce("Reboot", vm).event, fleet.announce("Reboot", vm).event]
    shown = vm.events()
    assert [event["EventId"] for event in shown] == ids
    assert [event["Resources"] for event in shown] == [[vm.name], [vm.name]]


@fact("6.9")
def test_nothing_happens_after_an_event_has_ended(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.approve(fleet.announce("Reboot", vm).event)
    clock.advance(minutes=1)
    before = vm.get().body
    for _ in range(4):
        clock.advance(hours=10)
        assert vm.get().body == before


# --- update domains ----------------------------------------------------------


@fact("6.10a")
def test_planned_maintenance_affects_one_update_domain_at_a_time(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    first, second = fleet.group()
    for vm in (first, second):
        fleet.announce("Freeze", vm, duration_seconds=60)
    clock.advance(minutes=15)
    assert first.statuses == ["Started", "Scheduled"]
    clock.advance(minutes=1)
    assert first.statuses == ["Started"]
    assert first.event()["Resources"] == [second.name]


@fact("6.10b")
def test_no_event_lists_vms_in_two_update_domains(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    vm, peer = fleet.group(vms={"host": host})
    fleet.announce("Freeze", host=host)
    assert [event["Resources"] for event in vm.events()] == [[vm.name], [peer.name]]


# --- user-initiated operations -----------------------------------------------


@fact("6.12a")
@pytest.mark.parametrize("type", ["Reboot", "Redeploy"])
def test_a_user_initiated_event_has_its_type_and_source(
    fleet: TemporaryFleet, type: str
) -> None:
    (vm, _) = fleet.group()
    vm.get()
    fleet.announce(type, vm, source="User")
    event = vm.event()
    assert (event["EventType"], event["EventSource"]) == (type, "User")


@fact("6.12b")
@pytest.mark.parametrize(("type", "minutes"), [("Reboot", 15), ("Redeploy", 10)])
def test_a_user_initiated_event_gets_the_full_notice(
    fleet: TemporaryFleet, clock: Clock, type: str, minutes: int
) -> None:
    (vm, _) = fleet.group()
    vm.get()
    fleet.announce(type, vm, source="User")
    clock.advance(minutes * 60 - 1)
    assert vm.statuses == ["Scheduled"]
    clock.advance(1)
    assert vm.statuses == ["Started"]


@fact("6.12b")
def test_a_user_initiated_event_can_be_approved(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    vm.get()
    vm.approve(fleet.announce("Reboot", vm, source="User").event)
    assert vm.statuses == ["Started"]


@fact("6.13")
@pytest.mark.parametrize("type", ["Reboot", "Redeploy"])
def test_a_user_initiated_event_is_not_scheduled_while_scheduled_events_is_disabled(
    fleet: TemporaryFleet, type: str
) -> None:
    vm, _ = fleet.announce_to_vm(type, source="User")
    assert "Scheduled" not in vm.statuses


@fact("6.17a")
@pytest.mark.parametrize(
    ("type", "policy"), [("Reboot", "user-reboot"), ("Redeploy", "user-redeploy")]
)
def test_an_event_approved_by_policy_starts_immediately(
    fleet: TemporaryFleet, type: str, policy: str
) -> None:
    (vm, _) = fleet.group(auto_approve=[policy])
    before = vm.incarnation
    fleet.announce(type, vm, source="User")
    event = vm.event()
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")
    assert vm.incarnation == before + 1


@fact("6.17a")
def test_a_group_policy_does_not_approve_platform_events(
    fleet: TemporaryFleet,
) -> None:
    (vm, _) = fleet.group(auto_approve=["user-reboot", "user-redeploy"])
    fleet.announce("Reboot", vm)
    assert vm.statuses == ["Scheduled"]


# --- Preempt -----------------------------------------------------------------


@fact("6.16a")
def test_a_preempt_has_30_seconds_of_notice_and_can_be_approved(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm, peer = fleet.group(kind="scale-set", vms={"spot": True})
    event = fleet.announce("Preempt", vm).event
    fleet.announce("Preempt", peer)
    vm.approve(event)
    assert vm.statuses == ["Started", "Scheduled"]
    clock.advance(30)
    started = [e["Resources"] for e in peer.events() if e["EventStatus"] == "Started"]
    assert started == [[peer.name]]
