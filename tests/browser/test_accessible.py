"""Accessibility of every page, checked with axe-core."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.portal_user import PortalUser, navigate
from tests.programs.installed import NODE_MODULES, node_module
from tests.server.support.service import RunningService

PAGES = ("now", "timeline", "fleet")
GRAVE = ("serious", "critical")

_GROUND = "(one) => getComputedStyle(one).backgroundColor"

_RUN = "([where, options]) => axe.run(where, { preload: false, ...options })"

#: Rules whose result may differ between light and dark; the others run once.
_COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core."""
    node_module("axe-core")
    return Path(NODE_MODULES / "axe-core" / "axe.min.js").read_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_accessible(
    user: PortalUser, lively: RunningService, axe: str, width: int
) -> None:
    page = user.open_page(lively, PAGES[0], width=width)
    page.evaluate(axe)  # not by a script tag: the page only loads the service's scripts
    for name in PAGES:
        navigate(page, name)
        assert violations(page) == [], name


def test_no_page_is_wider_than_a_small_phone(
    user: PortalUser, lively: RunningService
) -> None:
    page = user.open_page(lively, PAGES[0], width=320)
    for name in PAGES:
        navigate(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, name


@pytest.mark.full
def test_panels_and_dialogs_are_accessible(
    user: PortalUser, lively: RunningService, axe: str
) -> None:
    page = user.open_page(lively, "fleet")
    page.evaluate(axe)
    page.get_by_role("button", name="host-1").first.click()
    assert violations(page, ".fleet-details") == [], "a host"
    page.get_by_role("button", name="Announce…").first.click()
    assert violations(page, "dialog") == [], "announcing"
    page.keyboard.press("Escape")
    navigate(page, "now")
    page.get_by_role("button", name="Approve: Reboot of host-1").click()
    assert violations(page, "dialog") == [], "approving"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Reboot of host-1").first.click()
    page.get_by_role("heading", name="Affected groups").wait_for()
    assert violations(page, ".story") == [], "a story"


@pytest.mark.full
def test_selections_are_visible_with_forced_colors(
    user: PortalUser, lively: RunningService
) -> None:
    page = user.open_page(lively, "timeline")
    page.emulate_media(forced_colors="active")
    for chosen, other in (
        ("nav [aria-current]", "nav :not([aria-current])"),
        (".choice [aria-pressed=true]", ".choice [aria-pressed=false]"),
        (".plot .now", "main"),
        (".bar .tick", "main"),
    ):
        grounds = [
            page.locator(selector).first.evaluate(_GROUND)
            for selector in (chosen, other)
        ]
        assert grounds[0] != grounds[1], chosen
    page.emulate_media(forced_colors="none")


@pytest.mark.full
def test_the_portal_follows_the_browser_font_size(
    user: PortalUser, lively: RunningService
) -> None:
    page = user.open_page(lively, "now")
    browser = page.context.new_cdp_session(page)
    browser.send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    expect(page.locator("html")).to_have_css("font-size", "30px")


@pytest.mark.full
def test_the_focus_is_not_hidden_by_the_header(
    user: PortalUser, lively: RunningService
) -> None:
    page = user.open_page(lively, "now", height=480)
    page.get_by_role("link", name="Redeploy of host-6 (shop-5)").focus()
    header = page.locator("header").bounding_box()
    assert header
    for _ in range(8):
        page.keyboard.press("Shift+Tab")
        box = page.locator(":focus").bounding_box()
        assert box
        assert box["y"] >= header["height"]


def test_the_sign_in_page_is_accessible(
    user: PortalUser, lively: RunningService, axe: str
) -> None:
    page = user.open_sign_in(lively)
    page.evaluate(axe)
    assert violations(page) == []


def violations(page: Page, where: str = "html") -> Sequence[str]:
    """Return grave violations, in light and in dark; print all violations."""
    page.emulate_media(color_scheme="light")
    results = page.evaluate(_RUN, [where, {}])["violations"]
    page.emulate_media(color_scheme="dark")
    results += page.evaluate(_RUN, [where, _COLORS])["violations"]
    described = [(violation["impact"], _sentence(violation)) for violation in results]
    for impact, sentence in described:
        print(f"{impact}: {sentence}")  # noqa: T201  pytest shows it with a failure
    return [sentence for impact, sentence in described if impact in GRAVE]


def _sentence(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    where = " ".join(nodes[0]["target"])
    why = nodes[0]["failureSummary"].splitlines()[-1].strip()
    return f"{violation['help']}: {len(nodes)} x, as at {where} ({why})"
