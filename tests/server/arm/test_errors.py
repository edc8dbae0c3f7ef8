"""ARM error format of every failure below /subscriptions."""

import json
import re
from datetime import UTC, datetime

import pytest
from starlette.responses import Response
from tests.server.support.arm_client import COMPUTE, SETS, VERSION, VMS, arm, error_of
from tests.server.support.service import RunningService, send_request

from forewarn.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Throttled,
    TooSoon,
    Unavailable,
)
from forewarn.server.arm.app import failed
from forewarn.server.arm.request import ArmError

PATHS = [
    f"{VMS}/web-0",
    f"{VMS}/web-0".upper(),
    "/" + f"{VMS}/web-0",
    f"///Subscriptions/{VMS}",
    "/subscriptions",
    "/subscriptions/",
    "/%73ubscriptions/s",
    "/subscriptions/s/unknown?api-version=1",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic dDp0"])
def test_request_without_a_valid_token_gets_401(
    arm_service: RunningService, path: str, token: str | None
) -> None:
    headers = {} if token is None else {"Authorization": token}
    answer = send_request("GET", arm_service.control + path, None, **headers)
    assert error_of(answer) == (401, "AuthenticationFailed")
    error = ' error="invalid_token"' if token == "Bearer wrong" else ""
    assert answer.headers["WWW-Authenticate"] == f"Bearer{error}"


@pytest.mark.parametrize("query", ["x=1", "api-version=", "api-version=%20"])
def test_request_without_api_version_gets_400(
    arm_service: RunningService, query: str
) -> None:
    answer = arm(arm_service, "GET", f"{VMS}/web-0?{query}")
    assert error_of(answer) == (400, "MissingApiVersionParameter")


@pytest.mark.parametrize("query", ["api-version=2030-01-01", "API-Version=anything"])
def test_any_api_version_is_accepted(arm_service: RunningService, query: str) -> None:
    assert arm(arm_service, "GET", f"{VMS}/web-0?{query}").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/subscriptions",
        "/subscriptions/s",
        "/subscriptions/s/resourceGroups/g",
        f"{COMPUTE}/disks/d",
        COMPUTE.replace("Compute", "Storage") + "/storageAccounts/a",
    ],
)
def test_unknown_resource_type_gets_404(arm_service: RunningService, path: str) -> None:
    assert error_of(arm(arm_service, "GET", path)) == (404, "InvalidResourceType")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", f"{VMS}/web-0", "GET, DELETE"),
        ("PATCH", f"{VMS}/web-0", "GET, DELETE"),
        ("POST", VMS, "GET"),
        ("GET", f"{VMS}/web-0/restart", "POST"),
        ("DELETE", f"{SETS}/pool", "GET"),
    ],
)
def test_other_methods_get_405(
    arm_service: RunningService, method: str, path: str, allowed: str
) -> None:
    answer = arm(arm_service, method, path)
    assert error_of(answer) == (405, "MethodNotAllowed")
    assert answer.headers["Allow"] == allowed


def test_every_response_has_a_unique_request_id(arm_service: RunningService) -> None:
    ids = {
        arm(arm_service, "GET", path).headers["x-ms-request-id"]
        for path in (f"{VMS}/web-0", f"{VMS}/web-0", f"{VMS}/nobody", "/subscriptions")
    }
    assert len(ids) == 4
    assert all(
        re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", i) for i in ids
    )


@pytest.mark.parametrize("path", [f"{VMS}/web-0", f"{VMS}/nobody"])
def test_client_request_id_is_returned_on_request(
    arm_service: RunningService, path: str
) -> None:
    return_id = {"x_ms_return_client_request_id": "True"}
    for more in ({}, return_id):
        answer = arm(
            arm_service,
            "GET",
            path,
            None,
            raw=None,
            x_ms_client_request_id="mine",
            **more,
        )
        returned = answer.headers["x-ms-client-request-id"]
        assert returned == ("mine" if more else None)


def test_errors_elsewhere_are_problem_documents(arm_service: RunningService) -> None:
    answer = arm_service.request("GET", "/v1/subscriptions")
    assert answer.detail


@pytest.mark.parametrize("token", ["%00", "%C3%B6", "a" * 81])
def test_invalid_skip_token_gets_400(arm_service: RunningService, token: str) -> None:
    answer = arm(arm_service, "GET", f"{VMS}?{VERSION}&$skiptoken={token}")
    assert error_of(answer) == (400, "InvalidParameter")


def test_unknown_host_name_gets_421_in_arm_format(
    arm_service: RunningService,
) -> None:
    answer = arm(arm_service, "GET", f"{VMS}/web-0", Host="evil.example")
    assert error_of(answer) == (421, "MisdirectedRequest")


def test_responses_must_not_be_cached(arm_service: RunningService) -> None:
    for path in (f"{VMS}/web-0", f"{VMS}/web-0".upper(), f"/{VMS}/web-0"):
        assert arm(arm_service, "GET", path).headers["Cache-Control"] == "no-store"


# --- exceptions as responses -------------------------------------------------


def status_and_code(response: Response) -> tuple[int, str]:
    assert isinstance(response.body, bytes)
    return response.status_code, json.loads(response.body)["error"]["code"]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (InvalidInput("x"), (400, "BadRequest")),
        (TooSoon("x", datetime(2026, 1, 1, tzinfo=UTC)), (400, "BadRequest")),
        (Forbidden("x"), (403, "AuthorizationFailed")),
        (NotFound("x"), (404, "ResourceNotFound")),
        (Conflict("x"), (409, "OperationNotAllowed")),
        (Throttled("x"), (429, "TooManyRequests")),
        (Unavailable("x"), (503, "ServiceUnavailable")),
        (ArmError(404, "x", "Y"), (404, "Y")),
        (ValueError("x"), (500, "InternalServerError")),
    ],
    ids=str,
)
def test_every_error_has_a_status_and_a_code(
    error: Exception, answer: tuple[int, str]
) -> None:
    assert status_and_code(failed(error)) == answer


def test_internal_errors_are_not_exposed() -> None:
    assert b"secret" not in bytes(failed(ValueError("secret")).body)


def test_response_to_try_again_later_has_retry_after() -> None:
    assert failed(Throttled("x", retry_after=7)).headers["Retry-After"] == "7"
    assert failed(Unavailable("x")).headers["Retry-After"] == "5"
