"""Endpoints of tokens (/v1/tokens) and of the session (/v1/session)."""

from collections.abc import Mapping
from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from starlette.exceptions import HTTPException

from forewarn.configfile.values import read_choice
from forewarn.core.queries.views import Json
from forewarn.core.tokens import Role, Token
from forewarn.engine.tokens import TokenHolder
from forewarn.errors import InvalidInput
from forewarn.server.control import models as m
from forewarn.server.control.auth import credentials
from forewarn.server.control.auth.permissions import may, permission_for
from forewarn.server.control.auth.sign_in_links import LASTS
from forewarn.server.control.context import (
    After,
    Caller,
    Limit,
    Services,
    ServicesDep,
    ViewRoute,
    json_response,
    page,
)

token_router = APIRouter(tags=["tokens"], route_class=ViewRoute)
session_router = APIRouter(tags=["session"], route_class=ViewRoute)

_MAX_LIFETIME = 100 * 365 * 86_400  # seconds

#: User actions, each with a path that requires the same permission.
_ACTIONS: Mapping[str, str] = {
    "announce": "/v1/maintenances",
    "approve": "/v1/events/id/approve",
    "cancel": "/v1/maintenances/id/cancel",
    "complete": "/v1/maintenances/id/complete",
    "retry": "/v1/maintenances/id/retry",
    "close": "/v1/maintenances/id/close",
    "restart": "/v1/vms/name/restart",
    "redeploy": "/v1/vms/name/redeploy",
    "reimage": "/v1/vms/name/reimage",
    "evict": "/v1/vms/name/evict",
    "delete": "/v1/vms/name/delete",
    "start": "/v1/vms/name/start",
    "maintain": "/v1/hosts/name/maintain",
    "degraded": "/v1/hosts/name/degraded",
    "failed": "/v1/hosts/name/failed",
    "recovered": "/v1/hosts/name/recovered",
    "advance": "/v1/clock/advance",
}

# --- tokens ------------------------------------------------------------------


class NewToken(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")

    name: StrictStr = Field(
        description="name that identifies the token's holder in the journal"
    )
    role: StrictStr = Field(description="viewer, operator, admin or group")
    group: StrictStr | None = Field(
        None, description="group to which a token with the role `group` is limited"
    )
    expires_in_seconds: StrictInt | None = Field(None, ge=1, le=_MAX_LIFETIME)
    expires_at: StrictStr | None = Field(None, description="RFC 3339 with a time zone")


@token_router.post("/v1/tokens", response_model=m.NewTokenShownView, status_code=201)
def create_token(services: ServicesDep, by: Caller, body: NewToken) -> Json:
    """Create a token. Only this response contains the secret."""
    seconds, at = body.expires_in_seconds, body.expires_at
    if seconds is not None and at is not None:
        raise InvalidInput("specify either expires_in_seconds or expires_at, not both")
    token, text = services.tokens.create(
        body.name,
        read_choice(Role, body.role, "role"),
        group=body.group,
        expires_at=None if at is None else m.parse_time(at, "expires_at"),
        lasts=None if seconds is None else timedelta(seconds=seconds),
        by=by.name,
    )
    return {**m.TokenView.model_validate(token).model_dump(), "token": text}


@token_router.get("/v1/tokens", response_model=m.page_of("Tokens", m.TokenView))
def list_tokens(
    services: ServicesDep, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List the tokens that have not been revoked, oldest first."""
    del by
    tokens = services.tokens.listed()
    ids = [item.id for item in tokens]
    start = ids.index(after) + 1 if after in ids else 0
    refused = {item.token: item.refused for item in services.token_limits.recent()}

    def view(token: Token) -> Json:
        shown = m.TokenView.model_validate(token).model_dump()
        return {**shown, "refused": refused.get(token.name, 0)}

    return page(tokens[start:], limit, view, lambda token: token.id)


@token_router.delete("/v1/tokens/{name}", status_code=204)
def revoke_token(services: ServicesDep, by: Caller, name: str) -> None:
    """Revoke a token by name or ID, and close its streams and sessions."""
    services.tokens.revoke(name, by=by.name)


# --- the session -------------------------------------------------------------


@session_router.get("/v1/session", response_model=m.SessionView)
def show_session(services: ServicesDep, by: Caller) -> Json:
    """Show the caller and its permissions.

    `expires_at` is the end of the session; it is null if the request has a token.
    """
    return _session_view(services, by)


@session_router.post(
    "/v1/session", status_code=201, response_model=m.StartedSessionView
)
def sign_in(request: Request, services: ServicesDep, by: Caller) -> Response:
    """Sign in with a token, and start a session that lasts twelve hours.

    Instead of a token, the header `Authorization: Sign-In-Link CODE` may contain the
    code of a link from `/v1/portal/links`.

    Only this response contains the session key. Each request of the session needs the
    cookie, and the key in the header `Forewarn-Session-Key`.
    """
    _refuse_session(by, "signing in requires a token")
    session = services.sessions.begin(by)
    headers = credentials.set_session_cookie(request.scope, session.cookie)
    view = {**_session_view(services, session.holder), "session_key": session.key}
    return json_response(view, 201, headers)


@session_router.delete("/v1/session", status_code=204)
def sign_out(request: Request, services: ServicesDep, by: Caller) -> Response:
    """Sign out: end the session, close its streams and delete its cookie."""
    services.sessions.end(by)
    request.app.state.streams.ring()
    return Response(
        status_code=204, headers=credentials.remove_session_cookie(request.scope)
    )


@session_router.post(
    "/v1/portal/links", status_code=201, response_model=m.SignInLinkView
)
def create_sign_in_link(services: ServicesDep, by: Caller) -> Json:
    """Create a one-time link that signs in to the portal as the caller.

    The link can be used once, within a minute. Its code is in the URL's fragment, which
    browsers never send to a server.
    """
    _refuse_session(by, "creating a sign-in link requires a token")
    code = services.sign_in_links.create(by)
    return {"path": f"/portal/#sign-in={code}", "expires_in_seconds": LASTS}


def _refuse_session(by: TokenHolder, requirement: str) -> None:
    """Refuse a session, because a session must not outlive its twelve hours."""
    if by.session is not None:
        raise HTTPException(
            401,
            f"{requirement}; a session cannot start another session",
            {"WWW-Authenticate": "Bearer"},
        )


def _session_view(services: Services, holder: TokenHolder) -> Json:
    """Return the caller and its permissions as JSON."""
    return {
        "name": holder.name,
        "role": holder.role,
        "group": holder.group,
        "signed_in": holder.session is not None,
        "expires_at": holder.signed_in_until,
        "token_expires_at": services.tokens.expiry_of(holder),
        "may": _actions_of(holder.role),
    }


def _actions_of(role: Role) -> list[str]:
    """Return the actions that `role` may perform."""
    return [
        action
        for action, path in _ACTIONS.items()
        if may(role, permission_for("POST", path))
    ]
