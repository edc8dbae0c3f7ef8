"""Every page can be used by everyone, as far as axe-core can tell."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.lively import a_lively_service
from tests.browser.visitor import Visitor, go
from tests.programs.installed import NODE_MODULES, node_module
from tests.server.service import Service

PAGES = ("now", "timeline", "fleet")
GRAVE = ("serious", "critical")

_RUN = "(options) => axe.run(document, { preload: false, ...options })"

#: What may differ between light and dark; all else need not be looked at twice.
_COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with a_lively_service(tmp_path_factory.mktemp("lively")) as made:
        yield made


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    node_module("axe-core")
    return Path(NODE_MODULES / "axe-core" / "axe.min.js").read_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_keeps_anybody_out(
    visitor: Visitor, lively: Service, axe: str, width: int
) -> None:
    page = visitor.opens(lively, PAGES[0], width=width)
    page.evaluate(axe)  # no tag of the page: it takes scripts of the service alone
    for name in PAGES:
        go(page, name)
        assert violations(page) == [], name


def test_nothing_is_wider_than_the_narrowest_telephone(
    visitor: Visitor, lively: Service
) -> None:
    page = visitor.opens(lively, PAGES[0], width=320)
    for name in PAGES:
        go(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, name


def test_nobody_is_kept_from_signing_in(
    visitor: Visitor, lively: Service, axe: str
) -> None:
    page = visitor.arrives(lively)
    page.evaluate(axe)
    assert violations(page) == []


def violations(page: Page) -> Sequence[str]:
    """Find what is grave, in light and in dark; what is less so is printed."""
    page.emulate_media(color_scheme="light")
    found = page.evaluate(_RUN, {})["violations"]
    page.emulate_media(color_scheme="dark")
    found += page.evaluate(_RUN, _COLORS)["violations"]
    told = [(each["impact"], _sentence(each)) for each in found]
    for impact, sentence in told:
        print(f"{impact}: {sentence}")  # noqa: T201  pytest shows it with a failure
    return [sentence for impact, sentence in told if impact in GRAVE]


def _sentence(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    where = " ".join(nodes[0]["target"])
    why = nodes[0]["failureSummary"].splitlines()[-1].strip()
    return f"{violation['help']}: {len(nodes)} x, as at {where} ({why})"
