"""`forewarn journal`: search the journal, and follow it."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import Option, Subcommands, add_command
from forewarn.cli.output import format_time, paragraph, write, write_json
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.stream import follow
from forewarn.cli.values import argument, read_number, read_past
from forewarn.core.queries.search import fact_kind
from forewarn.errors import WrongUsage

Query: TypeAlias = Sequence[tuple[str, str]]

_DESCRIPTION = """\
Show the journal: every fact, in order, with its position and whose doing it was
(forewarn's, where nobody is named). Options that name something leave out what
does not concern it; several names of one option are any of them. --since and
--until take a time, a date, or how long ago: 2h. With --json each fact is one
line of JSON. --follow shows what there is and then waits for more; it survives
a restart of the service, and ends with Ctrl-C."""


@argument
def _read_fact(text: str) -> str:
    """Parse the name of a fact, ignoring case."""
    return fact_kind(text).__name__


_OPTIONS = (
    Option(
        flag="--group", metavar="NAME", repeated=True, help="what concerns this group"
    ),
    Option(flag="--vm", metavar="NAME", repeated=True, help="what concerns this VM"),
    Option(
        flag="--by",
        metavar="NAME",
        repeated=True,
        help="what was done with this token, or by this VM",
    ),
    Option(flag="--who", metavar="NAME", repeated=True, help="the same as --by"),
    Option(
        flag="--fact",
        metavar="FACT",
        repeated=True,
        read=_read_fact,
        help="facts of this name, such as Started",
    ),
    Option(
        flag="--maintenance",
        metavar="ID",
        repeated=True,
        help="facts of this maintenance, or of this event's",
    ),
    Option(
        flag="--since",
        metavar="T",
        read=read_past,
        help="from this time on: 2026-01-31T12:00:00Z, 2026-01-31 (in UTC), or 2h for"
        " that long ago",
    ),
    Option(flag="--until", metavar="T", read=read_past, help="only before this time"),
    Option(
        flag="--last",
        metavar="N",
        read=read_number,
        help="show the last N of them alone",
    ),
    Option(
        flag="--after",
        metavar="N",
        read=read_number,
        default=0,
        help="begin behind this position",
    ),
    Option(flag="--follow", switch=True, help="wait for more when all is shown"),
)

#: Options that filter by name, and their API field names.
_FILTERS: Mapping[str, str] = {
    "group": "group",
    "vm": "vm",
    "by": "by",
    "who": "by",
    "fact": "fact",
    "maintenance": "maintenance",
}

_SERVICE = "forewarn"  # shown if an entry names nobody


def register(subcommands: Subcommands) -> None:
    """Add `journal`."""
    add_command(
        subcommands,
        "journal",
        _journal,
        summary="show what happened, fact by fact",
        description=_DESCRIPTION,
        example="forewarn journal --group web --since 7d",
        options=_OPTIONS,
    )


def _journal(args: argparse.Namespace) -> int:
    for plain in _entries(api_of(args), args):
        if args.json:
            write_json(plain, indent=None)
        else:
            write(_describe(object_from(plain)))
        if args.follow:
            sys.stdout.flush()
    return 0


def _entries(api: ControlApi, args: argparse.Namespace) -> Iterator[object]:
    _check_options(args)
    names, times = _name_filters(args), _time_filters(api, args)
    # --follow shows older entries first, but never those before --after.
    begin = max(_newest(api), args.after) if args.follow else 0
    if args.last is None:
        query = [*names, *times, ("after", str(args.after))]
        entries = api.items("/v1/journal", query)
    else:
        entries = _last(api, [*names, *times], args.last)
    for plain in entries:
        begin = max(begin, object_from(plain).number("position") or 0)
        yield plain
    if args.follow:
        yield from follow(api, begin, query=names)


def _check_options(args: argparse.Namespace) -> None:
    if args.last is not None and args.after:
        raise WrongUsage("--last and --after exclude each other; give one of them")
    if args.follow and args.until is not None:
        raise WrongUsage("--follow goes on for ever; leave --until away")


def _last(api: ControlApi, query: Query, limit: int) -> Iterator[object]:
    newest_first = [*query, ("order", "newest")]
    newest = islice(api.items("/v1/journal", newest_first, size=limit), limit)
    return reversed([*newest])


def _newest(api: ControlApi) -> int:
    for plain in _last(api, [], 1):
        return object_from(plain).number("position") or 0
    return 0


# --- filters -----------------------------------------------------------------


def _name_filters(args: argparse.Namespace) -> Query:
    """Return the query parameters of the options that filter by name."""
    return [
        (name, str(value))
        for option, name in _FILTERS.items()
        for value in getattr(args, option) or ()
    ]


def _time_filters(api: ControlApi, args: argparse.Namespace) -> Query:
    """Return the query parameters of --since and --until.

    A duration is subtracted from the service's time, not this machine's.
    """
    times = {"since": args.since, "until": args.until}
    if any(isinstance(time, int) for time in times.values()):
        now = api.now()
        times = {
            name: _before(now, time, name) if isinstance(time, int) else time
            for name, time in times.items()
        }
    return [(name, time.isoformat()) for name, time in times.items() if time]


def _before(now: datetime, seconds: int, name: str) -> datetime:
    try:
        return now - timedelta(seconds=seconds)
    except OverflowError as error:
        raise WrongUsage(f"--{name} is longer ago than there was time") from error


# --- text of an entry --------------------------------------------------------


def _describe(entry: JsonObject) -> str:
    """Lay out one journal entry in one or two lines."""
    parts = [
        f"{entry.text('position'):>5}",
        format_time(entry.time("at")) or "",
        f"{entry.text('by') or _SERVICE:10}",
        entry.text("fact") or "?",
        entry.text("event") or entry.text("maintenance"),
        entry.text("text"),
    ]
    return paragraph("  ".join(part for part in parts if part), indent=7)
