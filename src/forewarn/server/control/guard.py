"""Lets nobody near who cannot show a token, whatever else is wrong."""

from ipaddress import ip_address
from math import ceil

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.core.tokens import Role
from forewarn.engine.sessions import Lapsed
from forewarn.engine.tokens import Holder, Unknown
from forewarn.server.auth import Attempts
from forewarn.server.control import cookies
from forewarn.server.control.asked import Parts
from forewarn.server.control.problems import refusal
from forewarn.server.control.rights import Right, is_guarded, may, right_for

_NO_TOKEN = (
    "a bearer token is needed; the first start of `forewarn serve` writes one to the"
    " file `token` in its state directory, and `forewarn token create` makes others"
)


_NOT_OURS = (
    "who is signed in acts by the portal's own page; others show a token, and no cookie"
)


class _Refused(Exception):
    """A token that was good when the request began is not any more."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


class Guard:
    """Stands before everything that needs a token."""

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        """Let those pass to `app` whose tokens are known; note all others."""
        self._app = app
        self._parts = parts
        self._attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 401, 403 or 429."""
        if scope["type"] == "http" and is_guarded(scope["path"]):
            found = self._look(scope)
            if isinstance(found, Response):
                await found(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = found
            receive = self._looking_again(scope, receive)
        try:
            await self._app(scope, receive, send)
        except _Refused as refused:
            await refused.answer(scope, receive, send)

    def _looking_again(self, scope: Scope, receive: Receive) -> Receive:
        """Look at the token again when the body has come: that may take minutes."""

        async def receive_and_look() -> Message:
            message = await receive()
            is_body = message["type"] == "http.request"
            if is_body and not message.get("more_body", False):
                found = self._look(scope)
                if isinstance(found, Response):
                    raise _Refused(found)
            return message

        return receive_and_look

    def _look(self, scope: Scope) -> Holder | Response:
        found = self._holder(scope)
        if isinstance(found, Response):
            return found
        right = right_for(scope["method"], scope["path"])
        return found if may(found.role, right) else _forbidden(scope, found, right)

    def _holder(self, scope: Scope) -> Holder | Response:
        scheme, _, text = Headers(scope=scope).get("authorization", "").partition(" ")
        session = cookies.session_in(scope)
        if scheme.lower() == "bearer" and text.strip():
            found = self._parts.tokens.holder_of(text.strip())
            return found if isinstance(found, Holder) else self._refuse(scope, found)
        if session is None:
            return _unknown(scope, _NO_TOKEN)
        if not cookies.is_by_our_page(scope):
            return refusal(scope, 403, _NOT_OURS)
        return self._signed_in(scope, session)

    def _signed_in(self, scope: Scope, session: str) -> Holder | Response:
        found = self._parts.sessions.holder_of(session)
        if isinstance(found, Holder):
            return found
        if found is Lapsed.OVER:  # that was ours, and nobody guesses
            answer = _unknown(scope, found.value)
        else:
            answer = self._refuse(scope, found)
        answer.headers.update(cookies.remove(scope))
        return answer

    def _refuse(self, scope: Scope, unknown: Unknown | Lapsed) -> Response:
        address = address_of(scope)
        self._parts.engine.notes.refuse(address)
        wait = self._attempts.add(address)
        if not wait:
            return _unknown(scope, unknown.value)
        seconds = ceil(wait)
        return refusal(
            scope,
            429,
            f"too many wrong tokens from {address}; wait {seconds} s",
            {"Retry-After": str(seconds)},
        )


def address_of(scope: Scope) -> str:
    """Say where a request comes from; one network of IPv6 is one place."""
    client = scope.get("client")
    try:
        address = ip_address(client[0] if client else "")
    except ValueError:  # a proxy may tell anything
        return "unknown"
    if address.version == 6 and not address.is_loopback:
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{ip_address(int(address) >> 64 << 64)}/64"
    return str(address)


def _unknown(scope: Scope, detail: str) -> Response:
    return refusal(scope, 401, detail, {"WWW-Authenticate": "Bearer"})


def _forbidden(scope: Scope, holder: Holder, right: Right) -> Response:
    if holder.role is Role.GROUP:
        return refusal(
            scope,
            403,
            f"the token {holder.name} is that of group {holder.group}; it reads,"
            " approves and asks for user operations there, and no more",
        )
    return refusal(
        scope,
        403,
        f"this needs the role {right.least}, and the token {holder.name} has the role"
        f" {holder.role}",
    )
