"""The guard: middleware that authenticates, authorizes and limits every request.

A request without a valid token is refused, regardless of other problems with it.
"""

from math import ceil
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.core.tokens import Role
from forewarn.engine.sessions import Lapsed
from forewarn.engine.tokens import TokenHolder, UnknownToken
from forewarn.server.control.auth import credentials
from forewarn.server.control.auth.permissions import (
    Permission,
    is_guarded,
    may,
    permission_for,
)
from forewarn.server.control.auth.sign_in_links import UnusableLink
from forewarn.server.control.auth.token_limits import TokenLimit, TokenRefusal
from forewarn.server.control.auth.work_slots import WorkKind, slots_of
from forewarn.server.control.context import Services
from forewarn.server.control.http.shares import caller_network
from forewarn.server.error_responses import is_arm, refusal

_LIMITS = {"/v1/stream": TokenLimit.STREAMS}
_LARGE_PAGE = 100  # items; larger pages are expensive
_LARGE_PATHS = frozenset(
    {"/v1/report", "/v1/fleet", "/v1/fleet/map", "/v1/fleet/checks"}
)
_METRICS = "/metrics"
_SIGN_IN = ("POST", "/v1/session")
_LINK = "sign-in-link"  # the scheme of the Authorization header
_LONGEST_WAIT = 10.0  # seconds that a request waits for a slot
_NO_TOKEN = (
    "a bearer token is required; `forewarn serve` writes one to the `token` file in"
    " its state directory, and `forewarn token create` creates others"
)
_ENDED = "the token or session has expired or was revoked; nothing was changed"
_OTHER_ORIGIN = (
    "the session cookie is accepted only from the portal's own pages; send a token"
    " instead"
)
_ONLY_SIGN_IN = "a sign-in link can only be used to sign in to the portal"

#: The service itself created these sessions, so requests with them are not guesses.
_NO_GUESSES = frozenset(
    {Lapsed.OVER, Lapsed.SIGNED_OUT, Lapsed.NO_KEY, Lapsed.BEFORE_UPGRADE}
)
#: The cookie may still be valid, so the browser keeps it. If it were removed, opening
#: an API path in the browser would sign the user out.
_KEEPS_COOKIE = frozenset({Lapsed.NO_KEY, Lapsed.WRONG_KEY})


class Guard:
    """Middleware that protects all paths that require a token."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """Create middleware that passes requests with a valid token to `app`."""
        self._app = app
        self._services = services
        self._attempts = credentials.token_attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 401, 403 or 429."""
        if is_guarded(scope["path"]):
            result = self._check(scope)
            if isinstance(result, Response):
                await result(scope, receive, send)
            else:
                await self._serve(result, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(
        self, holder: TokenHolder, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on a request from `holder`, unless too many are in progress."""
        limits = self._services.token_limits
        kind = _LIMITS.get(scope["path"], TokenLimit.REQUESTS)
        refused = limits.begin(holder, kind)
        if refused is not None:
            await _too_many(scope, refused)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = holder
        try:
            await self._app(scope, receive, send)
        finally:
            limits.end(holder, kind)

    def _check(self, scope: Scope) -> TokenHolder | Response:
        result = self._holder(scope)
        if isinstance(result, Response):
            return result
        permission = permission_for(scope["method"], scope["path"])
        if may(result.role, permission):
            return result
        return _forbidden(scope, result, permission)

    def _holder(self, scope: Scope) -> TokenHolder | Response:
        scheme, _, text = Headers(scope=scope).get("authorization", "").partition(" ")
        session, key = credentials.session_in(scope)
        if scheme.lower() == "bearer" and text.strip():
            holder = self._services.tokens.holder_of(text.strip())
            if isinstance(holder, TokenHolder):
                return holder
            return self._refuse(scope, holder)
        if scheme.lower() == _LINK and text.strip():
            return self._with_link(scope, text.strip())
        if session is None and key is None:
            return refusal(scope, 401, _NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        if session is None:  # the browser drops the cookie when it expires
            return _unknown(scope, Lapsed.OVER.value)
        if not credentials.is_same_origin(scope):
            return refusal(scope, 403, _OTHER_ORIGIN)
        return self._signed_in(scope, session, key)

    def _signed_in(
        self, scope: Scope, session: str, key: str | None
    ) -> TokenHolder | Response:
        holder = self._services.sessions.holder_of(session, key)
        if isinstance(holder, TokenHolder):
            return holder
        if holder in _NO_GUESSES:
            response = _unknown(scope, holder.value)
        else:
            response = self._refuse(scope, holder)
        if holder not in _KEEPS_COOKIE:
            response.headers.update(credentials.remove_session_cookie(scope))
        return response

    def _with_link(self, scope: Scope, code: str) -> TokenHolder | Response:
        if (scope["method"], scope["path"]) != _SIGN_IN:
            return _unknown(scope, _ONLY_SIGN_IN)
        holder = self._services.sign_in_links.redeem(code)
        if isinstance(holder, TokenHolder):
            return holder
        if holder is UnusableLink.USED:  # the code is known, so this is not a guess
            return _unknown(scope, holder.value)
        return self._refuse(scope, holder)

    def _refuse(
        self, scope: Scope, unknown: UnknownToken | Lapsed | UnusableLink
    ) -> Response:
        address = _address_of(scope)
        self._services.engine.observations.add_refusal(address)
        wait = self._attempts.wait(address)
        if not wait:
            return _unknown(scope, unknown.value)
        seconds = ceil(wait)
        return refusal(
            scope,
            429,
            f"too many invalid tokens from {address}; try again in {seconds} s",
            {"Retry-After": str(seconds)},
        )


class WorkTurns:
    """Middleware that makes requests with a token wait for a slot.

    The token is checked again before the request is passed on, because the body may
    take minutes to arrive and the slot may take seconds to become free.
    """

    def __init__(
        self, app: ASGIApp, services: Services, seconds: float = _LONGEST_WAIT
    ) -> None:
        """Create middleware for `app` that waits up to `seconds` for a slot.

        Request bodies must already be in memory.
        """
        self._app = app
        self._services = services
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it gets a slot, or respond with 401 or 429."""
        holder: TokenHolder | None = scope.get("state", {}).get("caller")
        if holder is None:
            await self._app(scope, receive, send)
            return
        slots, work = self._services.work_slots, work_of(scope)
        if not await slots.enter(holder, work, self._seconds):
            refused = self._services.token_limits.refuse_waiting(
                holder, slots_of(holder), self._seconds
            )
            await _too_many(scope, refused)(scope, receive, send)
            return
        has_slot = True

        async def send_without_slot(message: Message) -> None:
            """Release the slot before sending, because a client may read slowly."""
            nonlocal has_slot
            if has_slot:
                has_slot = False
                slots.leave(holder, work)
            await send(message)

        try:
            is_good = self._services.sessions.is_good(holder)
            app = self._app if is_good else _unknown(scope, _ENDED)
            await app(scope, receive, send_without_slot)
        finally:
            if has_slot:
                slots.leave(holder, work)


def work_of(scope: Scope) -> WorkKind:
    """Return the kind of work that a request requires."""
    path = scope["path"]
    if path == _METRICS:
        return WorkKind.METRICS
    if path in _LARGE_PATHS or _is_list_of_vms(scope):
        return WorkKind.LARGE
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    limits = [value for name, value in query if name == "limit"]
    is_small = all(
        limit.isdecimal() and len(limit) < 4 and int(limit) <= _LARGE_PAGE
        for limit in limits
    )
    return WorkKind.ORDINARY if is_small else WorkKind.LARGE


def _is_list_of_vms(scope: Scope) -> bool:
    """Return whether the response is an Azure-style VM list, with large pages."""
    path = scope["path"].rstrip("/").lower()
    return is_arm(path) and path.endswith("/virtualmachines")


def _too_many(scope: Scope, refused: TokenRefusal) -> Response:
    headers = {"Retry-After": str(refused.retry_after)}
    return refusal(scope, 429, refused.detail, headers)


def _unknown(scope: Scope, detail: str) -> Response:
    # RFC 6750: the error distinguishes this from a request without credentials.
    challenge = 'Bearer error="invalid_token"'
    return refusal(scope, 401, detail, {"WWW-Authenticate": challenge})


def _forbidden(scope: Scope, holder: TokenHolder, permission: Permission) -> Response:
    if holder.role is Role.GROUP:
        return refusal(
            scope,
            403,
            f"token {holder.name} belongs to group {holder.group} and can only read,"
            " approve and request user operations in that group",
        )
    return refusal(
        scope,
        403,
        f"this requires the role {permission.least}, but token {holder.name} has the"
        f" role {holder.role}",
    )


def _address_of(scope: Scope) -> str:
    """Return the client's address; an IPv6 /64 network counts as one address."""
    client = scope.get("client")
    return caller_network(client[0] if client else "")
