"""The limit on user operations that are scheduled at the same time."""

import pytest
from tests.stories.conftest import Make
from tests.stories.harness import ServiceHarness
from tests.stories.rows import SCHEDULED, STARTED

TEN = [
    *("web-0", "web-1", "web-2", "web-10", "db-0", "db-1", "db-2"),
    *("FrontEnd_IN_0", "FrontEnd_IN_1", "gpu_0"),
]


@pytest.fixture
def full(make: Make) -> ServiceHarness:
    """Start a service whose limit of ten scheduled user operations is reached."""
    harness = make(user_operations_limit=10)
    for vm in TEN:
        assert harness.create(f"vms/{vm}/restart")["phase"] == SCHEDULED
    return harness


def test_the_eleventh_operation_is_refused_with_the_limit(full: ServiceHarness) -> None:
    for path in ("vms/gpu_1/restart", "vms/gpu_1/redeploy", "vms/gpu_1/reimage"):
        answer = full.post(path)
        assert answer.status == 409
        assert "10" in answer.detail
    body = {"type": "Reboot", "vms": ["gpu_1"], "source": "user"}
    assert full.post("maintenances", body).status == 409
    assert len(full.service.facts("Announced")) == 10


def test_the_operator_is_not_limited(full: ServiceHarness) -> None:
    assert full.create("hosts/host-a/maintain")["phase"] == SCHEDULED
    assert full.create("vms/pool_1/evict")["phase"] == SCHEDULED


def test_operations_that_start_immediately_are_not_counted(
    full: ServiceHarness,
) -> None:
    for path in ("vms/swift-0/restart", "vms/quiet-0/redeploy", "vms/pool_0/delete"):
        assert full.create(path)["phase"] == STARTED


def test_a_started_operation_makes_room_for_another(full: ServiceHarness) -> None:
    (event,) = [e["EventId"] for e in full.events("gpu_0")]
    assert full.service.approve_as("gpu_0", event).status == 200
    assert full.create("vms/gpu_1/restart")["phase"] == SCHEDULED
    assert full.post("vms/gpu_1/redeploy").status == 409


def test_a_canceled_operation_makes_room_for_another(full: ServiceHarness) -> None:
    first = full.service.get("/v1/maintenances?limit=1")["items"][0]
    full.send_command(first, "cancel")
    assert full.create("vms/gpu_1/restart")["phase"] == SCHEDULED


def test_an_announcement_for_several_vms_is_all_or_nothing(make: Make) -> None:
    harness = make(user_operations_limit=2)
    body = {"type": "Reboot", "vms": ["web-0", "web-1", "db-0"], "source": "user"}
    assert harness.post("maintenances", body).status == 409
    assert harness.service.get("/v1/maintenances")["items"] == []
    body = {"type": "Reboot", "vms": ["web-0", "web-1"], "source": "user"}
    assert harness.post("maintenances", body).status == 201
