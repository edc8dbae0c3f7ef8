"""`forewarn approve`: approve this VM's events, so that they start early."""

import argparse

from forewarn.cli.guest.watch import DISCOVER, ENDPOINT, connect, describe
from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.output import write, write_json
from forewarn.client import Client
from forewarn.errors import WrongUsage
from forewarn.formats import clean
from forewarn.protocol.types import EventStatus, ScheduledEvent

_DESCRIPTION = """\
Approve this VM's events so that they start early. Run this command in a VM when
the VM is ready. The command approves either all of the specified events or none
of them. If an event lists several VMs, approving it starts it for all of them.
Operators should use `forewarn events approve` instead."""

_ALL = Option(
    flag="--all",
    switch=True,
    help="approve all scheduled events",
)


def register(subcommands: Subcommands) -> None:
    """Add `approve`."""
    parser = add_command(
        subcommands,
        "approve",
        approve,
        summary="in a VM: approve events so that they start early",
        description=_DESCRIPTION,
        example="forewarn approve E7F1A9B2-4C1D-4E0A-9C55-6D1B7A1F0C22",
        options=((ENDPOINT, DISCOVER),),
        common=(JSON,),
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="event IDs")
    add(parser, _ALL)


def approve(args: argparse.Namespace) -> int:
    """Approve the given events or all scheduled events."""
    if bool(args.ids) == bool(args.all):
        raise WrongUsage("specify either event IDs or --all")
    with connect(args, patience=0) as client:
        waiting = _waiting(client) if args.all else ()
        chosen: list[ScheduledEvent | str] = [*args.ids, *waiting]
        if chosen:
            client.approve(*chosen)
        names = [describe(event, client.now()) for event in waiting] or args.ids
    ids = [event if isinstance(event, str) else event.id for event in chosen]
    if args.json:
        write_json({"approved": ids})
    elif not chosen:
        write("no events to approve")
    else:
        write("\n".join(f"approved {clean(name)}" for name in names))
    return 0


def _waiting(client: Client) -> tuple[ScheduledEvent, ...]:
    events = client.document().events
    return tuple(event for event in events if event.status == EventStatus.SCHEDULED)
