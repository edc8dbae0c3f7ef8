"""Output of `forewarn agent report`: a table of events, a page per event, JSON."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from forewarn.agent import main
from forewarn.agent.audit.entries import RecordedEntry, span
from forewarn.agent.audit.log import AuditLogReader
from forewarn.agent.audit.sentences import EventStory, StoryEntry, story_of_event
from forewarn.agent.audit.summary import EventSummary, summarize
from forewarn.agent.config import file
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.storage.codec import rfc3339
from forewarn.cli.options import JSON, Option, Subcommands, add_command, add_one_of
from forewarn.cli.output import (
    clean,
    count,
    fields,
    format_time,
    join_names,
    paragraph,
    table,
    unbroken,
    write,
    write_error,
    write_json,
)
from forewarn.errors import NotFound, Unavailable

_SHORTEST = 8  # characters of a shortened id
_TIME = len("  12:15:00  ")


_DESCRIPTION = """\
Tell what the agent did about events, from the record in its state directory:
which rule matched and why, what hooks did, who approved, how much notice there
was and was used, and how long this VM stood still. Without EVENT all events are
listed. The agent may be running or not; a copy of its directory will do, too."""

_OPTIONS = (
    Option(
        flag="--config",
        metavar="FILE",
        own_variable=file.VARIABLE,
        help=f"the agent's file, which says where its state is; {file.DEFAULT} if"
        " it is there",
    ),
    Option(
        flag="--state",
        metavar="DIR",
        own_variable="FOREWARN_AGENT_STATE",
        help="the agent's state directory",
    ),
)
_FILE = "audit.jsonl"


# --- all events ----------------------------------------------------------------


def summary(listed: Sequence[EventSummary]) -> str:
    """Lay out a table with one row per event."""
    header = ("EVENT", "TYPE", "FIRST SEEN", "NOTICE", "USED", "HOOKS", "OUTCOME")
    short = _shortened([account.id for account in listed])
    return table(header, [(short[account.id], *_row(account)) for account in listed])


def _shortened(ids: Sequence[str]) -> Mapping[str, str]:
    """Shorten ids as far as they stay distinct."""
    longest = max(map(len, ids))
    for length in range(_SHORTEST, longest + 1):
        if len({normalize_event_id(id_)[:length] for id_ in ids}) == len(ids):
            return {id_: id_[:length] for id_ in ids}
    return {id_: id_ for id_ in ids}


def _row(account: EventSummary) -> Iterator[str]:
    yield account.type
    yield unbroken(format_time(account.first_at) or "")
    yield _span(account.notice)
    yield _span(account.used)
    ran = len(account.ran or ())
    yield unbroken(f"{ran - len(account.failed)} of {ran}") if ran else ""
    yield ", ".join(_outcome(account))


def _span(seconds: float | None) -> str:
    return "" if seconds is None else unbroken(span(seconds))


def _outcome(account: EventSummary) -> Iterator[str]:
    if account.approved_at is not None:
        yield "approved"
    elif account.approved_elsewhere:
        yield "approved by others"
    yield _end(account)
    felt = account.impact
    if felt is not None and felt.boots:
        yield f"restarted, down {_span(felt.total)}"
    elif felt is not None and felt.total:
        yield f"still for {_span(felt.total)}"


def _end(account: EventSummary) -> str:
    if account.is_canceled:
        return "called off"
    if account.gone_at is not None:
        return "took place"
    return "not started yet" if account.started_at is None else "under way"


# --- one event -----------------------------------------------------------------


def page(story: EventStory) -> str:
    """Lay out the story of one event as text."""
    return "\n\n".join(_parts(story))


def _parts(story: EventStory) -> Iterator[str]:
    account = story.account
    yield clean(f"{account.type} of {join_names(account.resources) or 'nobody'}")
    yield fields(_facts(account))
    yield "\n".join(_lines(story.entries))
    yield "\n".join(paragraph(sentence, 2) for sentence in story.verdict)


def _facts(account: EventSummary) -> Iterator[tuple[str, str | None]]:
    announced = account.announced
    yield "event", account.id
    yield "source", account.source
    yield "description", account.description
    yield "not before", format_time(account.not_before)
    yield "duration", "unknown" if announced is None else span(announced)


def _lines(entries: Iterable[StoryEntry]) -> Iterator[str]:
    day = None
    for entry in entries:
        at = format_time(entry.at) or "? ?"
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"story of {date}, in UTC"
        after = f" ({unbroken('+' + span(entry.after))})" if entry.after else ""
        yield paragraph(f"  {time:8}  {entry.said}{after}", _TIME)
        yield from (f"{'':{_TIME}}| {clean(line)}" for line in entry.output)


# --- JSON output -------------------------------------------------------------


def plain_story(story: EventStory) -> Mapping[str, object]:
    """Convert the story of an event to JSON values."""
    return {
        **plain_account(story.account),
        "verdict": [*story.verdict],
        "story": [
            {"at": _text(entry.at), "after_seconds": entry.after, "said": entry.said}
            for entry in story.entries
        ],
    }


def plain_account(account: EventSummary) -> Mapping[str, object]:
    """Convert the summary of an event to JSON values."""
    felt = account.impact
    return {
        "id": account.id,
        "type": account.type,
        "source": account.source,
        "resources": [*account.resources],
        "description": account.description,
        "not_before": _text(account.not_before),
        "first_seen_at": _text(account.first_at),
        "mine": account.is_mine,
        "rule": account.rule,
        "notice_seconds_given": account.notice,
        "notice_seconds_used": account.used,
        "approved_at": _text(account.approved_at),
        "approved_elsewhere": account.approved_elsewhere,
        "not_approved": account.not_approved,
        "started_at": _text(account.started_at),
        "gone_at": _text(account.gone_at),
        "canceled": account.is_canceled,
        "announced_seconds": account.announced,
        "impact": None if felt is None else asdict(felt),
        "hooks": [asdict(run) for run in (account.ran or {}).values()],
        "outcome": account.outcome,
    }


def _text(time: datetime | None) -> str | None:
    return None if time is None else rfc3339(time)


def register(subcommands: Subcommands) -> None:
    """Add `agent report`."""
    parser = add_command(
        subcommands,
        "report",
        report,
        summary="tell what was done about an event",
        description=_DESCRIPTION,
        example="forewarn agent report 0a4b7c1e",
        common=(JSON,),
    )
    parser.add_argument(
        "event",
        metavar="EVENT",
        nargs="?",
        help="its id, or as much of its beginning as no other has",
    )
    add_one_of(parser, *_OPTIONS)


def report(args: argparse.Namespace) -> int:
    """List all events, or print the story of one."""
    record, events = _read(_folder(args))
    if args.event is None:
        _list(events, json=args.json)
    else:
        _tell(_meant(args.event, events), record, json=args.json)
    if record.broken:
        write_error(f"{count(record.broken, 'line')} of the record could not be read")
    return 0


def _list(found: Mapping[str, EventSummary], *, json: bool) -> None:
    listed = [*found.values()]
    if json:
        write_json([plain_account(account) for account in listed])
    else:
        write(summary(listed) if listed else "No events so far.")


def _tell(event_id: str, record: AuditLogReader, *, json: bool) -> None:
    story = story_of_event(event_id, map(RecordedEntry, record))
    if json:
        own = [line for line in record if _is_on(event_id, line)]
        write_json({**plain_story(story), "lines": own})
    else:
        write(page(story))


def _is_on(event_id: str, line: Mapping[str, object]) -> bool:
    return normalize_event_id(RecordedEntry(line).event or "") == normalize_event_id(
        event_id
    )


# --- finding the record ------------------------------------------------------


def _folder(args: argparse.Namespace) -> Path:
    if args.state is not None:
        return Path(args.state)
    if args.config is not None:
        return main.state_of(Path(args.config))
    if file.DEFAULT.exists():
        return main.state_of(file.DEFAULT)
    return main.state_folder()


def _read(folder: Path) -> tuple[AuditLogReader, Mapping[str, EventSummary]]:
    record = AuditLogReader(folder / _FILE)
    try:
        if not record.is_there():
            raise NotFound(
                f"no agent has written anything in {folder}; --state or --config says"
                " where one has"
            )
        return record, summarize(map(RecordedEntry, record))
    except OSError as error:
        raise Unavailable(f"{folder} cannot be read: {error.strerror}") from error


def _meant(given: str, found: Mapping[str, EventSummary]) -> str:
    """Return the full id of the only event whose id starts with `given`."""
    if normalize_event_id(given) in found:
        return found[normalize_event_id(given)].id
    ids = [
        found[name].id for name in found if name.startswith(normalize_event_id(given))
    ]
    if len(ids) == 1 and given:
        return ids[0]
    if ids:
        raise NotFound(f"several events begin with {given}: {join_names(ids)}")
    raise NotFound(f"the record knows no event {given}; without EVENT it lists all")
