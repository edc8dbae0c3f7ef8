"""Asynchronous ARM operations: status and location URLs, `Retry-After`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.core.support.builders import a_maintenance
from tests.server.conftest import Serve
from tests.server.support.arm_client import (
    SETS,
    SUBSCRIPTION,
    VERSION,
    VMS,
    a_fleet,
    arm,
    error_of,
    event_of,
)
from tests.server.support.service import ReceivedResponse, RunningService, a_service

from forewarn.clocks import FastClock, ManualClock, SystemClock
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.ports import Clock
from forewarn.server.arm.async_operations import next_poll_at, seconds_to_wait

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def begun(
    service: RunningService, path: str = f"{VMS}/web-0/restart"
) -> ReceivedResponse:
    answer = arm(service, "POST", path)
    assert answer.status == 202, answer.body
    return answer


def followed(
    service: RunningService, begun: ReceivedResponse, header: str
) -> ReceivedResponse:
    """Send a GET to the URL in `header` of an earlier response."""
    address = begun.headers[header]
    assert address.startswith(f"{service.control}/subscriptions/{SUBSCRIPTION}/")
    return service.request("GET", address.removeprefix(service.control))


def status_of(service: RunningService, begun: ReceivedResponse) -> Any:
    answer = followed(service, begun, "Azure-AsyncOperation")
    assert answer.status == 200, answer.body
    return answer.json


def last_guid(service: RunningService) -> str:
    return str(service.get("/v1/maintenances")["items"][-1]["guid"])


def test_operation_has_the_guid_of_its_maintenance(service: RunningService) -> None:
    answer = begun(service)
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute"
    own = f"{path}/locations/westeurope/operations/{last_guid(service)}"
    version = "api-version=2024-07-01"
    assert answer.headers["Azure-AsyncOperation"] == f"{service.control}{own}?{version}"
    assert answer.headers["Location"] == (
        f"{service.control}{own}?monitor=true&{version}"
    )
    assert status_of(service, answer)["id"] == own


def test_operation_urls_use_the_requested_host(service: RunningService) -> None:
    answer = arm(service, "POST", f"{VMS}/web-0/restart", Host="localhost:8443")
    assert answer.headers["Location"].startswith("http://localhost:8443/subscriptions")


def test_operation_is_in_progress_until_the_event_is_over(
    service: RunningService,
) -> None:
    answer = begun(service)
    scheduled = status_of(service, answer)
    assert (scheduled["name"], scheduled["status"]) == (
        last_guid(service),
        "InProgress",
    )
    assert scheduled.keys() == {"id", "name", "startTime", "status"}
    service.advance(15 * 60)
    assert service.document("web-0")["Events"][0]["EventStatus"] == "Started"
    assert status_of(service, answer)["status"] == "InProgress"
    service.advance(5)
    assert service.document("web-0")["Events"] == []
    over = status_of(service, answer)
    assert over["status"] == "Succeeded"
    took = datetime.fromisoformat(over["endTime"]) - datetime.fromisoformat(
        over["startTime"]
    )
    assert took == timedelta(minutes=15, seconds=5)
    assert "error" not in over


def test_location_returns_202_until_the_event_is_over(
    service: RunningService,
) -> None:
    answer = begun(service)
    waiting = followed(service, answer, "Location")
    assert (waiting.status, waiting.body) == (202, b"")
    assert waiting.headers["Location"] == answer.headers["Location"]
    assert waiting.headers["Retry-After"] == "1"
    service.advance(16 * 60)
    over = followed(service, answer, "Location")
    assert (over.status, over.body) == (200, b"")
    assert "Retry-After" not in over.headers


def test_canceled_maintenance_is_a_canceled_operation(service: RunningService) -> None:
    answer = begun(service)
    cancel = f"/v1/maintenances/{last_guid(service)}/cancel"
    assert service.request("POST", cancel, {"reason": "not today"}).status == 200
    over = status_of(service, answer)
    assert over["status"] == "Canceled"
    assert over["error"] == {
        "code": "OperationCanceled",
        "message": "the Reboot of web-0 was canceled before it started: not today",
    }
    monitored = followed(service, answer, "Location")
    assert error_of(monitored) == (409, "OperationCanceled")


def test_closed_maintenance_is_a_failed_operation(serve: Serve, tmp_path: Path) -> None:
    service = serve(
        fleet=a_fleet(tmp_path),
        driver="script",
        driver_command="false",
        lead=0,
    )
    answer = begun(service)
    service.advance(16 * 60)
    assert status_of(service, answer)["status"] == "InProgress"
    assert (
        service.request("POST", f"/v1/maintenances/{last_guid(service)}/close").status
        == 200
    )
    over = status_of(service, answer)
    assert (over["status"], over["error"]["code"]) == ("Failed", "OperationFailed")


def test_deletion_can_be_polled_after_the_vm_is_gone(
    service: RunningService,
) -> None:
    answer = arm(service, "DELETE", f"{SETS}/pool/virtualMachines/0")
    assert status_of(service, answer)["status"] == "InProgress"
    service.advance(360)
    assert arm(service, "GET", f"{VMS}/pool_0").status == 404
    assert status_of(service, answer)["status"] == "Succeeded"


def test_operation_on_several_vms_ends_with_the_last_one(
    service: RunningService,
) -> None:
    answer = begun(service, f"{SETS}/pool/restart")
    events = service.document("pool_0")["Events"]
    assert service.approve_as("pool_0", events[0]["EventId"]).status == 200
    service.advance(10)
    assert len(service.document("pool_0")["Events"]) == 1
    assert status_of(service, answer)["status"] == "InProgress"
    assert "endTime" not in status_of(service, answer)
    service.advance(16 * 60)
    assert status_of(service, answer)["status"] == "Succeeded"


def test_operation_on_several_vms_is_canceled_if_one_is_canceled(
    service: RunningService,
) -> None:
    answer = begun(service, f"{SETS}/pool/restart")
    assert (
        service.request("POST", f"/v1/maintenances/{last_guid(service)}/cancel").status
        == 200
    )
    assert status_of(service, answer)["status"] == "InProgress"
    service.advance(16 * 60)
    assert status_of(service, answer)["status"] == "Canceled"


@pytest.mark.parametrize("operation", ["none", "no%00ne", "{}.none", "{}.", "{}{}"])
def test_unknown_operation_gets_404(service: RunningService, operation: str) -> None:
    begun(service)
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/l"
    operation_id = operation.replace("{}", last_guid(service))
    unknown = arm(service, "GET", f"{path}/operations/{operation_id}")
    assert error_of(unknown) == (404, "NotFound")


def test_event_id_is_not_accepted_as_operation_id(service: RunningService) -> None:
    begun(service)
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/l"
    event = event_of(service, "web-0")
    assert arm(service, "GET", f"{path}/operations/{event}").status == 404


def test_operation_can_be_polled_after_a_service_restart(tmp_path: Path) -> None:
    options = {"fleet": a_fleet(tmp_path), "store": f"sqlite:///{tmp_path / 'store'}"}
    with a_service(tmp_path, **options) as service:
        path = begun(service).headers["Location"].removeprefix(service.control)
    with a_service(tmp_path, **options) as again:
        assert again.request("GET", path).status == 202
        again.advance(16 * 60)
        assert again.request("GET", path).status == 200


def test_operation_paths_are_case_insensitive(service: RunningService) -> None:
    begun(service)
    path = (
        f"/SUBSCRIPTIONS/{SUBSCRIPTION}/PROVIDERS/MICROSOFT.COMPUTE/LOCATIONS/L"
        f"/OPERATIONS/{last_guid(service).lower()}"
    )
    assert arm(service, "GET", path).json["status"] == "InProgress"
    assert arm(service, "GET", f"{path}?MONITOR=TRUE&{VERSION}").status == 202


# --- Retry-After -------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "seconds", "wait"),
    [
        (SystemClock(), 900, 15),
        (SystemClock(), 15, 15),
        (SystemClock(), 4.2, 5),
        (SystemClock(), 0.1, 1),
        (SystemClock(), -3, 1),
        (SystemClock(), None, 15),
        (ManualClock(NOON), 900, 1),
        (ManualClock(NOON), None, 1),
        (FastClock(60, NOON), 900, 1),
    ],
)
def test_retry_after_depends_on_clock_and_time_left(
    clock: Clock, seconds: float | None, wait: int
) -> None:
    until = None if seconds is None else NOON + timedelta(seconds=seconds)
    assert seconds_to_wait(clock, until, NOON) == wait


@pytest.mark.parametrize(
    ("seconds", "made", "wait"),
    [
        (0, a_maintenance(), 15 * 60),
        (15 * 60, a_maintenance(), None),  # blocked
        (1, a_maintenance(phase=Phase.STARTED), 4),
        (1, a_maintenance(phase=Phase.STARTED, done=("vm0",)), 4),
        (60, a_maintenance(phase=Phase.STARTED), 5),  # the driver is still working
        (1, a_maintenance(phase=Phase.STARTED, cause=Cause.HOST_FAILURE), None),
        (1, a_maintenance(phase=Phase.COMPLETED), None),
    ],
)
def test_next_poll_is_due_when_the_state_may_have_changed(
    seconds: int, made: Maintenance, wait: int | None
) -> None:
    now = made.announced_at + timedelta(seconds=seconds)
    at = next_poll_at(made, now, Rules())
    assert at == (None if wait is None else now + timedelta(seconds=wait))


def test_system_clock_has_a_longer_wait(serve: Serve, tmp_path: Path) -> None:
    service = serve(fleet=a_fleet(tmp_path), clock="system")
    answer = begun(service)
    assert answer.headers["Retry-After"] == "15"
    waiting = followed(service, answer, "Azure-AsyncOperation")
    assert waiting.headers["Retry-After"] == "15"
