"""The portal keeps to the service that it came from."""

import re
from pathlib import Path

import pytest
from tests.browser.files import PORTAL, served
from tests.browser.visitor import Visitor, go
from tests.server.support.service import RunningService

#: Names of languages, which look like addresses and are never asked for.
NAMES = ("http://www.w3.org/",)


@pytest.mark.parametrize("file", served(), ids=lambda file: file.name)
def test_no_file_names_another_origin(file: Path) -> None:
    named = re.findall(r"""(?:https?:)?//[\w.-]+\.\w+[^\s"'`)]*""", file.read_text())
    assert [each for each in named if not each.startswith(NAMES)] == []


def test_the_files_that_are_served_were_looked_at() -> None:
    assert {PORTAL / "index.html", PORTAL / "app.js"} <= {*served()}


def test_no_request_leaves_the_origin(visitor: Visitor, shared: RunningService) -> None:
    asked: list[str] = []
    page = visitor.opens(shared)
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    for name in ("now", "timeline", "fleet"):
        go(page, name)
    assert asked
    assert [each for each in asked if not each.startswith(f"{shared.control}/")] == []
