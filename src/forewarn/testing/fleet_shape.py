"""JSON Schema of the fleet in a scenario file."""

from enum import StrEnum

from forewarn.core.fleet import NAME, AutoApproval, GroupKind, Listening
from forewarn.testing.kinds import Schema

_NAME: Schema = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_TEXT: Schema = {"type": "string", "maxLength": 1000}
_FLAG: Schema = {"type": "boolean"}
_DOMAIN: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999}


def _one_of(kind: type[StrEnum]) -> Schema:
    return {"enum": [member.value for member in kind]}


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _table(properties: dict[str, Schema], *needed: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [*needed],
        "additionalProperties": False,
    }


_HOST = _table({"name": _NAME}, "name")

_GROUP = _table(
    {
        "name": _NAME,
        "kind": _one_of(GroupKind),
        "listening": _one_of(Listening),
        "terminate_notice_seconds": {
            "type": "integer",
            "minimum": 300,
            "maximum": 900,
        },
        "auto_approve": _list_of(_one_of(AutoApproval)),
        "isolated": _FLAG,
    },
    "name",
    "kind",
)

_VM = _table(
    {
        "name": _NAME,
        "group": _NAME,
        "host": _NAME,
        "update_domain": _DOMAIN,
        "fault_domain": _DOMAIN,
        "zone": _TEXT,
        "addresses": _list_of({"type": "string"}),
        "spot": _FLAG,
        "paas": _FLAG,
        "tags": {"type": "object", "additionalProperties": _TEXT},
        "size": _TEXT,
        "location": _TEXT,
        "resource_group": _TEXT,
        "subscription": _TEXT,
        "vm_id": _TEXT,
    },
    "name",
)

#: The same as in a fleet file.
FLEET: Schema = {
    **_table(
        {"hosts": _list_of(_HOST), "groups": _list_of(_GROUP), "vms": _list_of(_VM)},
        "vms",
    ),
    "description": "hosts, groups and VMs, as in a fleet file",
}
