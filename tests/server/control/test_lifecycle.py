"""The life of a maintenance over the API: who may do what, and when."""

from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.support.service import Answer, RunningService

SCHEDULED, STARTED, COMPLETED, CANCELED = (
    "SCHEDULED",
    "STARTED",
    "COMPLETED",
    "CANCELED",
)


def a_maintenance(service: RunningService, phase: str) -> Any:
    """Bring a Reboot of web-0 to `phase`."""
    made = service.announce(vms=["web-0"])
    if phase in (STARTED, COMPLETED):
        approve(service, made)
    if phase == COMPLETED:
        service.advance(5)
    if phase == CANCELED:
        command(service, made, "cancel")
    now = service.get(f"/v1/maintenances/{made['id']}")
    assert now["phase"] == phase
    return now


def command(service: RunningService, made: Any, name: str, **body: object) -> Answer:
    return service.ask("POST", f"/v1/maintenances/{made['id']}/{name}", body or None)


def approve(service: RunningService, made: Any) -> Answer:
    return service.ask("POST", f"/v1/events/{made['events'][0]['id']}/approve")


def approve_as_vm(service: RunningService, made: Any, vm: str = "web-0") -> Answer:
    return service.approve_as(vm, made["events"][0]["id"])


# --- the table ---------------------------------------------------------------

TABLE = {
    "cancel": {SCHEDULED: 200, STARTED: 409, COMPLETED: 409, CANCELED: 200},
    "complete": {SCHEDULED: 409, STARTED: 200, COMPLETED: 200, CANCELED: 409},
    "retry": {SCHEDULED: 409, STARTED: 409, COMPLETED: 409, CANCELED: 409},
    "close": {SCHEDULED: 409, STARTED: 409, COMPLETED: 409, CANCELED: 409},
}
APPROVED_BY_CONTROL = {SCHEDULED: 200, STARTED: 200, COMPLETED: 409, CANCELED: 409}


@pytest.mark.parametrize("phase", [SCHEDULED, STARTED, COMPLETED, CANCELED])
@pytest.mark.parametrize("name", TABLE)
def test_a_command_is_possible_in_its_phases_only(
    service: RunningService, name: str, phase: str
) -> None:
    answer = command(service, a_maintenance(service, phase), name)
    assert answer.status == TABLE[name][phase]


@pytest.mark.parametrize("phase", APPROVED_BY_CONTROL)
def test_an_operator_may_approve_until_it_is_over(
    service: RunningService, phase: str
) -> None:
    answer = approve(service, a_maintenance(service, phase))
    assert answer.status == APPROVED_BY_CONTROL[phase]


@pytest.mark.parametrize("phase", APPROVED_BY_CONTROL)
def test_a_vm_may_approve_at_any_time(service: RunningService, phase: str) -> None:
    answer = approve_as_vm(service, a_maintenance(service, phase))
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        (name, phase)
        for name, row in TABLE.items()
        for phase, status in row.items()
        if status == 409
    ],
)
def test_a_refused_command_changes_nothing(
    service: RunningService, name: str, phase: str
) -> None:
    made = a_maintenance(service, phase)
    before = service.facts()
    assert made["id"] in command(service, made, name).detail
    assert service.facts() == before


def test_who_cancels_too_late_is_told_what_to_do(service: RunningService) -> None:
    answer = command(service, a_maintenance(service, STARTED), "cancel")
    assert "has started; complete or close it" in answer.detail


def test_who_completes_too_early_is_told_what_to_do(service: RunningService) -> None:
    answer = command(service, a_maintenance(service, SCHEDULED), "complete")
    assert "has not started; cancel it" in answer.detail


@pytest.mark.parametrize(
    ("name", "phase"), [("cancel", CANCELED), ("complete", COMPLETED)]
)
def test_what_is_done_already_is_not_done_again(
    service: RunningService, name: str, phase: str
) -> None:
    made = a_maintenance(service, phase)
    before = service.facts()
    assert command(service, made, name).json == made
    assert service.facts() == before


# --- approving ---------------------------------------------------------------


def test_an_approval_is_answered_with_the_event(service: RunningService) -> None:
    answer = approve(service, service.announce(host="host-a"))
    now = service.get("/v1/clock")["now"]
    event = answer.json
    assert (event["approved_by"], event["approved_via"]) == ("admin", "control")
    assert (event["approved_at"], event["status"]) == (now, "Scheduled")


def test_a_vm_that_approves_is_remembered(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    approve_as_vm(service, made, "web-1")
    event = service.get(f"/v1/events/{made['events'][0]['id']}")
    assert (event["approved_by"], event["approved_via"]) == ("web-1", "metadata")


def test_whoever_approved_first_is_remembered(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    approve_as_vm(service, made, "web-1")
    assert approve(service, made).json["approved_by"] == "web-1"
    assert len(service.facts("Approved")) == 1


def test_when_the_time_ran_out_nobody_has_approved(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    service.advance(900)
    event = service.get(f"/v1/events/{made['events'][0]['id']}")
    assert (event["status"], event["approved_by"]) == ("Started", None)
    assert (event["approved_via"], event["approved_at"]) == (None, None)


def test_an_approval_starts_the_maintenance(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    assert approve(service, made).json["status"] == "Started"
    now = service.get(f"/v1/maintenances/{made['id']}")
    assert now["phase"] == STARTED
    assert now["started_at"] == service.get("/v1/clock")["now"]


def test_an_event_that_is_over_has_no_status(service: RunningService) -> None:
    made = a_maintenance(service, COMPLETED)
    assert service.get(f"/v1/events/{made['events'][0]['id']}")["status"] is None


def test_who_has_read_of_an_event_is_told(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    service.document("web-1")
    service.document("db-0")
    event = service.get(f"/v1/events/{made['events'][0]['id']}")
    assert event["seen_by"] == ["web-1"]


def test_an_event_that_the_version_hides_was_seen_by_nobody(
    service: RunningService,
) -> None:
    made = service.announce(type="Terminate", vms=["web-0"])
    service.as_vm("web-0", version="2017-03-01")
    assert service.get(f"/v1/maintenances/{made['id']}") == made


# --- ending ------------------------------------------------------------------


def test_a_reason_is_kept_with_the_cancellation(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    answer = command(service, made, "cancel", reason="rain")
    assert answer.json["phase"] == CANCELED
    assert answer.json["ended_at"] == service.get("/v1/clock")["now"]
    (fact,) = service.facts("Canceled")
    assert (fact["by"], fact["reason"]) == ("admin", "rain")


@pytest.mark.parametrize("body", [{"reason": 1}, {"why": "rain"}])
@pytest.mark.parametrize("name", ["cancel", "close"])
def test_a_reason_that_is_none_is_refused(
    service: RunningService, name: str, body: dict[str, object]
) -> None:
    made = service.announce(vms=["web-0"])
    assert command(service, made, name, **body).status == 422


def test_an_event_id_will_do_for_a_command(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    event = made["events"][0]["id"].lower()
    answer = service.ask("POST", f"/v1/maintenances/{event}/cancel")
    assert (answer.json["id"], answer.json["phase"]) == (made["id"], CANCELED)


def test_complete_ends_the_duration_but_not_the_time_it_is_shown(
    service: RunningService,
) -> None:
    made = service.announce(vms=["web-0"], duration_seconds=600)
    approve(service, made)
    assert command(service, made, "complete").json["phase"] == STARTED
    service.advance(4)
    assert service.get(f"/v1/maintenances/{made['id']}")["phase"] == STARTED
    service.advance(1)
    assert service.get(f"/v1/maintenances/{made['id']}")["phase"] == COMPLETED


def test_a_maintenance_lasts_as_long_as_it_said(service: RunningService) -> None:
    made = service.announce(vms=["web-0"], duration_seconds=600)
    approve(service, made)
    service.advance(599)
    assert service.get(f"/v1/maintenances/{made['id']}")["phase"] == STARTED
    service.advance(1)
    assert service.get(f"/v1/maintenances/{made['id']}")["phase"] == COMPLETED


@pytest.fixture
def operated(serve: Serve) -> RunningService:
    """A service where a person does the work."""
    return serve(driver="operator")


def test_the_work_of_a_person_is_over_when_he_says_so(operated: RunningService) -> None:
    made = a_maintenance(operated, STARTED)
    operated.advance(10_000)
    assert operated.get(f"/v1/maintenances/{made['id']}")["phase"] == STARTED
    assert command(operated, made, "complete").json["phase"] == COMPLETED


def test_a_person_is_asked_once(operated: RunningService) -> None:
    a_maintenance(operated, STARTED)
    operated.advance(10_000)
    (began,) = operated.facts("WorkBegan")
    assert began["attempt"] == 1


def test_a_person_is_asked_two_seconds_after_the_start(
    operated: RunningService,
) -> None:
    a_maintenance(operated, STARTED)
    operated.advance(1)
    assert operated.facts("WorkBegan") == []
    operated.advance(1)
    assert len(operated.facts("WorkBegan")) == 1
