"""Text layout of a maintenance operation and its events."""

from collections.abc import Iterator
from datetime import datetime

from forewarn.cli.answers import Event, Maintenance
from forewarn.cli.tables import fields, moment, paragraph, span, when

_LIVE = ("SCHEDULED", "STARTED")


def shown_maintenance(found: Maintenance, now: datetime) -> str:
    """Lay out all details of a maintenance operation."""
    parts = [paragraph(f"{found.title}, {found.phase}"), fields(_about(found, now))]
    for event in found.events:
        parts.append(paragraph(f"event {event.id} of group {event.group}"))
        parts.append(fields(_about_event(event, found.phase in _LIVE, now)))
    return "\n".join(parts)


def _about(found: Maintenance, now: datetime) -> Iterator[tuple[str, str | None]]:
    yield "id", found.id
    yield "source", f"{found.source} ({found.cause})"
    yield "host", found.host
    yield "VMs", ", ".join(found.vms)
    yield "not before", when(found.not_before, now)
    unknown = found.duration is None or found.duration < 0
    yield "duration", "unknown" if unknown else span(found.duration or 0)
    yield "description", found.description or None
    yield "reason", found.reason
    yield "announced", when(found.announced_at, now)
    yield "started", when(found.started_at, now)
    yield "stuck since", when(found.stuck_since, now)
    yield "ended", when(found.ended_at, now)


def _about_event(
    found: Event, is_live: bool, now: datetime
) -> Iterator[tuple[str, str | None]]:
    withdrawn = is_live and found.status is None
    yield "resources", ", ".join(found.resources)
    yield (
        "status",
        "withdrawn: its VMs have left" if withdrawn else found.status or "gone",
    )
    yield "approved", "not needed" if withdrawn else _approval(found, now)
    seen = [f"{vm} ({moment(at)})" if at else vm for vm, at in found.seen_by]
    yield "seen by", ", ".join(seen) or "nobody yet"


def _approval(found: Event, now: datetime) -> str:
    if found.approved_at is None:
        return "not yet" if found.status == "Scheduled" else "by nobody"
    who = f"by {found.approved_by}" if found.approved_by else "by nobody"
    return f"{who} via {found.approved_via}, {when(found.approved_at, now)}"
