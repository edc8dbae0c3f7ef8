"""The portal's origin: pages use only the service that they came from."""

import re
from pathlib import Path

import pytest
from tests.browser.files import PORTAL, served
from tests.browser.portal_user import PortalUser, navigate
from tests.server.support.service import RunningService

#: XML namespaces, which look like URLs but are never requested.
NAMES = ("http://www.w3.org/",)


@pytest.mark.parametrize("file", served(), ids=lambda file: file.name)
def test_no_file_names_another_origin(file: Path) -> None:
    named = re.findall(r"""(?:https?:)?//[\w.-]+\.\w+[^\s"'`)]*""", file.read_text())
    assert [url for url in named if not url.startswith(NAMES)] == []


def test_the_served_files_include_the_page_and_its_script() -> None:
    assert {PORTAL / "index.html", PORTAL / "app.js"} <= {*served()}


def test_no_request_leaves_the_origin(user: PortalUser, shared: RunningService) -> None:
    urls: list[str] = []
    page = user.open_page(shared)
    page.on("request", lambda request: urls.append(request.url))
    page.reload()
    for name in ("now", "timeline", "fleet"):
        navigate(page, name)
    assert urls
    assert [url for url in urls if not url.startswith(f"{shared.control}/")] == []
