"""Approvals that are accepted (9)."""

import json
from typing import Any

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.stage import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM, approval

HIDING = [("Preempt", "2017-03-01"), ("Preempt", "2017-08-01")] + [
    ("Terminate", each) for each in VERSIONS[:3]
]


def warned_of(stage: TemporaryFleet, type: str = "Reboot") -> tuple[VM, str]:
    """Return a VM with one event, and the event's id."""
    (vm, _) = stage.group()
    return vm, stage.announce(type, vm).event


def written(id: str, **more: Any) -> bytes:
    return json.dumps({"StartRequests": [{"EventId": id}], **more}).encode()


@fact("9.1a")
def test_the_documented_body_approves(stage: TemporaryFleet) -> None:
    vm, event = warned_of(stage)
    body = b'{"StartRequests":[{"EventId":"%b"}]}' % event.encode()
    assert vm.post(body).status == 200
    assert vm.statuses == ["Started"]


@fact("9.1b")
@pytest.mark.parametrize("form", [str, int])
def test_the_incarnation_may_be_text_or_a_number(
    stage: TemporaryFleet, form: type[str] | type[int]
) -> None:
    vm, event = warned_of(stage)
    body = written(event, DocumentIncarnation=form(vm.incarnation))
    assert vm.post(body).status == 200
    assert vm.statuses == ["Started"]


@fact("9.1c")
@pytest.mark.parametrize("value", [None, "0", 0, 999, "-1", "text"])
def test_the_incarnation_is_ignored(stage: TemporaryFleet, value: object) -> None:
    vm, event = warned_of(stage)
    assert vm.post(written(event, DocumentIncarnation=value)).status == 200
    assert vm.statuses == ["Started"]


@fact("9.2")
def test_one_post_may_approve_several_events(stage: TemporaryFleet) -> None:
    (vm, _) = stage.group()
    ids = [stage.announce("Reboot", vm, source="Platform").event for _ in range(3)]
    assert vm.approve(*ids).status == 200
    assert vm.statuses == ["Started"] * 3


@fact("9.3a")
def test_a_second_approval_is_accepted(stage: TemporaryFleet) -> None:
    host = stage.host()
    (first, second), _ = (
        stage.group(vms={"host": host, "update_domain": 0}) for _ in range(2)
    )
    stage.announce("Reboot", host=host)
    event = first.event()["EventId"]
    answers = [vm.approve(event).status for vm in (first, second, first)]
    assert answers == [200, 200, 200]
    assert first.statuses == ["Scheduled"]


@fact("9.3b")
def test_the_response_to_an_approval_is_empty_or_json(stage: TemporaryFleet) -> None:
    vm, event = warned_of(stage)
    body = vm.approve(event).body
    assert not body or json.loads(body) is not None


@fact("9.3c")
def test_the_response_to_an_approval_is_empty(stage: TemporaryFleet) -> None:
    vm, event = warned_of(stage)
    answer = vm.approve(event)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.header("Content-Length") == "0"


@fact("9.4a")
def test_a_started_event_may_be_approved(stage: TemporaryFleet) -> None:
    vm, event = warned_of(stage)
    vm.approve(event)
    before = vm.get().body
    assert vm.approve(event).status == 200
    assert vm.get().body == before


@fact("9.4b")
def test_a_completed_event_may_be_approved(stage: TemporaryFleet, clock: Clock) -> None:
    vm, event = warned_of(stage)
    clock.advance(minutes=16)
    before = vm.get().body
    assert vm.approve(event).status == 200
    assert vm.get().body == before


@fact("9.4b")
def test_a_canceled_event_may_be_approved(stage: TemporaryFleet) -> None:
    (vm, _) = stage.group()
    announced = stage.announce("Reboot", vm)
    stage.cancel(announced)
    assert vm.approve(announced.event).status == 200
    assert vm.events() == []
    assert stage.phase(announced) == "CANCELED"


@fact("9.5b")
def test_a_finished_event_does_not_spoil_a_list(stage: TemporaryFleet) -> None:
    (vm, _) = stage.group()
    over = stage.announce("Reboot", vm)
    event = stage.announce("Reboot", vm).event
    stage.cancel(over)
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
def test_the_keys_may_be_in_any_case(stage: TemporaryFleet, form: str) -> None:
    vm, event = warned_of(stage)
    assert vm.post((form % event).encode()).status == 200
    assert vm.statuses == ["Started"]


@fact("9.7", "16.2")
def test_a_vm_may_approve_an_event_that_does_not_name_it(stage: TemporaryFleet) -> None:
    vm, peer = stage.group()
    event = stage.announce("Reboot", vm).event
    assert peer.event()["Resources"] == [vm.name]
    assert peer.approve(event).status == 200
    assert vm.statuses == ["Started"]


@fact("9.9a")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_may_use_another_version(
    stage: TemporaryFleet, version: str
) -> None:
    (vm, _) = stage.group()
    stage.announce("Reboot", vm)
    event = vm.event("2020-07-01")["EventId"]
    assert vm.post(approval(event), version=version).status == 200
    assert vm.statuses == ["Started"]


@fact("9.9b")
@pytest.mark.parametrize(("type", "version"), HIDING)
def test_an_approval_may_use_a_version_that_hides_the_event(
    stage: TemporaryFleet, type: str, version: str
) -> None:
    vm, event = warned_of(stage, type)
    assert vm.events(version) == []
    assert vm.approve(event, version=version).status == 200
    assert vm.statuses == ["Started"]


@fact("14.5")
def test_two_vms_may_approve_the_same_event(stage: TemporaryFleet) -> None:
    first, second = stage.group()
    event = stage.announce("Reboot", first).event
    assert (first.approve(event).status, second.approve(event).status) == (200, 200)
    assert first.statuses == ["Started"]
