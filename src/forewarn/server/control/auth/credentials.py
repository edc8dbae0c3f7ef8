"""The session cookie, the session key, and the limit on rejected tokens."""

import logging
import time
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from forewarn.engine.sessions import LASTS
from forewarn.server.control.http.origin import READ_METHODS, port_of
from forewarn.server.metadata.limits import RateLimit

_log = logging.getLogger(__name__)

_ALLOWED = 20  # rejected tokens in a row
_REFILL = 3.0  # seconds until one more attempt is allowed
_MAX_ADDRESSES = 10_000

_SESSION_PATHS = "/v1/"  # elsewhere, cookie and key are ignored
_KEY = "forewarn-session-key"  # the header
_COOKIE_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Strict"
# Values of Sec-Fetch-Site.
_SAME_ORIGIN = "same-origin"
_BY_USER = "none"  # sent by the user, not by a page


def token_attempts(monotonic: Callable[[], float] = time.monotonic) -> RateLimit:
    """Return the limit on rejected tokens per address, which slows down guessing.

    A client with a valid token is never refused because other clients guess.
    """
    return RateLimit(1 / _REFILL, monotonic, burst=_ALLOWED, max_callers=_MAX_ADDRESSES)


def session_in(scope: Scope) -> tuple[str | None, str | None]:
    """Return a request's session cookie and key, each None if missing."""
    if not scope["path"].startswith(_SESSION_PATHS):
        return None, None
    headers = Headers(scope=scope)
    cookies = cookie_parser("; ".join(headers.getlist("cookie")))
    return cookies.get(_cookie_name(scope)) or None, headers.get(_KEY) or None


def is_same_origin(scope: Scope) -> bool:
    """Return whether a request may use the session cookie.

    A write must come from the portal's own page. A read must not come from another
    origin's page.
    """
    headers = Headers(scope=scope)
    site = headers.get("sec-fetch-site")
    if scope["method"] in READ_METHODS:
        return site in (None, _SAME_ORIGIN, _BY_USER)
    return site == _SAME_ORIGIN or (site is None and "origin" in headers)


def set_session_cookie(scope: Scope, session: str) -> Mapping[str, str]:
    """Return the header that stores a session in the browser."""
    return _cookie(scope, session, int(LASTS.total_seconds()))


def remove_session_cookie(scope: Scope) -> Mapping[str, str]:
    """Return the header that removes the session from the browser."""
    return _cookie(scope, "", 0)


def _cookie(scope: Scope, session: str, seconds: int) -> Mapping[str, str]:
    secure = "; Secure" if _is_https(scope) else ""
    attributes = f"{_COOKIE_ATTRIBUTES}; Max-Age={seconds}{secure}"
    return {"Set-Cookie": f"{_cookie_name(scope)}={session}; {attributes}"}


def _cookie_name(scope: Scope) -> str:
    # Browsers accept this prefix only over https and only for this exact host.
    prefix = "__Host-" if _is_https(scope) else ""
    return f"{prefix}forewarn-{port_of(scope)}"


def _is_https(scope: Scope) -> bool:
    return bool(scope["scheme"] == "https")
