"""Every page can be used by everyone, as far as axe-core can tell."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.lively import a_lively_service
from tests.browser.visitor import Visitor, go
from tests.programs.installed import NODE_MODULES, node_module
from tests.server.support.service import RunningService

PAGES = ("now", "timeline", "fleet")
GRAVE = ("serious", "critical")

_GROUND = "(one) => getComputedStyle(one).backgroundColor"

_RUN = "([where, options]) => axe.run(where, { preload: false, ...options })"

#: What may differ between light and dark; all else need not be looked at twice.
_COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with a_lively_service(tmp_path_factory.mktemp("lively")) as made:
        yield made


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    node_module("axe-core")
    return Path(NODE_MODULES / "axe-core" / "axe.min.js").read_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_keeps_anybody_out(
    visitor: Visitor, lively: RunningService, axe: str, width: int
) -> None:
    page = visitor.opens(lively, PAGES[0], width=width)
    page.evaluate(axe)  # no tag of the page: it takes scripts of the service alone
    for name in PAGES:
        go(page, name)
        assert violations(page) == [], name


@pytest.mark.full
def test_nothing_is_wider_than_the_narrowest_telephone(
    visitor: Visitor, lively: RunningService
) -> None:
    page = visitor.opens(lively, PAGES[0], width=320)
    for name in PAGES:
        go(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, name


@pytest.mark.full
def test_no_panel_and_no_dialog_keeps_anybody_out(
    visitor: Visitor, lively: RunningService, axe: str
) -> None:
    page = visitor.opens(lively, "fleet")
    page.evaluate(axe)
    page.get_by_role("button", name="host-1").first.click()
    assert violations(page, ".fleet-details") == [], "a host"
    page.get_by_role("button", name="Announce…").first.click()
    assert violations(page, "dialog") == [], "announcing"
    page.keyboard.press("Escape")
    go(page, "now")
    page.get_by_role("button", name="Approve: Reboot of host-1").click()
    assert violations(page, "dialog") == [], "approving"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Reboot of host-1").first.click()
    page.get_by_role("heading", name="Whom it touches").wait_for()
    assert violations(page, ".story") == [], "a story"


@pytest.mark.full
def test_what_is_chosen_is_seen_without_the_portals_colors(
    visitor: Visitor, lively: RunningService
) -> None:
    page = visitor.opens(lively, "timeline")
    page.emulate_media(forced_colors="active")
    for chosen, other in (
        ("nav [aria-current]", "nav :not([aria-current])"),
        (".choice [aria-pressed=true]", ".choice [aria-pressed=false]"),
        (".plot .now", "main"),
        (".bar .tick", "main"),
    ):
        grounds = [
            page.locator(each).first.evaluate(_GROUND) for each in (chosen, other)
        ]
        assert grounds[0] != grounds[1], chosen
    page.emulate_media(forced_colors="none")


@pytest.mark.full
def test_who_asks_the_browser_for_larger_text_gets_it(
    visitor: Visitor, lively: RunningService
) -> None:
    page = visitor.opens(lively, "now")
    browser = page.context.new_cdp_session(page)
    browser.send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    expect(page.locator("html")).to_have_css("font-size", "30px")


@pytest.mark.full
def test_the_focus_is_not_behind_the_header(
    visitor: Visitor, lively: RunningService
) -> None:
    page = visitor.opens(lively, "now", height=480)
    page.get_by_role("link", name="Redeploy of host-6").focus()
    header = page.locator("header").bounding_box()
    assert header
    for _ in range(8):
        page.keyboard.press("Shift+Tab")
        box = page.locator(":focus").bounding_box()
        assert box
        assert box["y"] >= header["height"]


def test_nobody_is_kept_from_signing_in(
    visitor: Visitor, lively: RunningService, axe: str
) -> None:
    page = visitor.arrives(lively)
    page.evaluate(axe)
    assert violations(page) == []


def violations(page: Page, where: str = "html") -> Sequence[str]:
    """Find what is grave, in light and in dark; what is less so is printed."""
    page.emulate_media(color_scheme="light")
    found = page.evaluate(_RUN, [where, {}])["violations"]
    page.emulate_media(color_scheme="dark")
    found += page.evaluate(_RUN, [where, _COLORS])["violations"]
    told = [(each["impact"], _sentence(each)) for each in found]
    for impact, sentence in told:
        print(f"{impact}: {sentence}")  # noqa: T201  pytest shows it with a failure
    return [sentence for impact, sentence in told if impact in GRAVE]


def _sentence(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    where = " ".join(nodes[0]["target"])
    why = nodes[0]["failureSummary"].splitlines()[-1].strip()
    return f"{violation['help']}: {len(nodes)} x, as at {where} ({why})"
