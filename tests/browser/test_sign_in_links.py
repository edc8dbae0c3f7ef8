"""One-time sign-in links: used once, then refused, and never left in the address."""

from typing import Any

from playwright.sync_api import Page, expect
from tests.browser.portal_user import PortalUser, wait_until_drawn
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService


def link_for(service: RunningService) -> str:
    path: Any = service.request("POST", "/v1/portal/links").json["path"]
    return f"{service.control}{path}"


def history(page: Page) -> str:
    """Return the address of the page and the addresses it can go back to."""
    client = page.context.new_cdp_session(page)
    entries = client.send("Page.getNavigationHistory")["entries"]
    return " ".join([page.url, *(entry["url"] for entry in entries)])


def test_link_signs_in_once_with_the_rights_of_its_token(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401 .*/v1/session")
    link = link_for(client_with_token(shared, "watcher", "viewer"))
    page = user.new_page(shared)
    page.goto(link)
    wait_until_drawn(page, "now")
    expect(page.locator(".who")).to_contain_text("watcher viewer")
    expect(page.locator(".toast")).to_contain_text("Signed in as watcher")
    expect(page.get_by_role("button", name="Announce…")).to_have_count(0)
    assert "sign-in" not in history(page)
    page.reload()
    wait_until_drawn(page, "now")
    other = user.new_page(shared, zone="Europe/Paris")  # another browser
    other.goto(link)
    expect(other.get_by_role("alert")).to_contain_text("has already been used")
    expect(other.get_by_label("Token")).to_be_visible()
    assert "sign-in" not in history(other)


def test_link_opened_in_a_signed_in_tab_replaces_the_session(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 401 .*/v1/session")
    link = link_for(client_with_token(shared, "stand-in", "viewer"))
    page = user.open_page(shared)
    expect(page.locator(".who")).to_contain_text("admin")
    page.goto(link)  # changes only the fragment
    expect(page.locator(".who")).to_contain_text("stand-in viewer")
    expect(page.locator(".toast")).to_contain_text("Signed in as stand-in")
    page.goto(link)
    expect(page.locator(".toast")).to_contain_text("still signed in as stand-in")
    expect(page.locator(".who")).to_contain_text("stand-in viewer")
    assert "sign-in" not in history(page)
