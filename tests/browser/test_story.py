"""The details of a maintenance operation, next to the page or on top of it."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.portal_user import PortalUser
from tests.server.support.service import RunningService

NARROW = 390


@pytest.fixture(scope="module")
def maintenance_id(shared: RunningService) -> str:
    """Announce maintenance that no test changes, and return its ID."""
    maintenance = shared.announce(host="host-a", description="New memory.")
    return str(maintenance["id"])


def test_a_story_can_be_opened_by_a_link(
    user: PortalUser, shared: RunningService, maintenance_id: str
) -> None:
    page = user.open_page(shared, f"now/{maintenance_id}")
    story = page.get_by_role("complementary", name="Reboot of host-a")
    expect(story).to_contain_text("is scheduled but not due yet.")
    expect(story).to_contain_text("announced by admin: Reboot of host-a")
    expect(story).to_contain_text("Notice given: 15 min.")
    expect(story).to_contain_text("New memory.")


@pytest.mark.full
def test_a_story_shows_local_times(
    user: PortalUser, shared: RunningService, maintenance_id: str
) -> None:
    page = user.open_page(shared, f"now/{maintenance_id}", zone="Asia/Tokyo")
    first = page.locator(".entries").get_by_role("listitem").first
    announced = first.get_by_role("time").first
    at = shared.get(f"/v1/maintenances/{maintenance_id}")["announced_at"]
    hour = (int(at[11:13]) + 9) % 24
    expect(announced).to_have_text(re.compile(rf"\b{hour:02}{at[13:19]}$"))
    expect(announced).to_have_attribute("title", f"{at[:10]} {at[11:19]} UTC")


def test_enter_opens_the_story_and_escape_closes_it(
    user: PortalUser, shared: RunningService, maintenance_id: str
) -> None:
    page = user.open_page(shared)
    link = page.get_by_role("article").get_by_role("link", name="Reboot of host-a")
    link.focus()
    page.keyboard.press("Enter")
    heading = page.get_by_role("complementary").get_by_role("heading", level=2)
    expect(heading).to_be_focused()
    expect(page).to_have_url(re.compile(f"#/now/{maintenance_id}$"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(link).to_be_focused()


@pytest.mark.full
def test_the_whole_card_opens_the_story_and_the_button_closes_it(
    user: PortalUser, shared: RunningService, maintenance_id: str
) -> None:
    page = user.open_page(shared)
    page.get_by_role("article").get_by_text("Platform: planned maintenance").click()
    expect(page).to_have_url(re.compile(f"#/now/{maintenance_id}$"))
    page.get_by_role("button", name="Close details").click()
    expect(page).to_have_url(re.compile("#/now$"))


@pytest.mark.full
def test_an_open_story_is_updated(user: PortalUser, service: RunningService) -> None:
    maintenance = service.announce(vms=["lone"])
    page = user.open_page(service, f"now/{maintenance['id']}")
    story = page.get_by_role("complementary")
    expect(story).to_contain_text("not due yet")
    service.approve_as("lone", maintenance["events"][0]["id"])
    expect(story).to_contain_text("approved for group lone by lone")
    expect(story).to_contain_text("approved by all groups")


@pytest.mark.full
def test_an_unknown_story_shows_the_service_message(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 404")
    unknown = shared.request("GET", "/v1/maintenances/nothing/explain").detail
    page = user.open_page(shared, "now/nothing")
    expect(page.get_by_role("alert")).to_have_text(unknown)


@pytest.mark.full
def test_on_a_narrow_screen_only_the_story_can_be_reached(
    user: PortalUser, shared: RunningService, maintenance_id: str
) -> None:
    page = user.open_page(shared, f"now/{maintenance_id}", width=NARROW)
    dialog = page.get_by_role("dialog", name="Reboot of host-a")
    expect(dialog).to_be_visible()
    expect(page.locator("main")).to_have_attribute("inert", "")
    assert _width(page) == NARROW
    page.keyboard.press("Escape")
    expect(page.locator("main:not([inert])")).to_be_visible()


def _width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))
