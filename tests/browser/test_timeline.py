"""The Timeline page: past and upcoming maintenance in one chart."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Serve
from tests.browser.portal_user import PortalUser, ProfilePool, a_user
from tests.server.support.service import RunningService


@pytest.fixture(scope="module")
def opened(profiles: ProfilePool, lively: RunningService) -> Iterator[Page]:
    """Open the timeline of a busy service once."""
    with a_user(profiles) as user:
        yield user.open_page(lively, "timeline")
    assert not user.watch.complaints


@pytest.fixture
def page(opened: Page) -> Page:
    """Reset the timeline to what a new user sees: one hour around now."""
    opened.evaluate(
        "localStorage.removeItem('forewarn.timeline'); location.hash = '#/now'"
    )
    opened.locator(".timeline").wait_for(state="detached")
    opened.evaluate("location.hash = '#/timeline'")
    lane(opened, "host-1").wait_for()
    return opened


def lane(page: Page, name: str) -> Locator:
    """Find the bars of a host or a group."""
    return page.get_by_role("list", name=name, exact=True)


def bar(page: Page, lane_: str, said: str) -> Locator:
    """Find a bar by the start of its accessible name."""
    return lane(page, lane_).get_by_role("button", name=re.compile(f"^{said}"))


def choose(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def displayed_period(page: Page) -> str:
    """Return the displayed period."""
    return page.locator(".stretch").inner_text()


def left_edge(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["x"]


# --- lanes and bars ----------------------------------------------------------


def test_a_host_has_a_lane_with_a_bar_for_each_maintenance(page: Page) -> None:
    expect(lane(page, "host-4").get_by_role("button")).to_have_count(3)
    expect(bar(page, "host-4", "Preempt of render-8")).to_be_visible()


@pytest.mark.full
def test_lanes_can_be_groups_even_after_a_reload(page: Page) -> None:
    choose(page, "Groups")
    page.reload()
    lane(page, "shop").wait_for()
    for group in ("shop", "api", "orders"):
        expect(bar(page, group, f"Reboot of host-1, group {group}")).to_be_visible()
    expect(lane(page, "host-1")).to_have_count(0)


def test_the_accessible_name_of_a_bar_is_complete(page: Page) -> None:
    expect(bar(page, "host-1", "Reboot")).to_have_accessible_name(
        "Reboot of host-1, groups api, orders, render and 2 more, scheduled, "
        "not before 10:06:00, approved by orders-0, shop-0, "
        "seen by api-0, orders-0, orders-2 and 6 more"
    )


def test_marks_show_who_approved_and_when(page: Page) -> None:
    marks = bar(page, "host-1", "Reboot").locator(".mark.approved")
    expect(marks.first).to_have_attribute(
        "title", "approved by orders-0, shop-0, 09:23:00 (2030-03-04 08:23:00 UTC)"
    )


def test_past_and_upcoming_maintenance_are_in_one_chart(page: Page) -> None:
    choose(page, "6 h")
    now = left_edge(page.locator(".plot .now"))
    assert left_edge(bar(page, "host-5", "Freeze").locator(".work")) < now
    assert left_edge(bar(page, "host-1", "Reboot").locator(".work")) > now


def test_a_bar_opens_its_story(page: Page, lively: RunningService) -> None:
    bar(page, "host-5", "Stuck: Redeploy of mail, group mail").press("Enter")
    (stuck,) = lively.get("/v1/maintenances?phase=STARTED&vm=mail")["items"][:1]
    expect(page).to_have_url(re.compile(f"#/timeline/{stuck['id']}$"))


def test_lanes_can_be_searched_by_name(page: Page) -> None:
    page.get_by_label("Search hosts").fill("T-2")
    expect(page.locator(".lanes > li")).to_have_count(1)
    expect(bar(page, "host-2", "Reboot")).to_be_visible()
    page.get_by_label("Search hosts").fill("nowhere")
    choose(page, "Clear search")
    expect(lane(page, "host-1")).to_be_visible()


# --- zooming and moving ------------------------------------------------------


def test_buttons_zoom_around_now(page: Page) -> None:
    choose(page, "15 min")
    assert displayed_period(page) == "09:23:15 to 09:38:15 15 min"
    choose(page, "24 h")
    assert displayed_period(page).endswith(" 1 d")


def test_keys_zoom_and_move(page: Page) -> None:
    page.locator("main").focus()
    assert displayed_period(page) == "09:00:00 to 10:00:00 1 h"
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".stretch")).to_contain_text("08:45:00 to 09:45:00")
    page.keyboard.press("-")
    expect(page.locator(".stretch")).to_contain_text("08:30:00 to 10:00:00")
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stretch")).to_contain_text("09:00:00 to 10:00:00")


def test_keys_typed_into_the_search_do_not_move_the_chart(page: Page) -> None:
    before = displayed_period(page)
    page.get_by_label("Search hosts").press_sequentially("-+")
    assert displayed_period(page) == before


def test_the_wheel_zooms_around_the_pointer(page: Page) -> None:
    work = bar(page, "host-2", "Reboot").locator(".work")
    before = left_edge(work)
    box = page.locator(".ticks").bounding_box()
    assert box is not None
    page.mouse.move(before, box["y"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 300)
    expect(page.locator(".stretch")).to_contain_text("1 h 49 min")
    page.keyboard.up("Control")
    assert abs(left_edge(work) - before) < 2


def test_dragging_moves_the_chart_and_opens_nothing(page: Page) -> None:
    begin = bar(page, "host-2", "Reboot")
    begin.hover()
    page.mouse.down()
    page.mouse.move(400, 300, steps=3)
    page.mouse.up()
    expect(page.locator(".stretch")).not_to_contain_text("09:00:00 to 10:00:00")
    assert page.url.endswith("#/timeline")
    choose(page, "Now")
    expect(page.locator(".stretch")).to_contain_text("09:00:00 to 10:00:00")
    begin.click()
    expect(page).to_have_url(re.compile("#/timeline/."))


def test_the_axis_shows_local_time_and_utc(page: Page) -> None:
    tick = page.locator(".ticks time", has_text="09:15")
    expect(tick).to_have_attribute("title", "2030-03-04 08:15:00 UTC")


# --- live updates ------------------------------------------------------------


def test_an_announcement_appears_and_now_follows_the_clock(
    user: PortalUser, service: RunningService
) -> None:
    page = user.open_page(service, "timeline")
    page.get_by_text("none is announced").wait_for()
    service.announce(host="host-a", notice_seconds=900)
    new_bar = bar(page, "host-a", "Reboot of host-a, groups db, web, scheduled")
    new_bar.wait_for()
    apart = left_edge(new_bar.locator(".work")) - left_edge(page.locator(".plot .now"))
    service.advance(600)
    page.wait_for_function(
        """(apart) => {
          const [work, now] = [".lanes .work", ".plot .now"].map((each) =>
            document.querySelector(each).getBoundingClientRect().x);
          return Math.abs((work - now) * 3 - apart) < 8;
        }""",
        arg=apart,
    )


@pytest.mark.full
def test_old_maintenance_appears_in_a_longer_period(
    user: PortalUser, service: RunningService
) -> None:
    maintenance = service.announce(host="host-a")
    service.request(
        "POST", f"/v1/maintenances/{maintenance['id']}/cancel", {"reason": "no"}
    )
    service.advance(3 * 86_400)
    page = user.open_page(service, "timeline")
    page.get_by_text("none is announced").wait_for()
    choose(page, "7 d")
    expect(bar(page, "host-a", "Canceled: Reboot of host-a")).to_be_visible()


@pytest.mark.full
def test_live_maintenance_outside_the_period_can_be_found(
    user: PortalUser, service: RunningService
) -> None:
    service.announce(host="host-a", notice_seconds=900)
    page = user.open_page(service, "timeline")
    lane(page, "host-a").wait_for()
    for _ in range(6):
        choose(page, "Earlier")
    choose(page, "Show 1 maintenance operation")
    expect(bar(page, "host-a", "Reboot")).to_be_visible()


# --- tables and narrow screens -----------------------------------------------


def test_the_timeline_can_be_shown_as_a_table(page: Page) -> None:
    choose(page, "Table")
    row = page.get_by_role("row", name="host-2 Reboot of host-2")
    cells = row.get_by_role("cell").all_inner_texts()
    assert cells[:5] == ["host-2", "Started", "09:14:00", "09:29:00", "09:17:00"]
    row.get_by_role("button", name="Reboot of host-2").click()
    expect(page).to_have_url(re.compile("#/timeline/."))


@pytest.mark.full
def test_a_narrow_screen_shows_lane_names_above_their_bars(
    user: PortalUser, lively: RunningService
) -> None:
    page = user.open_page(lively, "timeline", width=390)
    bars = lane(page, "host-1")
    bars.wait_for()
    name, below = page.locator(".lane .name").first.bounding_box(), bars.bounding_box()
    assert name is not None
    assert below is not None
    assert name["y"] + name["height"] <= below["y"]


@pytest.mark.full
def test_long_names_fit_a_narrow_screen(user: PortalUser, serve: Serve) -> None:
    name = "n" * 80
    service = serve(fleet=f'[[vms]]\nname = "{name}"\n')
    service.announce(vms=[name])
    page = user.open_page(service, "timeline", width=390)
    choose(page, "Groups")
    lane(page, name).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    choose(page, "Table")
    page.get_by_role("rowheader").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.full
def test_an_empty_fleet_shows_instructions(user: PortalUser, serve: Serve) -> None:
    page = user.open_page(serve(fleet=""), "timeline")
    expect(page.get_by_text("forewarn fleet apply fleet.toml")).to_be_visible()


@pytest.mark.full
def test_many_lanes_are_shown_a_hundred_at_a_time(
    user: PortalUser, serve: Serve
) -> None:
    names = [f"vm-{number}" for number in range(120)]
    service = serve(fleet="".join(f'[[vms]]\nname = "{name}"\n' for name in names))
    service.request("POST", "/v1/maintenances", {"type": "Freeze", "vms": names})
    page = user.open_page(service, "timeline")
    expect(lane(page, "No host").get_by_role("button")).to_have_count(6)
    choose(page, "Groups")
    lanes = page.locator(".lanes > li")
    expect(lanes).to_have_count(100)
    choose(page, "Show 20 more")
    expect(lanes).to_have_count(120)
