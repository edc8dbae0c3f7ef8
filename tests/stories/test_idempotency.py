"""Idempotency keys: a repeated request takes effect once."""

import pytest
from tests.stories.support.harness import ServiceHarness

ROUTES = (
    "vms/web-0/restart",
    "vms/swift-0/restart",
    "vms/web-0/redeploy",
    "vms/web-0/reimage",
    "vms/pool_1/evict",
    "vms/batch_0/delete",
    "vms/pool_0/delete",
    "hosts/host-a/maintain",
    "hosts/host-a/degraded",
    "hosts/host-a/failed",
)
BODY = {"reason": "once"}


@pytest.mark.parametrize("path", ROUTES)
def test_a_repeated_request_takes_effect_once(
    harness: ServiceHarness, path: str
) -> None:
    first = harness.post(path, BODY, Idempotency_Key="key")
    assert first.status == 201
    other = harness.post(path, {"reason": "twice"}, Idempotency_Key="key")
    assert (other.status, bool(other.detail)) == (422, True)
    elsewhere = harness.post("vms/db-0/restart", BODY, Idempotency_Key="key")
    assert elsewhere.status == 422
    harness.wait(minutes=30)
    again = harness.post(path, BODY, Idempotency_Key="key")
    assert (again.status, again.body) == (first.status, first.body)
    count = len(first.json["maintenances"])
    assert len(harness.service.get("/v1/maintenances")["items"]) == count
    assert len(harness.service.facts("Announced")) == count


def test_a_repeated_recovery_ends_nothing_else(harness: ServiceHarness) -> None:
    harness.post("hosts/host-a/degraded")
    first = harness.post("hosts/host-a/recovered", BODY, Idempotency_Key="key")
    assert first.status == 200
    worn = harness.post("hosts/host-a/degraded").json["maintenances"]
    again = harness.post("hosts/host-a/recovered", BODY, Idempotency_Key="key")
    assert (again.status, again.body) == (first.status, first.body)
    other = harness.post("hosts/host-a/recovered", Idempotency_Key="key")
    assert other.status == 422
    assert {harness.phase(maintenance) for maintenance in worn} == {"SCHEDULED"}


def test_a_repeated_report_of_a_degraded_host_gets_the_same_response(
    harness: ServiceHarness,
) -> None:
    worn = harness.post("hosts/host-a/degraded").json["maintenances"]
    first = harness.post("hosts/host-a/degraded", BODY, Idempotency_Key="key")
    assert first.status == 200
    for maintenance in worn:
        harness.send_command(maintenance, "cancel")
    again = harness.post("hosts/host-a/degraded", BODY, Idempotency_Key="key")
    assert (again.status, again.body) == (first.status, first.body)
