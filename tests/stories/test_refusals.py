"""Refused requests, which change nothing."""

from collections.abc import Iterator

import pytest
from tests.stories.support.harness import NOON, ServiceHarness, rfc3339

VM_ROUTES = ("restart", "redeploy", "reimage", "evict", "delete")
HOST_ROUTES = ("maintain", "degraded", "failed", "recovered")


@pytest.fixture
def unchanged(shared: ServiceHarness) -> Iterator[ServiceHarness]:
    """Check that the test changes nothing in the service; refusals are recorded."""
    before = facts_of(shared)
    yield shared
    assert facts_of(shared) == before


def facts_of(harness: ServiceHarness) -> list[object]:
    return [fact for fact in harness.service.facts() if fact["fact"] != "AccessRefused"]


@pytest.mark.parametrize(
    "path",
    [f"vms/nobody/{what}" for what in (*VM_ROUTES, "start")]
    + [f"hosts/nobody/{what}" for what in HOST_ROUTES],
)
def test_an_operation_on_an_unknown_vm_or_host_gets_404(
    unchanged: ServiceHarness, path: str
) -> None:
    response = unchanged.post(path)
    assert response.status == 404
    assert "nobody" in response.detail


def test_a_regular_vm_cannot_be_evicted(unchanged: ServiceHarness) -> None:
    response = unchanged.post("vms/web-0/evict")
    assert response.status == 409
    assert "web-0 is not a spot VM" in response.detail


WRONG_BODIES = (
    ("hosts/host-a/maintain", {"type": "Preempt"}),
    ("hosts/host-a/maintain", {"type": "Terminate"}),
    ("hosts/host-a/maintain", {"type": "Nap"}),
    ("hosts/host-a/maintain", {"type": 1}),
    ("hosts/host-a/maintain", {"notice_seconds": 899}),
    ("hosts/host-a/maintain", {"type": "redeploy", "notice_seconds": 599}),
    ("hosts/host-a/maintain", {"emergency": True}),
    ("hosts/host-a/maintain", {"emergency": "yes"}),
    ("hosts/host-a/maintain", {"source": "User"}),
    ("hosts/host-a/degraded", {"fails_by": "tomorrow"}),
    ("hosts/host-a/degraded", {"fails_by": "2030-01-01T00:00:00"}),
    ("hosts/host-a/degraded", {"fails_by": 7}),
    ("hosts/host-a/degraded", {"notice_seconds": 900}),
    ("hosts/host-a/failed", {"duration_seconds": "long"}),
    ("hosts/host-a/failed", {"duration_seconds": -2}),
    ("hosts/host-a/failed", {"notice_seconds": 60}),
    ("hosts/host-a/recovered", {"duration_seconds": 1}),
    ("hosts/host-a/recovered", {"reason": 1}),
    ("vms/web-0/restart", {"notice_seconds": 899}),
    ("vms/web-0/restart", {"notice_seconds": -1}),
    ("vms/web-0/restart", {"notice_seconds": 900.5}),
    ("vms/web-0/restart", {"not_before": rfc3339(NOON)}),
    (
        "vms/web-0/restart",
        {"notice_seconds": 1000, "not_before": f"{NOON.year + 1}-01-01T00:00:00Z"},
    ),
    ("vms/web-0/restart", {"type": "Freeze"}),
    ("vms/web-0/restart", {"source": "Platform"}),
    ("vms/web-0/redeploy", {"notice_seconds": 599}),
    ("vms/web-0/reimage", {"source": "Nobody"}),
    ("vms/web-0/reimage", {"notice_seconds": 899}),
    ("vms/pool_1/evict", {"notice_seconds": 29}),
    ("vms/batch_0/delete", {"notice_seconds": 599}),
)


@pytest.mark.parametrize(("path", "body"), WRONG_BODIES)
def test_an_invalid_body_gets_422(
    unchanged: ServiceHarness, path: str, body: dict[str, object]
) -> None:
    response = unchanged.post(path, body)
    assert (response.status, bool(response.detail)) == (422, True)


PATHS = (
    *(f"vms/pool_1/{what}" for what in VM_ROUTES),
    *(f"hosts/host-a/{what}" for what in HOST_ROUTES),
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("raw", "status", "word"),
    [(b'{"colour":"red"}', 422, "colour"), (b"[]", 422, ""), (b"{no", 400, "")],
)
def test_a_body_that_is_not_an_object_with_known_keys_is_refused(
    unchanged: ServiceHarness, path: str, raw: bytes, status: int, word: str
) -> None:
    response = unchanged.post(path, raw=raw)
    assert (response.status, bool(response.detail)) == (status, True)
    assert word in response.detail
