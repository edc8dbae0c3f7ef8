"""The Now page: current maintenance, and the latest journal entries."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Serve
from tests.browser.portal_user import PortalUser, ProfilePool, a_user
from tests.server.support.service import RunningService

_SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) {
      for (const { node } of each.sources) {
        window.shifts.push(`${each.value} ${node?.className} ${node?.textContent}`);
      }
    }
  }).observe({ type: "layout-shift" });
}"""

_DRAWN_AGAIN = """() => new Promise((drawn) =>
  requestAnimationFrame(() => requestAnimationFrame(drawn)))"""


@pytest.fixture(scope="module")
def full_page(profiles: ProfilePool, lively: RunningService) -> Iterator[Page]:
    """Open a page that shows everything, for read-only tests."""
    with a_user(profiles) as user:
        yield user.open_page(lively)
        assert not user.watch.complaints


@pytest.fixture(scope="module")
def page(profiles: ProfilePool, shared: RunningService) -> Iterator[Page]:
    """Open a page that stays open, while each test has its own maintenance."""
    with a_user(profiles) as user:
        yield user.open_page(shared)
        assert not user.watch.complaints


def card(page: Page, title: str) -> Locator:
    """Find the card for a maintenance operation."""
    heading = page.get_by_role("heading", name=title, exact=True)
    return page.get_by_role("article").filter(has=heading)


def section(page: Page, name: str) -> Locator:
    """Find a part of the page by its heading."""
    return page.get_by_role("region", name=name, exact=True)


# --- current maintenance -----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Stuck", "Redeploy of mail"),
        ("Started", "Reboot of host-2"),
        ("Blocked", "Reboot of orders-2"),
        ("Scheduled", "Freeze of host-3"),
        ("Recently ended", "Reboot of host-4"),
    ],
)
def test_each_maintenance_is_in_its_section(
    full_page: Page, name: str, title: str
) -> None:
    expect(section(full_page, name)).to_contain_text(title)


def test_the_soonest_maintenance_comes_first(full_page: Page) -> None:
    first = section(full_page, "Scheduled").get_by_role("article").first
    expect(first).to_contain_text("Preempt of render-8")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Redeploy of mail", "Stuck: the driver failed on mail."),
        (
            "Reboot of orders-2",
            "Only one update domain per group can be under maintenance at a time",
        ),
    ],
)
def test_a_waiting_maintenance_shows_the_service_explanation(
    full_page: Page, title: str, words: str
) -> None:
    expect(card(full_page, title)).to_contain_text(words)


def test_counts_are_shown_at_the_top(full_page: Page) -> None:
    counts = full_page.get_by_role("list", name="Maintenance by status")
    texts = [" ".join(text.split()) for text in counts.locator("li").all_inner_texts()]
    assert texts == ["1 Stuck", "1 Started", "1 Blocked", "10 Scheduled"]


def test_each_count_jumps_to_its_section(full_page: Page) -> None:
    counts = full_page.get_by_role("list", name="Maintenance by status")
    counts.get_by_role("button", name="Scheduled").press("Enter")
    heading = full_page.get_by_role("heading", name="Scheduled", exact=True)
    expect(heading).to_be_focused()


def test_an_announcement_appears_automatically(
    page: Page, shared: RunningService
) -> None:
    shared.announce(type="Freeze", host="host-b")
    expect(card(page, "Freeze of host-b")).to_be_visible()


def test_a_card_shows_who_has_seen_and_approved_an_event(
    page: Page, shared: RunningService
) -> None:
    maintenance = shared.announce(host="host-a")
    shown = card(page, "Reboot of host-a")
    expect(shown).to_contain_text("0 of 2 events approved")
    shared.document("db-0")
    web = next(event for event in maintenance["events"] if event["group"] == "web")
    shared.approve_as("web-0", web["id"])
    expect(shown).to_contain_text("approved by web-0 via the metadata endpoint")
    expect(shown).to_contain_text("1 of 2 events approved")
    row = shown.get_by_role("listitem").filter(has_text="db-0").first
    row.get_by_text("seen by 1 of 1 VM").click()
    expect(row.get_by_role("listitem")).to_contain_text("db-0, ")


def test_the_time_until_not_before_follows_the_service_clock(
    page: Page, shared: RunningService
) -> None:
    shared.announce(vms=["lone"])
    left = card(page, "Reboot of lone").get_by_role("timer")
    expect(left).to_have_text("15:00")
    shared.advance(60)
    expect(left).to_have_text("14:00")


def test_ended_maintenance_moves_to_recently_ended(
    page: Page, shared: RunningService
) -> None:
    maintenance = shared.announce(type="Freeze", vms=["web-2"])
    expect(card(page, "Freeze of web-2")).to_be_visible()
    shared.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel", {})
    expect(section(page, "Recently ended")).to_contain_text("Freeze of web-2")
    expect(card(page, "Freeze of web-2")).to_have_count(0)


# --- an empty fleet ----------------------------------------------------------


@pytest.mark.full
def test_instructions_are_shown_until_there_is_a_fleet(
    user: PortalUser, serve: Serve
) -> None:
    service = serve(fleet="")
    page = user.open_page(service, width=320)
    first = section(page, "No VMs yet")
    expect(first).to_contain_text("forewarn fleet apply fleet.toml")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert service.request("PUT", "/v1/vms/lone", {}).status == 200
    summary = "1 VM in 1 group. Scheduled Events is disabled for 1 group that has not"
    expect(page.get_by_text(summary)).to_be_visible()
    expect(first).to_have_count(0)


# --- the journal -------------------------------------------------------------


def test_the_newest_entry_comes_first(page: Page, shared: RunningService) -> None:
    shared.request("POST", "/v1/hosts/host-b/degraded", {})
    (*_, fact) = shared.facts("Announced")
    rows = section(page, "Journal").get_by_role("listitem")
    row = rows.filter(has_text="Announced by admin: Redeploy of host-b")
    expect(row).to_contain_text(str(fact["position"]))
    expect(rows.first).to_contain_text(str(shared.facts()[-1]["position"]))


def test_new_entries_wait_while_the_user_reads_the_list(
    page: Page, shared: RunningService
) -> None:
    journal = section(page, "Journal")
    entries = journal.get_by_role("list")
    entries.hover()
    before = entries.inner_text()
    shared.announce(type="Redeploy", vms=["lone"])
    button = journal.get_by_role("button", name="new journal entr")
    expect(button).to_be_visible()
    assert entries.inner_text() == before
    button.click()
    expect(entries).to_contain_text("Announced by admin: Redeploy of lone")


# --- layout ------------------------------------------------------------------


def test_the_layout_does_not_shift_when_data_arrives(
    user: PortalUser, service: RunningService
) -> None:
    # On a page of its own: an announcement of another test may arrive late, and
    # move what is below it.
    service.announce(host="host-a")
    page = user.open_page(service)
    expect(card(page, "Reboot of host-a")).to_be_visible()
    page.evaluate(_DRAWN_AGAIN)
    page.evaluate(_SHIFTS)
    for days in (30, 31, 32):
        service.announce(type="Freeze", vms=["lone"], notice_seconds=days * 86_400)
    expect(card(page, "Freeze of lone")).to_have_count(3)
    page.evaluate(_DRAWN_AGAIN)
    assert page.evaluate("window.shifts") == []


@pytest.mark.full
def test_long_names_do_not_widen_a_narrow_page(
    page: Page, shared: RunningService
) -> None:
    name = "w" * 80
    response = shared.request("PUT", f"/v1/vms/{name}", {})
    assert response.status == 200, response.body
    shared.announce(vms=[name])
    expect(card(page, f"Reboot of {name}")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
