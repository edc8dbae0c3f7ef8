"""Idempotency keys over the control API."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.server.support.service import ReceivedResponse, RunningService

from forewarn.engine.idempotency import Receipts

REBOOT = {"type": "Reboot", "vms": ["web-0"]}


def test_request_with_a_key_is_carried_out_once(service: RunningService) -> None:
    first, second = (
        service.request("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
        for _ in range(2)
    )
    assert (second.status, second.json) == (first.status, first.json)
    assert second.headers.get_content_type() == "application/json"
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_concurrent_requests_with_one_key_are_carried_out_once(
    service: RunningService,
) -> None:
    def announce(_: int) -> ReceivedResponse:
        return service.request("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(announce, range(8))]
    assert {answer.status for answer in answers} == {201}
    assert all(answer.json == answers[0].json for answer in answers)
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_key_with_another_body_gets_422(service: RunningService) -> None:
    service.request("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
    other = {**REBOOT, "vms": ["web-1"]}
    answer = service.request("POST", "/v1/maintenances", other, Idempotency_Key="k")
    assert answer.status == 422
    assert "Idempotency-Key" in answer.detail
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_key_with_another_path_gets_422(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    path = f"/v1/maintenances/{maintenance['id']}"
    assert service.request("POST", f"{path}/cancel", Idempotency_Key="k").status == 200
    assert (
        service.request("POST", f"{path}/complete", Idempotency_Key="k").status == 422
    )


def test_key_of_a_refused_request_can_be_reused(
    service: RunningService,
) -> None:
    path = "/v1/vms/new"
    body = {"type": "Reboot", "vms": ["new"]}
    refused = service.request("POST", "/v1/maintenances", body, Idempotency_Key="k")
    service.request("PUT", path, {})
    accepted = service.request("POST", "/v1/maintenances", body, Idempotency_Key="k")
    assert (refused.status, accepted.status) == (404, 201)


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_invalid_key_gets_422(shared: RunningService, key: str) -> None:
    answer = shared.request("POST", "/v1/maintenances", REBOOT, Idempotency_Key=key)
    assert answer.status == 422


def test_repeated_approval_by_name_gets_the_same_response(
    service: RunningService,
) -> None:
    service.announce(vms=["web-0"])
    path = "/v1/events/web-0/approve"
    first = service.request("POST", path, Idempotency_Key="k")
    service.announce(vms=["web-0"])  # the name is now ambiguous
    again = service.request("POST", path, Idempotency_Key="k")
    assert (first.status, again.status, again.body) == (200, 200, first.body)


def test_repeated_fleet_change_gets_the_same_response(
    service: RunningService,
) -> None:
    first = service.request("PUT", "/v1/hosts/host-z", {}, Idempotency_Key="put")
    again = service.request("PUT", "/v1/hosts/host-z", {}, Idempotency_Key="put")
    assert (again.status, again.body) == (first.status, first.body)
    statuses = [
        service.request("DELETE", "/v1/hosts/host-z", Idempotency_Key="gone").status
        for _ in range(2)
    ]
    assert statuses == [204, 204]


def test_key_reused_for_another_fleet_change_gets_422(
    service: RunningService,
) -> None:
    service.request("PUT", "/v1/vms/lone", {}, Idempotency_Key="key")
    other = service.request("PUT", "/v1/vms/lone", {"zone": "1"}, Idempotency_Key="key")
    assert other.status == 422
    assert service.get("/v1/vms/lone")["zone"] is None


def test_refused_key_gets_429_with_the_time_to_wait(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = timedelta(hours=2, minutes=3)
    monkeypatch.setattr(Receipts, "wait", lambda *_: wait)
    answer = service.request("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
    assert answer.status == 429
    assert "try again in 2 h 3 min" in answer.detail
    assert answer.headers["Retry-After"] == str(int(wait.total_seconds()))
