"""A simulated user of the portal, with their own browser profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypedDict, Unpack
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from tests.browser.page_errors import PageErrors
from tests.patience import PATIENCE
from tests.server.support.service import RunningService

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

#: Waits for the performance mark that a page sets when it shows its first data.
_DRAWN = """(name) => new Promise((drawn, failed) => {
  const late = () => failed(new Error(`the page did not set the mark ${name}`));
  const timer = setTimeout(late, 60_000);
  new PerformanceObserver((list, observer) => {
    if (!list.getEntriesByName(name).length) return;
    clearTimeout(timer);
    observer.disconnect();
    drawn(null);
  }).observe({ type: "mark", buffered: true });
})"""

#: Stops a page from sending requests, because its session key is about to be cleared.
_SEND_NOTHING = "() => { window.fetch = () => new Promise(() => {}); }"
_STORE_KEY = "(key) => localStorage.setItem('forewarn-session-key', key)"

#: Placeholders for data that has not arrived yet.
_UNFINISHED = "main .skeleton, main [aria-busy=true]"

_PATIENCE = PATIENCE * 1000  # ms

expect.set_options(timeout=_PATIENCE)


class ProfilePool:
    """A pool of browser profiles: creating one takes longer than the rest of a test.

    Cookies and storage are cleared before a profile is lent again.
    """

    def __init__(self, browser: Browser) -> None:
        """Start with an empty pool."""
        self._browser = browser
        self._free: dict[str, list[BrowserContext]] = {}

    def lend(self, zone: str) -> BrowserContext:
        """Lend a profile with the time zone `zone` to one user at a time."""
        free = self._free.setdefault(zone, [])
        if free:
            return free.pop()
        context = self._browser.new_context(locale="en-GB", timezone_id=zone)
        context.set_default_timeout(_PATIENCE)
        return context

    def take_back(self, context: BrowserContext, zone: str) -> None:
        """Clear a profile, and keep it in the pool."""
        pages = [
            page
            for page in context.pages
            if urlsplit(page.url).scheme.startswith("http")
        ]
        for script in (_SEND_NOTHING, "() => localStorage.clear()"):
            for page in pages:
                page.evaluate(script)
        for page in context.pages:
            page.close()
        context.clear_cookies()
        self._free[zone].append(context)

    def close(self) -> None:
        """Close all profiles in the pool."""
        for context in [profile for free in self._free.values() for profile in free]:
            context.close()


class PageOptions(TypedDict, total=False):
    """Options for a new page."""

    width: int
    height: int
    scheme: Scheme
    zone: str


class PortalUser:
    """A user whose pages each have their own empty profile."""

    def __init__(self, profiles: ProfilePool) -> None:
        """Start without a page."""
        self._rooms = profiles
        self._lent: list[tuple[BrowserContext, str]] = []
        self.watch = PageErrors()

    def allow_errors(self, *patterns: str) -> None:
        """Expect complaints that match one of these regular expressions."""
        self.watch.allow_errors(*patterns)

    def new_page(
        self,
        service: RunningService,
        *,
        width: int = 1280,
        height: int = 800,
        scheme: Scheme = "light",
        zone: str = "Europe/Berlin",
    ) -> Page:
        """Return an empty page that is not signed in."""
        context = self._rooms.lend(zone)
        self._lent.append((context, zone))
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.watch.follow(page, service.control)
        return page

    def open_sign_in(self, service: RunningService) -> Page:
        """Open the portal, and wait for its sign-in form."""
        self.allow_errors("status of 401 .*/v1/session")
        page = self.new_page(service)
        page.goto(f"{service.control}/")
        page.get_by_label("Token").wait_for()
        return page

    def open_page(
        self,
        service: RunningService,
        where: str = "now",
        *,
        token: str | None = None,
        **options: Unpack[PageOptions],
    ) -> Page:
        """Open a page of the portal, signed in, and wait until it shows its data.

        Without `token`, the user is the administrator.
        """
        page = self.new_page(service, **options)
        start_session(page, service.control, token or service.token)
        page.goto(f"{service.control}/portal/#/{where}")
        wait_until_drawn(page, where)
        return page

    def close(self) -> None:
        """Close all pages."""
        while self._lent:
            self._rooms.take_back(*self._lent.pop())


@contextmanager
def a_user(profiles: ProfilePool) -> Iterator[PortalUser]:
    """Yield a user, whose pages close when the block ends."""
    user = PortalUser(profiles)
    try:
        yield user
    finally:
        user.close()


def start_session(page: Page, control: str, token: str) -> None:
    """Give the browser of `page` the cookie and the key that signing in would set."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = page.context.request.post(f"{control}/v1/session", headers=headers)
    assert answer.status == 201, answer.text()
    blank = f"{control}/blank"  # storage belongs to an origin
    page.route(blank, _show_blank, times=1)
    page.goto(blank)
    page.evaluate(_STORE_KEY, answer.json()["session_key"])


def _show_blank(route: Route) -> None:
    # Without an icon of its own, the browser would request one.
    route.fulfill(body="<link rel=icon href=data:,>", content_type="text/html")


def navigate(page: Page, where: str) -> None:
    """Go to another portal page, and wait until it shows its data."""
    here = urlsplit(page.url)
    page.goto(f"{here.scheme}://{here.netloc}/portal/#/{where}")
    wait_until_drawn(page, where.partition("/")[0])


def wait_until_drawn(page: Page, where: str) -> None:
    """Wait until a portal page shows its first data."""
    name, _, _ = where.partition("/")
    page.evaluate(_DRAWN, f"forewarn:{name}")
    expect(page.locator(_UNFINISHED)).to_have_count(0)


def sign_in(page: Page, token: str) -> None:
    """Sign in with `token` through the form."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Token")).to_have_count(0)
