"""Dialogs: unfinished input, and responses that arrive after a dialog is closed."""

import pytest
from playwright.sync_api import Route, expect
from tests.browser.components import mounted
from tests.browser.portal_user import PortalUser
from tests.browser.test_acts import expect_message, press
from tests.server.support.service import RunningService


def test_an_error_is_shown_even_after_the_dialog_was_closed(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 409")
    maintenance = shared.announce(vms=["lone"])
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    held: list[Route] = []
    page.route("**/cancel", lambda route: held.append(route))
    press(page, "Cancel maintenance: Reboot of lone")
    with page.expect_request("**/cancel"):
        press(page, "Cancel maintenance")
    press(page, "Keep maintenance")
    (event,) = maintenance["events"]
    shared.request("POST", f"/v1/events/{event['id']}/approve")
    held[0].continue_()
    expect_message(page, "has started and cannot be canceled")


@pytest.mark.full
def test_a_closed_dialog_does_not_take_the_focus_when_its_response_arrives(
    user: PortalUser, shared: RunningService
) -> None:
    page = mounted(user, shared, "HostActions", name="host-b")
    held: list[Route] = []
    page.route("**/recovered", lambda route: held.append(route))
    press(page, "Mark as recovered: host-b")
    with page.expect_request("**/recovered"):
        press(page, "Mark as recovered")
    press(page, "Cancel")
    elsewhere = page.get_by_role("button", name="Announce…: host-b")
    elsewhere.focus()
    held[0].continue_()
    expect_message(page, "Nothing to do")
    expect(elsewhere).to_be_focused()


@pytest.mark.full
def test_a_key_that_is_held_down_does_not_repeat_an_action(
    user: PortalUser, shared: RunningService
) -> None:
    page = mounted(user, shared, "HostActions", name="host-b")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.get_by_role("button", name="Mark as recovered: host-b").focus()
    for _ in range(5):
        page.keyboard.down("Enter")  # a repetition from the second time on
    expect(page.get_by_label("Reason")).to_be_focused()
    assert urls == []
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    expect_message(page, "Nothing to do")


def test_a_date_without_a_time_is_rejected(
    user: PortalUser, shared: RunningService
) -> None:
    page = mounted(user, shared, "HostActions", name="host-b")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    press(page, "Mark as degraded: host-b")
    page.get_by_label("Fails by").focus()
    page.keyboard.type("03072035")
    press(page, "Mark as degraded")
    expect(page.get_by_role("dialog")).to_contain_text("Enter a date and time.")
    assert urls == []
