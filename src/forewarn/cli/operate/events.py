"""`forewarn events`: list, show and approve the events that VMs see."""

import argparse
from collections.abc import Iterator, Sequence
from datetime import datetime

from forewarn.cli.api import api_of, segment
from forewarn.cli.operate.details import LIVE, event_fields
from forewarn.cli.options import (
    FORMATS,
    WATCH,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    Column,
    fields,
    paragraph,
    table,
    write_response,
)
from forewarn.cli.responses import EventResponse, event_from

_COLUMNS = (
    "ID",
    "GROUP",
    Column(title="STATUS", is_fixed=True),
    "APPROVED BY",
    Column(title="OF", is_fixed=True),
    Column(title="RESOURCES", is_wide=True),
    Column(title="SEEN BY", is_wide=True),
)
_ID = "event ID, an unambiguous prefix of it, or the ID of an operation with one event"


def register(subcommands: Subcommands) -> None:
    """Add `events list`, `show` and `approve`."""
    commands = add_noun(
        subcommands,
        "events",
        summary="list, show and approve the events that VMs see (short: ev)",
        example="forewarn events list",
    )
    add_command(
        commands,
        "list",
        _list,
        summary="list the events that VMs see",
        description="List the events of scheduled and started maintenance operations."
        " Each affected group sees one event of an operation. OF shows the operation's"
        " ID.",
        example="forewarn events list",
        options=(
            Option(flag="--all", switch=True, help="include events that have ended"),
            WATCH,
        ),
        formats=FORMATS,
    )
    for name, run, summary in (
        ("show", _show, "show an event: its VMs, and who saw and approved it"),
        ("approve", _approve, "approve an event on behalf of its VMs"),
    ):
        parser = add_command(
            commands,
            name,
            run,
            summary=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            example=f"forewarn events {name} 2C6D9E30",
        )
        add_argument(parser, "id", metavar="ID", help=_ID, names="maintenances")


def _list(args: argparse.Namespace) -> int:
    phases = () if args.all else [("phase", phase) for phase in LIVE]
    items = [*api_of(args).items("/v1/events", phases)]
    events = [event_from(item) for item in items]
    names = [event.id for event in events]
    return write_response(args, items, _list_lines(events, args), names)


def _list_lines(
    events: Sequence[EventResponse], args: argparse.Namespace
) -> Iterator[str]:
    if not events:
        yield "no events" if args.all else "no scheduled or started events"
        return
    yield table(_COLUMNS, map(_row, events), args)


def _row(event: EventResponse) -> tuple[str, ...]:
    return (
        event.id or "",
        event.group,
        event.status or "gone",
        event.approved_by or ("(automatic)" if event.approved_at else ""),
        event.maintenance or "",
        ", ".join(event.resources),
        ", ".join(vm for vm, _ in event.seen_by),
    )


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", f"/v1/events/{segment(args.id)}")
    return write_response(args, plain, _lines(plain, api.now()))


def _approve(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("POST", f"/v1/events/{segment(args.id)}/approve")
    event = event_from(plain)
    text = f"approved: event {event.id} of {event.maintenance} for group {event.group}"
    return write_response(args, plain, [paragraph(text)])


def _lines(plain: object, now: datetime) -> Iterator[str]:
    event = event_from(plain)
    yield paragraph(f"event {event.id} of {event.maintenance} for group {event.group}")
    yield fields(event_fields(event, False, now))
