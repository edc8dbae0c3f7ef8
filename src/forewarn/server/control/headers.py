"""Security headers on every response of the control plane."""

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.control.rights import is_guarded

#: Defaults, fit for JSON; pages set their own policy.
ALWAYS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_YEAR = "max-age=31536000"


class SafeHeaders:
    """Middleware that adds security headers, without buffering responses."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _wanted(scope).items():
                    headers.setdefault(name, value)
            await send(message)

        is_http = scope["type"] == "http"
        await self._app(scope, receive, send_safely if is_http else send)


def _wanted(scope: Scope) -> Mapping[str, str]:
    headers = dict(ALWAYS)
    if is_guarded(scope["path"]):
        headers["Cache-Control"] = "no-store"
    if scope["scheme"] == "https" and not _is_localhost(scope):
        headers["Strict-Transport-Security"] = _YEAR
    return headers


def _is_localhost(scope: Scope) -> bool:
    """Whether HSTS would force other services on this machine to use TLS."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return any(host.lower().partition(b":")[0] == b"localhost" for host in hosts)
