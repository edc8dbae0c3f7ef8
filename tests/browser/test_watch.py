"""The page watch: errors on a page are found even if no test checks for them."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import expect
from tests.browser.portal_user import PortalUser, ProfilePool, a_user
from tests.server.support.service import RunningService

SCRIPTS = {
    "/favicon.ico": "",
    "/good.js": "document.title = 'good';",
    "/loud.js": "console.error('a loud complaint');",
    "/broken.js": "throw new Error('a broken page');",
    "/inline.js": "document.body.setAttribute('style', 'color: red');",
    "/asking.js": "await fetch('/nothing-there');",
    "/leaving.js": "await fetch('http://127.0.0.2:9/away').catch(() => 0);",
}
RULES = "default-src 'self'; connect-src *"
PAGE = '<!doctype html><title>page</title><script src="{}.js" type="module"></script>'


class ScriptPageHandler(BaseHTTPRequestHandler):
    """Serves a page for each script, with a policy as strict as the portal's."""

    def do_GET(self) -> None:
        script = SCRIPTS.get(self.path)
        exists = script is not None or f"{self.path}.js" in SCRIPTS
        self.send_response(200 if exists else 404)
        kind = "text/html" if script is None else "text/javascript"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", RULES)
        self.end_headers()
        self.wfile.write((script or PAGE.format(self.path)).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def pages() -> Iterator[RunningService]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptPageHandler) as server:
        Thread(target=server.serve_forever).start()
        yield RunningService(
            metadata="", control=f"http://127.0.0.1:{server.server_port}"
        )
        server.shutdown()


@pytest.fixture
def unchecked_user(profiles: ProfilePool) -> Iterator[PortalUser]:
    """Yield a user whose page errors fail no test."""
    with a_user(profiles) as user:
        yield user


def test_a_correct_page_causes_no_complaint(
    user: PortalUser, pages: RunningService
) -> None:
    page = user.new_page(pages)
    page.goto(f"{pages.control}/good")
    expect(page).to_have_title("good")


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/loud", "a loud complaint"),
        ("/broken", "a broken page"),
        ("/inline", "Content Security Policy"),
        ("/asking", "status of 404"),
        ("/leaving", "left the origin: http://127.0.0.2:9/away"),
    ],
)
def test_a_faulty_page_causes_a_complaint(
    unchecked_user: PortalUser, pages: RunningService, path: str, complaint: str
) -> None:
    page = unchecked_user.new_page(pages)
    page.goto(f"{pages.control}{path}")
    page.evaluate("(path) => import(path).catch(() => 0)", f"{path}.js")
    assert complaint in " ".join(unchecked_user.watch.complaints)


def test_an_expected_complaint_is_ignored(
    user: PortalUser, pages: RunningService
) -> None:
    user.allow_errors(r"a loud \w+")
    user.new_page(pages).goto(f"{pages.control}/loud")


def test_scripts_can_be_evaluated_on_a_page_with_a_strict_policy(
    user: PortalUser, pages: RunningService
) -> None:
    page = user.new_page(pages)
    page.goto(f"{pages.control}/good")
    assert page.evaluate("(word) => document.title + word", "!") == "good!"
