"""Exception handlers that convert errors to RFC 9457 problems."""

import logging
import re
from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from forewarn.configfile.values import RENAMED, renamed
from forewarn.core.queries.views import rfc3339
from forewarn.errors import ForewarnError, Repeated, TooSoon
from forewarn.server.error_responses import FAILED, problem, retry_headers, status_of

_log = logging.getLogger(__name__)

_MAX_WHERE = 100  # characters; names in a body may have any length


def install(app: FastAPI) -> None:
    """Convert every error in `app` to a problem."""
    app.add_exception_handler(ForewarnError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)


def _refused(request: Request, error: Exception) -> Response:
    del request
    if isinstance(error, Repeated):
        return _replayed(error.answer)
    status = status_of(error)
    more = {"earliest": rfc3339(error.earliest)} if isinstance(error, TooSoon) else {}
    return problem(status, str(error), retry_headers(error), **more)


def _replayed(receipt: str) -> Response:
    """Return the response stored in `receipt`: a status, a line break and a body."""
    status, _, body = receipt.partition("\n")
    if not body:
        return Response(status_code=int(status))
    return Response(body, int(status), media_type="application/json")


def _invalid(request: Request, error: Exception) -> Response:
    del request
    if not isinstance(error, RequestValidationError):
        return problem(500, FAILED)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, "the body is not valid JSON")
    if first["type"] in ("model_attributes_type", "dict_type", "missing") and (
        len(first["loc"]) == 1
    ):
        return problem(422, "send a JSON object, with Content-Type: application/json")
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    where = where[:_MAX_WHERE]
    message = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        message = f"unknown key{renamed(name, RENAMED.get(name, ()))}"
    return problem(422, f"{where}: {message[:1].lower()}{message[1:]}")


def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return problem(500, FAILED)
    detail = str(error.detail)
    if error.status_code == 404 and detail == "Not Found":
        detail = f"path {request.url.path} not found; /docs lists all paths"
    if error.status_code == 405:
        allow = (error.headers or {}).get("Allow", "")
        allowed = ", ".join(_allowed_methods(request, allow))
        detail = f"{request.method} is not allowed for {request.url.path}"
        return problem(405, f"{detail}; use {allowed}", {"Allow": allowed})
    return problem(error.status_code, detail, error.headers)


def _allowed_methods(request: Request, allow: str) -> Sequence[str]:
    """Return the methods of all routes of a path; `allow` covers a single route."""
    requested, paths = request.url.path, request.app.openapi()["paths"]
    matching = [
        path
        for path in paths
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), requested)
    ]
    exact = [requested] if requested in paths else matching
    methods = [method.upper() for path in exact for method in paths[path]]
    return sorted(methods or [method.strip() for method in allow.split(",")])


def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, FAILED)
