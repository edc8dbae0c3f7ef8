"""Journal search: its options and the query built from them."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from forewarn.cli.api import Api
from forewarn.cli.options import Option
from forewarn.cli.values import read_fact, read_past
from forewarn.errors import WrongUsage

Query: TypeAlias = Sequence[tuple[str, str]]

#: Options that filter by name, and their API field names.
_NAMES: Mapping[str, str] = {
    "group": "group",
    "vm": "vm",
    "by": "by",
    "who": "by",
    "fact": "fact",
    "maintenance": "maintenance",
}

SEARCH = (
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
        read=read_fact,
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
)


def names_asked(args: argparse.Namespace) -> Query:
    """Return the query parameters of the options that filter by name."""
    return [
        (name, str(value))
        for option, name in _NAMES.items()
        for value in getattr(args, option) or ()
    ]


def times_asked(api: Api, args: argparse.Namespace) -> Query:
    """Return the query parameters of --since and --until.

    A duration is subtracted from the service's time, not this machine's.
    """
    times = {"since": args.since, "until": args.until}
    if not any(isinstance(time, int) for time in times.values()):
        return [*_written(times)]
    now = api.now()
    ago = {
        name: _before(now, time, name) if isinstance(time, int) else time
        for name, time in times.items()
    }
    return [*_written(ago)]


def _written(times: Mapping[str, datetime | None]) -> Iterator[tuple[str, str]]:
    for name, time in times.items():
        if time is not None:
            yield name, time.isoformat()


def _before(now: datetime, seconds: int, name: str) -> datetime:
    try:
        return now - timedelta(seconds=seconds)
    except OverflowError as error:
        raise WrongUsage(f"--{name} is longer ago than there was time") from error
