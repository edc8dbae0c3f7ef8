"""Every page can be used by everyone, as far as axe-core can tell."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.lively import a_lively_service
from tests.browser.visitor import Scheme, Visitor, go
from tests.programs.installed import NODE_MODULES, node_module
from tests.server.service import Service

PAGES = ("now", "timeline", "fleet")
GRAVE = ("serious", "critical")

#: Not by a tag of the page: its rules forbid scripts that are not the service's.
_RUN = "() => axe.run(document, { preload: false, resultTypes: ['violations'] })"


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
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_keeps_anybody_out(
    visitor: Visitor, lively: Service, axe: str, scheme: Scheme, width: int
) -> None:
    page = visitor.opens(lively, PAGES[0], width=width, scheme=scheme)
    page.evaluate(axe)
    found = {}
    for name in PAGES:
        go(page, name)
        found[name] = violations(page)
    assert not any(found.values()), found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_from_signing_in(
    visitor: Visitor, lively: Service, axe: str, scheme: Scheme
) -> None:
    page = visitor.arrives(lively, scheme=scheme)
    page.evaluate(axe)
    assert violations(page) == []


def violations(page: Page) -> Sequence[str]:
    """Find what is grave; what is less so is printed."""
    found = page.evaluate(_RUN)["violations"]
    told = [(each["impact"], _sentence(each)) for each in found]
    for impact, sentence in told:
        print(f"{impact}: {sentence}")  # noqa: T201  pytest shows it with a failure
    return [sentence for impact, sentence in told if impact in GRAVE]


def _sentence(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    where = " ".join(nodes[0]["target"])
    why = nodes[0]["failureSummary"].splitlines()[-1].strip()
    return f"{violation['help']}: {len(nodes)} x, as at {where} ({why})"
