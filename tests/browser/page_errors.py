"""Watches for all errors on a page, regardless of what the test checks."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request

#: Failure of a request that the page aborted, for example when the user left it.
_LEFT = "net::ERR_ABORTED"

#: URL schemes that never reach the network.
_INWARD = ("data", "blob", "about")


class PageErrors:
    """Errors on all pages of one test, except those that the test expects."""

    def __init__(self) -> None:
        """Start without errors."""
        self._forgiven: list[str] = []
        self._seen: list[str] = []

    def allow_errors(self, *patterns: str) -> None:
        """Expect complaints that match one of these regular expressions."""
        self._forgiven.extend(patterns)

    @property
    def complaints(self) -> Sequence[str]:
        """Return the errors that the test does not expect."""
        return [
            complaint
            for complaint in self._seen
            if not any(re.search(pattern, complaint) for pattern in self._forgiven)
        ]

    def follow(self, page: Page, origin: str) -> None:
        """Watch `page`, which must not send requests outside of `origin`."""
        page.on("console", self._said)
        page.on("pageerror", self._broken)
        page.on("requestfailed", self._failed)
        page.on("request", lambda request: self._asked(request, origin))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location["url"]
            self._seen.append(f"{message.type} in the console: {message.text} {where}")

    def _broken(self, error: Error) -> None:
        self._seen.append(f"uncaught error: {error.stack or error}")

    def _failed(self, request: Request) -> None:
        if request.failure != _LEFT:
            self._seen.append(f"no response: {request.failure} {request.url}")

    def _asked(self, request: Request, origin: str) -> None:
        parts = urlsplit(request.url)
        inward = parts.scheme in _INWARD
        if not inward and f"{parts.scheme}://{parts.netloc}" != origin:
            self._seen.append(f"left the origin: {request.url}")
