"""`forewarn watch`: show this VM's scheduled events as they change."""

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Unpack

from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.output import (
    format_distance,
    format_time,
    write,
    write_error,
    write_json,
)
from forewarn.cli.values import argument
from forewarn.client import Change, Client
from forewarn.client.changes import compare
from forewarn.client.client import ClientOptions, discover_endpoint
from forewarn.client.endpoint import DEFAULT, parse
from forewarn.client.retries import can_retry
from forewarn.errors import ForewarnError
from forewarn.formats import clean, join_names
from forewarn.protocol.types import ScheduledEvent

_DESCRIPTION = """\
Show this VM's events, and any changes to them, until you press Ctrl-C. Run this
command in a VM. If the service supports long polling, changes appear
immediately; otherwise, they appear within --poll seconds. With --json, each
change is printed as one line of JSON. Its events are in the service's format,
and `seconds_left` is the time until each event starts if it is not approved."""


@argument
def _read_endpoint(text: str) -> str:
    """Parse the address of a metadata service."""
    return str(parse(text))


def _read_poll(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a positive number of seconds"
        )
    return seconds


ENDPOINT = Option(
    flag="--endpoint",
    metavar="URL",
    read=_read_endpoint,
    default=DEFAULT,
    variable="FOREWARN_ENDPOINT",
    help="address of the metadata service",
)

DISCOVER = Option(
    flag="--discover",
    switch=True,
    help="look for the metadata service at 169.254.169.254, then at the address in"
    " $SCHEDULEDEVENTSIP, and then at the address in DHCP option 245; using DHCP"
    " requires Linux and either root or CAP_NET_RAW and CAP_NET_BIND_SERVICE",
)

POLL = Option(
    flag="--poll",
    metavar="SECONDS",
    read=_read_poll,
    default=1.0,
    help="seconds between polls if the service does not support long polling",
)

#: Kinds of changes, in display order.
_KINDS = ("appeared", "started", "changed", "completed", "canceled")


def register(subcommands: Subcommands) -> None:
    """Add `watch`."""
    parser = add_command(
        subcommands,
        "watch",
        watch,
        summary="in a VM: show events as they change",
        description=_DESCRIPTION,
        example="forewarn watch --endpoint http://127.0.0.1:8254/vm/web-0",
        options=((ENDPOINT, DISCOVER),),
        common=(JSON,),
    )
    add(
        parser,
        POLL,
        Option(flag="--once", switch=True, help="show the current events and exit"),
    )


def watch(args: argparse.Namespace) -> int:
    """Print the current events, then each change."""
    with connect(args) as client:
        for change in _changes(client, args.poll):
            if args.json:
                write_json(_plain(change, client), indent=None)
            else:
                for line in _lines(change, client.now()):
                    write(line)
            sys.stdout.flush()
            if args.once:
                break
    return 0


def connect(args: argparse.Namespace, **options: Unpack[ClientOptions]) -> Client:
    """Return a client for --endpoint, or for the endpoint that --discover finds."""
    if args.discover:
        return Client(discover_endpoint(write_error, **options), **options)
    return Client(args.endpoint, **options)


def _changes(client: Client, poll: float) -> Iterator[Change]:
    """Yield changes. Fail if the first read fails, but retry later reads."""
    document = client.read().document
    assert document is not None  # always sent, because the request had no tag
    last = compare(None, document)
    yield last
    while True:
        try:
            for change in client.watch(poll, since=last):
                last = change
                yield change
        except ForewarnError as error:
            if not can_retry(error):
                raise
            write_error(f"{error}; retrying")


# --- text and JSON output ----------------------------------------------------


def _lines(change: Change, now: datetime) -> Iterator[str]:
    if not change.is_news:
        yield f"{format_time(now)}  no events"
    for kind in _KINDS:
        for event in getattr(change, kind):
            is_repeated = kind == "started" and event in change.appeared
            if not is_repeated:
                yield f"{format_time(now)}  {kind:9}  {describe(event, now)}"


def describe(event: ScheduledEvent, now: datetime) -> str:
    """Format an event as one line."""
    parts = [
        event.id,
        f"{event.type:9}",
        f"{event.status:9}",
        join_names(event.resources),
        _not_before(event.not_before, now),
        event.description,
    ]
    return clean("  ".join(part for part in parts if part))


def _not_before(time: datetime | None, now: datetime) -> str:
    return (
        f"not before {format_time(time)} ({format_distance(time, now)})" if time else ""
    )


def _plain(change: Change, client: Client) -> dict[str, object]:
    left = {event.id: client.time_left(event) for event in change.events}
    return {
        "at": client.now().isoformat(),
        "incarnation": change.incarnation,
        **{kind: [shown.raw for shown in getattr(change, kind)] for kind in _KINDS},
        "events": [event.raw for event in change.events],
        "seconds_left": {
            id_: None if time is None else round(time.total_seconds(), 3)
            for id_, time in left.items()
        },
    }
