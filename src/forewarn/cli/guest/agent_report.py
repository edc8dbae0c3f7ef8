"""`forewarn agent report`: report what the agent did, from its audit log."""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from forewarn.agent.audit.entries import read_entry
from forewarn.agent.audit.log import AuditLogReader
from forewarn.agent.audit.sentences import EventStory, StoryEntry, story_of_event
from forewarn.agent.audit.summary import EventSummary, summarize
from forewarn.agent.config import file
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.storage.codec import rfc3339
from forewarn.cli.options import (
    Option,
    Subcommands,
    add_command,
    add_one_of,
    output_options,
)
from forewarn.cli.output import (
    Column,
    fields,
    format_time,
    paragraph,
    table,
    unbroken,
    write,
    write_error,
    write_json,
)
from forewarn.errors import NotFound, Unavailable
from forewarn.formats import clean, count, format_duration, join_names

_DESCRIPTION = """\
Report what the agent did about an event: which rule matched and why, what the
hooks did, who approved the event, how much notice was given and used, and how
long this VM was interrupted. Without EVENT, the command lists all events. The
report is based on the audit log in the agent's state directory, or in a copy of
that directory. The agent does not have to be running."""

_OPTIONS = (
    Option(
        flag="--config",
        metavar="FILE",
        variable=file.VARIABLE,
        help="agent configuration file, which specifies the state directory",
        shown_default=f"{file.DEFAULT}, if it exists",
    ),
    Option(
        flag="--state",
        metavar="DIR",
        variable="FOREWARN_AGENT_STATE",
        help="the agent's state directory",
    ),
)

_FILE = "audit.jsonl"
_HOOK_FIELDS = ("step", "hook", "outcome", "seconds", "reason")  # in JSON output

_DURATION = re.compile(r"[0-9] (?:d|h|min|s)\b")
_MIN_ID = 8  # characters of a shortened ID
_MARGIN = len("  12:15:00  ")

_COLUMNS = (
    Column(title="EVENT", is_fixed=True),
    Column(title="TYPE"),
    Column(title="FIRST SEEN"),
    Column(title="NOTICE", is_wide=True),
    Column(title="USED", is_wide=True),
    Column(title="HOOKS"),
    Column(title="OUTCOME"),
)


def register(subcommands: Subcommands) -> None:
    """Add `agent report`."""
    parser = add_command(
        subcommands,
        "report",
        report,
        summary="report what the agent did about events",
        description=_DESCRIPTION,
        example="forewarn agent report 0a4b7c1e",
        common=output_options(("table", "wide", "json")),
    )
    parser.add_argument(
        "event",
        metavar="EVENT",
        nargs="?",
        help="ID of the event, or an unambiguous prefix of the ID",
    )
    add_one_of(parser, *_OPTIONS)


def report(args: argparse.Namespace) -> int:
    """List all events or print the story of a single event."""
    record, events = _read(_folder(args))
    if args.event is None:
        _write_list(events, args)
    else:
        _write_story(_full_id(args.event, events), record, json=args.json)
    if record.broken:
        write_error(
            f"{count(record.broken, 'line')} in the audit log could not be read"
        )
    return 0


def _write_list(events: Mapping[str, EventSummary], args: argparse.Namespace) -> None:
    summaries = [*events.values()]
    if args.json:
        write_json([_plain_summary(summary) for summary in summaries])
    else:
        write(_events_table(summaries, args) if summaries else "No events yet.")


def _write_story(event_id: str, record: AuditLogReader, *, json: bool) -> None:
    story = story_of_event(event_id, map(read_entry, record))
    if json:
        own = [line for line in record if _concerns(event_id, line)]
        write_json({**_plain_story(story), "lines": own})
    else:
        write("\n\n".join(_story_parts(story)))


def _concerns(event_id: str, line: Mapping[str, object]) -> bool:
    event = read_entry(line).event or ""
    return normalize_event_id(event) == normalize_event_id(event_id)


# --- the audit log and its events --------------------------------------------


def _folder(args: argparse.Namespace) -> Path:
    if args.state is not None:
        return Path(args.state)
    if args.config is not None:
        return file.state_folder_of(Path(args.config))
    if file.DEFAULT.exists():
        return file.state_folder_of(file.DEFAULT)
    return file.default_state_folder()


def _read(folder: Path) -> tuple[AuditLogReader, Mapping[str, EventSummary]]:
    record = AuditLogReader(folder / _FILE)
    try:
        if not record.exists():
            raise NotFound(
                f"{folder} contains no agent audit log; specify the directory with"
                " --state or --config"
            )
        return record, summarize(map(read_entry, record))
    except OSError as error:
        raise Unavailable(f"cannot read {folder}: {error.strerror}") from error


def _full_id(given: str, events: Mapping[str, EventSummary]) -> str:
    """Return the full ID of the event whose ID starts with `given`."""
    if normalize_event_id(given) in events:
        return events[normalize_event_id(given)].id
    ids = [
        events[name].id for name in events if name.startswith(normalize_event_id(given))
    ]
    if len(ids) == 1 and given:
        return ids[0]
    if ids:
        raise NotFound(f"several event IDs start with {given}: {join_names(ids)}")
    raise NotFound(
        f"event {given} not found in the audit log; to list all events, omit EVENT"
    )


# --- table of all events -----------------------------------------------------


def _events_table(summaries: Sequence[EventSummary], args: argparse.Namespace) -> str:
    short = _short_ids([summary.id for summary in summaries])
    rows = [(short[summary.id], *_row(summary)) for summary in summaries]
    return table(_COLUMNS, rows, args)


def _short_ids(ids: Sequence[str]) -> Mapping[str, str]:
    """Shorten IDs while keeping them distinct."""
    longest = max(map(len, ids))
    for length in range(_MIN_ID, longest + 1):
        if len({normalize_event_id(id_)[:length] for id_ in ids}) == len(ids):
            return {id_: id_[:length] for id_ in ids}
    return {id_: id_ for id_ in ids}


def _row(summary: EventSummary) -> Iterator[str]:
    yield summary.type
    yield format_time(summary.first_at) or ""
    yield _span(summary.notice)
    yield _span(summary.used)
    ran = len(summary.ran)
    yield f"{ran - len(summary.failed)}/{ran}" if ran else ""
    yield ", ".join(_outcome(summary))


def _span(seconds: float | None) -> str:
    return "" if seconds is None else format_duration(seconds)


def _outcome(summary: EventSummary) -> Iterator[str]:
    if summary.approved_at is not None:
        yield "approved"
    elif summary.approved_elsewhere:
        yield "approved elsewhere"
    impact, state = summary.impact, _state(summary)
    has_impact = impact is not None and bool(impact.boots or impact.total)
    if not has_impact or state != "completed":
        yield state
    if impact is not None and has_impact:
        total = _span(impact.total)
        yield f"rebooted (down {total})" if impact.boots else f"interrupted for {total}"


def _state(summary: EventSummary) -> str:
    if summary.is_canceled:
        return "canceled"
    if summary.gone_at is not None:
        return "completed"
    return "not started" if summary.started_at is None else "in progress"


# --- story of one event ------------------------------------------------------


def _story_parts(story: EventStory) -> Iterator[str]:
    summary = story.summary
    yield clean(f"{summary.type} of {join_names(summary.resources) or 'no VM'}")
    yield fields(_story_fields(summary))
    yield "\n".join(_story_lines(story.entries))
    yield "\n".join(_paragraph(sentence, 2) for sentence in story.verdict)


def _story_fields(summary: EventSummary) -> Iterator[tuple[str, str | None]]:
    announced = summary.announced
    yield "event", summary.id
    yield "source", summary.source
    yield "description", summary.description
    yield "not before", format_time(summary.not_before)
    yield "duration", "unknown" if announced is None else format_duration(announced)


def _story_lines(entries: Iterable[StoryEntry]) -> Iterator[str]:
    day = None
    for entry in entries:
        at = format_time(entry.at) or "? ?"
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"{date} (UTC)"
        after = (
            f" ({unbroken('+' + format_duration(entry.after))})" if entry.after else ""
        )
        yield _paragraph(f"  {time:8}  {entry.text}{after}", _MARGIN)
        yield from (f"{'':{_MARGIN}}| {clean(line)}" for line in entry.output)


def _paragraph(text: str, indent: int) -> str:
    """Wrap `text`, but never break a line between a number and its unit."""
    return paragraph(_DURATION.sub(lambda match: unbroken(match[0]), text), indent)


# --- JSON output -------------------------------------------------------------


def _plain_story(story: EventStory) -> Mapping[str, object]:
    return {
        **_plain_summary(story.summary),
        "verdict": [*story.verdict],
        "story": [
            {"at": _text(entry.at), "after_seconds": entry.after, "text": entry.text}
            for entry in story.entries
        ],
    }


def _plain_summary(summary: EventSummary) -> Mapping[str, object]:
    impact = summary.impact
    return {
        "id": summary.id,
        "type": summary.type,
        "source": summary.source,
        "resources": [*summary.resources],
        "description": summary.description,
        "not_before": _text(summary.not_before),
        "first_seen_at": _text(summary.first_at),
        "mine": summary.is_mine,
        "rule": summary.rule,
        "notice_seconds_given": summary.notice,
        "notice_seconds_used": summary.used,
        "approved_at": _text(summary.approved_at),
        "approved_elsewhere": summary.approved_elsewhere,
        "not_approved": summary.not_approved,
        "started_at": _text(summary.started_at),
        "gone_at": _text(summary.gone_at),
        "canceled": summary.is_canceled,
        "announced_seconds": summary.announced,
        "impact": None if impact is None else asdict(impact),
        "hooks": [
            {name: getattr(hook, name) for name in _HOOK_FIELDS}
            for hook in summary.ran.values()
        ],
        "outcome": summary.outcome,
    }


def _text(time: datetime | None) -> str | None:
    return None if time is None else rfc3339(time)
