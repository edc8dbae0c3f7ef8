"""Approving events as Azure Resource Manager does."""

from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.support.arm_client import COMPUTE, SETS, VMS, a_fleet, arm, error_of
from tests.server.support.service import RunningService

EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
APPROVED = {"value": "Successfully Approved"}
NEVER = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def service(serve: Serve, tmp_path: Path) -> RunningService:
    return serve(fleet=a_fleet(tmp_path))


def announced(service: RunningService, vm: str) -> str:
    """Announce a reboot of `vm`; answer the id of its event."""
    return str(service.announce(vms=[vm])["events"][0]["id"])


def status_of(service: RunningService, event: str) -> Any:
    return service.get(f"/v1/events/{event}")["status"]


# --- one ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "resource",
    ["virtualMachines/web-0", "virtualMachines/WEB-1", "AvailabilitySets/Web"],
)
def test_whoever_sees_an_event_approves_it(kept: RunningService, resource: str) -> None:
    event = announced(kept, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event.lower()}/acknowledge"
    answer = arm(kept, "POST", path)
    assert (answer.status, answer.json) == (200, APPROVED)
    assert status_of(kept, event) == "Started"


def test_a_scale_set_approves_for_its_vms(kept: RunningService) -> None:
    event = announced(kept, "pool_0")
    path = f"{SETS}/pool/{EVENTS}/{event}/acknowledge"
    assert arm(kept, "POST", path).json == APPROVED
    assert status_of(kept, event) == "Started"


def test_it_is_written_down_who_approved_and_by_which_way(
    service: RunningService,
) -> None:
    event = announced(service, "web-0")
    arm(service, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
    (approved,) = service.facts("Approved")
    assert (approved["by"], approved["via"]) == ("admin", "arm")


def test_an_event_that_has_started_is_approved_without_effect(
    service: RunningService,
) -> None:
    event = announced(service, "web-0")
    for _ in range(2):
        answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
        assert answer.status == 200
    assert len(service.facts("Approved")) == 1


def test_an_event_that_is_over_is_a_conflict(service: RunningService) -> None:
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
def test_an_event_of_others_is_not_known(kept: RunningService, resource: str) -> None:
    event = announced(kept, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(kept, "POST", path)) == (404, "InvalidScheduledEventId")
    assert status_of(kept, event) == "Scheduled"


@pytest.mark.parametrize("event", [NEVER, "x", "%00", "%C3%B6", "a" * 81])
def test_an_event_that_never_was_is_not_known(kept: RunningService, event: str) -> None:
    path = f"{VMS}/web-0/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(kept, "POST", path)) == (404, "InvalidScheduledEventId")


def test_a_maintenance_is_not_an_event(kept: RunningService) -> None:
    made = kept.announce(vms=["web-0"])
    path = f"{VMS}/web-0/{EVENTS}/{made['id']}/acknowledge"
    assert error_of(arm(kept, "POST", path)) == (404, "InvalidScheduledEventId")


def test_apart_each_vm_sees_its_own_events_alone(kept: RunningService) -> None:
    event = announced(kept, "apart_0")
    path = f"{EVENTS}/{event}/acknowledge"
    other = arm(kept, "POST", f"{VMS}/apart_1/{path}")
    assert error_of(other) == (404, "InvalidScheduledEventId")
    assert arm(kept, "POST", f"{VMS}/apart_0/{path}").status == 200


@pytest.mark.parametrize(
    ("resource", "error"),
    {
        "virtualMachines/nobody": (404, "ResourceNotFound"),
        "availabilitySets/pool": (404, "ResourceNotFound"),
        "virtualMachineScaleSets/web": (404, "ResourceNotFound"),
        "disks/web-0": (400, "BadRequest"),
    }.items(),
)
def test_what_is_no_resource_sees_nothing(
    kept: RunningService, resource: str, error: tuple[int, str]
) -> None:
    event = announced(kept, "web-0")
    path = f"{COMPUTE}/{resource}/{EVENTS}/{event}/acknowledge"
    assert error_of(arm(kept, "POST", path)) == error
    assert status_of(kept, event) == "Scheduled"


# --- several -----------------------------------------------------------------


def test_several_events_are_approved_at_once(service: RunningService) -> None:
    events = [announced(service, vm) for vm in ("pool_0", "pool_1")]
    body = {"value": [events[0].lower(), events[1], events[1]]}
    answer = arm(service, "POST", f"{SETS}/pool/{EVENTS}", body)
    assert (answer.status, answer.json) == (200, APPROVED)
    assert [each["event"] for each in service.facts("Approved")] == events


def test_each_event_is_judged_for_itself(service: RunningService) -> None:
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
    assert [(each["target"], each["code"]) for each in error["details"]] == [
        (over, "Conflict"),
        (NEVER, "NotFound"),
        (other, "NotFound"),
    ]
    assert all(each["message"] for each in error["details"])
    assert status_of(service, good) == "Started"
    assert status_of(service, other) == "Scheduled"


def test_if_no_event_is_known_the_answer_says_so(service: RunningService) -> None:
    body = {"value": [NEVER, "\0", "\u00f6"]}
    answer = arm(service, "POST", f"{VMS}/web-0/{EVENTS}", body)
    assert error_of(answer) == (404, "InvalidScheduledEventId")
    assert len(answer.json["error"]["details"]) == 3


def test_if_all_events_are_over_the_answer_is_a_conflict(
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
        b'{"value": [' + b",".join([b'"x"'] * 1001) + b"]}",
        b"[" * 100_000,
    ],
)
def test_a_list_that_is_none_is_a_bad_request(kept: RunningService, raw: bytes) -> None:
    answer = arm(kept, "POST", f"{VMS}/lone/{EVENTS}", raw=raw)
    assert answer.status == 400
    assert error_of(answer)[1] in ("BadRequest", "InvalidRequestContent")
