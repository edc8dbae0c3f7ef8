"""Session endpoints: who is signed in and what they may do; signing in and out."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from forewarn.core.tokens import Role
from forewarn.engine.tokens import Holder
from forewarn.server.control import cookies
from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.rights import may, right_for
from forewarn.server.control.views import Json, rfc3339

router = APIRouter(tags=["session"])

#: User actions, each with a path that needs the same permission.
ACTS: Mapping[str, str] = {
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
    "maintain": "/v1/hosts/name/maintain",
    "degraded": "/v1/hosts/name/degraded",
    "failed": "/v1/hosts/name/failed",
    "recovered": "/v1/hosts/name/recovered",
    "advance": "/v1/clock/advance",
}


@router.get("/v1/session")
def show_session(by: Caller) -> Json:
    """Say who asks, and what he may do."""
    return session_view(by)


@router.post("/v1/session", status_code=201, response_model=None)
def sign_in(request: Request, service: Service, by: Caller) -> JSONResponse:
    """Sign in with a token: a cookie stands for it from now on, for twelve hours."""
    if by.signed_in_until is not None:
        raise HTTPException(
            401,
            "who signs in shows a token; a session does not begin another",
            {"WWW-Authenticate": "Bearer"},
        )
    session, holder = service.sessions.begin(by)
    headers = cookies.keep(request.scope, session)
    return JSONResponse(session_view(holder), 201, headers=headers)


@router.delete("/v1/session", status_code=204)
def sign_out(request: Request, by: Caller) -> Response:
    """Sign out: the browser forgets the session."""
    del by
    return Response(status_code=204, headers=cookies.remove(request.scope))


def session_view(holder: Holder) -> Json:
    """Return the caller and its permissions as JSON."""
    return {
        "name": holder.name,
        "role": holder.role.value,
        "group": holder.group,
        "signed_in": holder.signed_in_until is not None,
        "expires_at": rfc3339(holder.signed_in_until),
        "may": acts_of(holder.role),
    }


def acts_of(role: Role) -> list[str]:
    """Return the actions that `role` may perform."""
    return [act for act, path in ACTS.items() if may(role, right_for("POST", path))]
