"""Errors of the Azure Resource Manager API: their status codes and error codes."""

from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import Response

from forewarn.errors import (
    Conflict,
    Forbidden,
    ForewarnError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from forewarn.server.error_responses import arm_error

#: Status codes of the service's errors.
_STATUS: Sequence[tuple[type[ForewarnError], int]] = (
    (InvalidInput, 400),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Unavailable, 503),
)
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


def failed(error: Exception) -> Response:
    """Return the error response for an exception."""
    if isinstance(error, ArmError):
        return arm_error(error.status_code, error.detail, error.code, error.headers)
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    return arm_error(status, _FAILED if status == 500 else str(error))
