"""Debian's Chromium, led by Playwright, of whose own downloads nothing is used."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, sync_playwright

MISSING = "no Chromium: install the package chromium, or run scripts/test as root"

#: Its names, of which the first that is here is taken.
_NAMES = ("chromium", "chromium-browser", "google-chrome")

#: A picture is the same on every machine; nothing is drawn by a graphics card.
_OPTIONS = ("--disable-gpu", "--font-render-hinting=none", "--force-color-profile=srgb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """A running browser."""

    browser: Browser
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        """Lend it; afterwards others may run a loop in this thread.

        As long as Playwright runs, its own loop counts as the thread's running one,
        even while it stands still: `asyncio.run` would refuse to begin.
        """
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


def executable() -> str | None:
    """Find the browser; `FOREWARN_TESTS_CHROMIUM` names another, or none at all."""
    chosen = os.environ.get("FOREWARN_TESTS_CHROMIUM")
    names = _NAMES if chosen is None else (chosen,)
    return next((path for each in names if (path := shutil.which(each))), None)


@contextmanager
def a_chromium(path: str) -> Iterator[Chromium]:
    """Run the browser at `path` until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*_OPTIONS])
        made = Chromium(browser=browser, loop=asyncio.get_running_loop())
        yield made
        asyncio._set_running_loop(made.loop)
        browser.close()
