"""OpenAPI description: the responses and errors of every operation.

FastAPI describes requests; `OPERATIONS` describes responses. A new route takes one line
there: its method and path, and `_read`, `_do` or `_make` with the name of a schema of
`models` and the errors specific to it. A test fails until it has one.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from forewarn.core.lifecycle.model import Phase
from forewarn.server.control.auth.permissions import is_guarded
from forewarn.server.control.models import SCHEMAS, Schema, ref

Json = dict[str, Any]

_JSON = "application/json"
_PROBLEM = "application/problem+json"
_EVENTS = "text/event-stream"
_METRICS = ("text/plain", "application/openmetrics-text")

#: For any request: a body too large or too slow, a foreign page, an unknown host.
_ANYWHERE = (403, 408, 413, 421)
#: No valid token, too many invalid tokens, and an unavailable store.
_GUARDED = (*_ANYWHERE, 401, 429, 503)
_IN_BODY = (400, 422)
_HEADERS: Mapping[int, Sequence[str]] = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}

#: Schemas of parameters that FastAPI cannot know, by name.
PARAMETERS: Mapping[str, Schema] = {
    "idempotency-key": {"type": "string", "minLength": 1, "maxLength": 255},
    "last-event-id": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "phase": {
        "type": "array",
        "items": {"type": "string", "enum": [phase.value for phase in Phase]},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDoc:
    """The responses of one operation."""

    success: Mapping[int, str | None]  # the name of a schema; None for no body
    errors: tuple[int, ...]
    body: str | None = None  # request schema; None if FastAPI knows it
    media: tuple[str, ...] = (_JSON,)


def _read(schema: str, *errors: int) -> OperationDoc:
    return OperationDoc(success={200: schema}, errors=(*_GUARDED, *errors))


def _do(schema: str | None, *errors: int, body: str | None = None) -> OperationDoc:
    """Describe a write; it accepts an idempotency key."""
    return OperationDoc(
        success={204: None} if schema is None else {200: schema},
        errors=(*_GUARDED, *_IN_BODY, 409, *errors),
        body=body,
    )


def _make(schema: str, *errors: int) -> OperationDoc:
    return replace(_do(schema, *errors), success={201: schema})


def _host(schema: str) -> OperationDoc:
    """Describe a write that creates maintenance operations or finds existing ones."""
    return replace(_do(schema, 404), success={200: schema, 201: schema})


OPERATIONS: Mapping[tuple[str, str], OperationDoc] = {
    # the fleet
    ("put", "/v1/fleet"): _do("Applied", 404, body="GivenFleet"),
    ("get", "/v1/fleet/map"): _read("FleetMap"),
    ("get", "/v1/vms"): _read("Vms", 422),
    ("get", "/v1/vms/{name}"): _read("Vm", 404),
    ("put", "/v1/vms/{name}"): _do("Vm", 404, body="GivenVm"),
    ("delete", "/v1/vms/{name}"): _do(None, 404),
    ("get", "/v1/groups"): _read("Groups", 422),
    ("get", "/v1/groups/{name}"): _read("Group", 404),
    ("put", "/v1/groups/{name}"): _do("Group", 404, body="GivenGroup"),
    ("delete", "/v1/groups/{name}"): _do(None, 404),
    ("get", "/v1/hosts"): _read("Hosts", 422),
    ("get", "/v1/hosts/{name}"): _read("Host", 404),
    ("put", "/v1/hosts/{name}"): _do("Host", 404, body="GivenHost"),
    ("delete", "/v1/hosts/{name}"): _do(None, 404),
    # operations on one VM or one host
    ("post", "/v1/vms/{name}/restart"): _make("Announced", 404),
    ("post", "/v1/vms/{name}/redeploy"): _make("Announced", 404),
    ("post", "/v1/vms/{name}/reimage"): _make("Announced", 404),
    ("post", "/v1/vms/{name}/evict"): _make("Announced", 404),
    ("post", "/v1/vms/{name}/delete"): _make("Announced", 404),
    ("post", "/v1/hosts/{name}/maintain"): _host("Announced"),
    ("post", "/v1/hosts/{name}/degraded"): _host("Announced"),
    ("post", "/v1/hosts/{name}/failed"): _host("Announced"),
    ("post", "/v1/hosts/{name}/recovered"): _host("Announced"),
    # maintenance operations and events
    ("post", "/v1/maintenances"): _make("Announced", 404),
    ("post", "/v1/maintenances/preview"): _do("Preview", 404),
    ("get", "/v1/maintenances"): _read("Maintenances", 422),
    ("get", "/v1/maintenances/{id}"): _read("Maintenance", 404),
    ("get", "/v1/maintenances/{id}/explain"): _read("Explanation", 404),
    ("get", "/v1/maintenances/{id}/story"): _read("Story", 404),
    ("post", "/v1/maintenances/{id}/cancel"): _do("Maintenance", 404),
    ("post", "/v1/maintenances/{id}/complete"): _do("Maintenance", 404),
    ("post", "/v1/maintenances/{id}/retry"): _do("Maintenance", 404),
    ("post", "/v1/maintenances/{id}/close"): _do("Maintenance", 404),
    ("get", "/v1/events"): _read("Events", 422),
    ("get", "/v1/events/{id}"): _read("Event", 404),
    ("post", "/v1/events/{id}/approve"): _do("Event", 404),
    ("get", "/v1/overview"): _read("Overview", 422),
    # the journal and the clock
    ("get", "/v1/journal"): _read("Journal", 404, 422),
    ("get", "/v1/stream"): replace(_read("Stream", 404, 422), media=(_EVENTS,)),
    ("get", "/v1/report"): _read("Report", 404, 422),
    ("get", "/v1/clock"): _read("Clock"),
    ("post", "/v1/clock/advance"): _do("Clock"),
    # faults
    ("get", "/v1/faults"): _read("Faults"),
    ("post", "/v1/faults"): _make("Fault", 404),
    ("delete", "/v1/faults"): _do(None),
    ("delete", "/v1/faults/{id}"): _do(None, 404),
    # notifiers and metrics
    ("get", "/v1/notifiers"): _read("Notifiers"),
    ("get", "/metrics"): replace(_read("Metrics", 422), media=_METRICS),
    # tokens
    ("get", "/v1/tokens"): _read("Tokens", 422),
    ("post", "/v1/tokens"): _make("NewTokenShown", 404),
    ("delete", "/v1/tokens/{name}"): _do(None, 404),
    # the session, signing in and out
    ("get", "/v1/session"): _read("Session"),
    ("post", "/v1/session"): replace(_read("Session"), success={201: "Session"}),
    ("delete", "/v1/session"): replace(_read("Session"), success={204: None}),
    # health
    ("get", "/healthz"): OperationDoc(success={200: "Alive"}, errors=_ANYWHERE),
    ("get", "/readyz"): OperationDoc(
        success={200: "Ready", 503: "NotReady"}, errors=_ANYWHERE
    ),
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


def _complete_schema(described: Json) -> Json:
    """Add the responses to what FastAPI has `described`."""
    spec = deepcopy(described)
    components = spec.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.update(deepcopy(dict(SCHEMAS)))
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in spec["paths"].items():
        for method, described_operation in methods.items():
            operation = OPERATIONS.get((method, path))
            if operation is not None:
                _complete(described_operation, operation)
            if is_guarded(path):
                described_operation["security"] = [{"token": []}]
    return spec


def _complete(described: Json, operation: OperationDoc) -> None:
    for parameter in described.get("parameters", ()):
        parameter["schema"] = dict(
            PARAMETERS.get(parameter["name"], parameter["schema"])
        )
    if operation.body is not None:
        content = {_JSON: {"schema": ref(operation.body)}}
        described["requestBody"] = {"required": True, "content": content}
    responses = {
        code: _success(code, name, operation)
        for code, name in operation.success.items()
    }
    for code in operation.errors:
        responses[code] = _response(code, (_PROBLEM,), ref("Problem"))
    described["responses"] = {str(code): responses[code] for code in sorted(responses)}


def _success(code: int, name: str | None, operation: OperationDoc) -> Json:
    if name is None:
        return {"description": HTTPStatus(code).phrase}
    return _response(code, operation.media, ref(name))


def _response(code: int, media: tuple[str, ...], schema: Schema) -> Json:
    headers = {
        name: {"schema": {"type": "string"}}
        for name in _HEADERS.get(code, ())
        if media == (_PROBLEM,)
    }
    response: Json = {
        "description": HTTPStatus(code).phrase,
        "content": {name: {"schema": schema} for name in media},
    }
    return {**response, "headers": headers} if headers else response
