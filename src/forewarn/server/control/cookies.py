"""The session cookie: its name, its attributes, and when it is accepted.

A browser attaches cookies to the requests of any page, and shares them between all
ports of a machine. So:

1. The name contains the port, so that two services on one machine do not sign each
   other out.
2. The cookie is accepted under /v1/ only, and not if the browser reports that another
   site sent the request.
3. A write must prove that it comes from the portal's own page: by Origin, which
   `callers.py` compares with the control plane's, or by Sec-Fetch-Site.
4. Over TLS, the browser accepts the cookie from no other host, and never sends it in
   plain text.
"""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from forewarn.engine.sessions import LASTS
from forewarn.server.control.callers import READING, port_of

_WHERE = "/v1/"
_OURS = "same-origin"
_OWN_WILL = "none"  # sent by the user, not by a page
_KEPT = "Path=/; HttpOnly; SameSite=Strict"


def session_in(scope: Scope) -> str | None:
    """Return the session of a request; None if it has none that is accepted."""
    if not scope["path"].startswith(_WHERE):
        return None
    shown = "; ".join(Headers(scope=scope).getlist("cookie"))
    return cookie_parser(shown).get(_name(scope)) or None


def is_by_our_page(scope: Scope) -> bool:
    """Whether the portal's page sent a write, or no other page sent a read."""
    headers = Headers(scope=scope)
    site = headers.get("sec-fetch-site")
    if scope["method"] in READING:
        return site in (None, _OURS, _OWN_WILL)
    return site == _OURS or (site is None and "origin" in headers)


def keep(scope: Scope, session: str) -> Mapping[str, str]:
    """Return the header that stores a session in the browser."""
    return _cookie(scope, session, int(LASTS.total_seconds()))


def remove(scope: Scope) -> Mapping[str, str]:
    """Return the header that removes the session from the browser."""
    return _cookie(scope, "", 0)


def _cookie(scope: Scope, session: str, seconds: int) -> Mapping[str, str]:
    secure = "; Secure" if _is_secret(scope) else ""
    kept = f"{_KEPT}; Max-Age={seconds}{secure}"
    return {"Set-Cookie": f"{_name(scope)}={session}; {kept}"}


def _name(scope: Scope) -> str:
    # Browsers accept this prefix only over https, and only for this exact host.
    prefix = "__Host-" if _is_secret(scope) else ""
    return f"{prefix}forewarn-{port_of(scope)}"


def _is_secret(scope: Scope) -> bool:
    return bool(scope["scheme"] == "https")
