"""What answers look like: JSON Schemas of all that the control API shows.

`views.py` writes what is described here; a test holds one against the other. What is
shown by another module is added here under a name of its own, and the name is used in
`openapi.py`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import get_args

from forewarn.core.explaining import WaitKind
from forewarn.core.facts import Fact
from forewarn.core.fleet import AutoApproval, GroupKind, Listening
from forewarn.core.maintenance import Cause, Phase, Via
from forewarn.core.tokens import Role
from forewarn.protocol.types import EventSource, EventStatus, EventType

Schema = Mapping[str, object]

# --- parts -------------------------------------------------------------------

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,80}$"}
_NULL: Schema = {"type": "null"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_CURSOR: Schema = {"type": ["string", "integer", "null"]}


def ref(name: str) -> Schema:
    """Point to the schema `name`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _whole(least: int, most: int | None = None) -> Schema:
    number = {"type": "integer", "minimum": least}
    return number if most is None else {**number, "maximum": most}


def _one_of(kind: type[StrEnum]) -> Schema:
    return {"type": "string", "enum": [each.value for each in kind]}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, _NULL]}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _closed(**properties: Schema) -> Schema:
    """Describe an object with these keys, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _given(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Describe what is sent: a key may be absent or null, unless it is required."""
    taken = {
        name: schema if name in required else _maybe(schema)
        for name, schema in properties.items()
    }
    needed = {"required": [*required]} if required else {}
    return {
        "type": "object",
        "properties": taken,
        "additionalProperties": False,
        **needed,
    }


def _page(schema: Schema) -> Schema:
    return _closed(items=_list(schema), next=_CURSOR)


# --- the fleet ---------------------------------------------------------------

_HOST: Mapping[str, Schema] = {"name": _NAME}
_GROUP: Mapping[str, Schema] = {
    "name": _NAME,
    "kind": _one_of(GroupKind),
    "listening": _one_of(Listening),
    "terminate_notice_seconds": _whole(300, 900),
    "auto_approve": _list(_one_of(AutoApproval)),
    "isolated": _FLAG,
}
_LONG: Schema = {"type": "string", "maxLength": 1000}
_VM: Mapping[str, Schema] = {
    "name": _NAME,
    "group": _NAME,
    "host": _NAME,
    "update_domain": _whole(0, 999_999),
    "fault_domain": _whole(0, 999_999),
    "zone": _LONG,
    "addresses": _list(
        {"anyOf": [{**_TEXT, "format": each} for each in ("ipv4", "ipv6")]}
    ),
    "spot": _FLAG,
    "paas": _FLAG,
    "tags": {"type": "object", "additionalProperties": _LONG},
    "size": _LONG,
    "location": _LONG,
    "resource_group": _LONG,
    "subscription": _LONG,
    "vm_id": _LONG,
}
#: What is null unless it is set.
_UNSET = frozenset(_VM.keys() - {"name", "group", "addresses", "spot", "paas", "tags"})
_UNSET |= {"terminate_notice_seconds"}
_KNOWN: Mapping[str, Schema] = {"listening_since": _TIME, "last_request": _TIME}


def _shown(properties: Mapping[str, Schema], **more: Schema) -> Schema:
    """Describe a part of the fleet as it is shown: what is not set is null."""
    shown = {
        name: _maybe(schema) if name in _UNSET else schema
        for name, schema in properties.items()
    }
    return _closed(**shown, **more)


_NAMES = _closed(hosts=_TEXTS, groups=_TEXTS, vms=_TEXTS)

# --- maintenances ------------------------------------------------------------

_EVENT: Mapping[str, Schema] = {
    "id": _TEXT,
    "maintenance": _TEXT,
    "group": _TEXT,
    "resources": _TEXTS,
    "status": _maybe(_one_of(EventStatus)),
    "approved_by": _maybe(_TEXT),
    "approved_via": _maybe(_one_of(Via)),
    "approved_at": _maybe(_TIME),
    "seen_by": _TEXTS,
}
_MAINTENANCE: Mapping[str, Schema] = {
    "id": _TEXT,
    "type": _one_of(EventType),
    "source": _one_of(EventSource),
    "cause": _one_of(Cause),
    "phase": _one_of(Phase),
    "host": _maybe(_TEXT),
    "vms": _TEXTS,
    "not_before": _TIME,
    "duration_seconds": _whole(-1),
    "description": _TEXT,
    "announced_at": _TIME,
    "started_at": _maybe(_TIME),
    "ended_at": _maybe(_TIME),
    "stuck_since": _maybe(_TIME),
    "reason": _maybe(_TEXT),
    "events": _list(ref("Event")),
}
_FORESEEN_EVENT = {**_EVENT, "id": _NULL, "maintenance": _NULL}
_FORESEEN = {**_MAINTENANCE, "id": _NULL, "events": _list(_closed(**_FORESEEN_EVENT))}
_WAIT = _closed(
    kind=_one_of(WaitKind),
    what=_TEXT,
    since=_maybe(_TIME),
    opens_at=_maybe(_TIME),
    opened_by=_maybe(_TEXT),
)

# --- the journal -------------------------------------------------------------

_ENTRY: Mapping[str, Schema] = {
    "position": _whole(1),
    "at": _TIME,
    "fact": {"type": "string", "enum": [each.__name__ for each in get_args(Fact)]},
    "maintenance": _maybe(_TEXT),
    "event": _maybe(_TEXT),
    "group": _maybe(_TEXT),
    "by": _maybe(_TEXT),
    "via": _maybe(_one_of(Via)),
}

# --- tokens ------------------------------------------------------------------

_TOKEN: Mapping[str, Schema] = {
    "id": _TEXT,
    "name": _TEXT,
    "role": _one_of(Role),
    "group": _maybe(_TEXT),
    "created_at": _TIME,
    "created_by": _maybe(_TEXT),
    "expires_at": _maybe(_TIME),
    "last_used": _maybe(_TIME),
}

# --- all of them -------------------------------------------------------------

SCHEMAS: Mapping[str, Schema] = {
    "Problem": {
        **_closed(type=_TEXT, title=_TEXT, status=_whole(400, 599), detail=_TEXT),
        "additionalProperties": True,  # `earliest`, where there is too little notice
    },
    "Host": _shown(_HOST),
    "Hosts": _page(ref("Host")),
    "Group": _shown(_GROUP, **{name: _maybe(each) for name, each in _KNOWN.items()}),
    "Groups": _page(ref("Group")),
    "Vm": _shown(_VM),
    "Vms": _page(ref("Vm")),
    "GivenHost": _given(_HOST),
    "GivenGroup": _given({**_GROUP, **_KNOWN}, "kind"),
    "GivenVm": _given(_VM),
    "GivenFleet": _given(
        {
            "hosts": _list(_given(_HOST, "name")),
            "groups": _list(_given({**_GROUP, **_KNOWN}, "name", "kind")),
            "vms": _list(_given(_VM, "name")),
        }
    ),
    "Applied": _closed(added=_NAMES, changed=_NAMES, removed=_NAMES, warnings=_TEXTS),
    "Event": _closed(**_EVENT),
    "Events": _page(ref("Event")),
    "Maintenance": _closed(**_MAINTENANCE),
    "Maintenances": _page(ref("Maintenance")),
    "Announced": _closed(maintenances=_list(ref("Maintenance"))),
    "Preview": _closed(maintenances=_list(_closed(**_FORESEEN))),
    "Explanation": _closed(
        phase=_one_of(Phase),
        due=_FLAG,
        waits=_list(_WAIT),
        starts_at_latest=_maybe(_TIME),
        sentences=_TEXTS,
    ),
    "Story": _closed(
        notice_given_seconds=_whole(0),
        notice_used_seconds=_maybe(_whole(0)),
        entries=_list(_closed(at=_TIME, what=_TEXT)),
        sentences=_TEXTS,
    ),
    "Entry": {**_closed(**_ENTRY), "additionalProperties": True},  # the fact's own keys
    "Journal": _page(ref("Entry")),
    "Stream": _TEXT,  # server-sent events, each an entry
    "Clock": _closed(clock=_TEXT, now=_TIME),
    "Token": _closed(**_TOKEN),
    "Tokens": _page(ref("Token")),
    "NewTokenShown": _closed(**_TOKEN, token=_TEXT),
    "Alive": _closed(status={"const": "ok"}),
    "Ready": _closed(status={"const": "ready"}),
    "NotReady": _closed(status={"const": "not ready"}, reason=_TEXT),
}
