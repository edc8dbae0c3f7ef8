"""Parts of JSON Schemas, from which `schemas.py` is put together."""

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
    """Point to the schema `name`."""
    return {"$ref": f"#/components/schemas/{name}"}


def whole(least: int, most: int | None = None) -> Schema:
    """Describe a whole number."""
    number = {"type": "integer", "minimum": least}
    return number if most is None else {**number, "maximum": most}


def one_of(kind: type[StrEnum]) -> Schema:
    """Describe one of the words of `kind`."""
    return {"type": "string", "enum": [each.value for each in kind]}


def maybe(schema: Schema) -> Schema:
    """Describe what may be null."""
    return {"anyOf": [schema, NULL]}


def list_of(schema: Schema) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": schema}


def closed(**properties: Schema) -> Schema:
    """Describe an object with these keys, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def with_maybe(schema: Schema, **more: Schema) -> Schema:
    """Describe the object of `schema`, in which there may be `more`."""
    known = schema["properties"]
    assert isinstance(known, Mapping)
    return {**schema, "properties": {**known, **more}}


def with_more(schema: Schema, **more: Schema) -> Schema:
    """Describe the object of `schema`, in which there is `more`."""
    known, required = schema["properties"], schema["required"]
    assert isinstance(known, Mapping)
    assert isinstance(required, list)
    return {
        **schema,
        "properties": {**known, **more},
        "required": [*required, *more],
    }


def given(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Describe what is sent: a key may be absent or null, unless it is required."""
    taken = {
        name: schema if name in required else maybe(schema)
        for name, schema in properties.items()
    }
    needed = {"required": [*required]} if required else {}
    return {
        "type": "object",
        "properties": taken,
        "additionalProperties": False,
        **needed,
    }


def page_of(schema: Schema) -> Schema:
    """Describe a page of a list."""
    return closed(items=list_of(schema), next=_CURSOR)
