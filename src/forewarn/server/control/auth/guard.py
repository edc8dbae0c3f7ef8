"""Authentication and authorization of the control plane.

Without a valid token a request is refused, whatever else is wrong with it.
"""

from ipaddress import ip_address
from math import ceil

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.core.tokens import Role
from forewarn.engine.sessions import Lapsed
from forewarn.engine.tokens import TokenHolder, UnknownToken
from forewarn.server.control.auth import credentials
from forewarn.server.control.auth.credentials import TokenAttempts
from forewarn.server.control.auth.permissions import (
    Permission,
    is_guarded,
    may,
    permission_for,
)
from forewarn.server.control.context import Services
from forewarn.server.control.problems import refusal

_NO_TOKEN = (
    "a bearer token is needed; the first start of `forewarn serve` writes one to the"
    " file `token` in its state directory, and `forewarn token create` makes others"
)


_NOT_OURS = (
    "who is signed in acts by the portal's own page; others show a token, and no cookie"
)


class _Refused(Exception):
    """A token that was valid when the request began is no longer valid."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


class Guard:
    """Middleware that protects everything that needs a token."""

    def __init__(self, app: ASGIApp, parts: Services) -> None:
        """Pass requests with a valid token to `app`; record rejected tokens."""
        self._app = app
        self._parts = parts
        self._attempts = TokenAttempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 401, 403 or 429."""
        if scope["type"] == "http" and is_guarded(scope["path"]):
            result = self._look(scope)
            if isinstance(result, Response):
                await result(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = result
            receive = self._looking_again(scope, receive)
        try:
            await self._app(scope, receive, send)
        except _Refused as refused:
            await refused.answer(scope, receive, send)

    def _looking_again(self, scope: Scope, receive: Receive) -> Receive:
        """Check the token again after the body, which may take minutes to arrive."""

        async def receive_and_look() -> Message:
            message = await receive()
            is_body = message["type"] == "http.request"
            if is_body and not message.get("more_body", False):
                result = self._look(scope)
                if isinstance(result, Response):
                    raise _Refused(result)
            return message

        return receive_and_look

    def _look(self, scope: Scope) -> TokenHolder | Response:
        result = self._holder(scope)
        if isinstance(result, Response):
            return result
        right = permission_for(scope["method"], scope["path"])
        return result if may(result.role, right) else _forbidden(scope, result, right)

    def _holder(self, scope: Scope) -> TokenHolder | Response:
        scheme, _, text = Headers(scope=scope).get("authorization", "").partition(" ")
        session = credentials.session_in(scope)
        if scheme.lower() == "bearer" and text.strip():
            holder = self._parts.tokens.holder_of(text.strip())
            return (
                holder
                if isinstance(holder, TokenHolder)
                else self._refuse(scope, holder)
            )
        if session is None:
            return _unknown(scope, _NO_TOKEN)
        if not credentials.is_by_our_page(scope):
            return refusal(scope, 403, _NOT_OURS)
        return self._signed_in(scope, session)

    def _signed_in(self, scope: Scope, session: str) -> TokenHolder | Response:
        holder = self._parts.sessions.holder_of(session)
        if isinstance(holder, TokenHolder):
            return holder
        if holder is Lapsed.OVER:  # a genuine session, not a guess
            answer = _unknown(scope, holder.value)
        else:
            answer = self._refuse(scope, holder)
        answer.headers.update(credentials.remove_session_cookie(scope))
        return answer

    def _refuse(self, scope: Scope, unknown: UnknownToken | Lapsed) -> Response:
        address = address_of(scope)
        self._parts.engine.observations.add_refusal(address)
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
    """Return the client's address; an IPv6 /64 network counts as one address."""
    client = scope.get("client")
    try:
        address = ip_address(client[0] if client else "")
    except ValueError:  # a proxy may send anything
        return "unknown"
    if address.version == 6 and not address.is_loopback:
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{ip_address(int(address) >> 64 << 64)}/64"
    return str(address)


def _unknown(scope: Scope, detail: str) -> Response:
    return refusal(scope, 401, detail, {"WWW-Authenticate": "Bearer"})


def _forbidden(scope: Scope, holder: TokenHolder, right: Permission) -> Response:
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
