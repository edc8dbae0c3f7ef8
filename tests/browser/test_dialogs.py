"""Dialogs: what is half done in them, and what comes when they are gone."""

import pytest
from playwright.sync_api import Route, expect
from tests.browser.mounted import mounted
from tests.browser.test_acts import press, said
from tests.browser.visitor import Visitor
from tests.server.support.service import RunningService


def test_a_refusal_that_comes_after_the_dialog_was_left_is_told_all_the_same(
    visitor: Visitor, shared: RunningService
) -> None:
    visitor.forgive("status of 409")
    made = shared.announce(vms=["lone"])
    page = mounted(visitor, shared, "MaintenanceActions", of=made["id"])
    held: list[Route] = []
    page.route("**/cancel", lambda route: held.append(route))
    press(page, "Cancel: Reboot of lone")
    with page.expect_request("**/cancel"):
        press(page, "Cancel it")
    press(page, "Back")
    (event,) = made["events"]
    shared.ask("POST", f"/v1/events/{event['id']}/approve")
    held[0].continue_()
    said(page, "has started; complete or close it")


@pytest.mark.full
def test_a_dialog_that_was_left_does_not_take_the_focus_when_its_answer_comes(
    visitor: Visitor, shared: RunningService
) -> None:
    page = mounted(visitor, shared, "HostActions", name="host-b")
    held: list[Route] = []
    page.route("**/recovered", lambda route: held.append(route))
    press(page, "Recovered: host-b")
    with page.expect_request("**/recovered"):
        press(page, "Tell its VMs")
    press(page, "Back")
    elsewhere = page.get_by_role("button", name="Maintain: host-b")
    elsewhere.focus()
    held[0].continue_()
    said(page, "Nothing to do")
    expect(elsewhere).to_be_focused()


@pytest.mark.full
def test_a_key_that_is_held_down_does_nothing_again_and_again(
    visitor: Visitor, shared: RunningService
) -> None:
    page = mounted(visitor, shared, "HostActions", name="host-b")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("button", name="Recovered: host-b").focus()
    for _ in range(5):
        page.keyboard.down("Enter")  # from the second on it repeats
    expect(page.get_by_label("Reason")).to_be_focused()
    assert asked == []
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    said(page, "Nothing to do")


@pytest.mark.full
def test_a_day_without_a_time_is_not_taken_for_nothing(
    visitor: Visitor, shared: RunningService
) -> None:
    page = mounted(visitor, shared, "HostActions", name="host-b")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    press(page, "Degraded: host-b")
    page.get_by_label("Fails by").focus()
    page.keyboard.type("03072035")
    press(page, "Tell its VMs")
    expect(page.get_by_role("dialog")).to_contain_text("Give a day and a time.")
    assert asked == []
