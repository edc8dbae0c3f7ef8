"""Signing in: the cookie, what it opens and what it does not."""

import ssl
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.control.test_tokens import holding
from tests.server.support.browser_headers import Browser, kept, session_of, sign_in
from tests.server.support.certificates import Authority
from tests.server.support.service import TOKEN, RunningService, ask

from forewarn.clocks import SystemClock

HOURS = 12 * 3600
USERS = ["restart", "redeploy", "reimage", "evict", "delete"]
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


def test_who_signs_in_is_told_who_he_is_and_until_when(shared: RunningService) -> None:
    before = SystemClock().now()
    answer = shared.ask("POST", "/v1/session")
    assert answer.status == 201
    said = answer.json
    ends = datetime.fromisoformat(said.pop("expires_at"))
    assert said == {
        "name": "admin",
        "role": "admin",
        "group": None,
        "signed_in": True,
        "may": ALL,
    }
    assert abs(ends - before - timedelta(hours=12)) < timedelta(minutes=1)


def test_the_cookie_is_for_the_browser_and_this_site_alone(
    shared: RunningService,
) -> None:
    answer = shared.ask("POST", "/v1/session")
    cookie = kept(answer)
    assert cookie.key == f"forewarn-{urlsplit(shared.control).port}"
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert (cookie["path"], cookie["max-age"]) == ("/", str(HOURS))
    assert (cookie["domain"], cookie["secure"]) == ("", "")
    assert answer.headers["Cache-Control"] == "no-store"


def test_over_tls_the_cookie_stays_there_and_comes_from_nowhere_else(
    serve: Serve, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    service = serve(**authority.sign("127.0.0.1").flags)
    context = ssl.create_default_context(cafile=authority.file)

    def asked(method: str, **headers: str) -> tuple[int, str]:
        url = f"{service.control}/v1/session"
        request = Request(url, headers=headers, method=method)
        with urlopen(request, timeout=PATIENCE, context=context) as answer:
            return answer.status, answer.headers.get("Set-Cookie", "")

    status, cookie = asked("POST", Authorization=f"Bearer {TOKEN}")
    assert status == 201
    assert cookie.startswith(f"__Host-forewarn-{urlsplit(service.control).port}=1.")
    assert cookie.endswith("; Secure")
    assert "; Path=/; " in cookie
    assert asked("GET", Cookie=cookie.partition(";")[0]) == (200, "")


def test_behind_a_proxy_that_speaks_tls_it_is_as_with_tls(serve: Serve) -> None:
    service = serve(control_host=["api.example"])
    proxied = {"Host": "api.example", "X_Forwarded_Proto": "https"}
    proxied["X_Forwarded_For"] = "192.0.2.7"
    browser = sign_in(service, **proxied)
    assert browser.name == "__Host-forewarn-443"
    assert browser.ask("GET", "/v1/vms", **proxied).status == 200
    assert browser.ask("GET", "/v1/vms").status == 401


@pytest.mark.parametrize("token", ["", "Bearer wrong", "Basic t"])
def test_without_a_good_token_nobody_signs_in(
    shared: RunningService, token: str
) -> None:
    answer = ask("POST", f"{shared.control}/v1/session", Authorization=token)
    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


def test_a_session_does_not_begin_another(browser: Browser) -> None:
    answer = browser.ask("POST", "/v1/session")
    assert answer.status == 401
    assert "shows a token" in answer.detail
    assert "Set-Cookie" not in answer.headers


def test_who_shows_the_token_itself_is_not_signed_in(shared: RunningService) -> None:
    said = shared.get("/v1/session")
    assert (said["signed_in"], said["expires_at"]) == (False, None)
    assert said["name"] == "admin"


def test_the_token_that_is_shown_counts_before_the_cookie(
    shared: RunningService, browser: Browser
) -> None:
    viewer = holding(shared, "a-viewer", "viewer")
    answer = browser.ask("GET", "/v1/session", Authorization=f"Bearer {viewer.token}")
    assert (answer.json["name"], answer.json["signed_in"]) == ("a-viewer", False)
    wrong = browser.ask("GET", "/v1/session", Authorization="Bearer wrong")
    assert wrong.status == 401
    assert "Set-Cookie" not in wrong.headers


# --- what one may ------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may"),
    [("viewer", []), ("operator", ALL), ("admin", ALL), ("group", ["approve", *USERS])],
)
def test_what_one_may_is_what_his_role_may(
    shared: RunningService, role: str, may: list[str]
) -> None:
    group = {"group": "web"} if role == "group" else {}
    holder = holding(shared, f"some-{role}", role, **group)
    said = session_of(sign_in(holder))
    assert (said["name"], said["role"]) == (f"some-{role}", role)
    assert said["group"] == group.get("group")
    assert said["may"] == may


def test_who_is_signed_in_reads_acts_and_is_named(service: RunningService) -> None:
    browser = sign_in(holding(service, "night-shift", "operator"))
    made = browser.ask("POST", "/v1/maintenances", {"type": "Reboot", "vms": ["web-0"]})
    assert made.status == 201
    assert [each["by"] for each in service.facts("Announced")] == ["night-shift"]


def test_who_is_signed_in_may_no_more_than_his_token(shared: RunningService) -> None:
    browser = sign_in(holding(shared, "onlooker", "viewer"))
    answer = browser.ask("POST", "/v1/maintenances", {"type": "Reboot"})
    assert answer.status == 403
    assert "onlooker has the role viewer" in answer.detail


def test_who_is_signed_in_for_a_group_sees_no_other(shared: RunningService) -> None:
    browser = sign_in(holding(shared, "web-people", "group", group="web"))
    assert browser.ask("GET", "/v1/vms/web-0").status == 200
    assert browser.ask("GET", "/v1/vms/db-0").status == 404


# --- what the cookie does not open -------------------------------------------


@pytest.mark.parametrize("path", ["/metrics", "/subscriptions", "//v1/vms", "/V1/vms"])
def test_elsewhere_the_cookie_is_as_none(browser: Browser, path: str) -> None:
    answer = ask("GET", browser.control + path, Cookie=browser.cookie)
    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


def test_the_cookie_is_not_good_as_a_token(browser: Browser) -> None:
    url = f"{browser.control}/v1/vms"
    assert ask("GET", url, Authorization=f"Bearer {browser.value}").status == 401


@pytest.mark.parametrize("name", ["forewarn", "forewarn-1", "__Host-forewarn-1"])
def test_a_cookie_of_another_service_is_left_alone(browser: Browser, name: str) -> None:
    port = urlsplit(browser.control).port
    for each in (name, f"__Host-forewarn-{port}"):
        answer = replace(browser, name=each).ask("GET", "/v1/vms")
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers


def test_an_empty_cookie_is_as_none(browser: Browser) -> None:
    answer = replace(browser, value="").ask("GET", "/v1/vms")
    assert "a bearer token is needed" in answer.detail
    assert "Set-Cookie" not in answer.headers


def test_cookies_of_others_beside_it_do_no_harm(browser: Browser) -> None:
    beside = f"theme=dark; forewarn-1=x; {browser.cookie}; =; ;x"
    assert browser.ask("GET", "/v1/vms", Cookie=beside).status == 200


# --- pages of others ---------------------------------------------------------


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
    [("POST", "/v1/maintenances/preview"), ("DELETE", "/v1/session")],
)
def test_no_page_of_others_acts_by_the_cookie(
    browser: Browser, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = browser.ask(method, path, {}, **headers)
    assert answer.status == 403
    assert "pages of" in answer.detail
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers", [{}, {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-site"}]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_what_does_not_say_that_it_comes_from_our_page_changes_nothing(
    browser: Browser, method: str, headers: dict[str, Any]
) -> None:
    url = f"{browser.control}/v1/hosts/new"
    answer = ask(method, url, b"{}", Cookie=browser.cookie, **headers)
    assert answer.status == 403
    assert "page" in answer.detail


def test_a_browser_that_says_whose_page_it_is_need_not_say_it_twice(
    browser: Browser,
) -> None:
    url = f"{browser.control}/v1/session"
    answer = ask("DELETE", url, Cookie=browser.cookie, Sec_Fetch_Site="same-origin")
    assert answer.status == 204


def test_our_origin_is_not_believed_of_what_another_site_is_said_to_ask(
    browser: Browser,
) -> None:
    answer = browser.ask("DELETE", "/v1/session", Sec_Fetch_Site="same-site")
    assert answer.status == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_only_our_page_reads_by_the_cookie(
    browser: Browser, site: str, status: int
) -> None:
    answer = browser.ask("GET", "/v1/vms", Sec_Fetch_Site=site)
    assert answer.status == status
