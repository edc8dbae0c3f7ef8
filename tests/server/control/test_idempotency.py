"""Idempotency keys on changes of the fleet."""

from tests.server.support.service import RunningService


def test_a_repeated_change_of_the_fleet_is_answered_as_before(
    service: RunningService,
) -> None:
    first = service.ask("PUT", "/v1/hosts/host-z", {}, Idempotency_Key="put")
    again = service.ask("PUT", "/v1/hosts/host-z", {}, Idempotency_Key="put")
    assert (again.status, again.body) == (first.status, first.body)
    gone = [
        service.ask("DELETE", "/v1/hosts/host-z", Idempotency_Key="gone").status
        for _ in range(2)
    ]
    assert gone == [204, 204]


def test_a_key_used_for_another_change_of_the_fleet_is_refused(
    service: RunningService,
) -> None:
    service.ask("PUT", "/v1/vms/lone", {}, Idempotency_Key="key")
    other = service.ask("PUT", "/v1/vms/lone", {"zone": "1"}, Idempotency_Key="key")
    assert other.status == 422
    assert service.get("/v1/vms/lone")["zone"] is None
