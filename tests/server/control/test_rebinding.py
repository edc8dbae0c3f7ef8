"""Host and Origin checks of the control plane against DNS rebinding and CSRF."""

import http.client
from urllib.parse import urlsplit

import pytest
from starlette.types import Scope
from tests.server.conftest import Serve
from tests.server.support.service import RunningService, send_request

from forewarn.server.control.http.origin import AllowedHosts, known_as, origin_refusal

LOOPBACK = AllowedHosts(bound="127.0.0.1", machine=frozenset({"box"}))
EVERYWHERE = AllowedHosts(
    bound="0.0.0.0", given=frozenset({"api.example"}), machine=frozenset({"box"})
)
BEHIND_A_PROXY = AllowedHosts(bound="::1", given=frozenset({"api.example"}))
ANY = AllowedHosts(bound="0.0.0.0", given=frozenset({"*"}))


def a_call(
    *hosts: str, method: str = "GET", scheme: str = "http", **headers: str
) -> Scope:
    fields = [*(("host", host) for host in hosts), *headers.items()]
    return {
        "method": method,
        "scheme": scheme,
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in fields
        ],
    }


def status(call: Scope, names: AllowedHosts) -> int | None:
    refused = origin_refusal(call, names)
    return None if refused is None else refused[0]


# --- Host --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "host"),
    [
        (LOOPBACK, "localhost"),
        (LOOPBACK, "localhost:8255"),
        (LOOPBACK, "LocalHost.:1"),
        (LOOPBACK, "127.0.0.1:8255"),
        (LOOPBACK, "[::1]:8255"),
        (LOOPBACK, "[::ffff:127.0.0.1]"),
        (EVERYWHERE, "localhost"),
        (EVERYWHERE, "192.0.2.1:8255"),
        (EVERYWHERE, "[2001:db8::1]"),
        (EVERYWHERE, "box"),
        (EVERYWHERE, "API.example:443"),
        (BEHIND_A_PROXY, "api.example"),
        (ANY, "anything.example"),
    ],
)
def test_known_host_is_accepted(names: AllowedHosts, host: str) -> None:
    assert status(a_call(host), names) is None


@pytest.mark.parametrize(
    ("names", "host"),
    [
        (LOOPBACK, "evil.example"),
        (LOOPBACK, "box"),
        (LOOPBACK, "192.0.2.1"),
        (LOOPBACK, "0.0.0.0"),
        (LOOPBACK, "2130706433"),
        (LOOPBACK, "127.0.0.1.evil.example"),
        (LOOPBACK, "localhost.evil.example"),
        (LOOPBACK, "evil.example@localhost"),
        (LOOPBACK, "localhost/evil.example"),
        (LOOPBACK, "localhost:port"),
        (LOOPBACK, "localhost localhost"),
        (LOOPBACK, "::1"),
        (LOOPBACK, "[::1"),
        (LOOPBACK, "[::1].evil.example"),
        (LOOPBACK, "[::1]evil.example:8255"),
        (LOOPBACK, "[::1%25evil]"),
        (EVERYWHERE, "[fe80::1%25evil.example]"),
        (LOOPBACK, ""),
        (LOOPBACK, "*"),
        (EVERYWHERE, "evil.example"),
        (EVERYWHERE, "sub.api.example"),
        (BEHIND_A_PROXY, "box"),
    ],
)
def test_unknown_host_gets_421(names: AllowedHosts, host: str) -> None:
    assert status(a_call(host), names) == 421


def test_two_host_headers_get_421() -> None:
    assert status(a_call("localhost", "evil.example"), LOOPBACK) == 421


def test_missing_host_is_accepted_only_on_loopback() -> None:
    assert status(a_call(), LOOPBACK) is None
    assert status(a_call(), EVERYWHERE) == 421


def test_refusal_names_the_setting() -> None:
    refused = origin_refusal(a_call("evil.example"), LOOPBACK)
    assert refused is not None
    assert "--control-host" in refused[1]


def test_configured_host_is_case_insensitive() -> None:
    assert status(a_call("api.example"), known_as("127.0.0.1", "API.Example")) is None


# --- Origin ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "scheme", "origin"),
    [
        ("localhost:8255", "http", "http://localhost:8255"),
        ("localhost", "http", "http://localhost:80"),
        ("localhost:443", "https", "https://LOCALHOST"),
        ("[::1]:8255", "http", "http://[::1]:8255"),
    ],
)
def test_own_origin_is_accepted(host: str, scheme: str, origin: str) -> None:
    call = a_call(host, scheme=scheme, origin=origin, method="POST")
    assert status(call, LOOPBACK) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost:8255",
        "http://localhost",
        "http://localhost:8256",
        "http://127.0.0.1:8255",
        "http://localhost:8255/path",
        "http://localhost:8255@evil.example",
        "chrome-extension://localhost:8255",
        "null",
        "",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("names", [LOOPBACK, ANY])
def test_foreign_origin_gets_403(names: AllowedHosts, method: str, origin: str) -> None:
    call = a_call("localhost:8255", origin=origin, method=method)
    assert status(call, names) == 403


@pytest.mark.parametrize(
    ("site", "method", "expected"),
    [
        ("cross-site", "POST", 403),
        ("cross-site", "DELETE", 403),
        ("cross-site", "GET", None),  # following a link
        ("same-origin", "POST", None),
        ("none", "POST", None),
    ],
)
def test_cross_site_requests_cannot_change_anything(
    site: str, method: str, expected: int | None
) -> None:
    call = a_call("localhost", sec_fetch_site=site, method=method)
    assert status(call, LOOPBACK) == expected


# --- over HTTP ---------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/docs", "/openapi.json", "/v1/vms", "/nothing"]
)
def test_unknown_host_gets_421_on_every_path(shared: RunningService, path: str) -> None:
    answer = shared.request("GET", path, Host="evil.example")
    assert answer.status == 421
    assert "evil.example" in answer.detail


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/healthz", 421),
        ("http://localhost@evil.example/healthz", 421),
        ("HTTP://evil.example/healthz", 421),
        ("http://localhost:1/healthz", 421),  # not the Host header
        ("http://LocalHost/healthz", 200),
        ("/healthz?next=http://evil.example/", 200),
    ],
)
def test_host_in_the_request_target_is_checked(
    shared: RunningService, target: str, status: int
) -> None:
    where = urlsplit(shared.control)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, 10)
    connection.putrequest("GET", target, skip_host=True)
    connection.putheader("Host", "localhost")
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_host_is_checked_before_the_token(
    shared: RunningService,
) -> None:
    answer = send_request("GET", f"{shared.control}/v1/vms", Host="evil.example")
    assert answer.status == 421


def test_foreign_origin_gets_403_without_cors_headers(
    shared: RunningService,
) -> None:
    answer = shared.request("GET", "/v1/vms", Origin="http://evil.example")
    assert answer.status == 403
    assert "evil.example" in answer.detail
    assert not [name for name in answer.headers if "access-control" in name.lower()]


def test_preflight_gets_403(shared: RunningService) -> None:
    answer = send_request(
        "OPTIONS",
        f"{shared.control}/v1/vms",
        Origin="http://evil.example",
        Access_Control_Request_Method="PUT",
    )
    assert answer.status == 403


def test_configured_host_is_accepted(serve: Serve) -> None:
    service = serve(control_host=["api.example"])
    assert service.request("GET", "/v1/vms", Host="api.example").status == 200


def test_http_1_0_request_without_host_is_accepted(shared: RunningService) -> None:
    where = urlsplit(shared.control)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, 10)
    connection.putrequest("GET", "/healthz", skip_host=True)
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()


# --- behind a proxy ----------------------------------------------------------


def test_local_proxy_is_trusted_if_a_host_is_configured(serve: Serve) -> None:
    service = serve(control_host=["api.example"])
    answer = service.request(
        "GET",
        "/v1/vms",
        Host="api.example",
        Origin="https://api.example",
        X_Forwarded_Proto="https",
    )
    assert answer.status == 200
    assert "Strict-Transport-Security" in answer.headers


def test_proxy_headers_are_otherwise_ignored(shared: RunningService) -> None:
    answer = shared.request("GET", "/v1/vms", X_Forwarded_Proto="https")
    assert "Strict-Transport-Security" not in answer.headers


def test_proxy_that_is_not_named_is_not_trusted(serve: Serve) -> None:
    service = serve(control_host=["api.example"], control_proxy=["10.0.0.2"])
    answer = service.request("GET", "/v1/vms", X_Forwarded_Proto="https")
    assert "Strict-Transport-Security" not in answer.headers
