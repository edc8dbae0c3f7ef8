"""The announce form: a preview is required before an announcement."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.portal_user import PortalUser
from tests.browser.test_accessible import violations
from tests.programs.installed import NODE_MODULES, node_module
from tests.server.support.service import RunningService

_WIDEST = """() => Math.max(
  document.documentElement.scrollWidth,
  document.querySelector("dialog").scrollWidth,
)"""


def opened(page: Page) -> Locator:
    """Open the announce form."""
    page.get_by_role("button", name="Announce…").click()
    return page.get_by_role("dialog", name="Announce maintenance")


def previewed(dialog: Locator) -> Locator:
    """Request the preview, and wait for it."""
    dialog.get_by_role("button", name="Preview").click()
    preview = dialog.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("To be announced")
    return preview


def confirming(dialog: Locator) -> Locator:
    """Return the button that announces."""
    return dialog.get_by_role("button", name="Announce", exact=True)


def announced(service: RunningService, reason: str) -> list[Any]:
    maintenances = service.get("/v1/maintenances?limit=1000")["items"]
    return [
        maintenance for maintenance in maintenances if maintenance["reason"] == reason
    ]


def test_a_preview_shows_groups_times_and_explanations(
    user: PortalUser, shared: RunningService
) -> None:
    dialog = opened(user.open_page(shared))
    dialog.get_by_label("A host").check()
    dialog.get_by_label("Host", exact=True).fill("host-a")
    preview = previewed(dialog)
    summary = "1 maintenance operation, 2 events, 2 groups (db, web), 2 VMs"
    expect(preview.get_by_role("status")).to_contain_text(summary)
    expect(preview).to_contain_text("in 15 min")
    rows = preview.get_by_role("row").all_inner_texts()
    assert rows == ["Group\tVMs", "db\tdb-0", "web\tweb-0"]
    request = {"type": "Reboot", "host": "host-a"}
    answer = shared.request("POST", "/v1/maintenances?dry_run=true", request).json
    without_time, _, _ = answer["explained"][0]["summary"].rpartition(" for ")
    expect(preview).to_contain_text(f"{without_time} for ")


def test_the_form_can_be_used_with_the_keyboard_alone(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared)
    page.get_by_role("button", name="Announce…").press("Enter")
    for key in ("lone", "Enter", "Tab"):
        page.keyboard.type(key) if key == "lone" else page.keyboard.press(key)
    expect(page.get_by_label("Type", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    confirm = confirming(page.get_by_role("dialog"))
    expect(confirm).to_be_enabled()
    assert announced(shared, "by keyboard") == []
    for _ in range(5):
        page.keyboard.press("Tab")
    expect(confirm).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Scheduled: Reboot of lone")
    (maintenance,) = announced(shared, "by keyboard")
    assert maintenance["vms"] == ["lone"]


def test_a_changed_form_needs_a_new_preview(
    user: PortalUser, shared: RunningService
) -> None:
    dialog = opened(user.open_page(shared))
    dialog.get_by_label("VMs", exact=True).last.fill("lone")
    expect(confirming(dialog)).to_be_disabled()
    preview = previewed(dialog)
    expect(confirming(dialog)).to_be_enabled()
    dialog.get_by_label("Type", exact=True).select_option("Freeze")
    expect(confirming(dialog)).to_be_disabled()
    expect(preview).to_contain_text("The form has changed.")
    previewed(dialog)
    expect(preview.get_by_role("heading")).to_have_text("Freeze of lone")
    expect(confirming(dialog)).to_be_enabled()


@pytest.mark.full
def test_too_little_notice_is_refused_with_the_service_message(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 422")
    dialog = opened(user.open_page(shared))
    dialog.get_by_label("VMs", exact=True).last.fill("lone")
    dialog.get_by_label("After a custom notice").check()
    dialog.get_by_label("Notice", exact=True).fill("5m")
    dialog.get_by_role("button", name="Preview").click()
    request = {"type": "Reboot", "vms": ["lone"], "notice_seconds": 300}
    message = shared.request("POST", "/v1/maintenances?dry_run=true", request).detail
    expect(dialog.get_by_role("alert")).to_have_text(message)
    expect(confirming(dialog)).to_be_disabled()


def test_a_command_in_an_error_message_is_shown_as_code(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 409")
    page = user.open_page(shared)
    dialog = opened(page)
    dialog.locator("[name=vms]").fill("lone")
    detail = "lone is deallocated; start it first: `forewarn vm start lone`"
    page.route(
        "**/v1/maintenances?dry_run=true",
        lambda route: route.fulfill(status=409, json={"detail": detail}),
    )
    dialog.get_by_role("button", name="Preview").click()
    alert = dialog.get_by_role("alert")
    expect(alert).to_have_text(detail.replace("`", ""))
    expect(alert.locator("code")).to_have_text("forewarn vm start lone")


@pytest.mark.full
def test_vms_can_be_added_and_removed_by_name(
    user: PortalUser, shared: RunningService
) -> None:
    dialog = opened(user.open_page(shared))
    names = dialog.locator("[name=vms]")
    names.fill("web")
    options = dialog.locator("datalist option")
    expect(options).to_have_count(3)
    names.fill("web-0 web-1, lone")
    names.press("Enter")
    dialog.get_by_role("button", name="Remove web-1").click()
    names.fill("db-0")
    preview = previewed(dialog)
    expect(preview).to_contain_text("3 groups (db, lone, web), 3 VMs")


def test_an_announcement_repeated_after_a_lost_response_takes_effect_once(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("ERR_FAILED")
    page = user.open_page(shared)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/v1/maintenances", lose, times=1)
    dialog = opened(page)
    dialog.locator("[name=vms]").fill("lone")
    dialog.get_by_label("Reason").fill("lost")
    previewed(dialog)
    confirming(dialog).click()
    expect(dialog.get_by_role("alert")).to_contain_text("No response.")
    confirming(dialog).click()
    expect(dialog).to_have_count(0)
    assert len(announced(shared, "lost")) == 1


@pytest.mark.full
def test_a_long_name_fits_a_small_screen(
    user: PortalUser, shared: RunningService
) -> None:
    long = "n" * 80
    assert shared.request("PUT", f"/v1/vms/{long}", {}).status == 200
    page = user.open_page(shared, width=390)
    dialog = opened(page)
    dialog.locator("[name=vms]").fill(f"{long} ")
    previewed(dialog)
    assert page.evaluate(_WIDEST) <= 390


@pytest.mark.full
def test_the_dialog_is_accessible(user: PortalUser, shared: RunningService) -> None:
    node_module("axe-core")
    page = user.open_page(shared)
    dialog = opened(page)
    dialog.locator("[name=vms]").fill("lone web-0 ")
    dialog.get_by_text("Duration, description, source").click()
    previewed(dialog)
    page.evaluate((NODE_MODULES / "axe-core" / "axe.min.js").read_text())
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []


@pytest.mark.full
def test_a_viewer_cannot_announce(user: PortalUser, shared: RunningService) -> None:
    body = {"name": "onlooker", "role": "viewer"}
    token = shared.request("POST", "/v1/tokens", body).json["token"]
    page = user.open_page(shared, token=token)
    expect(page.get_by_role("button", name="Announce")).to_have_count(0)
    expect(page.get_by_role("button", name="Advance")).to_have_count(0)
