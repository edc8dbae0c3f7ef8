"""The JSON Schema for scenario files and the fleets in them."""

from collections.abc import Iterable, Mapping, Sequence

from forewarn.configfile.values import Reader, read_flag
from forewarn.core import fleet_file
from forewarn.core.fleet import (
    NEW_NAME,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    GroupKind,
    OperatingSystem,
)
from forewarn.testing.scenario import expectations, parser
from forewarn.testing.scenario.values import Schema, StepForm, StepKey

_TEXT: Schema = {"type": "string", "maxLength": 1000}

#: Schemas of fleet values, keyed by reader. `_BY_KEY` covers the other values.
_BY_READER: Mapping[Reader[object], Schema] = {
    fleet_file.read_name: {"type": "string", "pattern": f"^{NEW_NAME.pattern}$"},
    fleet_file.read_text: _TEXT,
    fleet_file.read_domain: {"type": "integer", "minimum": 0, "maximum": 999_999},
    read_flag: {"type": "boolean"},
}
_BY_KEY: Mapping[str, Schema] = {
    "kind": {"enum": [*GroupKind]},
    "enabled": {"enum": [*Enabling]},
    "terminate_notice_seconds": {"type": "integer", "minimum": 300, "maximum": 900},
    "auto_approve": {"type": "array", "items": {"enum": [*AutoApproval]}},
    "addresses": {"type": "array", "items": {"type": "string"}},
    "eviction_policy": {"enum": [*EvictionPolicy]},
    "os": {"enum": [*OperatingSystem]},
    "tags": {"type": "object", "additionalProperties": _TEXT},
}


def _object(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        **({"required": [*required]} if required else {}),
        "additionalProperties": False,
    }


def _rows(readers: fleet_file.Readers, *required: str) -> Schema:
    properties = {
        key: _BY_KEY.get(key) or _BY_READER[read] for key, read in readers.items()
    }
    return {"type": "array", "items": _object(properties, *required)}


#: The same keys as in a fleet file.
FLEET: Schema = {
    **_object(
        {
            "hosts": _rows(fleet_file.HOST_KEYS, "name"),
            "groups": _rows(fleet_file.GROUP_KEYS, "name", "kind"),
            "vms": _rows(fleet_file.VM_KEYS, "name"),
        },
        "vms",
    ),
    "description": "hosts, groups and VMs, in the format of a fleet file",
}


def schema() -> Mapping[str, object]:
    """Return the JSON Schema (2020-12) for scenario files."""
    forms = {_name(step_form): step_form for step_form in _forms()}
    parts: Mapping[str, Schema] = {
        "fleet": {"anyOf": [{"type": "string", "pattern": r"\S"}, _ref("fleet")]},
        "throughout": _table(expectations.THROUGHOUT),
        "steps": {
            "type": "array",
            "minItems": 1,
            "items": {"oneOf": [_ref(name) for name in forms]},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "forewarn scenario",
        "description": "Defines what happens to a program and what it must do",
        **_object(_properties(parser.TOP, parts), *_required(parser.TOP)),
        "$defs": {
            "fleet": FLEET,
            **{name: _form(form) for name, form in forms.items()},
        },
    }


def _forms() -> Iterable[StepForm]:
    for choices in parser.step_forms(0.0).values():
        yield from choices


def _name(form: StepForm) -> str:
    """Return the verb of a form, plus its first value if other forms share the verb."""
    verb = form.verb.name
    is_shared = len(parser.step_forms(0.0)[verb]) > 1
    return f"{verb}-{form.verb.kind.words[0]}" if is_shared else verb


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _form(form: StepForm) -> Schema:
    choice = [{"required": [key.name]} for key in form.one_of]
    required = [form.verb.name, *_required(form.keys)]
    table = _object(_properties(form.all_keys, {}), *required)
    described = {"description": form.verb.help, **table}
    return {**described, "oneOf": choice} if choice else described


def _table(keys: Sequence[StepKey[object]]) -> Schema:
    return _object(_properties(keys, {}), *_required(keys))


def _properties(
    keys: Sequence[StepKey[object]], parts: Mapping[str, Schema]
) -> Mapping[str, Schema]:
    return {
        key.name: {"description": key.help, **parts.get(key.name, key.kind.schema)}
        for key in keys
    }


def _required(keys: Sequence[StepKey[object]]) -> Sequence[str]:
    return [key.name for key in keys if key.is_needed]
