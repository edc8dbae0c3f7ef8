"""Watches what a page does wrong while a test looks elsewhere."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request

#: What happens when a page is left, or asks no longer.
_LEFT = "net::ERR_ABORTED"

#: Addresses that lead nowhere.
_INWARD = ("data", "blob", "about")


class Watch:
    """What went wrong in all pages of one test, but for what it forgives."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._forgiven: list[str] = []
        self._seen: list[str] = []

    def forgive(self, *patterns: str) -> None:
        """Expect complaints that have one of these regular expressions in them."""
        self._forgiven.extend(patterns)

    @property
    def complaints(self) -> Sequence[str]:
        """What is not forgiven."""
        return [
            each
            for each in self._seen
            if not any(re.search(pattern, each) for pattern in self._forgiven)
        ]

    def follow(self, page: Page, origin: str) -> None:
        """Watch `page`, which has no business outside of `origin`."""
        page.on("console", self._said)
        page.on("pageerror", self._broken)
        page.on("requestfailed", self._failed)
        page.on("request", lambda request: self._asked(request, origin))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location["url"]
            self._seen.append(f"{message.type} in the console: {message.text} {where}")

    def _broken(self, error: Error) -> None:
        self._seen.append(f"not caught: {error.stack or error}")

    def _failed(self, request: Request) -> None:
        if request.failure != _LEFT:
            self._seen.append(f"no answer: {request.failure} {request.url}")

    def _asked(self, request: Request, origin: str) -> None:
        parts = urlsplit(request.url)
        inward = parts.scheme in _INWARD
        if not inward and f"{parts.scheme}://{parts.netloc}" != origin:
            self._seen.append(f"left the origin: {request.url}")
