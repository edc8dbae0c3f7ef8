"""What the control API shows: the core's values as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

from forewarn.core import fleet_file
from forewarn.core.changes import Difference
from forewarn.core.document import STATUS
from forewarn.core.explaining import Explanation
from forewarn.core.facts import Entry
from forewarn.core.fleet import VM, Group, Host
from forewarn.core.maintenance import Event, Maintenance
from forewarn.core.story import Story
from forewarn.engine.fleets import Applied

Json = dict[str, object]
SeenBy = Callable[[str], Sequence[str]]

_ENTRY = ("maintenance", "event", "group", "by", "via")


def written(view: Json) -> str:
    """Write `view` as every answer is written."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def rfc3339(moment: datetime | None) -> str | None:
    """Write a time in UTC."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def host_view(host: Host) -> Json:
    """Show a host."""
    return fleet_file.host_table(host)


def group_view(group: Group) -> Json:
    """Show a group."""
    return {
        **fleet_file.group_table(group),
        "listening_since": rfc3339(group.listening_since),
        "last_request": rfc3339(group.last_request),
    }


def vm_view(vm: VM) -> Json:
    """Show a VM."""
    return fleet_file.vm_table(vm)


def nobody(event: str) -> Sequence[str]:
    """Say that nobody has seen `event` yet."""
    del event
    return ()


def maintenance_view(maintenance: Maintenance, seen_by: SeenBy = nobody) -> Json:
    """Show a maintenance with its events."""
    return {
        "id": maintenance.id,
        "type": maintenance.type.value,
        "source": maintenance.source.value,
        "cause": maintenance.cause.value,
        "phase": maintenance.phase.value,
        "host": maintenance.host,
        "vms": [*maintenance.vms],
        "not_before": rfc3339(maintenance.not_before),
        "duration_seconds": maintenance.duration,
        "description": maintenance.description,
        "announced_at": rfc3339(maintenance.announced_at),
        "started_at": rfc3339(maintenance.started_at),
        "ended_at": rfc3339(maintenance.ended_at),
        "stuck_since": rfc3339(maintenance.stuck_since),
        "reason": maintenance.reason,
        "events": [
            event_view(maintenance, event, seen_by) for event in maintenance.events
        ],
    }


def announced_view(made: Sequence[Maintenance]) -> Json:
    """Show what was announced."""
    return {"maintenances": [maintenance_view(each) for each in made]}


def event_view(maintenance: Maintenance, event: Event, seen_by: SeenBy) -> Json:
    """Show an event."""
    is_there = event.withdrawn_at is None
    status = STATUS.get(maintenance.phase) if is_there else None
    return {
        "id": event.id,
        "maintenance": maintenance.id,
        "group": event.group,
        "resources": [*event.resources],
        "status": None if status is None else status.value,
        "approved_by": event.approved_by,
        "approved_via": None
        if event.approved_via is None
        else event.approved_via.value,
        "approved_at": rfc3339(event.approved_at),
        "seen_by": [*seen_by(event.id)],
    }


def preview_view(maintenance: Maintenance) -> Json:
    """Show what would be announced; it has no ids yet."""
    view = maintenance_view(maintenance)
    events = [
        {**event_view(maintenance, event, nobody), "id": None, "maintenance": None}
        for event in maintenance.events
    ]
    return {**view, "id": None, "events": events}


def explanation_view(explanation: Explanation) -> Json:
    """Show what a maintenance waits for."""
    return {
        "phase": explanation.phase.value,
        "due": explanation.due,
        "waits": [plain(wait) for wait in explanation.waits],
        "starts_at_latest": rfc3339(explanation.starts_at_latest),
        "sentences": [*explanation.sentences],
    }


def story_view(story: Story) -> Json:
    """Show the life of a maintenance."""
    used = story.used
    return {
        "notice_given_seconds": int(story.given.total_seconds()),
        "notice_used_seconds": None if used is None else int(used.total_seconds()),
        "entries": [plain(line) for line in story.lines],
        "sentences": [*story.sentences],
    }


def entry_view(entry: Entry) -> Json:
    """Show a place of the journal."""
    fact = entry.fact
    own: Json = {field.name: plain(getattr(fact, field.name)) for field in fields(fact)}
    always: Json = {
        "position": entry.position,
        "at": rfc3339(fact.at),
        "fact": type(fact).__name__,
        **dict.fromkeys(_ENTRY),
    }
    return {**always, **own}


def plain(value: object) -> object:
    """Show any value that facts and their like are made of."""
    known: Mapping[type, Callable[..., object]] = {
        datetime: rfc3339,
        Host: host_view,
        Group: group_view,
        VM: vm_view,
        Maintenance: maintenance_view,
    }
    if type(value) in known:
        return known[type(value)](value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def applied_view(applied: Applied) -> Json:
    """Show what a change of the fleet did."""
    found = applied.difference
    return {
        "added": _names(found, lambda old, new: old is None),
        "changed": _names(found, lambda old, new: None not in (old, new)),
        "removed": _names(found, lambda old, new: new is None),
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
            each.name
            for old, new in pairs
            if wanted(old, new)
            for each in (new or old,)
            if each
        ]
        for noun, pairs in nouns.items()
    }
