"""Check of responses against the OpenAPI description."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import jsonschema_rs

from forewarn.server.app import make_app
from forewarn.server.control.context import Services
from forewarn.server.control.routes.journal import JournalStreams


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    return make_app(cast(Services, None), JournalStreams()).openapi()


def faults(method: str, path: str, status: int, kind: str, body: bytes) -> list[str]:
    """Return how a response deviates from the description; nothing if undescribed."""
    operation = _operation(method.lower(), path.partition("?")[0])
    if operation is None or status in (405, 500):
        return []
    described = operation["responses"].get(str(status))
    if described is None:
        return [f"{status} is not described"]
    content = described.get("content")
    if content is None:
        return ["there is a body"] if body else []
    if kind not in content:
        return [f"{kind} is not described"]
    if not kind.endswith("json"):
        return []
    return _schema_errors(content[kind]["schema"]["$ref"], body)


def _schema_errors(reference: str, body: bytes) -> list[str]:
    errors = _validator(reference).iter_errors(json.loads(body))
    return [f"{error.instance_path}: {error.message}" for error in errors]


@cache
def _validator(reference: str) -> jsonschema_rs.Draft202012Validator:
    components = description()["components"]
    return jsonschema_rs.Draft202012Validator(
        {"$ref": reference, "components": components}, validate_formats=True
    )


def _operation(method: str, path: str) -> Any:
    for pattern, template in _patterns():
        if pattern.fullmatch(path) and method in description()["paths"][template]:
            return description()["paths"][template][method]
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return a pattern for each path, those with fewer placeholders first."""
    templates = sorted(description()["paths"], key=lambda each: each.count("{"))
    return tuple(_compiled(templates))


def _compiled(templates: list[str]) -> Iterator[tuple[re.Pattern[str], str]]:
    for template in templates:
        yield re.compile(re.sub(r"\{\w+\}", "[^/]+", template)), template
