"""JSON views of core objects, for the API and for notifications."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime

from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Group, Host
from forewarn.core.lifecycle.document import STATUS
from forewarn.core.lifecycle.facts import Fact, JournalEntry
from forewarn.core.lifecycle.model import Event, Maintenance
from forewarn.core.queries.phrases import fact_text
from forewarn.core.serialization import Forms, to_plain

Json = dict[str, object]
SeenBy = Callable[[str], Sequence[str]]

_ENTRY = ("maintenance", "event", "group", "by", "via")


def rfc3339(moment: datetime | None) -> str | None:
    """Format a UTC time per RFC 3339."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def group_view(group: Group) -> Json:
    """Return the JSON view of a group."""
    return {
        **fleet_file.group_table(group),
        "enabled_since": rfc3339(group.enabled_since),
        "last_request": rfc3339(group.last_request),
    }


def seen_by_nobody(event: str) -> Sequence[str]:
    """Return no VMs; this is the default `SeenBy`."""
    del event
    return ()


def maintenance_view(
    maintenance: Maintenance, seen_by: SeenBy = seen_by_nobody
) -> Json:
    """Return the JSON view of a maintenance operation with its events."""
    return {
        "id": maintenance.label,
        "guid": maintenance.id,
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


def event_view(maintenance: Maintenance, event: Event, seen_by: SeenBy) -> Json:
    """Return the JSON view of an event."""
    is_there = event.withdrawn_at is None
    status = STATUS.get(maintenance.phase) if is_there else None
    return {
        "id": event.id,
        "maintenance": maintenance.label,
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


def entry_view(entry: JournalEntry, labels: Mapping[str, str]) -> Json:
    """Return the JSON view of a journal entry.

    `labels` contains the label of the maintenance operation that the entry is about.
    """
    fact = entry.fact
    always: Json = {
        "position": entry.position,
        "at": rfc3339(fact.at),
        "fact": type(fact).__name__,
        "text": fact_text(fact),
        **dict.fromkeys(_ENTRY),
    }
    view = always | {
        field.name: to_plain(getattr(fact, field.name), _FORMS)
        for field in fields(fact)
    }
    guid = maintenance_of(fact)
    return view if guid is None else {**view, "maintenance": labels.get(guid, guid)}


def maintenance_of(fact: Fact) -> str | None:
    """Return the GUID of the maintenance operation that a fact is about, if any."""
    guid: str | None = getattr(fact, "maintenance", None)
    return guid


_FORMS: Forms = {
    datetime: rfc3339,
    Host: fleet_file.host_table,
    Group: group_view,
    VM: fleet_file.vm_table,
    Maintenance: maintenance_view,
}
