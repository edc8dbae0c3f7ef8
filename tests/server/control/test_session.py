"""Portal sessions: signing in, the session cookie, its limits and its end."""

import json
import ssl
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from fastapi import Request as ServerRequest
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.control.test_tokens import client_with_token, refusals
from tests.server.support.browser_headers import (
    Browser,
    only_cookie,
    session_of,
    sign_in,
)
from tests.server.support.certificates import CertificateAuthority
from tests.server.support.service import (
    TOKEN,
    ReceivedResponse,
    RunningService,
    a_service,
    send_request,
)

from forewarn.clocks import SystemClock
from forewarn.core.tokens import Role
from forewarn.engine.sessions import (
    Lapsed,
    PortalSession,
    key_digest,
    key_for,
    root_key,
    seal,
)
from forewarn.engine.tokens import TokenHolder
from forewarn.server.control.context import Services
from forewarn.server.control.routes.access import sign_out

HOURS = 12 * 3600
KEY = "Forewarn-Session-Key"
USERS = ["restart", "redeploy", "reimage", "evict", "delete", "start"]
ALL = [
    "announce",
    *("approve", "cancel", "complete", "retry", "close"),
    *USERS,
    *("maintain", "degraded", "failed", "recovered"),
    "advance",
]


@pytest.fixture(scope="module")
def browser(shared: RunningService) -> Browser:
    return sign_in(shared)


# --- signing in --------------------------------------------------------------


def test_sign_in_returns_identity_and_expiry(shared: RunningService) -> None:
    before = SystemClock().now()
    answer = shared.request("POST", "/v1/session")
    assert answer.status == 201
    session = answer.json
    ends = datetime.fromisoformat(session.pop("expires_at"))
    assert len(session.pop("session_key")) == 43
    assert session == {
        "name": "admin",
        "role": "admin",
        "group": None,
        "signed_in": True,
        "token_expires_at": None,
        "may": ALL,
    }
    assert abs(ends - before - timedelta(hours=12)) < timedelta(minutes=1)


def test_cookie_is_http_only_and_same_site(
    shared: RunningService,
) -> None:
    answer = shared.request("POST", "/v1/session")
    cookie = only_cookie(answer)
    assert cookie.key == f"forewarn-{urlsplit(shared.control).port}"
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert (cookie["path"], cookie["max-age"]) == ("/", str(HOURS))
    assert (cookie["domain"], cookie["secure"]) == ("", "")
    assert answer.headers["Cache-Control"] == "no-store"


def test_cookie_is_secure_over_tls(serve: Serve, tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path)
    service = serve(**authority.sign("127.0.0.1").flags)
    context = ssl.create_default_context(cafile=authority.file)

    def asked(method: str, headers: dict[str, str]) -> tuple[Any, str]:
        url = f"{service.control}/v1/session"
        request = Request(url, headers=headers, method=method)
        with urlopen(request, timeout=PATIENCE, context=context) as answer:
            return json.load(answer), answer.headers.get("Set-Cookie", "")

    session, cookie = asked("POST", {"Authorization": f"Bearer {TOKEN}"})
    assert cookie.startswith(f"__Host-forewarn-{urlsplit(service.control).port}=2.")
    assert cookie.endswith("; Secure")
    assert "; Path=/; " in cookie
    halves = {"Cookie": cookie.partition(";")[0], KEY: session["session_key"]}
    assert asked("GET", halves)[0]["signed_in"] is True


def test_cookie_is_secure_behind_a_tls_proxy(serve: Serve) -> None:
    service = serve(control_host=["api.example"])
    proxied = {"Host": "api.example", "X_Forwarded_Proto": "https"}
    proxied["X_Forwarded_For"] = "192.0.2.7"
    browser = sign_in(service, **proxied)
    assert browser.name == "__Host-forewarn-443"
    assert browser.request("GET", "/v1/vms", **proxied).status == 200
    assert browser.request("GET", "/v1/vms").status == 401


def test_session_cannot_start_another_session(browser: Browser) -> None:
    answer = browser.request("POST", "/v1/session")
    assert answer.status == 401
    assert "signing in requires a token" in answer.detail
    assert "Set-Cookie" not in answer.headers


def test_request_with_a_token_is_not_signed_in(shared: RunningService) -> None:
    session = shared.get("/v1/session")
    assert (session["signed_in"], session["expires_at"]) == (False, None)
    assert session["name"] == "admin"


def test_token_takes_precedence_over_the_cookie(
    shared: RunningService, browser: Browser
) -> None:
    viewer = client_with_token(shared, "a-viewer", "viewer")
    answer = browser.request(
        "GET", "/v1/session", Authorization=f"Bearer {viewer.token}"
    )
    assert (answer.json["name"], answer.json["signed_in"]) == ("a-viewer", False)
    wrong = browser.request("GET", "/v1/session", Authorization="Bearer wrong")
    assert wrong.status == 401
    assert "Set-Cookie" not in wrong.headers


# --- permissions -------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may"),
    [("viewer", []), ("operator", ALL), ("admin", ALL), ("group", ["approve", *USERS])],
)
def test_session_lists_what_its_role_permits(
    shared: RunningService, role: str, may: list[str]
) -> None:
    group = {"group": "web"} if role == "group" else {}
    holder = client_with_token(shared, f"some-{role}", role, **group)
    session = session_of(sign_in(holder))
    assert (session["name"], session["role"]) == (f"some-{role}", role)
    assert session["group"] == group.get("group")
    assert session["may"] == may


def test_session_acts_in_the_name_of_its_token(service: RunningService) -> None:
    browser = sign_in(client_with_token(service, "night-shift", "operator"))
    response = browser.request(
        "POST", "/v1/maintenances", {"type": "Reboot", "vms": ["web-0"]}
    )
    assert response.status == 201
    assert [fact["by"] for fact in service.facts("Announced")] == ["night-shift"]


# --- limits of the cookie ----------------------------------------------------


@pytest.mark.parametrize("path", ["/metrics", "/subscriptions", "//v1/vms", "/V1/vms"])
def test_cookie_is_ignored_elsewhere(browser: Browser, path: str) -> None:
    url, key = browser.control + path, browser.key
    answer = send_request("GET", url, Cookie=browser.cookie, Forewarn_Session_Key=key)
    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


def test_cookie_is_not_accepted_as_a_token(browser: Browser) -> None:
    url = f"{browser.control}/v1/vms"
    assert (
        send_request("GET", url, Authorization=f"Bearer {browser.value}").status == 401
    )


@pytest.mark.parametrize("name", ["forewarn", "forewarn-1", "__Host-forewarn-1"])
def test_cookie_of_another_service_is_ignored(browser: Browser, name: str) -> None:
    port = urlsplit(browser.control).port
    for cookie_name in (name, f"__Host-forewarn-{port}"):
        other = replace(browser, name=cookie_name, key="")
        answer = other.request("GET", "/v1/vms")
        assert "a bearer token is required" in answer.detail
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers


def test_empty_cookie_is_ignored(browser: Browser) -> None:
    answer = replace(browser, value="", key="").request("GET", "/v1/vms")
    assert "a bearer token is required" in answer.detail
    assert "Set-Cookie" not in answer.headers


def test_cookies_of_other_sites_are_ignored(browser: Browser) -> None:
    cookies = f"theme=dark; forewarn-1=x; {browser.cookie}; =; ;x"
    assert browser.request("GET", "/v1/vms", Cookie=cookies).status == 200


# --- cross-site requests -----------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Origin": "", "Sec_Fetch_Site": "cross-site"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/maintenances"), ("DELETE", "/v1/session")],
)
def test_foreign_pages_cannot_act_with_the_cookie(
    browser: Browser, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = browser.request(method, path, {}, **headers)
    assert answer.status == 403
    assert "pages from" in answer.detail
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers", [{}, {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-site"}]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_changes_need_proof_of_our_own_page(
    browser: Browser, method: str, headers: dict[str, Any]
) -> None:
    url = f"{browser.control}/v1/hosts/new"
    answer = send_request(method, url, b"{}", Cookie=browser.cookie, **headers)
    assert answer.status == 403
    assert "page" in answer.detail


def test_sec_fetch_site_same_origin_is_sufficient_proof(
    shared: RunningService,
) -> None:
    browser = sign_in(shared)
    answer = send_request(
        "DELETE",
        f"{browser.control}/v1/session",
        Cookie=browser.cookie,
        Forewarn_Session_Key=browser.key,
        Sec_Fetch_Site="same-origin",
    )
    assert answer.status == 204


def test_own_origin_does_not_override_sec_fetch_site(
    browser: Browser,
) -> None:
    answer = browser.request("DELETE", "/v1/session", Sec_Fetch_Site="same-site")
    assert answer.status == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_only_our_own_page_can_read_with_the_cookie(
    browser: Browser, site: str, status: int
) -> None:
    answer = browser.request("GET", "/v1/vms", Sec_Fetch_Site=site)
    assert answer.status == status


# --- end of a session --------------------------------------------------------


def session_cookie(first: str, key: str, *, lasts: int) -> str:
    """Return a session cookie of the admin token, sealed as the service does."""
    digest = sha256(first.encode()).hexdigest()
    ends = int(SystemClock().now().timestamp()) + lasts
    session = PortalSession(token=None, ends=ends, digest=key_digest(key))
    return seal(session, key_for(root_key(digest), digest))


def is_removed(browser: Browser, answer: ReceivedResponse) -> bool:
    """Return whether a response deletes the browser's cookie."""
    deletion = f"{browser.name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    return answer.headers.get_all("Set-Cookie") == [deletion]


def test_sign_out_ends_the_session_and_deletes_its_cookie(
    service: RunningService,
) -> None:
    browser, other = sign_in(service), sign_in(service)
    answer = browser.request("DELETE", "/v1/session")
    assert answer.status == 204
    assert is_removed(browser, answer)
    replayed = browser.request("GET", "/v1/vms")
    assert (replayed.status, replayed.detail) == (401, Lapsed.SIGNED_OUT.value)
    assert is_removed(browser, replayed)
    assert browser.request("DELETE", "/v1/session").status == 401
    assert other.request("GET", "/v1/vms").status == 200
    assert refusals(service) == {}


def test_a_restart_ends_no_session_and_revives_none(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    with a_service(tmp_path, store=store) as before:
        ended, stays = sign_in(before), sign_in(before)
        assert ended.request("DELETE", "/v1/session").status == 204
    with a_service(tmp_path, store=store) as after:
        name = f"forewarn-{urlsplit(after.control).port}"
        statuses = [
            replace(browser, control=after.control, name=name)
            .request("GET", "/v1/vms")
            .status
            for browser in (ended, stays)
        ]
    assert statuses == [401, 200]


def test_streams_check_the_session_after_it_has_ended() -> None:
    calls: list[str] = []
    services = SimpleNamespace(
        sessions=SimpleNamespace(end=lambda by: calls.append("end"))
    )
    streams = SimpleNamespace(ring=lambda: calls.append("ring"))
    scope = {
        "type": "http",
        "scheme": "http",
        "server": ("localhost", 80),
        "headers": [],
    }
    app = SimpleNamespace(state=SimpleNamespace(streams=streams))
    request = ServerRequest({**scope, "app": app})
    sign_out(
        request, cast(Services, services), TokenHolder(name="admin", role=Role.ADMIN)
    )
    assert calls == ["end", "ring"]


def test_sign_out_closes_the_streams_of_the_session(service: RunningService) -> None:
    browser = sign_in(service)
    headers = {"Cookie": browser.cookie, KEY: browser.key}
    request = Request(f"{service.control}/v1/stream", headers=headers)
    with urlopen(request, timeout=PATIENCE) as stream:
        assert stream.readline() == b": the journal of forewarn\n"
        assert browser.request("DELETE", "/v1/session").status == 204
        assert b"still here" not in stream.read()  # the first keep-alive comes later


# --- the key -----------------------------------------------------------------


def test_cookie_without_its_key_is_refused_but_kept(shared: RunningService) -> None:
    browser = sign_in(shared)
    before = refusals(shared)
    for method, path in (("GET", "/v1/vms"), ("POST", "/v1/vms/web-0/restart")):
        answer = replace(browser, key="").request(method, path)
        assert (answer.status, answer.detail) == (401, Lapsed.NO_KEY.value)
        assert "Set-Cookie" not in answer.headers
    assert refusals(shared) == before
    assert browser.request("GET", "/v1/vms").status == 200


def test_key_of_another_session_is_refused_as_a_guess(serve: Serve) -> None:
    service = serve()
    browser, other = sign_in(service), sign_in(service)
    answer = replace(browser, key=other.key).request("GET", "/v1/vms")
    assert (answer.status, answer.detail) == (401, Lapsed.WRONG_KEY.value)
    assert "Set-Cookie" not in answer.headers
    assert refusals(service) == {"127.0.0.1": 1}


def test_key_without_a_cookie_belongs_to_a_session_that_has_ended(
    browser: Browser,
) -> None:
    answer = browser.request("GET", "/v1/session", Cookie="")
    assert (answer.status, answer.detail) == (401, Lapsed.OVER.value)


def test_session_from_before_the_upgrade_must_sign_in_again(
    serve: Serve,
) -> None:
    service = serve()
    browser = replace(sign_in(service), value="1..9999999999.AAAA", key="")
    answer = browser.request("GET", "/v1/session")
    assert (answer.status, answer.detail) == (401, Lapsed.BEFORE_UPGRADE.value)
    assert is_removed(browser, answer)
    assert refusals(service) == {}


def test_challenge_distinguishes_invalid_from_missing_credentials(
    browser: Browser,
) -> None:
    url = f"{browser.control}/v1/session"
    missing = send_request("GET", url)
    invalid = replace(browser, value="x").request("GET", "/v1/session")
    assert missing.headers["WWW-Authenticate"] == "Bearer"
    assert invalid.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


# --- other ends --------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "2..9999999999.",
        "2..9999999999.AAAA.",
        "2..9999999999.AAAA.AAAA",
        "3..1.x.x",
        "2.nobody.1.x.x",
        "\xff",
        '"',
    ],
)
def test_forged_cookie_is_refused_and_deleted(
    shared: RunningService, browser: Browser, value: str
) -> None:
    answer = replace(browser, value=value).request("GET", "/v1/vms")
    assert answer.status == 401
    assert answer.detail == "unknown session; sign in again"
    assert is_removed(browser, answer)


def test_session_expires_after_twelve_hours_without_counting_as_a_guess(
    serve: Serve,
) -> None:
    service = serve()
    browser = sign_in(service)
    nearly = replace(browser, value=session_cookie(TOKEN, browser.key, lasts=60))
    assert nearly.request("GET", "/v1/vms").status == 200
    over = replace(browser, value=session_cookie(TOKEN, browser.key, lasts=0))
    answers = [over.request("GET", "/v1/vms") for _ in range(25)]
    assert {answer.status for answer in answers} == {401}
    assert answers[0].detail == "the session has expired; sign in again"
    assert is_removed(browser, answers[0])
    assert refusals(service) == {}


def test_session_ends_when_its_token_is_revoked(service: RunningService) -> None:
    browser = sign_in(client_with_token(service, "ci", "viewer"))
    stays = sign_in(service)
    assert service.request("DELETE", "/v1/tokens/ci").status == 204
    answer = browser.request("GET", "/v1/vms")
    assert answer.status == 401
    assert "revoked" in answer.detail
    assert is_removed(browser, answer)
    assert stays.request("GET", "/v1/vms").status == 200


# --- guessing ----------------------------------------------------------------


def test_guessing_sessions_is_counted_and_rate_limited(serve: Serve) -> None:
    service = serve()
    browser = sign_in(service)
    wrong = replace(browser, value="2..9999999999.x.guess")
    answers = [wrong.request("GET", "/v1/vms") for _ in range(25)]
    assert [answer.status for answer in answers[:20]] == [401] * 20
    # Fewer than five are refused if the requests took several seconds.
    refused = [answer for answer in answers[20:] if answer.status == 429]
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert is_removed(browser, refused[0])
    assert refusals(service) == {"127.0.0.1": 25}
    assert browser.request("GET", "/v1/vms").status == 200
