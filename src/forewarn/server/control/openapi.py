"""OpenAPI description: the parts that FastAPI cannot derive from routes and models.

These parts are each path's errors and token, problem documents, and request bodies that
pydantic does not parse.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from forewarn.core.fleet_file import READ_ONLY
from forewarn.server.control.auth.permissions import is_guarded
from forewarn.server.control.models import Problem

Json = dict[str, Any]

_JSON = "application/json"
#: These paths have no body and no idempotency key.
_SIGN_IN = ("/v1/session", "/v1/portal/links")
_HEADERS: Mapping[int, str] = {
    401: "WWW-Authenticate",
    429: "Retry-After",
    503: "Retry-After",
}


class DescribedApp(FastAPI):
    """An application with a complete OpenAPI description."""

    def openapi(self) -> Json:
        """Return the description, which is built once."""
        if self.openapi_schema is None:
            self.openapi_schema = _complete_schema(
                get_openapi(
                    title=self.title,
                    version=self.version,
                    description=self.description,
                    routes=self.routes,
                )
            )
        return self.openapi_schema


def body_of(schema: str, *, is_required: bool = True) -> Json:
    """Describe, for `openapi_extra`, a request body that `core.fleet_file` reads."""
    body = {"required": is_required, "content": {_JSON: _schema_of(schema)}}
    return {"requestBody": body}


def text_in(*media_types: str) -> dict[int | str, Json]:
    """Describe a text response for FastAPI's `responses` option."""
    text = {"schema": {"type": "string"}}
    return {200: {"content": dict.fromkeys(media_types, text)}}


def _complete_schema(spec: Json) -> Json:
    components = spec["components"]
    schemas = components["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.update([*_fleet_schemas(schemas), ("Problem", Problem.model_json_schema())])
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            _complete(operation, method, path)
    return spec


def _fleet_schemas(schemas: Json) -> Iterator[tuple[str, Json]]:
    """Yield the schemas of request bodies that `core.fleet_file` reads."""
    lists: Json = {}
    for noun, required in (("Host", ()), ("Group", ("kind",)), ("Vm", ())):
        yield f"Given{noun}", _given(schemas[noun]["properties"], *required)
        named = {"required": ["name"], "properties": {"name": {"type": "string"}}}
        item = {"allOf": [_schema_of(f"Given{noun}")["schema"], named]}
        lists[f"{noun.lower()}s"] = {"type": "array", "items": item}
    yield "GivenFleet", _given(lists)


def _given(properties: Json, *required: str) -> Json:
    """Return an object schema whose keys may be absent or null, except `required`."""
    given: Json = {
        key: schema if key in required else {"anyOf": [schema, {"type": "null"}]}
        for key, schema in properties.items()
    }
    for key in given.keys() & READ_ONLY:
        given[key] = {"description": "ignored"}
    return {
        "type": "object",
        "properties": given,
        "required": [*required],
        "additionalProperties": False,
    }


def _complete(operation: Json, method: str, path: str) -> None:
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
    places = {parameter["in"] for parameter in operation.get("parameters", ())}
    for code in _errors(method, path, has_query=bool(places - {"path"})):
        responses.setdefault(str(code), {})
    for code, response in responses.items():
        response["description"] = HTTPStatus(int(code)).phrase
        if code >= "400" and "content" not in response:
            response |= _problem(int(code))
    operation["responses"] = dict(sorted(responses.items()))
    if is_guarded(path):
        operation["security"] = [{"token": []}]


def _errors(method: str, path: str, *, has_query: bool) -> Iterator[int]:
    """Yield the errors common to all operations of this kind."""
    # Not HTTP, foreign page, slow or large body, unknown host, large head.
    yield from (400, 403, 408, 413, 421, 431)
    if is_guarded(path):
        yield from (401, 429, 503)  # too many invalid tokens, unavailable store
    if "{" in path:
        yield 404
    if has_query or "{id}" in path:  # an ID can be ambiguous
        yield 422
    if method != "get" and path not in _SIGN_IN:
        yield from (404, 409, 422)


def _schema_of(name: str) -> Json:
    return {"schema": {"$ref": f"#/components/schemas/{name}"}}


def _problem(code: int) -> Json:
    response: Json = {"content": {"application/problem+json": _schema_of("Problem")}}
    if code in _HEADERS:
        response["headers"] = {_HEADERS[code]: {"schema": {"type": "string"}}}
    return response
