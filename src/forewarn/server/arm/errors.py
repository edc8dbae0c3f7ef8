"""Errors in the format of Azure Resource Manager: a code for programs, a sentence."""

import uuid
from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from forewarn.errors import (
    Conflict,
    Forbidden,
    ForewarnError,
    InvalidInput,
    NotFound,
    Unavailable,
)

#: Status codes of the service's errors.
_KNOWN: Sequence[tuple[type[ForewarnError], int]] = (
    (InvalidInput, 400),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Unavailable, 503),
)
_CODES: Mapping[int, str] = {
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
_HEADERS: Mapping[int, Mapping[str, str]] = {503: {"Retry-After": "5"}}
_FAILED = "the service failed; its log says why"


class ArmError(HTTPException):
    """A refused request; `code` is for the program that sent it."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,  # None for the usual code of `status`
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse with `status`."""
        super().__init__(status, message, dict(headers or {}))
        self.code = code


def refused(
    status: int,
    message: str,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error response."""
    return JSONResponse(
        {"error": error_view(code or _CODES.get(status, "BadRequest"), message)},
        status,
        {"x-ms-request-id": new_request_id(), **_HEADERS.get(status, {})}
        | dict(headers or {}),
    )


def failed(error: Exception) -> Response:
    """Return the error response for an exception."""
    if isinstance(error, ArmError):
        return refused(error.status_code, error.detail, error.code, error.headers)
    status = next((code for kind, code in _KNOWN if isinstance(error, kind)), 500)
    return refused(status, _FAILED if status == 500 else str(error))


def error_view(code: str, message: str) -> dict[str, object]:
    """Return an error as JSON."""
    return {"code": code, "message": message}


def new_request_id() -> str:
    """Return a new id, which identifies a response."""
    return str(uuid.uuid4())
