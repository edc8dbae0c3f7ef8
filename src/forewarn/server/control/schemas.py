"""JSON Schemas of all responses of the control API.

The views produce what is described here; tests compare the two wherever they call the
API. What a new route returns is added here under a name, which `openapi.py` then uses.
"""

from collections.abc import Mapping
from typing import get_args

from forewarn.core.choices import Choice
from forewarn.core.explaining import WaitKind
from forewarn.core.facts import Fact
from forewarn.core.fleet import AutoApproval, GroupKind, Listening
from forewarn.core.maintenance import Cause, Phase, Via
from forewarn.core.tokens import Role
from forewarn.engine.notifying import State
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.server.control.shapes import (
    FLAG,
    NAME,
    NULL,
    TEXT,
    TEXTS,
    TIME,
    Schema,
    closed,
    given,
    list_of,
    maybe,
    one_of,
    page_of,
    ref,
    whole,
    with_maybe,
    with_more,
)
from forewarn.server.faults import FaultKind, FaultOn

# --- the fleet ---------------------------------------------------------------

_HOST: Mapping[str, Schema] = {"name": NAME}
_GROUP: Mapping[str, Schema] = {
    "name": NAME,
    "kind": one_of(GroupKind),
    "listening": one_of(Listening),
    "terminate_notice_seconds": whole(300, 900),
    "auto_approve": list_of(one_of(AutoApproval)),
    "isolated": FLAG,
}
_LONG: Schema = {"type": "string", "maxLength": 1000}
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
    can=list_of(one_of(Choice)),
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
    "state": one_of(State),
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
