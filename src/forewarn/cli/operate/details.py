"""Text about maintenance operations: their events, stories and explanations."""

import re
from collections.abc import Iterator
from datetime import datetime

from forewarn.cli.api import ControlApi
from forewarn.cli.output import (
    fields,
    format_duration,
    format_time,
    format_when,
    paragraph,
    unbroken,
)
from forewarn.cli.responses import (
    EventResponse,
    JsonObject,
    MaintenanceResponse,
    object_from,
)

#: Phases of maintenance operations that have not ended.
LIVE = ("SCHEDULED", "STARTED")

_COMMAND = re.compile(r"`[^`]*`")
_MARGIN = len("  12:15:00  ")
_UNKNOWN_START = "The start time is unknown while the operation is blocked."


def maintenance_lines(maintenance: MaintenanceResponse, now: datetime) -> Iterator[str]:
    """Describe an operation and its events."""
    yield paragraph(f"{maintenance.title}, {maintenance.phase}")
    yield fields(_maintenance_fields(maintenance, now))
    for event in maintenance.events:
        yield paragraph(f"event {event.id} for group {event.group}")
        yield fields(event_fields(event, maintenance.phase in LIVE, now))


def _maintenance_fields(
    maintenance: MaintenanceResponse, now: datetime
) -> Iterator[tuple[str, str | None]]:
    yield "id", maintenance.id
    yield "GUID", maintenance.guid
    yield "source", f"{maintenance.source} ({maintenance.cause})"
    yield "host", maintenance.host
    yield "VMs", ", ".join(maintenance.vms)
    yield "not before", format_when(maintenance.not_before, now)
    unknown = maintenance.duration is None or maintenance.duration < 0
    yield (
        "duration",
        "unknown" if unknown else format_duration(maintenance.duration or 0),
    )
    yield "description", maintenance.description or None
    yield "reason", maintenance.reason
    yield "announced", format_when(maintenance.announced_at, now)
    yield "started", format_when(maintenance.started_at, now)
    yield "stuck since", format_when(maintenance.stuck_since, now)
    yield "ended", format_when(maintenance.ended_at, now)


def event_fields(
    event: EventResponse, is_live: bool, now: datetime
) -> Iterator[tuple[str, str | None]]:
    """Yield the names and values that describe an event."""
    withdrawn = is_live and event.status is None
    yield "resources", ", ".join(event.resources)
    yield (
        "status",
        "withdrawn: its VMs have left the fleet"
        if withdrawn
        else event.status or "no longer shown",
    )
    yield "approved", "not needed" if withdrawn else _approval(event, now)
    seen = [f"{vm} ({format_time(at)})" if at else vm for vm, at in event.seen_by]
    yield "seen by", ", ".join(seen) or "no VM yet"


def _approval(event: EventResponse, now: datetime) -> str:
    if event.approved_at is None:
        return "not yet" if event.status == "Scheduled" else "no"
    who = f"by {event.approved_by}" if event.approved_by else "automatically"
    return f"{who} via {event.approved_via}, {format_when(event.approved_at, now)}"


# --- story and explanation ---------------------------------------------------


def story_lines(story: JsonObject) -> Iterator[str]:
    """Describe what happened to an operation, by date."""
    day = None
    for entry in story.parts("entries"):
        at = format_time(entry.time("at")) or ""
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"{date} (UTC)"
        yield wrapped(f"  {time}  {entry.text('what')}", _MARGIN)


def explanation_lines(plain: object, api: ControlApi) -> Iterator[str]:
    """Describe what an operation is waiting for, and the commands that end the wait."""
    explanation, now = object_from(plain), api.now()
    yield wrapped(explanation.text("summary") or "")
    for reason in explanation.parts("waits"):
        until = format_when(reason.time("until"), now)
        end = f" This wait ends by {until}." if until else ""
        yield wrapped(f"- {reason.text('text')}{end}")
        for remedy in reason.parts("unblocked_by"):
            text, command = remedy.text("text"), remedy.text("command")
            if command:  # on its own line, so that it can be copied
                yield f"    # {text}\n    {command}"
            else:
                yield wrapped(f"    This wait ends when {text}.", 4)
    if explanation.text("phase") == "SCHEDULED":
        latest = format_when(explanation.time("starts_at_latest"), now)
        yield wrapped(
            f"The operation will start by {latest}." if latest else _UNKNOWN_START
        )
    if hint := explanation.text("hint"):
        yield wrapped(hint)


def sentence_lines(plain: object) -> Iterator[str]:
    """Wrap the sentences at the end of a story."""
    for sentence in object_from(plain).names("sentences"):
        yield wrapped(sentence)


def wrapped(sentence: str, indent: int = 2) -> str:
    """Wrap a sentence, but never break a command, so that it can be copied."""
    return paragraph(_COMMAND.sub(lambda match: unbroken(match[0]), sentence), indent)
