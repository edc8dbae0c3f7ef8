"""Maintenance lifecycle over the control API: allowed commands per phase."""

from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.support.service import ReceivedResponse, RunningService

SCHEDULED, STARTED, COMPLETED, CANCELED = (
    "SCHEDULED",
    "STARTED",
    "COMPLETED",
    "CANCELED",
)


def a_maintenance(service: RunningService, phase: str) -> Any:
    """Announce a Reboot of web-0 and bring it to `phase`."""
    maintenance = service.announce(vms=["web-0"])
    if phase in (STARTED, COMPLETED):
        approve(service, maintenance)
    if phase == COMPLETED:
        service.advance(5)
    if phase == CANCELED:
        command(service, maintenance, "cancel")
    now = service.get(f"/v1/maintenances/{maintenance['id']}")
    assert now["phase"] == phase
    return now


def command(
    service: RunningService, made: Any, name: str, **body: object
) -> ReceivedResponse:
    return service.request(
        "POST", f"/v1/maintenances/{made['id']}/{name}", body or None
    )


def approve(service: RunningService, made: Any) -> ReceivedResponse:
    return service.request("POST", f"/v1/events/{made['events'][0]['id']}/approve")


def approve_as_vm(
    service: RunningService, made: Any, vm: str = "web-0"
) -> ReceivedResponse:
    return service.approve_as(vm, made["events"][0]["id"])


# --- commands per phase ------------------------------------------------------

TABLE = {
    "cancel": {SCHEDULED: 200, STARTED: 409, COMPLETED: 409, CANCELED: 200},
    "complete": {SCHEDULED: 409, STARTED: 200, COMPLETED: 200, CANCELED: 409},
    "retry": {SCHEDULED: 409, STARTED: 409, COMPLETED: 409, CANCELED: 409},
    "close": {SCHEDULED: 409, STARTED: 409, COMPLETED: 409, CANCELED: 409},
}
APPROVED_BY_CONTROL = {SCHEDULED: 200, STARTED: 200, COMPLETED: 409, CANCELED: 409}


@pytest.mark.parametrize("phase", [SCHEDULED, STARTED, COMPLETED, CANCELED])
@pytest.mark.parametrize("name", TABLE)
def test_command_is_allowed_only_in_its_phases(
    service: RunningService, name: str, phase: str
) -> None:
    answer = command(service, a_maintenance(service, phase), name)
    assert answer.status == TABLE[name][phase]


@pytest.mark.parametrize("phase", APPROVED_BY_CONTROL)
def test_operator_may_approve_until_the_event_is_over(
    service: RunningService, phase: str
) -> None:
    answer = approve(service, a_maintenance(service, phase))
    assert answer.status == APPROVED_BY_CONTROL[phase]


@pytest.mark.parametrize("phase", APPROVED_BY_CONTROL)
def test_vm_may_approve_at_any_time(service: RunningService, phase: str) -> None:
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
def test_refused_command_changes_nothing(
    service: RunningService, name: str, phase: str
) -> None:
    maintenance = a_maintenance(service, phase)
    before = service.facts()
    assert maintenance["id"] in command(service, maintenance, name).detail
    assert service.facts() == before


def test_late_cancel_suggests_complete_or_close(service: RunningService) -> None:
    answer = command(service, a_maintenance(service, STARTED), "cancel")
    assert "has started; complete or close it" in answer.detail


def test_early_complete_suggests_cancel(service: RunningService) -> None:
    answer = command(service, a_maintenance(service, SCHEDULED), "complete")
    assert "has not started; cancel it" in answer.detail


@pytest.mark.parametrize(
    ("name", "phase"), [("cancel", CANCELED), ("complete", COMPLETED)]
)
def test_repeated_command_has_no_effect(
    service: RunningService, name: str, phase: str
) -> None:
    maintenance = a_maintenance(service, phase)
    before = service.facts()
    assert command(service, maintenance, name).json == maintenance
    assert service.facts() == before


# --- approving ---------------------------------------------------------------


def test_approval_returns_the_event(service: RunningService) -> None:
    answer = approve(service, service.announce(host="host-a"))
    now = service.get("/v1/clock")["now"]
    event = answer.json
    assert (event["approved_by"], event["approved_via"]) == ("admin", "control")
    assert (event["approved_at"], event["status"]) == (now, "Scheduled")


def test_event_records_the_vm_that_approved(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    approve_as_vm(service, maintenance, "web-1")
    event = service.get(f"/v1/events/{maintenance['events'][0]['id']}")
    assert (event["approved_by"], event["approved_via"]) == ("web-1", "metadata")


def test_event_records_the_first_approval(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    approve_as_vm(service, maintenance, "web-1")
    assert approve(service, maintenance).json["approved_by"] == "web-1"
    assert len(service.facts("Approved")) == 1


def test_event_started_by_timeout_has_no_approver(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    service.advance(900)
    event = service.get(f"/v1/events/{maintenance['events'][0]['id']}")
    assert (event["status"], event["approved_by"]) == ("Started", None)
    assert (event["approved_via"], event["approved_at"]) == (None, None)


def test_approval_starts_the_maintenance(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    assert approve(service, maintenance).json["status"] == "Started"
    now = service.get(f"/v1/maintenances/{maintenance['id']}")
    assert now["phase"] == STARTED
    assert now["started_at"] == service.get("/v1/clock")["now"]


def test_finished_event_has_no_status(service: RunningService) -> None:
    maintenance = a_maintenance(service, COMPLETED)
    assert service.get(f"/v1/events/{maintenance['events'][0]['id']}")["status"] is None


def test_seen_by_lists_the_vms_that_read_the_event(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    service.document("web-1")
    service.document("db-0")
    event = service.get(f"/v1/events/{maintenance['events'][0]['id']}")
    assert event["seen_by"] == ["web-1"]


def test_event_hidden_by_the_api_version_is_not_marked_as_seen(
    service: RunningService,
) -> None:
    maintenance = service.announce(type="Terminate", vms=["web-0"])
    service.as_vm("web-0", version="2017-03-01")
    assert service.get(f"/v1/maintenances/{maintenance['id']}") == maintenance


# --- ending ------------------------------------------------------------------


def test_cancellation_keeps_its_reason(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = command(service, maintenance, "cancel", reason="rain")
    assert answer.json["phase"] == CANCELED
    assert answer.json["ended_at"] == service.get("/v1/clock")["now"]
    (fact,) = service.facts("Canceled")
    assert (fact["by"], fact["reason"]) == ("admin", "rain")


@pytest.mark.parametrize("body", [{"reason": 1}, {"why": "rain"}])
@pytest.mark.parametrize("name", ["cancel", "close"])
def test_invalid_reason_gets_422(
    service: RunningService, name: str, body: dict[str, object]
) -> None:
    maintenance = service.announce(vms=["web-0"])
    assert command(service, maintenance, name, **body).status == 422


def test_command_accepts_an_event_id(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    event = maintenance["events"][0]["id"].lower()
    answer = service.request("POST", f"/v1/maintenances/{event}/cancel")
    assert (answer.json["id"], answer.json["phase"]) == (maintenance["id"], CANCELED)


def test_complete_ends_the_duration_but_not_the_minimum_display_time(
    service: RunningService,
) -> None:
    maintenance = service.announce(vms=["web-0"], duration_seconds=600)
    approve(service, maintenance)
    assert command(service, maintenance, "complete").json["phase"] == STARTED
    service.advance(4)
    assert service.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == STARTED
    service.advance(1)
    assert service.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == COMPLETED


def test_maintenance_lasts_for_its_announced_duration(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"], duration_seconds=600)
    approve(service, maintenance)
    service.advance(599)
    assert service.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == STARTED
    service.advance(1)
    assert service.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == COMPLETED


@pytest.fixture
def operated(serve: Serve) -> RunningService:
    """Start a service whose work is done by a person (driver `operator`)."""
    return serve(driver="operator")


def test_manual_work_ends_when_the_operator_completes_it(
    operated: RunningService,
) -> None:
    maintenance = a_maintenance(operated, STARTED)
    operated.advance(10_000)
    assert operated.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == STARTED
    assert command(operated, maintenance, "complete").json["phase"] == COMPLETED


def test_operator_is_notified_once(operated: RunningService) -> None:
    a_maintenance(operated, STARTED)
    operated.advance(10_000)
    (began,) = operated.facts("WorkBegan")
    assert began["attempt"] == 1


def test_operator_is_notified_two_seconds_after_the_start(
    operated: RunningService,
) -> None:
    a_maintenance(operated, STARTED)
    operated.advance(1)
    assert operated.facts("WorkBegan") == []
    operated.advance(1)
    assert len(operated.facts("WorkBegan")) == 1
