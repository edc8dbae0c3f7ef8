"""Building blocks of JSON Schemas, used in `schemas.py`."""

from collections.abc import Mapping
from enum import StrEnum

Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,80}$"}
NULL: Schema = {"type": "null"}
TEXTS: Schema = {"type": "array", "items": TEXT}
_CURSOR: Schema = {"type": ["string", "integer", "null"]}


def ref(name: str) -> Schema:
    """Return a reference to the schema `name`."""
    return {"$ref": f"#/components/schemas/{name}"}


def whole(least: int, most: int | None = None) -> Schema:
    """Return the schema of an integer within limits."""
    number = {"type": "integer", "minimum": least}
    return number if most is None else {**number, "maximum": most}


def one_of(kind: type[StrEnum]) -> Schema:
    """Return the schema of a value of `kind`."""
    return {"type": "string", "enum": [member.value for member in kind]}


def maybe(schema: Schema) -> Schema:
    """Return `schema`, extended by null."""
    return {"anyOf": [schema, NULL]}


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def closed(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def with_maybe(schema: Schema, **more: Schema) -> Schema:
    """Return the object schema `schema` with `more` optional keys."""
    properties = schema["properties"]
    assert isinstance(properties, Mapping)
    return {**schema, "properties": {**properties, **more}}


def with_more(schema: Schema, **more: Schema) -> Schema:
    """Return the object schema `schema` with `more` required keys."""
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, list)
    return {
        **schema,
        "properties": {**properties, **more},
        "required": [*required, *more],
    }


def given(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Return a request schema: a key may be absent or null, unless it is required."""
    accepted = {
        name: schema if name in required else maybe(schema)
        for name, schema in properties.items()
    }
    needed = {"required": [*required]} if required else {}
    return {
        "type": "object",
        "properties": accepted,
        "additionalProperties": False,
        **needed,
    }


def page_of(schema: Schema) -> Schema:
    """Return the schema of a page of a list."""
    return closed(items=list_of(schema), next=_CURSOR)
