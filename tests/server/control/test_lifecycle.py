"""Commands for maintenance, events and hosts over the control API."""

from typing import Any

import pytest
from tests.server.support.service import ReceivedResponse, RunningService


def command(
    service: RunningService, made: Any, name: str, **body: object
) -> ReceivedResponse:
    return service.request(
        "POST", f"/v1/maintenances/{made['id']}/{name}", body or None
    )


def approve(service: RunningService, made: Any) -> ReceivedResponse:
    return service.request("POST", f"/v1/events/{made['events'][0]['id']}/approve")


@pytest.mark.parametrize(
    ("name", "status"),
    [("cancel", 409), ("complete", 200), ("retry", 409), ("close", 409)],
)
def test_command_is_carried_out_or_refused(
    service: RunningService, name: str, status: int
) -> None:
    maintenance = service.announce(vms=["web-0"], duration_seconds=600)
    approve(service, maintenance)
    answer = command(service, maintenance, name)
    assert answer.status == status
    if status == 409:
        assert maintenance["id"] in answer.detail
    else:
        assert answer.json["phase"] == "STARTED"
        service.advance(5)
        path = f"/v1/maintenances/{maintenance['id']}"
        assert service.get(path)["phase"] == "COMPLETED"


def test_approval_returns_the_event(service: RunningService) -> None:
    answer = approve(service, service.announce(host="host-a"))
    now = service.get("/v1/clock")["now"]
    event = answer.json
    assert (event["approved_by"], event["approved_via"]) == ("admin", "control")
    assert (event["approved_at"], event["status"]) == (now, "Scheduled")


def test_finished_event_has_no_status(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    command(service, maintenance, "cancel")
    assert service.get(f"/v1/events/{maintenance['events'][0]['id']}")["status"] is None


def test_seen_by_lists_the_vms_that_read_the_event(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    service.document("web-1")
    service.document("db-0")
    event = service.get(f"/v1/events/{maintenance['events'][0]['id']}")
    assert event["seen_by"] == ["web-1"]


def test_cancellation_keeps_its_reason(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = command(service, maintenance, "cancel", reason="rain")
    assert answer.json["phase"] == "CANCELED"
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


@pytest.mark.parametrize("what", ["maintain", "degraded", "failed", "recovered"])
def test_operation_on_a_host_without_vms_announces_nothing(
    service: RunningService, what: str
) -> None:
    assert service.request("PUT", "/v1/hosts/host-c", {}).status == 200
    answer = service.request("POST", f"/v1/hosts/host-c/{what}")
    assert (answer.status, answer.json) == (200, {"maintenances": []})
