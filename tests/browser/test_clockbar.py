"""The clock bar, injected faults, exceeded limits, and service problems."""

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Serve
from tests.browser.portal_user import PortalUser
from tests.server.control.test_token_limits import open_streams
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService

_SHIFT = """() => new Promise((report) => {
  new PerformanceObserver((list, observer) => {
    observer.disconnect();
    report(list.getEntries().reduce((sum, each) => sum + each.value, 0));
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => report(0), 300);
})"""


def bar(page: Page) -> Locator:
    return page.get_by_role("region", name="Service clock")


def press(page: Page, name: str) -> None:
    bar(page).get_by_role("button", name=name, exact=True).click()


def time_of(service: RunningService) -> datetime:
    return datetime.fromisoformat(service.get("/v1/clock")["now"])


def moved(page: Page, service: RunningService, before: datetime) -> float:
    """Wait until the page shows the new time; return how many seconds it advanced."""
    hands = bar(page).locator("time")
    shown = before.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    expect(hands).not_to_have_attribute("datetime", shown)
    return (time_of(service) - before).total_seconds()


@pytest.mark.full
def test_the_system_clock_is_not_shown(user: PortalUser, serve: Serve) -> None:
    page = user.open_page(serve(clock="system"))
    expect(bar(page)).to_have_count(0)


@pytest.mark.full
def test_a_fast_clock_shows_its_speed(user: PortalUser, serve: Serve) -> None:
    page = user.open_page(serve(clock="x60"))
    expect(bar(page)).to_contain_text("runs 60 times as fast as real time")
    expect(bar(page).get_by_role("button")).to_have_count(0)


def test_a_manual_clock_can_be_moved_by_minutes_or_any_duration(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared)
    expect(bar(page)).to_contain_text("paused until advanced")
    before = time_of(shared)
    press(page, "+15 min")
    assert moved(page, shared, before) == 900
    before = time_of(shared)
    bar(page).get_by_label("Advance by").fill("2h30m")
    bar(page).get_by_label("Advance by").press("Enter")
    assert moved(page, shared, before) == 9000


@pytest.mark.full
def test_a_manual_clock_can_be_moved_to_the_next_not_before(
    user: PortalUser, shared: RunningService
) -> None:
    shared.announce(vms=["lone"], notice_seconds=7200)
    maintenance = shared.announce(vms=["web-0"], notice_seconds=3600)
    page = user.open_page(shared)
    before = time_of(shared)
    press(page, "To next NotBefore")
    moved(page, shared, before)
    assert time_of(shared) == datetime.fromisoformat(maintenance["not_before"])


@pytest.mark.full
def test_an_invalid_or_too_long_step_is_refused_with_a_message(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 422")
    page = user.open_page(shared)
    by, alert = bar(page).get_by_label("Advance by"), bar(page).get_by_role("alert")
    by.fill("soon")
    press(page, "Advance")
    expect(alert).to_contain_text("“soon” is not a valid duration")
    by.fill("99999d")
    press(page, "Advance")
    message = shared.request(
        "POST", "/v1/clock/advance", {"seconds": 99999 * 86400}
    ).detail
    expect(alert).to_have_text(message)


@pytest.mark.full
def test_the_page_follows_a_clock_moved_by_others(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared)
    before = time_of(shared)
    expect(bar(page)).to_be_visible()
    shared.advance(60)
    assert moved(page, shared, before) == 60


def test_faults_are_shown_while_they_are_active(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared)
    faults = page.get_by_role("region", name="Active faults")
    expect(faults).to_have_count(0)
    fault = {"kind": "429", "vms": ["web-0"], "on": "approve", "count": 3}
    assert shared.request("POST", "/v1/faults", fault).status == 201
    expect(faults).to_contain_text("VMs receive intentionally faulty responses")
    expect(faults).to_contain_text("approvals from web-0: 429 Too Many Requests")
    expect(faults).to_contain_text("3 requests left")
    assert shared.request("DELETE", "/v1/faults").status == 204
    expect(faults).to_have_count(0)


def test_tokens_over_their_limits_are_shown(
    user: PortalUser, service: RunningService
) -> None:
    team = client_with_token(service, "team", "group", group="web")
    with ExitStack() as stack:
        open_streams(team, stack)
        assert team.request("GET", "/v1/stream").status == 429
        page = user.open_page(service)
        limits = page.get_by_role("region", name="Exceeded limits")
        text = "Limits exceeded: token team, 1 request refused"
        expect(limits).to_contain_text(text)


def test_service_problems_are_shown_until_they_are_over(
    user: PortalUser, serve: Serve, tmp_path: Path
) -> None:
    database, moved_away = tmp_path / "kept.db", tmp_path / "moved.db"
    service = serve(store=f"sqlite:///{database}")
    page = user.open_page(service)
    problems = page.get_by_role("region", name="Service problems")
    expect(problems).to_have_count(0)
    database.rename(moved_away)
    order = {"type": "Reboot", "vms": ["web-0"]}
    assert service.request("POST", "/v1/maintenances", order).status == 503
    expect(problems).to_contain_text("writes are failing: ")
    expect(problems).to_contain_text("(for ")
    moved_away.rename(database)
    expect(problems).to_have_count(0)


def test_the_layout_does_not_shift_when_the_clock_and_faults_appear(
    user: PortalUser, shared: RunningService
) -> None:
    assert shared.request("POST", "/v1/faults", {"kind": "500"}).status == 201
    page = user.open_page(shared, width=390)
    expect(page.get_by_role("region", name="Active faults")).to_be_visible()
    assert page.evaluate(_SHIFT) < 0.01
    assert shared.request("DELETE", "/v1/faults").status == 204
