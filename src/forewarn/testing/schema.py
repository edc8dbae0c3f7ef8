"""JSON Schema of scenario files, built from the reader's own tables."""

from collections.abc import Iterable, Mapping, Sequence

from forewarn.testing import demands, reading, steps
from forewarn.testing.fleet_shape import FLEET
from forewarn.testing.keys import Form, Key
from forewarn.testing.kinds import Schema


def schema() -> Mapping[str, object]:
    """Return the JSON Schema (2020-12) of a scenario file."""
    forms = {_name(step_form): step_form for step_form in _forms()}
    parts: Mapping[str, Schema] = {
        "fleet": {"anyOf": [{"type": "string", "pattern": r"\S"}, _ref("fleet")]},
        "throughout": _table(demands.THROUGHOUT),
        "steps": {
            "type": "array",
            "minItems": 1,
            "items": {"oneOf": [_ref(name) for name in forms]},
        },
    }
    top = {"properties": _properties(reading.TOP, parts), **_needed(reading.TOP)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of forewarn",
        "description": "What happens to a program under test, and what it must do",
        "type": "object",
        **top,
        "additionalProperties": False,
        "$defs": {
            "fleet": FLEET,
            **{name: _form(form) for name, form in forms.items()},
        },
    }


def _forms() -> Iterable[Form]:
    for choices in steps.forms(0.0).values():
        yield from choices


def _name(form: Form) -> str:
    """Name a form by its verb, with its first value if other forms share the verb."""
    verb = form.verb.name
    is_shared = len(steps.forms(0.0)[verb]) > 1
    return f"{verb}-{form.verb.kind.words[0]}" if is_shared else verb


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _form(form: Form) -> Schema:
    choice = [{"required": [key.name]} for key in form.one_of]
    described = {"description": form.verb.help, **_table(form.all_keys)}
    return {**described, "oneOf": choice} if choice else described


def _table(keys: Sequence[Key[object]]) -> Schema:
    return {
        "type": "object",
        "properties": _properties(keys, {}),
        **_needed(keys),
        "additionalProperties": False,
    }


def _properties(
    keys: Sequence[Key[object]], parts: Mapping[str, Schema]
) -> Mapping[str, Schema]:
    return {
        key.name: {"description": key.help, **parts.get(key.name, key.kind.schema)}
        for key in keys
    }


def _needed(keys: Sequence[Key[object]]) -> Mapping[str, object]:
    needed = [key.name for key in keys if key.is_needed]
    return {"required": needed} if needed else {}
