"""Request bodies about maintenance operations, validated and parsed."""

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
    SeenBy,
    entry_view,
    event_view,
    group_view,
    host_view,
    maintenance_view,
    plain_view,
    rfc3339,
    seen_by_nobody,
    vm_view,
)
from forewarn.core.tokens import Role
from forewarn.engine.fleet import FleetApplied
from forewarn.engine.readers.notifications import TargetState
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.server.metadata.faults.model import FaultKind, FaultOn

_Word = TypeVar("_Word", bound=StrEnum)
_MOST_SECONDS = 10**12  # no meaningful number of seconds is larger


Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,80}$"}
NULL: Schema = {"type": "null"}
TEXTS: Schema = {"type": "array", "items": TEXT}
_CURSOR: Schema = {"type": ["string", "integer", "null"]}


# --- the fleet ---------------------------------------------------------------

_HOST: Mapping[str, Schema] = {"name": NAME}
_LONG: Schema = {"type": "string", "maxLength": 1000}


__all__ = [
    "Json",
    "SeenBy",
    "announced_view",
    "applied_view",
    "entry_view",
    "event_view",
    "explanation_view",
    "group_view",
    "host_view",
    "maintenance_view",
    "plain_view",
    "preview_view",
    "rfc3339",
    "seen_by_nobody",
    "story_view",
    "vm_view",
    "written",
]


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

    notice_seconds: StrictInt | None = Field(None, ge=0, le=_MOST_SECONDS)
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
        type=word(EventType, body.type, "type"),
        vms=tuple(body.vms or ()),
        host=body.host,
        group=body.group,
        source=source_of(body.source),
        emergency=bool(body.emergency),
        ignore_gates=bool(body.ignore_gates),
    )
    return with_times(order, body)


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


def with_times(order: Order, body: Timed | None) -> Order:
    """Add notice, start time and the fields of `with_words` to `order`."""
    if body is None:
        return order
    notice, at = body.notice_seconds, body.not_before
    return replace(
        with_details(order, body),
        notice=None if notice is None else timedelta(seconds=notice),
        not_before=None if at is None else moment(at, "not_before"),
    )


def source_of(text: str | None) -> EventSource | None:
    """Parse a source; case does not matter."""
    return None if text is None else word(EventSource, text, "source")


def moment(text: str, name: str) -> datetime:
    """Parse a time, which must have a zone, and return it in UTC."""
    wrong = InvalidInput(
        f"{name}: expected a time with a zone, such as 2026-01-31T12:00:00Z,"
        f" not {text!r}"
    )
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None or "T" not in text.upper():
            raise wrong
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong from None


def word(kind: type[_Word], text: str, name: str) -> _Word:
    """Parse a value of `kind`; case does not matter."""
    for member in kind:
        if member.value.lower() == text.lower():
            return member
    values = ", ".join(member.value for member in kind)
    raise InvalidInput(f"{name}: expected one of {values}, not {text!r}")


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


_GROUP: Mapping[str, Schema] = {
    "name": NAME,
    "kind": one_of(GroupKind),
    "listening": one_of(Listening),
    "terminate_notice_seconds": whole(300, 900),
    "auto_approve": list_of(one_of(AutoApproval)),
    "isolated": FLAG,
}
_VM: Mapping[str, Schema] = {
    "name": NAME,
    "group": NAME,
    "host": NAME,
    "update_domain": whole(0, 999_999),
    "fault_domain": whole(0, 999_999),
    "zone": _LONG,
    "addresses": list_of(
        {"anyOf": [{**TEXT, "format": each} for each in ("ipv4", "ipv6")]}
    ),
    "spot": FLAG,
    "paas": FLAG,
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
_KNOWN: Mapping[str, Schema] = {"listening_since": TIME, "last_request": TIME}


def _shown(properties: Mapping[str, Schema], **more: Schema) -> Schema:
    """Return the response schema of a part of the fleet; unset values are null."""
    shown = {
        name: maybe(schema) if name in _UNSET else schema
        for name, schema in properties.items()
    }
    return closed(**shown, **more)


_NAMES = closed(hosts=TEXTS, groups=TEXTS, vms=TEXTS)

_PLACE = whole(0)  # index into another list of the same response
_MAPPED_GROUP = closed(
    name=NAME,
    kind=one_of(GroupKind),
    listening=one_of(Listening),
    is_silent=FLAG,
    last_request=maybe(TIME),
)
_MAPPED_VMS = closed(
    name=list_of(NAME),
    group=list_of(_PLACE),
    host=list_of(maybe(_PLACE)),
    update_domain=list_of(maybe(whole(0))),
    spot=list_of(FLAG),
    asked=list_of(maybe(TIME)),
)

# --- maintenance operations --------------------------------------------------

_EVENT: Mapping[str, Schema] = {
    "id": TEXT,
    "maintenance": TEXT,
    "group": TEXT,
    "resources": TEXTS,
    "status": maybe(one_of(EventStatus)),
    "approved_by": maybe(TEXT),
    "approved_via": maybe(one_of(Via)),
    "approved_at": maybe(TIME),
    "seen_by": TEXTS,
}
_MAINTENANCE: Mapping[str, Schema] = {
    "id": TEXT,
    "type": one_of(EventType),
    "source": one_of(EventSource),
    "cause": one_of(Cause),
    "phase": one_of(Phase),
    "host": maybe(TEXT),
    "vms": TEXTS,
    "not_before": TIME,
    "duration_seconds": whole(-1),
    "description": TEXT,
    "announced_at": TIME,
    "started_at": maybe(TIME),
    "ended_at": maybe(TIME),
    "stuck_since": maybe(TIME),
    "reason": maybe(TEXT),
    "events": list_of(ref("Event")),
}
_FORESEEN_EVENT = {**_EVENT, "id": NULL, "maintenance": NULL}
_FORESEEN = {**_MAINTENANCE, "id": NULL, "events": list_of(closed(**_FORESEEN_EVENT))}
_WAIT = closed(
    kind=one_of(WaitKind),
    what=TEXT,
    since=maybe(TIME),
    opens_at=maybe(TIME),
    opened_by=maybe(TEXT),
)

_ITEM = closed(
    maintenance=ref("Maintenance"),
    due=FLAG,
    waits=list_of(_WAIT),
    starts_at_latest=maybe(TIME),
    can=list_of(one_of(PossibleCommand)),
    seen=list_of(closed(event=TEXT, vm=TEXT, at=TIME)),
)

# --- the journal -------------------------------------------------------------

_ENTRY: Mapping[str, Schema] = {
    "position": whole(1),
    "at": TIME,
    "fact": {"type": "string", "enum": [each.__name__ for each in get_args(Fact)]},
    "maintenance": maybe(TEXT),
    "event": maybe(TEXT),
    "group": maybe(TEXT),
    "by": maybe(TEXT),
    "via": maybe(one_of(Via)),
}

# --- the report --------------------------------------------------------------

_COUNT = whole(0)
_SPREAD = closed(least_seconds=_COUNT, median_seconds=_COUNT, longest_seconds=_COUNT)
_COUNTED = ("announced", "started", "completed", "canceled", "failed", "withdrawn")
_STARTS = ("total", "kept", "whole_notice", "approved_early", "without_notice")
_UNSEEN = {"event": TEXT, "maintenance": TEXT, "type": one_of(EventType)}
_UNSEEN |= {"group": TEXT, "started_at": TIME}
_BROKEN: Mapping[str, Schema] = {
    "maintenance": TEXT,
    "type": one_of(EventType),
    "groups": TEXTS,
    "started_at": TIME,
    "too_soon_seconds": {"type": "number"},
}


def _counts(kind: type[EventType] | type[Via]) -> Schema:
    """Return the schema of an object with one count per value of `kind`."""
    words = [member.value for member in kind]
    return {
        "type": "object",
        "additionalProperties": _COUNT,
        "propertyNames": {"enum": words},
    }


_REPORT: Mapping[str, Schema] = {
    "month": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
    "since": TIME,
    "until": TIME,
    "made_at": TIME,
    "group": maybe(TEXT),
    "maintenances": list_of(
        closed(
            type=one_of(EventType),
            cause=one_of(Cause),
            **dict.fromkeys(_COUNTED, _COUNT),
        )
    ),
    "starts": closed(**dict.fromkeys((*_STARTS, "broken"), _COUNT)),
    "notice": maybe(closed(promised=_SPREAD, given=_SPREAD, used=_SPREAD)),
    "saved_seconds": closed(total=_COUNT, by_type=_counts(EventType)),
    "approvals": closed(
        total=_COUNT,
        by_via=_counts(Via),
        by_whom=list_of(closed(by=maybe(TEXT), via=one_of(Via), approvals=_COUNT)),
    ),
    "never_shown": closed(total=_COUNT, events=list_of(closed(**_UNSEEN))),
    "stuck": closed(maintenances=_COUNT, seconds=_COUNT),
    "outages": closed(total=_COUNT, seconds=_COUNT),
    "broken_promises": list_of(closed(**_BROKEN)),
}

# --- tokens ------------------------------------------------------------------

_TOKEN: Mapping[str, Schema] = {
    "id": TEXT,
    "name": TEXT,
    "role": one_of(Role),
    "group": maybe(TEXT),
    "created_at": TIME,
    "created_by": maybe(TEXT),
    "expires_at": maybe(TIME),
    "last_used": maybe(TIME),
}

_SESSION: Mapping[str, Schema] = {
    "name": TEXT,
    "role": one_of(Role),
    "group": maybe(TEXT),
    "signed_in": FLAG,
    "expires_at": maybe(TIME),
    "may": TEXTS,
}

# --- faults ------------------------------------------------------------------

_SECONDS: Schema = {"type": "number", "minimum": 0}
_FAULT: Mapping[str, Schema] = {
    "id": TEXT,
    "kind": one_of(FaultKind),
    "on": one_of(FaultOn),
    "vms": TEXTS,
    "count": maybe(whole(1)),
    "left": maybe(whole(1)),
    "probability": _SECONDS,
    "for_seconds": maybe(_SECONDS),
    "left_seconds": maybe(_SECONDS),
    "delay_seconds": maybe(_SECONDS),
    "retry_after_seconds": maybe(whole(0)),
    "set_by": TEXT,
    "set_at": TIME,
}

# --- notifiers ---------------------------------------------------------------

_NOTIFIER: Mapping[str, Schema] = {
    "name": TEXT,
    "kind": TEXT,
    "url": maybe(TEXT),
    "position": _COUNT,
    "behind": _COUNT,
    "lag_seconds": {"type": "number", "minimum": 0},
    "state": one_of(TargetState),
    "failures": _COUNT,
    "last_error": maybe(TEXT),
    "last_success": maybe(TIME),
    "next_attempt": maybe(TIME),
}

# --- all schemas -------------------------------------------------------------

SCHEMAS: Mapping[str, Schema] = {
    "Problem": {
        **closed(type=TEXT, title=TEXT, status=whole(400, 599), detail=TEXT),
        "additionalProperties": True,  # `earliest`, if there is too little notice
    },
    "Host": _shown(_HOST),
    "Hosts": page_of(ref("Host")),
    "Group": _shown(_GROUP, **{name: maybe(each) for name, each in _KNOWN.items()}),
    "Groups": page_of(ref("Group")),
    "Vm": _shown(_VM),
    "Vms": page_of(ref("Vm")),
    "GivenHost": given(_HOST),
    "GivenGroup": given({**_GROUP, **_KNOWN}, "kind"),
    "GivenVm": given(_VM),
    "GivenFleet": given(
        {
            "hosts": list_of(given(_HOST, "name")),
            "groups": list_of(given({**_GROUP, **_KNOWN}, "name", "kind")),
            "vms": list_of(given(_VM, "name")),
        }
    ),
    "Applied": closed(added=_NAMES, changed=_NAMES, removed=_NAMES, warnings=TEXTS),
    "FleetMap": closed(
        position=whole(0),
        now=TIME,
        hosts=TEXTS,
        groups=list_of(_MAPPED_GROUP),
        vms=_MAPPED_VMS,
    ),
    "Event": closed(**_EVENT),
    "Events": page_of(ref("Event")),
    "Maintenance": closed(**_MAINTENANCE),
    "Maintenances": page_of(ref("Maintenance")),
    "Announced": closed(maintenances=list_of(ref("Maintenance"))),
    "Preview": closed(
        maintenances=list_of(closed(**_FORESEEN)),
        explained=list_of(ref("Explanation")),
    ),
    "Explanation": closed(
        phase=one_of(Phase),
        due=FLAG,
        waits=list_of(_WAIT),
        starts_at_latest=maybe(TIME),
        sentences=TEXTS,
    ),
    "Overview": with_more(page_of(_ITEM), position=whole(0), clock=TEXT, now=TIME),
    "Story": closed(
        notice_given_seconds=whole(0),
        notice_used_seconds=maybe(whole(0)),
        entries=list_of(closed(at=TIME, what=TEXT)),
        sentences=TEXTS,
    ),
    "Entry": {**closed(**_ENTRY), "additionalProperties": True},  # the fact's own keys
    "Journal": page_of(ref("Entry")),
    "Report": closed(**_REPORT),
    "Stream": TEXT,  # server-sent events, each an entry
    "Clock": closed(clock=TEXT, now=TIME),
    "Notifiers": page_of(closed(**_NOTIFIER)),
    "Fault": closed(**_FAULT),
    "Faults": page_of(ref("Fault")),
    "Metrics": TEXT,  # for Prometheus
    "Token": closed(**_TOKEN),
    "Tokens": page_of(ref("Token")),
    "NewTokenShown": closed(**_TOKEN, token=TEXT),
    "Session": closed(**_SESSION),
    "Alive": closed(status={"const": "ok"}),
    "Ready": with_maybe(
        closed(status={"const": "ready"}), faults=list_of(one_of(FaultKind))
    ),
    "NotReady": closed(status={"const": "not ready"}, reason=TEXT),
}


def written(view: Json) -> str:
    """Serialize `view` the way all responses are serialized."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def announced_view(made: Sequence[Maintenance]) -> Json:
    """Return announced maintenance operations as JSON."""
    return {"maintenances": [maintenance_view(maintenance) for maintenance in made]}


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
        "added": _names(difference, lambda old, new: old is None),
        "changed": _names(difference, lambda old, new: None not in (old, new)),
        "removed": _names(difference, lambda old, new: new is None),
        "warnings": [*applied.warnings],
    }


def _names(found: Difference, wanted: Callable[[object, object], bool]) -> Json:
    nouns: Mapping[str, Sequence[tuple[Host | Group | VM | None, ...]]] = {
        "hosts": found.hosts,
        "groups": found.groups,
        "vms": found.vms,
    }
    return {
        noun: [
            part.name
            for old, new in pairs
            if wanted(old, new)
            for part in (new or old,)
            if part
        ]
        for noun, pairs in nouns.items()
    }
