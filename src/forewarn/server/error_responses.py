"""Error responses of the control plane, in the format that the path requires.

Paths below /subscriptions return Azure Resource Manager (ARM) errors: a code for
programs and a sentence for people. All other paths return RFC 9457 problems.
"""

import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from forewarn.errors import (
    Conflict,
    Forbidden,
    ForewarnError,
    InvalidInput,
    Malformed,
    NotFound,
    StoreDamaged,
    Throttled,
    Unavailable,
)

ARM_ROOT = "subscriptions"

#: The only detail of an internal error.
FAILED = "internal error; see the service's log"

_STATUS: Sequence[tuple[type[ForewarnError], int]] = (
    (Malformed, 400),
    (InvalidInput, 422),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Throttled, 429),
    (Unavailable, 503),
)

_ARM_CODES: Mapping[int, str] = {
    400: "BadRequest",
    401: "AuthenticationFailed",
    403: "AuthorizationFailed",
    404: "ResourceNotFound",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "OperationNotAllowed",
    413: "RequestEntityTooLarge",
    421: "MisdirectedRequest",
    429: "TooManyRequests",
    431: "RequestHeaderFieldsTooLarge",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}
#: Headers of errors after which a client may retry.
RETRY_HEADERS: Mapping[int, Mapping[str, str]] = {
    429: {"Retry-After": "1"},
    503: {"Retry-After": "5"},
}


def refusal(
    scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error response in the format of the request's path."""
    if is_arm(scope["path"]):
        return arm_error(status, detail, headers=headers)
    return problem(status, detail, headers)


def is_arm(path: str) -> bool:
    """Return whether `path` is below /subscriptions, in any spelling."""
    first = next((segment for segment in path.split("/") if segment), "")
    return first.lower() == ARM_ROOT


def status_of(error: Exception) -> int:
    """Return the status code for `error`, which is 500 for unexpected errors."""
    return next((code for kind, code in _STATUS if isinstance(error, kind)), 500)


def retry_headers(error: Exception) -> Mapping[str, str]:
    """Return the headers that show when to retry after `error`, if a retry may help."""
    if isinstance(error, StoreDamaged):
        return {}
    if isinstance(error, Throttled):
        return {"Retry-After": str(error.retry_after)}
    return RETRY_HEADERS.get(status_of(error), {})


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **more: object
) -> Response:
    """Return a problem response; `more` contains its extension members.

    Lone surrogates in `detail`, which may quote the request, are escaped.
    """
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail.encode(errors="backslashreplace").decode(),
    }
    return JSONResponse(
        {**content, **more},
        status,
        media_type="application/problem+json",
        headers=dict(headers or {}),
    )


def arm_error(
    status: int,
    message: str,
    code: str | None = None,  # None for the usual code of `status`
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an ARM error response."""
    view = arm_error_view(code or _ARM_CODES.get(status, "BadRequest"), message)
    own = {"x-ms-request-id": new_request_id(), **RETRY_HEADERS.get(status, {})}
    return JSONResponse({"error": view}, status, own | dict(headers or {}))


def arm_error_view(code: str, message: str) -> dict[str, object]:
    """Return an ARM error as JSON."""
    return {"code": code, "message": message}


def new_request_id() -> str:
    """Return a new ID that identifies an ARM response."""
    return str(uuid.uuid4())
