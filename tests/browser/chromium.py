"""Debian's Chromium, controlled by Playwright without its own downloaded browsers."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, sync_playwright

MISSING = "no Chromium: install the package chromium, or run scripts/test as root"

#: Names of the program; the first installed one is used.
_NAMES = ("chromium", "chromium-browser", "google-chrome")

#: Screenshots are the same on every machine, whatever its graphics card.
_OPTIONS = ("--disable-gpu", "--font-render-hinting=none", "--force-color-profile=srgb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """A running browser."""

    browser: Browser
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        """Lend the browser; then this thread can run other event loops again.

        As long as Playwright runs, its own loop counts as the thread's running loop,
        even while it is idle: `asyncio.run` would refuse to start.
        """
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


def executable() -> str | None:
    """Find the browser, or the one that `FOREWARN_TESTS_CHROMIUM` names."""
    chosen = os.environ.get("FOREWARN_TESTS_CHROMIUM")
    names = _NAMES if chosen is None else (chosen,)
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def a_chromium(path: str) -> Iterator[Chromium]:
    """Run the browser at `path` until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*_OPTIONS])
        chromium = Chromium(browser=browser, loop=asyncio.get_running_loop())
        yield chromium
        asyncio._set_running_loop(chromium.loop)
        browser.close()
