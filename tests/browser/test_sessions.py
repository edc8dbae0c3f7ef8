"""Signing in and out: several tabs and users, other ports, ended sessions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.portal_user import PortalUser, sign_in, wait_until_drawn
from tests.server.support.service import RunningService, send_request

#: Keeps messages on the page that would otherwise disappear after some seconds.
_KEEP_MESSAGES = """() => {
  const set = window.setTimeout;
  window.setTimeout = (act, ms, ...rest) => (ms >= 5000 ? 0 : set(act, ms, ...rest));
}"""


def open_second_page(page: Page) -> Page:
    """Open the same page again in the same browser."""
    other = page.context.new_page()
    other.goto(page.url)
    wait_until_drawn(other, "now")
    return other


def test_signing_in_on_one_page_applies_to_the_others(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401")
    body = {"name": "onlooker", "role": "viewer"}
    onlooker = shared.request("POST", "/v1/tokens", body).json["token"]
    page = user.open_page(shared)
    other = open_second_page(page)
    expect(page.get_by_role("button", name="Announce…")).to_be_visible()
    other.get_by_role("button", name="Sign out").click()
    # The other tab may find out before it is notified.
    reason = re.compile("You are signed out|the session (has ended|was signed out)")
    expect(page.get_by_role("alert")).to_have_text(reason)
    sign_in(other, onlooker)
    expect(page.locator(".who")).to_contain_text("onlooker viewer")
    expect(page.get_by_role("button", name="Announce…")).to_have_count(0)


def test_a_late_sign_out_response_does_not_end_the_next_session(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401")
    page = user.open_page(shared)
    other = open_second_page(page)
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/v1/session", hold_first)
    other.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(other, shared.token)
    expect(page.locator(".who")).to_contain_text("admin")
    with page.expect_response("**/v1/session"):
        held[0].fulfill(status=401, json={"detail": "the session was signed out"})
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page.locator(".who")).to_contain_text("admin", timeout=1)


@pytest.mark.full
def test_messages_disappear_on_sign_out(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401")  # a request that is sent during the sign-out
    shared.announce(vms=["lone"])
    page = user.open_page(shared)
    page.evaluate(_KEEP_MESSAGES)
    page.get_by_role("button", name="Cancel maintenance: Reboot of lone").click()
    page.get_by_role("button", name="Cancel maintenance", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Canceled: Reboot of lone")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.locator(".toast")).to_have_count(0)


def test_a_revoked_session_shows_the_reason_even_over_a_dialog(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401", "net::ERR")
    guest = shared.request(
        "POST", "/v1/tokens", {"name": "guest", "role": "operator"}
    ).json
    page = user.open_page(shared, token=guest["token"])
    page.get_by_role("button", name="Announce…").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert shared.request("DELETE", "/v1/tokens/guest").status == 204
    expect(page.get_by_role("alert")).to_have_text(
        "the token was revoked; get a new one"
    )
    expect(page.get_by_role("dialog")).to_have_count(0)


# --- sessions that ended -----------------------------------------------------


def test_an_ended_session_shows_the_reason(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401")
    page = user.open_page(shared)
    page.context.clear_cookies()  # as browsers do when a cookie expires
    page.reload()
    expect(page.get_by_role("alert")).to_have_text(
        "the session has expired; sign in again"
    )
    sign_in(page, shared.token)
    page.reload()
    wait_until_drawn(page, "now")


def test_a_session_from_before_an_upgrade_requires_a_new_sign_in(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401 .*/v1/session")
    page = user.new_page(shared)
    name = f"forewarn-{urlsplit(shared.control).port}"
    page.context.add_cookies(
        [{"name": name, "value": "1..9999999999.AAAA", "url": shared.control}]
    )
    page.goto(f"{shared.control}/portal/")
    expect(page.get_by_role("alert")).to_have_text(
        "the session started before the service was upgraded; sign in again"
    )
    sign_in(page, shared.token)
    wait_until_drawn(page, "now")


# --- other ports -------------------------------------------------------------


class _Recorder(BaseHTTPRequestHandler):
    """Serves an empty page, and records the cookies of each request."""

    cookies: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<link rel=icon href=data:,>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def another_server() -> Iterator[tuple[str, list[str]]]:
    """Start a server on another port; yield its URL and the cookies that it gets."""

    class Recorder(_Recorder):
        cookies: ClassVar[list[str]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", Recorder.cookies
        finally:
            server.shutdown()
            thread.join()


def test_a_server_on_another_port_gets_only_a_useless_cookie(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("left the origin")
    page = user.open_page(shared)
    with another_server() as (url, cookies):
        page.goto(url)
        stored = page.evaluate("() => Object.keys(localStorage)")
    assert stored == []
    assert [cookie.partition("=")[0] for cookie in cookies] == [
        f"forewarn-{urlsplit(shared.control).port}"
    ]
    for method, path in (("GET", "/v1/vms"), ("POST", "/v1/vms/lone/restart")):
        replayed = send_request(
            method,
            shared.control + path,
            Cookie=cookies[0],
            Origin=shared.control,
        )
        assert replayed.status == 401
