"""Idempotency keys of fleet changes."""

from tests.server.support.service import RunningService


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
