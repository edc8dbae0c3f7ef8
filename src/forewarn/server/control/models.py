"""Request bodies, response views and response schemas of the control API.

Bodies are pydantic models. Responses are written by views; `SCHEMAS` describes them for
OpenAPI.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from forewarn.core.fleet import VM, AutoApproval, Group, GroupKind, Host, Listening
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.commands import PossibleCommand
from forewarn.core.lifecycle.facts import Fact
from forewarn.core.lifecycle.fleet_changes import Difference
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.queries.explanation import Explanation, WaitKind
from forewarn.core.queries.story import Story
from forewarn.core.queries.views import (
    Json,
    event_view,
    maintenance_view,
    plain_view,
    rfc3339,
    seen_by_nobody,
)
from forewarn.core.tokens import Role
from forewarn.engine.fleet import FleetApplied
from forewarn.engine.readers.notifications import TargetState
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.server.metadata.faults.model import FaultKind, FaultOn

_Choice = TypeVar("_Choice", bound=StrEnum)
_MAX_SECONDS = 10**12  # no meaningful number of seconds is larger

Schema = Mapping[str, object]


# --- request bodies ----------------------------------------------------------


class Reason(BaseModel):
    """Why something is done."""

    model_config = ConfigDict(extra="forbid")

    reason: StrictStr | None = Field(None, max_length=1000)


class Told(Reason):
    """What VMs are told, beside what happens."""

    duration_seconds: StrictInt | None = Field(None, description="-1: unknown")
    description: StrictStr | None = Field(None, max_length=1000)


class Timed(Told):
    """What VMs are told, and when."""

    notice_seconds: StrictInt | None = Field(None, ge=0, le=_MAX_SECONDS)
    not_before: StrictStr | None = Field(None, description="RFC 3339 with a zone")


class Reimaging(Timed):
    """How a VM gets a new image."""

    source: StrictStr | None = Field(
        None, description="User; Platform, if the platform renews images by itself"
    )


class HostMaintenance(Timed):
    """What is done to a host."""

    type: StrictStr | None = Field(
        None, description="Freeze, if absent; Reboot or Redeploy"
    )
    emergency: StrictBool | None = None
    ignore_gates: StrictBool | None = None


class Degraded(Told):
    """Until when a host is predicted to last."""

    fails_by: StrictStr | None = Field(None, description="RFC 3339 with a zone")


class Announcement(Timed):
    """What is to be announced."""

    type: StrictStr = Field(description="Freeze, Reboot, Redeploy, Preempt, Terminate")
    vms: list[StrictStr] | None = Field(None, description="names of VMs")
    host: StrictStr | None = Field(None, description="all VMs of a host, as one act")
    group: StrictStr | None = Field(None, description="all VMs of a group")
    source: StrictStr | None = Field(None, description="Platform or User")
    emergency: StrictBool | None = None
    ignore_gates: StrictBool | None = None


def order_of(body: Announcement) -> Order:
    """Parse an announcement."""
    order = Order(
        type=parse_choice(EventType, body.type, "type"),
        vms=tuple(body.vms or ()),
        host=body.host,
        group=body.group,
        source=source_of(body.source),
        emergency=bool(body.emergency),
        ignore_gates=bool(body.ignore_gates),
    )
    return with_times(order, body)


def with_times(order: Order, body: Timed | None) -> Order:
    """Add notice, start time and the fields of `with_details` to `order`."""
    if body is None:
        return order
    notice, at = body.notice_seconds, body.not_before
    return replace(
        with_details(order, body),
        notice=None if notice is None else timedelta(seconds=notice),
        not_before=None if at is None else parse_time(at, "not_before"),
    )


def with_details(order: Order, body: Told | None) -> Order:
    """Add duration, description and reason to `order`."""
    if body is None:
        return order
    return replace(
        order,
        duration=body.duration_seconds,
        description=body.description,
        reason=body.reason,
    )


def source_of(text: str | None) -> EventSource | None:
    """Parse a source; case does not matter."""
    return None if text is None else parse_choice(EventSource, text, "source")


def parse_choice(choices: type[_Choice], text: str, name: str) -> _Choice:
    """Parse a value of `choices`; case does not matter."""
    for member in choices:
        if member.value.lower() == text.lower():
            return member
    values = ", ".join(member.value for member in choices)
    raise InvalidInput(f"{name}: expected one of {values}, not {text!r}")


def parse_time(text: str, name: str) -> datetime:
    """Parse a time, which must have a zone, and return it in UTC."""
    invalid = InvalidInput(
        f"{name}: expected a time with a zone, such as 2026-01-31T12:00:00Z,"
        f" not {text!r}"
    )
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None or "T" not in text.upper():
            raise invalid
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid from None


# --- response views ----------------------------------------------------------


def to_json(view: Json) -> str:
    """Serialize `view` the way all responses are serialized."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def announced_view(announced: Sequence[Maintenance]) -> Json:
    """Return announced maintenance operations as JSON."""
    return {
        "maintenances": [maintenance_view(maintenance) for maintenance in announced]
    }


def preview_view(maintenance: Maintenance) -> Json:
    """Return a maintenance that would be announced, without ids, as JSON."""
    view = maintenance_view(maintenance)
    events = [
        {
            **event_view(maintenance, event, seen_by_nobody),
            "id": None,
            "maintenance": None,
        }
        for event in maintenance.events
    ]
    return {**view, "id": None, "events": events}


def explanation_view(explanation: Explanation) -> Json:
    """Return what a maintenance waits for as JSON."""
    return {
        "phase": explanation.phase.value,
        "due": explanation.due,
        "waits": [plain_view(wait) for wait in explanation.waits],
        "starts_at_latest": rfc3339(explanation.starts_at_latest),
        "sentences": [*explanation.sentences],
    }


def story_view(story: Story) -> Json:
    """Return the history of a maintenance as JSON."""
    used = story.used
    return {
        "notice_given_seconds": int(story.given.total_seconds()),
        "notice_used_seconds": None if used is None else int(used.total_seconds()),
        "entries": [plain_view(line) for line in story.lines],
        "sentences": [*story.sentences],
    }


def applied_view(applied: FleetApplied) -> Json:
    """Return the effect of a fleet change as JSON."""
    difference = applied.difference
    return {
        "added": _names_of(difference, lambda old, new: old is None),
        "changed": _names_of(difference, lambda old, new: None not in (old, new)),
        "removed": _names_of(difference, lambda old, new: new is None),
        "warnings": [*applied.warnings],
    }


def _names_of(
    difference: Difference, matches: Callable[[object, object], bool]
) -> Json:
    nouns: Mapping[str, Sequence[tuple[Host | Group | VM | None, ...]]] = {
        "hosts": difference.hosts,
        "groups": difference.groups,
        "vms": difference.vms,
    }
    return {
        noun: [
            part.name
            for old, new in pairs
            if matches(old, new)
            for part in (new or old,)
            if part
        ]
        for noun, pairs in nouns.items()
    }


# --- parts of schemas --------------------------------------------------------


_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_FLAG: Schema = {"type": "boolean"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,80}$"}
_NULL: Schema = {"type": "null"}
_LONG: Schema = {"type": "string", "maxLength": 1000}
_CURSOR: Schema = {"type": ["string", "integer", "null"]}


def ref(name: str) -> Schema:
    """Return a reference to the schema `name`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _integer(minimum: int, maximum: int | None = None) -> Schema:
    """Return the schema of an integer within limits."""
    number = {"type": "integer", "minimum": minimum}
    return number if maximum is None else {**number, "maximum": maximum}


def _one_of(kind: type[StrEnum]) -> Schema:
    """Return the schema of a value of `kind`."""
    return {"type": "string", "enum": [member.value for member in kind]}


def _nullable(schema: Schema) -> Schema:
    """Return `schema`, extended by null."""
    return {"anyOf": [schema, _NULL]}


def _list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def _page_of(schema: Schema) -> Schema:
    """Return the schema of a page of a list."""
    return _object(items=_list_of(schema), next=_CURSOR)


def _object(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _with_optional(schema: Schema, **more: Schema) -> Schema:
    """Return the object schema `schema` with `more` optional keys."""
    properties = schema["properties"]
    assert isinstance(properties, Mapping)
    return {**schema, "properties": {**properties, **more}}


def _with_required(schema: Schema, **more: Schema) -> Schema:
    """Return the object schema `schema` with `more` required keys."""
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, list)
    return {
        **schema,
        "properties": {**properties, **more},
        "required": [*required, *more],
    }


def _request_object(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Return a request schema: a key may be absent or null, unless it is required."""
    accepted = {
        name: schema if name in required else _nullable(schema)
        for name, schema in properties.items()
    }
    needed = {"required": [*required]} if required else {}
    return {
        "type": "object",
        "properties": accepted,
        "additionalProperties": False,
        **needed,
    }


def _fleet_object(properties: Mapping[str, Schema], **more: Schema) -> Schema:
    """Return the response schema of a part of the fleet; unset values are null."""
    shown = {
        name: _nullable(schema) if name in _UNSET else schema
        for name, schema in properties.items()
    }
    return _object(**shown, **more)


def _counts(kind: type[EventType] | type[Via]) -> Schema:
    """Return the schema of an object with one count per value of `kind`."""
    words = [member.value for member in kind]
    return {
        "type": "object",
        "additionalProperties": _COUNT,
        "propertyNames": {"enum": words},
    }


_COUNT = _integer(0)
_SECONDS: Schema = {"type": "number", "minimum": 0}


# --- schemas of the fleet ----------------------------------------------------

_HOST: Mapping[str, Schema] = {"name": _NAME}
_GROUP: Mapping[str, Schema] = {
    "name": _NAME,
    "kind": _one_of(GroupKind),
    "listening": _one_of(Listening),
    "terminate_notice_seconds": _integer(300, 900),
    "auto_approve": _list_of(_one_of(AutoApproval)),
    "isolated": _FLAG,
}
_VM: Mapping[str, Schema] = {
    "name": _NAME,
    "group": _NAME,
    "host": _NAME,
    "update_domain": _integer(0, 999_999),
    "fault_domain": _integer(0, 999_999),
    "zone": _LONG,
    "addresses": _list_of(
        {"anyOf": [{**_TEXT, "format": family} for family in ("ipv4", "ipv6")]}
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
#: Keys that are null unless set.
_UNSET = frozenset(_VM.keys() - {"name", "group", "addresses", "spot", "paas", "tags"})
_UNSET |= {"terminate_notice_seconds"}
_REQUEST_TIMES: Mapping[str, Schema] = {"listening_since": _TIME, "last_request": _TIME}
_NAMES = _object(hosts=_TEXTS, groups=_TEXTS, vms=_TEXTS)

_INDEX = _integer(0)  # index into another list of the same response
_MAPPED_GROUP = _object(
    name=_NAME,
    kind=_one_of(GroupKind),
    listening=_one_of(Listening),
    is_silent=_FLAG,
    last_request=_nullable(_TIME),
)
_MAPPED_VMS = _object(
    name=_list_of(_NAME),
    group=_list_of(_INDEX),
    host=_list_of(_nullable(_INDEX)),
    update_domain=_list_of(_nullable(_integer(0))),
    spot=_list_of(_FLAG),
    asked=_list_of(_nullable(_TIME)),
)


# --- schemas of maintenance operations ---------------------------------------

_EVENT: Mapping[str, Schema] = {
    "id": _TEXT,
    "maintenance": _TEXT,
    "group": _TEXT,
    "resources": _TEXTS,
    "status": _nullable(_one_of(EventStatus)),
    "approved_by": _nullable(_TEXT),
    "approved_via": _nullable(_one_of(Via)),
    "approved_at": _nullable(_TIME),
    "seen_by": _TEXTS,
}
_MAINTENANCE: Mapping[str, Schema] = {
    "id": _TEXT,
    "type": _one_of(EventType),
    "source": _one_of(EventSource),
    "cause": _one_of(Cause),
    "phase": _one_of(Phase),
    "host": _nullable(_TEXT),
    "vms": _TEXTS,
    "not_before": _TIME,
    "duration_seconds": _integer(-1),
    "description": _TEXT,
    "announced_at": _TIME,
    "started_at": _nullable(_TIME),
    "ended_at": _nullable(_TIME),
    "stuck_since": _nullable(_TIME),
    "reason": _nullable(_TEXT),
    "events": _list_of(ref("Event")),
}
_PREVIEW_EVENT = {**_EVENT, "id": _NULL, "maintenance": _NULL}
_PREVIEW = {**_MAINTENANCE, "id": _NULL, "events": _list_of(_object(**_PREVIEW_EVENT))}
_WAIT = _object(
    kind=_one_of(WaitKind),
    what=_TEXT,
    since=_nullable(_TIME),
    opens_at=_nullable(_TIME),
    opened_by=_nullable(_TEXT),
)
_OVERVIEW_ITEM = _object(
    maintenance=ref("Maintenance"),
    due=_FLAG,
    waits=_list_of(_WAIT),
    starts_at_latest=_nullable(_TIME),
    can=_list_of(_one_of(PossibleCommand)),
    seen=_list_of(_object(event=_TEXT, vm=_TEXT, at=_TIME)),
)


# --- schemas of the journal and the report -----------------------------------

_ENTRY: Mapping[str, Schema] = {
    "position": _integer(1),
    "at": _TIME,
    "fact": {"type": "string", "enum": [fact.__name__ for fact in get_args(Fact)]},
    "text": _TEXT,
    "maintenance": _nullable(_TEXT),
    "event": _nullable(_TEXT),
    "group": _nullable(_TEXT),
    "by": _nullable(_TEXT),
    "via": _nullable(_one_of(Via)),
}

_SPREAD = _object(least_seconds=_COUNT, median_seconds=_COUNT, longest_seconds=_COUNT)
_FACT_COUNTS = (
    "announced",
    "started",
    "completed",
    "canceled",
    "failed",
    "withdrawn",
)
_STARTS = ("total", "kept", "whole_notice", "approved_early", "without_notice")
_UNSEEN = {"event": _TEXT, "maintenance": _TEXT, "type": _one_of(EventType)}
_UNSEEN |= {"group": _TEXT, "started_at": _TIME}
_BROKEN: Mapping[str, Schema] = {
    "maintenance": _TEXT,
    "type": _one_of(EventType),
    "groups": _TEXTS,
    "started_at": _TIME,
    "too_soon_seconds": {"type": "number"},
}
_REPORT: Mapping[str, Schema] = {
    "month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
    "since": _TIME,
    "until": _TIME,
    "made_at": _TIME,
    "group": _nullable(_TEXT),
    "maintenances": _list_of(
        _object(
            type=_one_of(EventType),
            cause=_one_of(Cause),
            **dict.fromkeys(_FACT_COUNTS, _COUNT),
        )
    ),
    "starts": _object(**dict.fromkeys((*_STARTS, "broken"), _COUNT)),
    "notice": _nullable(_object(promised=_SPREAD, given=_SPREAD, used=_SPREAD)),
    "saved_seconds": _object(total=_COUNT, by_type=_counts(EventType)),
    "approvals": _object(
        total=_COUNT,
        by_via=_counts(Via),
        by_whom=_list_of(
            _object(by=_nullable(_TEXT), via=_one_of(Via), approvals=_COUNT)
        ),
    ),
    "never_shown": _object(total=_COUNT, events=_list_of(_object(**_UNSEEN))),
    "stuck": _object(maintenances=_COUNT, seconds=_COUNT),
    "outages": _object(total=_COUNT, seconds=_COUNT),
    "broken_promises": _list_of(_object(**_BROKEN)),
}


# --- schemas of tokens, faults and notifiers ---------------------------------

_TOKEN: Mapping[str, Schema] = {
    "id": _TEXT,
    "name": _TEXT,
    "role": _one_of(Role),
    "group": _nullable(_TEXT),
    "created_at": _TIME,
    "created_by": _nullable(_TEXT),
    "expires_at": _nullable(_TIME),
    "last_used": _nullable(_TIME),
}
_SESSION: Mapping[str, Schema] = {
    "name": _TEXT,
    "role": _one_of(Role),
    "group": _nullable(_TEXT),
    "signed_in": _FLAG,
    "expires_at": _nullable(_TIME),
    "may": _TEXTS,
}
_FAULT: Mapping[str, Schema] = {
    "id": _TEXT,
    "kind": _one_of(FaultKind),
    "on": _one_of(FaultOn),
    "vms": _TEXTS,
    "count": _nullable(_integer(1)),
    "left": _nullable(_integer(1)),
    "probability": _SECONDS,
    "for_seconds": _nullable(_SECONDS),
    "left_seconds": _nullable(_SECONDS),
    "delay_seconds": _nullable(_SECONDS),
    "retry_after_seconds": _nullable(_integer(0)),
    "set_by": _TEXT,
    "set_at": _TIME,
}
_NOTIFIER: Mapping[str, Schema] = {
    "name": _TEXT,
    "kind": _TEXT,
    "url": _nullable(_TEXT),
    "position": _COUNT,
    "behind": _COUNT,
    "lag_seconds": {"type": "number", "minimum": 0},
    "state": _one_of(TargetState),
    "failures": _COUNT,
    "last_error": _nullable(_TEXT),
    "last_success": _nullable(_TIME),
    "next_attempt": _nullable(_TIME),
}


# --- all schemas -------------------------------------------------------------

SCHEMAS: Mapping[str, Schema] = {
    "Problem": {
        **_object(type=_TEXT, title=_TEXT, status=_integer(400, 599), detail=_TEXT),
        "additionalProperties": True,  # `earliest`, if there is too little notice
    },
    "Host": _fleet_object(_HOST),
    "Hosts": _page_of(ref("Host")),
    "Group": _fleet_object(
        _GROUP, **{name: _nullable(each) for name, each in _REQUEST_TIMES.items()}
    ),
    "Groups": _page_of(ref("Group")),
    "Vm": _fleet_object(_VM),
    "Vms": _page_of(ref("Vm")),
    "GivenHost": _request_object(_HOST),
    "GivenGroup": _request_object({**_GROUP, **_REQUEST_TIMES}, "kind"),
    "GivenVm": _request_object(_VM),
    "GivenFleet": _request_object(
        {
            "hosts": _list_of(_request_object(_HOST, "name")),
            "groups": _list_of(
                _request_object({**_GROUP, **_REQUEST_TIMES}, "name", "kind")
            ),
            "vms": _list_of(_request_object(_VM, "name")),
        }
    ),
    "Applied": _object(added=_NAMES, changed=_NAMES, removed=_NAMES, warnings=_TEXTS),
    "FleetMap": _object(
        position=_integer(0),
        now=_TIME,
        hosts=_TEXTS,
        groups=_list_of(_MAPPED_GROUP),
        vms=_MAPPED_VMS,
    ),
    "Event": _object(**_EVENT),
    "Events": _page_of(ref("Event")),
    "Maintenance": _object(**_MAINTENANCE),
    "Maintenances": _page_of(ref("Maintenance")),
    "Announced": _object(maintenances=_list_of(ref("Maintenance"))),
    "Preview": _object(
        maintenances=_list_of(_object(**_PREVIEW)),
        explained=_list_of(ref("Explanation")),
    ),
    "Explanation": _object(
        phase=_one_of(Phase),
        due=_FLAG,
        waits=_list_of(_WAIT),
        starts_at_latest=_nullable(_TIME),
        sentences=_TEXTS,
    ),
    "Overview": _with_required(
        _page_of(_OVERVIEW_ITEM), position=_integer(0), clock=_TEXT, now=_TIME
    ),
    "Story": _object(
        notice_given_seconds=_integer(0),
        notice_used_seconds=_nullable(_integer(0)),
        entries=_list_of(_object(at=_TIME, what=_TEXT)),
        sentences=_TEXTS,
    ),
    "Entry": {**_object(**_ENTRY), "additionalProperties": True},  # the fact's own keys
    "Journal": _page_of(ref("Entry")),
    "Report": _object(**_REPORT),
    "Stream": _TEXT,  # server-sent events, each an entry
    "Clock": _object(clock=_TEXT, now=_TIME),
    "Notifiers": _page_of(_object(**_NOTIFIER)),
    "Fault": _object(**_FAULT),
    "Faults": _page_of(ref("Fault")),
    "Metrics": _TEXT,  # for Prometheus
    "Token": _object(**_TOKEN),
    "Tokens": _page_of(ref("Token")),
    "NewTokenShown": _object(**_TOKEN, token=_TEXT),
    "Session": _object(**_SESSION),
    "Alive": _object(status={"const": "ok"}),
    "Ready": _with_optional(
        _object(status={"const": "ready"}), faults=_list_of(_one_of(FaultKind))
    ),
    "NotReady": _object(status={"const": "not ready"}, reason=_TEXT),
}
