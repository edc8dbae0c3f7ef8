"""`forewarn journal`: search and follow the journal."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import Option, Subcommands, add_command
from forewarn.cli.output import format_time, paragraph, write, write_json, yaml_text
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.stream import follow
from forewarn.cli.values import argument, read_number, read_past
from forewarn.core.queries.search import fact_kind
from forewarn.errors import WrongUsage

Query: TypeAlias = Sequence[tuple[str, str]]

_DESCRIPTION = """\
Show journal entries in order, with their positions and who caused them
(`forewarn` is the service itself). Each entry must match all of the filters that
you specify. If you specify several names for one filter, the entry must match
one of them. With --json, each entry is printed as one line of JSON. With
--follow, the command shows the existing entries and then waits for new ones,
even if the service restarts, until you press Ctrl-C."""


@argument
def _read_fact(text: str) -> str:
    """Parse the name of a fact, ignoring case."""
    return fact_kind(text).__name__


_OPTIONS = (
    Option(
        flag="--group",
        metavar="NAME",
        repeated=True,
        help="show only entries about these groups",
        names="groups",
    ),
    Option(
        flag="--vm",
        metavar="NAME",
        repeated=True,
        help="show only entries about these VMs",
        names="vms",
    ),
    Option(
        flag="--by",
        metavar="NAME",
        repeated=True,
        help="show only entries caused by these tokens or VMs",
        names="tokens vms",
    ),
    Option(
        flag="--who",
        metavar="NAME",
        repeated=True,
        help="same as --by",
        names="tokens vms",
    ),
    Option(
        flag="--fact",
        metavar="FACT",
        repeated=True,
        read=_read_fact,
        help="show only entries of these kinds, such as Started",
        names="facts",
    ),
    Option(
        flag="--maintenance",
        metavar="ID",
        repeated=True,
        names="maintenances",
        help="show only entries about these maintenance operations, such as m-17",
    ),
    Option(
        flag="--since",
        metavar="TIME",
        read=read_past,
        help="show only entries at or after this time: 2026-01-31T12:00:00Z,"
        " 2026-01-31 (in UTC), or 2h for two hours ago",
    ),
    Option(
        flag="--until",
        metavar="TIME",
        read=read_past,
        help="show only entries before this time",
    ),
    Option(
        flag="--last",
        metavar="N",
        read=read_number,
        help="show only the last N entries",
    ),
    Option(
        flag="--after",
        metavar="N",
        read=read_number,
        default=0,
        help="show only entries after this position",
    ),
    Option(flag="--follow", switch=True, help="keep waiting for new entries"),
)

#: API field names, keyed by the option that filters by them.
_FILTERS: Mapping[str, str] = {
    "group": "group",
    "vm": "vm",
    "by": "by",
    "who": "by",
    "fact": "fact",
    "maintenance": "maintenance",
}

_SERVICE = "forewarn"  # shown if an entry has no actor


def register(subcommands: Subcommands) -> None:
    """Add `journal`."""
    add_command(
        subcommands,
        "journal",
        _journal,
        summary="show or follow the journal",
        description=_DESCRIPTION,
        example="forewarn journal --group web --since 7d",
        options=_OPTIONS,
    )


def _journal(args: argparse.Namespace) -> int:
    api, is_empty = api_of(args), True
    for plain in _entries(api, args):
        is_empty = False
        if args.json:
            write_json(plain, indent=None)
        elif args.output == "yaml":
            write(f"---\n{yaml_text(plain)}")
        else:
            write(_describe(object_from(plain)))
        if args.follow:
            sys.stdout.flush()
    if is_empty:  # a name may be unknown; VMs that have left the fleet have entries
        api.check_names(vms=args.vm, groups=args.group)
    return 0


def _entries(api: ControlApi, args: argparse.Namespace) -> Iterator[object]:
    _check_options(args)
    names, times = _name_filters(args), _time_filters(api, args)
    # --follow shows older entries first, but never entries before --after.
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
        raise WrongUsage("--last and --after cannot be used together")
    if args.follow and args.until is not None:
        raise WrongUsage("--follow and --until cannot be used together")


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
    """Return the query parameters for the options that filter by name."""
    return [
        (name, str(value))
        for option, name in _FILTERS.items()
        for value in getattr(args, option) or ()
    ]


def _time_filters(api: ControlApi, args: argparse.Namespace) -> Query:
    """Return the query parameters for --since and --until.

    A duration is subtracted from the service's time, not from this machine's time.
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
        raise WrongUsage(f"--{name} is out of range") from error


# --- text of an entry --------------------------------------------------------


def _describe(entry: JsonObject) -> str:
    """Format a journal entry in one or two lines."""
    parts = [
        f"{entry.text('position') or '?':>5}",
        format_time(entry.time("at")) or "",
        f"{entry.text('by') or _SERVICE:10}",
        entry.text("fact") or "?",
        entry.text("maintenance") or "",
        entry.text("text"),
    ]
    return paragraph("  ".join(part for part in parts if part), indent=7)
