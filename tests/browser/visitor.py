"""A person with a browser, who visits the portal."""

from contextlib import ExitStack
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.browser.watch import Watch
from tests.server.service import Service

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

#: Each page sets this mark when its first data are drawn.
_DRAWN = """(name) => new Promise((drawn, failed) => {
  const late = () => failed(new Error(`the page has not set the mark ${name}`));
  const timer = setTimeout(late, 5000);
  new PerformanceObserver((list, observer) => {
    if (!list.getEntriesByName(name).length) return;
    clearTimeout(timer);
    observer.disconnect();
    drawn(null);
  }).observe({ type: "mark", buffered: true });
})"""

_PATIENCE = 5_000  # ms; nothing takes one


class Visitor:
    """Opens pages, each in a browser that remembers nothing."""

    def __init__(self, browser: Browser, closing: ExitStack) -> None:
        """Use `browser`; all that is opened is closed by `closing`."""
        self._browser = browser
        self._closing = closing
        self.watch = Watch()

    def forgive(self, *patterns: str) -> None:
        """Expect complaints that have one of these regular expressions in them."""
        self.watch.forgive(*patterns)

    def comes(
        self,
        service: Service,
        *,
        width: int = 1280,
        height: int = 800,
        scheme: Scheme = "light",
        zone: str = "Europe/Berlin",
    ) -> Page:
        """Sit down in front of an empty page, not signed in."""
        context = self._browser.new_context(
            base_url=service.control,
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id=zone,
            reduced_motion="reduce",
        )
        self._closing.callback(context.close)
        context.set_default_timeout(_PATIENCE)
        self.watch.follow(context, service.control)
        return context.new_page()

    def opens(
        self,
        service: Service,
        where: str = "now",
        *,
        token: str | None = None,
        width: int = 1280,
        height: int = 800,
        scheme: Scheme = "light",
        zone: str = "Europe/Berlin",
    ) -> Page:
        """Open a page of the portal, signed in, and wait until it shows its data.

        Without `token` it is the administrator who comes.
        """
        page = self.comes(service, width=width, height=height, scheme=scheme, zone=zone)
        signed_in(page.context, token or service.token)
        go(page, where)
        return page


def signed_in(context: BrowserContext, token: str) -> None:
    """Give `context` the cookie that signing in would give it."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = context.request.post("/v1/session", headers=headers)
    assert answer.status == 201, answer.text()


def go(page: Page, where: str) -> None:
    """Open a page of the portal, and wait until it shows its data."""
    page.goto(f"/portal/#/{where}")
    drawn(page, where.partition("?")[0])


def drawn(page: Page, where: str) -> None:
    """Wait until a page of the portal shows its first data."""
    page.evaluate(_DRAWN, f"forewarn:{where}")


def sign_in(page: Page, token: str) -> None:
    """Type `token`, as people do who visit for the first time."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Token")).to_have_count(0)
