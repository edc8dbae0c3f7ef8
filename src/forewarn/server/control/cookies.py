"""The cookie of those who have signed in: its name, its keeping, and when it counts.

A browser sends a cookie along with whatever any page asks for, and it keeps the cookies
of all ports of a machine together. So:

1. Its name has the port, lest two services on one machine sign each other out.
2. It counts under /v1/ alone, and not for what a browser says that others ask for.
3. What changes anything must say that it comes from our own page: by Origin, which
   `callers.py` holds against our own, or by Sec-Fetch-Site.
4. Over TLS the browser takes it from nobody else, and shows it nowhere in the clear.
"""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from forewarn.engine.sessions import LASTS
from forewarn.server.control.callers import READING, port_of

_WHERE = "/v1/"
_OURS = "same-origin"
_OWN_WILL = "none"  # no page asks, but who sits before the browser
_KEPT = "Path=/; HttpOnly; SameSite=Strict"


def session_in(scope: Scope) -> str | None:
    """Find the session that a request shows; None: none that counts."""
    if not scope["path"].startswith(_WHERE):
        return None
    shown = "; ".join(Headers(scope=scope).getlist("cookie"))
    return cookie_parser(shown).get(_name(scope)) or None


def is_by_our_page(scope: Scope) -> bool:
    """Whether it is our own page that asks, or for what is only read, no other."""
    headers = Headers(scope=scope)
    site = headers.get("sec-fetch-site")
    if scope["method"] in READING:
        return site in (None, _OURS, _OWN_WILL)
    return site == _OURS or (site is None and "origin" in headers)


def keep(scope: Scope, session: str) -> Mapping[str, str]:
    """Let the browser keep a session."""
    return _cookie(scope, session, int(LASTS.total_seconds()))


def remove(scope: Scope) -> Mapping[str, str]:
    """Let the browser forget it."""
    return _cookie(scope, "", 0)


def _cookie(scope: Scope, session: str, seconds: int) -> Mapping[str, str]:
    secure = "; Secure" if _is_secret(scope) else ""
    kept = f"{_KEPT}; Max-Age={seconds}{secure}"
    return {"Set-Cookie": f"{_name(scope)}={session}; {kept}"}


def _name(scope: Scope) -> str:
    # Browsers let none but https set what begins so, and for this one name alone.
    prefix = "__Host-" if _is_secret(scope) else ""
    return f"{prefix}forewarn-{port_of(scope)}"


def _is_secret(scope: Scope) -> bool:
    return bool(scope["scheme"] == "https")
