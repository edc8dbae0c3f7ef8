"""Token endpoints: create, list and revoke."""

from datetime import timedelta

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from forewarn.core.tokens import Role, Token
from forewarn.errors import InvalidInput
from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.bodies import moment, word
from forewarn.server.control.pages import After, Limit, page
from forewarn.server.control.views import Json, rfc3339

router = APIRouter(tags=["tokens"])

_LONGEST = 100 * 365 * 86_400  # seconds


class NewToken(BaseModel):
    """What a token is to be for."""

    model_config = ConfigDict(extra="forbid")

    name: StrictStr = Field(description="what the journal will call its holder")
    role: StrictStr = Field(description="viewer, operator, admin or group")
    group: StrictStr | None = Field(None, description="of a token with the role group")
    expires_in_seconds: StrictInt | None = Field(None, ge=1, le=_LONGEST)
    expires_at: StrictStr | None = Field(None, description="RFC 3339 with a zone")


@router.post("/v1/tokens", status_code=201)
def create_token(service: Service, by: Caller, body: NewToken) -> Json:
    """Make a token; its text is in this answer, and never shown again."""
    lasts, at = body.expires_in_seconds, body.expires_at
    if lasts is not None and at is not None:
        raise InvalidInput("give expires_in_seconds or expires_at, not both")
    token, text = service.tokens.create(
        body.name,
        word(Role, body.role, "role"),
        group=body.group,
        expires_at=None if at is None else moment(at, "expires_at"),
        lasts=None if lasts is None else timedelta(seconds=lasts),
        by=by.name,
    )
    return {**token_view(token), "token": text}


@router.get("/v1/tokens")
def list_tokens(
    service: Service, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List the tokens that are not revoked, the oldest first."""
    del by
    listed = service.tokens.listed()
    ids = [item.id for item in listed]
    start = ids.index(after) + 1 if after in ids else 0
    return page(listed[start:], limit, token_view, lambda token: token.id)


@router.delete("/v1/tokens/{name}", status_code=204)
def revoke_token(service: Service, by: Caller, name: str) -> Response:
    """Revoke a token, by its name or id; what it has open is closed."""
    service.tokens.revoke(name, by=by.name)
    return Response(status_code=204)


def token_view(token: Token) -> Json:
    """Return a token as JSON, without its text."""
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role.value,
        "group": token.group,
        "created_at": rfc3339(token.created_at),
        "created_by": token.created_by,
        "expires_at": rfc3339(token.expires_at),
        "last_used": rfc3339(token.last_used),
    }
