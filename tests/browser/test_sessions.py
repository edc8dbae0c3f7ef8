"""Signing in and out when several people share a browser."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.portal_user import PortalUser, sign_in, wait_until_drawn
from tests.server.support.service import RunningService

#: Keeps messages on the page that would disappear by themselves after some seconds.
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
    user.allow_errors("status of 401 .*/v1/session")
    body = {"name": "onlooker", "role": "viewer"}
    onlooker = shared.request("POST", "/v1/tokens", body).json["token"]
    page = user.open_page(shared)
    other = open_second_page(page)
    expect(page.get_by_role("button", name="Announce…")).to_be_visible()
    other.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    sign_in(other, onlooker)
    expect(page.locator(".who")).to_contain_text("onlooker viewer")
    expect(page.get_by_role("button", name="Announce…")).to_have_count(0)


@pytest.mark.full
def test_messages_disappear_on_sign_out(
    user: PortalUser, shared: RunningService
) -> None:
    shared.announce(vms=["lone"])
    page = user.open_page(shared)
    page.evaluate(_KEEP_MESSAGES)
    page.get_by_role("button", name="Cancel: Reboot of lone").click()
    page.get_by_role("button", name="Cancel it").click()
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
        "the token was revoked; ask for a new one"
    )
    expect(page.get_by_role("dialog")).to_have_count(0)
