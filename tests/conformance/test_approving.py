"""Approvals that are accepted (9)."""

import json
from typing import Any

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, approval

HIDING = [("Preempt", "2017-03-01"), ("Preempt", "2017-08-01")] + [
    ("Terminate", each) for each in VERSIONS[:3]
]


def written(id: str, **more: Any) -> bytes:
    return json.dumps({"StartRequests": [{"EventId": id}], **more}).encode()


@fact("9.1a")
def test_the_documented_body_approves_an_event(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    body = b'{"StartRequests":[{"EventId":"%b"}]}' % event.encode()
    assert vm.post(body).status == 200
    assert vm.statuses == ["Started"]


@fact("9.1b")
@pytest.mark.parametrize("form", [str, int])
def test_the_incarnation_may_be_a_string_or_a_number(
    fleet: TemporaryFleet, form: type[str] | type[int]
) -> None:
    vm, event = fleet.announce_to_vm()
    body = written(event, DocumentIncarnation=form(vm.incarnation))
    assert vm.post(body).status == 200
    assert vm.statuses == ["Started"]


@fact("9.1c")
@pytest.mark.parametrize("value", [None, "0", 0, 999, "-1", "text"])
def test_the_incarnation_is_ignored(fleet: TemporaryFleet, value: object) -> None:
    vm, event = fleet.announce_to_vm()
    assert vm.post(written(event, DocumentIncarnation=value)).status == 200
    assert vm.statuses == ["Started"]


@fact("9.2")
def test_one_post_may_approve_several_events(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    ids = [fleet.announce("Reboot", vm, source="Platform").event for _ in range(3)]
    assert vm.approve(*ids).status == 200
    assert vm.statuses == ["Started"] * 3


@fact("9.3a")
def test_a_second_approval_is_accepted(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    (first, second), _ = (
        fleet.group(vms={"host": host, "update_domain": 0}) for _ in range(2)
    )
    fleet.announce("Reboot", host=host)
    event = first.event()["EventId"]
    responses = [vm.approve(event).status for vm in (first, second, first)]
    assert responses == [200, 200, 200]
    assert first.statuses == ["Scheduled"]


@fact("9.3b")
def test_the_response_to_an_approval_is_empty_or_json(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    body = vm.approve(event).body
    assert not body or json.loads(body) is not None


@fact("9.3c")
def test_the_response_to_an_approval_is_empty(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    response = vm.approve(event)
    assert (response.status, response.body) == (200, b"")
    assert response.header("Content-Length") == "0"


@fact("9.4a")
def test_a_started_event_may_be_approved(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    vm.approve(event)
    before = vm.get().body
    assert vm.approve(event).status == 200
    assert vm.get().body == before


@fact("9.4b")
def test_a_completed_event_may_be_approved(fleet: TemporaryFleet, clock: Clock) -> None:
    vm, event = fleet.announce_to_vm()
    clock.advance(minutes=16)
    before = vm.get().body
    assert vm.approve(event).status == 200
    assert vm.get().body == before


@fact("9.4b")
def test_a_canceled_event_may_be_approved(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    announced = fleet.announce("Reboot", vm)
    fleet.cancel(announced)
    assert vm.approve(announced.event).status == 200
    assert vm.events() == []
    assert fleet.phase(announced) == "CANCELED"


@fact("9.5b")
def test_a_finished_event_does_not_invalidate_a_list(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    over = fleet.announce("Reboot", vm)
    event = fleet.announce("Reboot", vm).event
    fleet.cancel(over)
    assert vm.approve(over.event, event).status == 200
    assert vm.statuses == ["Started"]


@fact("9.6c")
@pytest.mark.parametrize(
    "form",
    [
        '{"startRequests":[{"eventId":"%s"}]}',
        '{"STARTREQUESTS":[{"EVENTID":"%s"}]}',
        '{"startrequests":[{"eventid":"%s"}]}',
    ],
)
def test_the_keys_are_case_insensitive(fleet: TemporaryFleet, form: str) -> None:
    vm, event = fleet.announce_to_vm()
    assert vm.post((form % event).encode()).status == 200
    assert vm.statuses == ["Started"]


@fact("9.7", "16.2")
def test_a_vm_may_approve_an_event_that_does_not_name_it(fleet: TemporaryFleet) -> None:
    vm, peer = fleet.group()
    event = fleet.announce("Reboot", vm).event
    assert peer.event()["Resources"] == [vm.name]
    assert peer.approve(event).status == 200
    assert vm.statuses == ["Started"]


@fact("9.9a")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_may_use_another_version_than_the_poll(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, _ = fleet.announce_to_vm()
    event = vm.event("2020-07-01")["EventId"]
    assert vm.post(approval(event), version=version).status == 200
    assert vm.statuses == ["Started"]


@fact("9.9b")
@pytest.mark.parametrize(("type", "version"), HIDING)
def test_an_approval_may_use_a_version_that_hides_the_event(
    fleet: TemporaryFleet, type: str, version: str
) -> None:
    vm, event = fleet.announce_to_vm(type)
    assert vm.events(version) == []
    assert vm.approve(event, version=version).status == 200
    assert vm.statuses == ["Started"]


@fact("14.5")
def test_two_vms_may_approve_the_same_event(fleet: TemporaryFleet) -> None:
    first, second = fleet.group()
    event = fleet.announce("Reboot", first).event
    assert (first.approve(event).status, second.approve(event).status) == (200, 200)
    assert first.statuses == ["Started"]
