"""Event approvals over the ARM API."""

from typing import Any

import pytest
from tests.server.support.arm_client import COMPUTE, SETS, VMS, arm, error_of
from tests.server.support.service import RunningService

EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
APPROVED = {"value": "Successfully Approved"}
NEVER = "00000000-0000-0000-0000-000000000000"


def announced(service: RunningService, vm: str) -> str:
    """Announce a reboot of `vm` and return the id of its event."""
    return str(service.announce(vms=[vm])["events"][0]["id"])


def status_of(service: RunningService, event: str) -> Any:
    return service.get(f"/v1/events/{event}")["status"]


# --- one event ---------------------------------------------------------------


@pytest.mark.parametrize(
    "resource",
    ["virtualMachines/web-0", "virtualMachines/WEB-1", "AvailabilitySets/Web"],
)
def test_any_resource_that_sees_an_event_can_approve_it(
    arm_service: RunningService, resource: str
) -> None:
    event = announced(arm_service, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event.lower()}/acknowledge"
    answer = arm(arm_service, "POST", path)
    assert (answer.status, answer.json) == (200, APPROVED)
    assert status_of(arm_service, event) == "Started"


def test_scale_set_can_approve_events_of_its_vms(arm_service: RunningService) -> None:
    event = announced(arm_service, "pool_0")
    path = f"{SETS}/pool/{EVENTS}/{event}/acknowledge"
    assert arm(arm_service, "POST", path).json == APPROVED
    assert status_of(arm_service, event) == "Started"


def test_journal_records_who_approved_and_over_which_api(
    service: RunningService,
) -> None:
    event = announced(service, "web-0")
    arm(service, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
    (approved,) = service.facts("Approved")
    assert (approved["by"], approved["via"]) == ("admin", "arm")


def test_approving_a_started_event_has_no_effect(
    service: RunningService,
) -> None:
    event = announced(service, "web-0")
    for _ in range(2):
        answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
        assert answer.status == 200
    assert len(service.facts("Approved")) == 1


def test_approving_a_finished_event_gets_409(service: RunningService) -> None:
    event = announced(service, "web-0")
    service.advance(16 * 60)
    late = arm(service, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
    assert error_of(late) == (409, "Conflict")


@pytest.mark.parametrize(
    "resource",
    [
        "virtualMachines/pool_0",
        "virtualMachines/lone",
        "virtualMachineScaleSets/pool",
    ],
)
def test_event_of_another_group_gets_404(
    arm_service: RunningService, resource: str
) -> None:
    event = announced(arm_service, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(arm_service, "POST", path)) == (404, "InvalidScheduledEventId")
    assert status_of(arm_service, event) == "Scheduled"


@pytest.mark.parametrize("event", [NEVER, "x", "%00", "%C3%B6", "a" * 81])
def test_unknown_event_gets_404(arm_service: RunningService, event: str) -> None:
    path = f"{VMS}/web-0/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(arm_service, "POST", path)) == (404, "InvalidScheduledEventId")


def test_maintenance_id_is_not_accepted_as_event_id(
    arm_service: RunningService,
) -> None:
    maintenance = arm_service.announce(vms=["web-0"])
    path = f"{VMS}/web-0/{EVENTS}/{maintenance['id']}/acknowledge"
    assert error_of(arm(arm_service, "POST", path)) == (404, "InvalidScheduledEventId")


def test_vm_of_an_isolated_group_approves_only_its_own_events(
    arm_service: RunningService,
) -> None:
    event = announced(arm_service, "apart_0")
    path = f"{EVENTS}/{event}/acknowledge"
    other = arm(arm_service, "POST", f"{VMS}/apart_1/{path}")
    assert error_of(other) == (404, "InvalidScheduledEventId")
    assert arm(arm_service, "POST", f"{VMS}/apart_0/{path}").status == 200


@pytest.mark.parametrize(
    ("resource", "error"),
    {
        "virtualMachines/nobody": (404, "ResourceNotFound"),
        "availabilitySets/pool": (404, "ResourceNotFound"),
        "virtualMachineScaleSets/web": (404, "ResourceNotFound"),
        "disks/web-0": (400, "BadRequest"),
    }.items(),
)
def test_unknown_resource_cannot_approve(
    arm_service: RunningService, resource: str, error: tuple[int, str]
) -> None:
    event = announced(arm_service, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(arm_service, "POST", path)) == error
    assert status_of(arm_service, event) == "Scheduled"


# --- several events ----------------------------------------------------------


def test_several_events_are_approved_in_one_request(service: RunningService) -> None:
    events = [announced(service, vm) for vm in ("pool_0", "pool_1")]
    body = {"value": [events[0].lower(), events[1], events[1]]}
    answer = arm(service, "POST", f"{SETS}/pool/{EVENTS}", body)
    assert (answer.status, answer.json) == (200, APPROVED)
    assert [fact["event"] for fact in service.facts("Approved")] == events


def test_each_event_gets_its_own_result(service: RunningService) -> None:
    over = announced(service, "web-1")
    service.advance(16 * 60)
    good, other = announced(service, "web-0"), announced(service, "lone")
    body = {"value": [over, good, NEVER, other]}
    answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}", body)
    assert answer.status == 207
    error = answer.json["error"]
    assert error["code"] == "MultiStatusResponse"
    assert error["message"] == (
        "The operation returned different statuses for the Scheduled Events. Review"
        " each event's result for details."
    )
    assert [(detail["target"], detail["code"]) for detail in error["details"]] == [
        (over, "Conflict"),
        (NEVER, "NotFound"),
        (other, "NotFound"),
    ]
    assert all(detail["message"] for detail in error["details"])
    assert status_of(service, good) == "Started"
    assert status_of(service, other) == "Scheduled"


def test_request_with_only_unknown_events_gets_404(service: RunningService) -> None:
    body = {"value": [NEVER, "\0", "\u00f6"]}
    answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}", body)
    assert error_of(answer) == (404, "InvalidScheduledEventId")
    assert len(answer.json["error"]["details"]) == 3


def test_request_with_only_finished_events_gets_409(
    service: RunningService,
) -> None:
    events = [announced(service, vm) for vm in ("web-0", "web-0")]
    service.advance(16 * 60)
    service.advance(16 * 60)
    answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}", {"value": events})
    assert error_of(answer) == (409, "Conflict")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        b'{"value": []}',
        b'{"value": "x"}',
        b'{"value": {"x": 1}}',
        b'{"value": [1]}',
        b'{"value": ["\\ud800"]}',
        b'{"value": ["x", null]}',
        b'{"value": [' + b",".join([b'"x"'] * 101) + b"]}",
        b"[" * 10_000,
    ],
)
def test_invalid_event_list_gets_400(arm_service: RunningService, raw: bytes) -> None:
    answer = arm(arm_service, "POST", f"{VMS}/lone/{EVENTS}", raw=raw)
    assert answer.status == 400
    assert error_of(answer)[1] in ("BadRequest", "InvalidRequestContent")
