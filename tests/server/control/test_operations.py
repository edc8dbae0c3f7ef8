"""Host operations over the control API."""

import pytest
from tests.server.support.service import RunningService


@pytest.mark.parametrize("what", ["maintain", "degraded", "failed", "recovered"])
def test_operation_on_a_host_without_vms_announces_nothing(
    service: RunningService, what: str
) -> None:
    assert service.request("PUT", "/v1/hosts/host-c", {}).status == 200
    answer = service.request("POST", f"/v1/hosts/host-c/{what}")
    assert (answer.status, answer.json) == (200, {"maintenances": []})
