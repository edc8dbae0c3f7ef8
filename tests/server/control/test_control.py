"""Control plane as a whole: authentication, error responses, API description."""

import re
import socket
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import RunningService, send_request

from forewarn import __version__

#: Every path of the API and its methods.
PATHS = {
    "/v1/vms": {"get"},
    "/v1/vms/{name}": {"get", "put", "delete"},
    "/v1/vms/{name}/restart": {"post"},
    "/v1/vms/{name}/redeploy": {"post"},
    "/v1/vms/{name}/reimage": {"post"},
    "/v1/vms/{name}/evict": {"post"},
    "/v1/vms/{name}/delete": {"post"},
    "/v1/vms/{name}/start": {"post"},
    "/v1/groups": {"get"},
    "/v1/groups/{name}": {"get", "put", "delete"},
    "/v1/vms/{name}/status": {"get"},
    "/v1/hosts": {"get"},
    "/v1/hosts/{name}": {"get", "put", "delete"},
    "/v1/hosts/{name}/status": {"get"},
    "/v1/hosts/{name}/maintain": {"post"},
    "/v1/hosts/{name}/degraded": {"post"},
    "/v1/hosts/{name}/failed": {"post"},
    "/v1/hosts/{name}/recovered": {"post"},
    "/v1/fleet": {"put"},
    "/v1/fleet/map": {"get"},
    "/v1/fleet/limited": {"get"},
    "/v1/maintenances": {"get", "post"},
    "/v1/maintenances/{id}": {"get"},
    "/v1/maintenances/{id}/explain": {"get"},
    "/v1/maintenances/{id}/story": {"get"},
    "/v1/maintenances/{id}/cancel": {"post"},
    "/v1/maintenances/{id}/complete": {"post"},
    "/v1/maintenances/{id}/retry": {"post"},
    "/v1/maintenances/{id}/close": {"post"},
    "/v1/events": {"get"},
    "/v1/events/{id}": {"get"},
    "/v1/events/{id}/approve": {"post"},
    "/v1/overview": {"get"},
    "/v1/journal": {"get"},
    "/v1/stream": {"get"},
    "/v1/report": {"get"},
    "/v1/clock": {"get"},
    "/v1/clock/advance": {"post"},
    "/v1/faults": {"get", "post", "delete"},
    "/v1/faults/{id}": {"delete"},
    "/v1/notifiers": {"get"},
    "/v1/tokens": {"get", "post"},
    "/v1/tokens/{name}": {"delete"},
    "/v1/fleet/checks": {"get"},
    "/v1/session": {"get", "post", "delete"},
    "/v1/portal/links": {"post"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}
GUARDED = [
    (method.upper(), path)
    for path, methods in PATHS.items()
    for method in sorted(methods)
    if path.startswith(("/v1/", "/metrics"))
]


# --- authentication ----------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_request_without_a_token_gets_401(
    shared: RunningService, method: str, path: str
) -> None:
    body = None if method == "GET" else b"{}"
    answer = send_request(method, shared.control + path, body)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "token" in answer.detail


@pytest.mark.parametrize(
    "path",
    [
        "//v1/vms",
        "/V1/vms",
        "/v1/../v1/vms",
        "/v1%2Fvms",
        "/%76%31/vms",
        "/v1/vms%0A",
        "/metrics%0A",
        "/METRICS",
        "//metrics/",
        "/%0Ametrics",
        "/subscriptions%0A",
    ],
)
def test_alternative_path_spellings_do_not_bypass_authentication(
    shared: RunningService, path: str
) -> None:
    assert send_request("GET", shared.control + path).status == 401


@pytest.mark.parametrize(
    "authorization",
    ["Bearer wrong", "Bearer", "Bearer ", "Basic t", "t", "Bearer tt", "Bearer \xff"],
)
def test_invalid_token_gets_401(shared: RunningService, authorization: str) -> None:
    url = f"{shared.control}/v1/vms"
    assert send_request("GET", url, Authorization=authorization).status == 401


def test_bearer_scheme_is_case_insensitive(shared: RunningService) -> None:
    url = f"{shared.control}/v1/vms"
    assert send_request("GET", url, Authorization="bearer t").status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_checks_need_no_token(shared: RunningService, path: str) -> None:
    assert send_request("GET", shared.control + path).status == 200


def test_body_is_not_parsed_without_a_token(shared: RunningService) -> None:
    url = f"{shared.control}/v1/maintenances"
    assert (
        send_request("POST", url, b"nonsense", Content_Type="application/json").status
        == 401
    )


def test_token_in_a_trailer_is_ignored(shared: RunningService) -> None:
    where = urlsplit(shared.control)
    request = (
        b"POST /v1/maintenances HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
        b"2\r\n{}\r\n0\r\nAuthorization: Bearer t\r\n\r\n"
    )
    with socket.create_connection(
        (where.hostname, where.port or 0), PATIENCE
    ) as client:
        client.sendall(request)
        assert client.recv(65536).startswith(b"HTTP/1.1 401 ")


# --- error responses ---------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1", "/v2/vms", "/v1/nothing", "/metadata"])
def test_unknown_path_is_named_in_the_404(shared: RunningService, path: str) -> None:
    answer = shared.request("GET", path)
    assert answer.status == 404
    assert path in answer.detail


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/vms/web-0", "DELETE, GET, PUT"),
        ("/v1/maintenances", "GET, POST"),
        ("/v1/fleet", "PUT"),
        ("/docs", "GET"),
    ],
)
def test_405_names_the_allowed_methods(
    shared: RunningService, path: str, allowed: str
) -> None:
    answer = shared.request("PATCH", path, {})
    assert (answer.status, answer.headers["Allow"]) == (405, allowed)
    assert "PATCH" in answer.detail
    assert allowed in answer.detail


@pytest.mark.parametrize(
    "path",
    [
        "/v1/vms/nobody",
        "/v1/groups/nobody",
        "/v1/hosts/nobody",
        "/v1/maintenances/nobody",
        "/v1/events/nobody",
    ],
)
def test_unknown_resource_is_named_in_the_404(
    shared: RunningService, path: str
) -> None:
    answer = shared.request("GET", path)
    assert answer.status == 404
    assert "nobody" in answer.detail


@pytest.mark.parametrize(
    "path",
    [
        *(f"maintenances/nobody/{name}" for name in ("cancel", "complete", "retry")),
        "maintenances/nobody/close",
        "events/nobody/approve",
    ],
)
def test_command_for_something_unknown_gets_404(
    shared: RunningService, path: str
) -> None:
    assert shared.request("POST", f"/v1/{path}").status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/maintenances"),
        ("POST", "/v1/clock/advance"),
        ("PUT", "/v1/fleet"),
        ("PUT", "/v1/vms/web-0"),
    ],
)
@pytest.mark.parametrize(
    "body", [b"{", b"nonsense", b"\xff", b"[" * 10_000, b"9" * 10_000]
)
def test_body_that_is_not_json_is_refused(
    shared: RunningService, method: str, path: str, body: bytes
) -> None:
    answer = shared.request(method, path, raw=body)
    assert answer.status in (400, 422)
    assert answer.detail


@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"1"])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/maintenances"), ("PUT", "/v1/fleet")]
)
def test_body_that_is_not_an_object_gets_422(
    shared: RunningService, method: str, path: str, body: bytes
) -> None:
    answer = shared.request(method, path, raw=body)
    assert answer.status == 422
    assert answer.detail


# --- API description and health ----------------------------------------------


@pytest.mark.parametrize("noun", ["vms", "hosts", "groups"])
def test_openapi_requires_a_body_where_the_service_does(
    service: RunningService, noun: str
) -> None:
    described = service.get("/openapi.json")["paths"][f"/v1/{noun}/{{name}}"]["put"]
    is_accepted = service.request("PUT", f"/v1/{noun}/new").status == 200
    assert described["requestBody"]["required"] is not is_accepted


def test_openapi_description_lists_every_path(shared: RunningService) -> None:
    listed = shared.get("/openapi.json")["paths"]
    assert {path: set(methods) for path, methods in listed.items()} == PATHS


def test_api_reference_page_lists_every_path(shared: RunningService) -> None:
    page = shared.request("GET", "/docs")
    assert page.headers.get_content_type() == "text/html"
    assert all(path in page.body.decode() for path in PATHS)


def test_api_reference_page_loads_nothing_external(
    shared: RunningService,
) -> None:
    page = shared.request("GET", "/docs").body.decode()
    assert re.findall(r"""(?:https?:)?//[^\s"'<>]+""", page) == []
    assert re.findall(r"@import|<script|<iframe|url\(", page) == []


def test_healthy_service_is_alive_and_ready(shared: RunningService) -> None:
    assert shared.get("/healthz") == {"status": "ok"}
    assert shared.get("/readyz") == {"status": "ready", "version": __version__}
