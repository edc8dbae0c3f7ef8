"""`forewarn events`: list, show, explain and change maintenance operations."""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.operate.announce import REASON
from forewarn.cli.options import (
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    fields,
    format_duration,
    format_time,
    format_when,
    paragraph,
    table,
    unbroken,
    write_response,
)
from forewarn.cli.responses import (
    EventResponse,
    JsonObject,
    MaintenanceResponse,
    describe_target,
    event_from,
    maintenance_from,
    object_from,
)
from forewarn.errors import Refused

#: Phases of maintenance operations that have not ended.
_LIVE = ("SCHEDULED", "STARTED")

_COMMAND = re.compile(r"`[^`]*`")
_MARGIN = len("  12:15:00  ")
_UNKNOWN_START = "The start time is unknown while the operation is blocked."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    """A command that acts on a single maintenance operation."""

    summary: str
    description: str
    options: tuple[Option, ...] = ()


_VERBS: Mapping[str, _Verb] = {
    "show": _Verb(
        summary="show the details and history of an operation",
        description="Show a maintenance operation: its events, which VMs have seen"
        " them, who approved them, and what has happened since the announcement.",
    ),
    "explain": _Verb(
        summary="explain what an operation is waiting for",
        description="Explain what a maintenance operation is waiting for, how long it"
        " has been waiting, when the wait ends, and how to unblock it.",
    ),
    "approve": _Verb(
        summary="approve events so that the operation starts early",
        description="Approve an event on behalf of its VMs. If ID identifies a"
        " maintenance operation, approve all of its events. Once all of an"
        " operation's events are approved, the operation starts unless it is blocked.",
    ),
    "cancel": _Verb(
        summary="cancel an operation before it starts",
        description="Cancel a maintenance operation that has not started. After it"
        " starts, it can only be completed or closed.",
        options=(REASON,),
    ),
    "complete": _Verb(
        summary="mark a started operation as done",
        description="Mark a started maintenance operation as done, even if its"
        " duration has not elapsed. Its events disappear after they have been shown"
        " for the minimum time.",
    ),
    "retry": _Verb(
        summary="run the driver again for a stuck operation",
        description="Run the driver again to finish the work of a stuck maintenance"
        " operation.",
    ),
    "close": _Verb(
        summary="give up on a stuck operation",
        description="Give up on a stuck maintenance operation and close it as FAILED."
        " Its events disappear.",
        options=(REASON,),
    ),
}


def register(subcommands: Subcommands) -> None:
    """Add `events list`, `show`, `explain`, `approve`, `cancel` and the others."""
    commands = add_noun(
        subcommands,
        "events",
        summary="list, explain and change maintenance operations",
        example="forewarn events list",
    )
    add_command(
        commands,
        "list",
        _list,
        summary="list scheduled and started operations",
        description="List scheduled and started maintenance operations.",
        example="forewarn events list --all",
        options=(
            Option(
                flag="--all", switch=True, help="include operations that have ended"
            ),
        ),
    )
    runs = {"show": _show, "explain": _explain, "approve": _approve}
    for name, verb in _VERBS.items():
        parser = add_command(
            commands,
            name,
            runs.get(name, _change),
            summary=verb.summary,
            description=verb.description,
            example=f"forewarn events {name} 0A4B7C1E-52F3-4C6D-9E8F-1B2A3C4D5E6F",
            options=verb.options,
        )
        add_argument(
            parser,
            "id",
            metavar="ID",
            help="ID of the maintenance operation or of one of its events",
            names="maintenances",
        )


# --- commands ----------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    api = api_of(args)
    phases = () if args.all else [("phase", phase) for phase in _LIVE]
    items = [*api.items("/v1/maintenances", phases)]
    kind = "maintenance" if args.all else "scheduled or started maintenance"
    nothing = f"no {kind} operations"
    return write_response(args, items, _list_lines(items, nothing, api))


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", _path(args.id))
    return write_response(args, plain, _show_lines(plain, _path(args.id), api))


def _explain(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", f"{_path(args.id)}/explain")
    return write_response(args, plain, _explanation_lines(plain, api))


def _approve(args: argparse.Namespace) -> int:
    """Approve a single event or all events of a maintenance operation."""
    api = api_of(args)
    maintenance = maintenance_from(api.request("GET", _path(args.id)))
    responses = [
        api.request("POST", f"/v1/events/{segment(event.id or '')}/approve")
        for event in _chosen(maintenance.events, args.id)
    ]
    return write_response(args, responses, _approved_lines(responses, args.id, api))


def _change(args: argparse.Namespace) -> int:
    """Cancel, complete, retry or close a maintenance operation."""
    verb: str = args.events_command
    reason: str | None = getattr(args, "reason", None)
    body = {} if reason is None else {"reason": reason}
    plain = api_of(args).request("POST", f"{_path(args.id)}/{verb}", body)
    return write_response(args, plain, _state_lines(plain))


def _path(any_id: str) -> str:
    return f"/v1/maintenances/{segment(any_id)}"


def _chosen(events: Sequence[EventResponse], any_id: str) -> Sequence[EventResponse]:
    """Return the event with the ID `any_id`.

    If there is none, return all visible events. If no event is visible, return all.
    """
    named = [item for item in events if (item.id or "").upper() == any_id.upper()]
    return named or [item for item in events if item.status is not None] or events


# --- lines of text -----------------------------------------------------------


def _list_lines(
    items: Sequence[object], nothing: str, api: ControlApi
) -> Iterator[str]:
    if not items:
        yield nothing
        return
    now = api.now()
    rows = [_row(maintenance_from(item), now) for item in items]
    yield table(("ID", "EVENT", "NOT BEFORE", "VMS"), rows)


def _show_lines(plain: object, path: str, api: ControlApi) -> Iterator[str]:
    yield from _maintenance_lines(maintenance_from(plain), api.now())
    try:
        story = api.request("GET", f"{path}/story")
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return  # the service is older than this command
    yield from _story_lines(object_from(story))
    yield from _sentences(story)


def _approved_lines(
    responses: Sequence[object], any_id: str, api: ControlApi
) -> Iterator[str]:
    for event in map(event_from, responses):
        yield paragraph(f"approved: event {event.id} for group {event.group}")
    yield from _state_lines(api.request("GET", _path(any_id)))


def _state_lines(plain: object) -> Iterator[str]:
    maintenance = maintenance_from(plain)
    left = len(maintenance.events) - maintenance.approved
    waits = maintenance.phase == "SCHEDULED" and left
    still = (
        f"; {left} of {len(maintenance.events)} events are not approved yet"
        if waits
        else ""
    )
    yield paragraph(
        f"{maintenance.title} is {maintenance.phase}{still} ({maintenance.id})"
    )


def _row(maintenance: MaintenanceResponse, now: datetime) -> tuple[str, str, str, str]:
    words = [maintenance.type, maintenance.phase]
    if maintenance.stuck_since and maintenance.phase == "STARTED":
        words.append("stuck")
    if maintenance.phase == "SCHEDULED":
        words.append(f"approved {maintenance.approved}/{len(maintenance.events)}")
    return (
        maintenance.id or "",
        " ".join(words),
        format_when(maintenance.not_before, now) or "",
        describe_target(maintenance.host, maintenance.vms),
    )


# --- all details of a maintenance operation ----------------------------------


def _maintenance_lines(
    maintenance: MaintenanceResponse, now: datetime
) -> Iterator[str]:
    yield paragraph(f"{maintenance.title}, {maintenance.phase}")
    yield fields(_maintenance_fields(maintenance, now))
    for event in maintenance.events:
        yield paragraph(f"event {event.id} for group {event.group}")
        yield fields(_event_fields(event, maintenance.phase in _LIVE, now))


def _maintenance_fields(
    maintenance: MaintenanceResponse, now: datetime
) -> Iterator[tuple[str, str | None]]:
    yield "id", maintenance.id
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


def _event_fields(
    event: EventResponse, is_live: bool, now: datetime
) -> Iterator[tuple[str, str | None]]:
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


def _story_lines(story: JsonObject) -> Iterator[str]:
    day = None
    for entry in story.parts("entries"):
        at = format_time(entry.time("at")) or ""
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"{date} (UTC)"
        yield _wrapped(f"  {time}  {entry.text('what')}", _MARGIN)


def _explanation_lines(plain: object, api: ControlApi) -> Iterator[str]:
    explanation, now = object_from(plain), api.now()
    yield _wrapped(explanation.text("summary") or "")
    for wait in explanation.parts("waits"):
        until = format_when(wait.time("until"), now)
        end = f" This wait ends by {until}." if until else ""
        yield _wrapped(f"- {wait.text('text')}{end}")
        for remedy in wait.parts("unblocked_by"):
            text, command = remedy.text("text"), remedy.text("command")
            if command:  # on its own line, so that it can be copied
                yield f"    # {text}\n    {command}"
            else:
                yield _wrapped(f"    This wait ends when {text}.", 4)
    if explanation.text("phase") == "SCHEDULED":
        latest = format_when(explanation.time("starts_at_latest"), now)
        yield _wrapped(
            f"The operation will start by {latest}." if latest else _UNKNOWN_START
        )
    if hint := explanation.text("hint"):
        yield _wrapped(hint)


def _sentences(plain: object) -> Iterator[str]:
    for sentence in object_from(plain).names("sentences"):
        yield _wrapped(sentence)


def _wrapped(sentence: str, indent: int = 2) -> str:
    """Wrap a sentence, but never break a command, so that it can be copied."""
    return paragraph(_COMMAND.sub(lambda match: unbroken(match[0]), sentence), indent)
