"""What every answer of the control plane tells a browser that may read it."""

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.control.rights import is_guarded

#: What only concerns JSON, unless a page says otherwise.
ALWAYS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_YEAR = "max-age=31536000"


class SafeHeaders:
    """Adds headers to every answer, and holds nothing back."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
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
    wanted = dict(ALWAYS)
    if is_guarded(scope["path"]):
        wanted["Cache-Control"] = "no-store"
    if scope["scheme"] == "https" and not _is_localhost(scope):
        wanted["Strict-Transport-Security"] = _YEAR
    return wanted


def _is_localhost(scope: Scope) -> bool:
    """Tell whether other services on this machine would have to speak TLS too."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return any(each.lower().partition(b":")[0] == b"localhost" for each in hosts)
