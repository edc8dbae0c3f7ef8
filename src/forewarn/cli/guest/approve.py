"""`forewarn approve`: approve this VM's events, so that they start early."""

import argparse
from collections.abc import Sequence

from forewarn.cli.guest.watch import DISCOVER, ENDPOINT, connect, describe
from forewarn.cli.options import JSON, Option, Subcommands, add_command, add_one_of
from forewarn.cli.output import write, write_json
from forewarn.client import Client
from forewarn.errors import WrongUsage
from forewarn.formats import clean
from forewarn.protocol.types import EventStatus, ScheduledEvent

_ID_LENGTH = 36  # characters of a GUID
_SHORTEST = 4  # characters of a prefix of an ID; the service has the same limit

_DESCRIPTION = """\
Approve this VM's events so that they start early. Run this command in a VM when
the VM is ready. The command approves either all of the specified events or none
of them. If an event lists several VMs, approving it starts it for all of them.
Operators should use `forewarn maintenance approve` instead."""

_CHOICE = (
    Option(flag="--all", switch=True, help="approve all scheduled events"),
    Option(
        flag="--vm",
        metavar="NAME",
        repeated=True,
        help="approve all scheduled events that list one of these VMs",
    ),
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
    parser.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="event IDs, or unambiguous prefixes of them",
    )
    add_one_of(parser, *_CHOICE)


def approve(args: argparse.Namespace) -> int:
    """Approve the given events or all scheduled events, of all VMs or of some."""
    if bool(args.ids) == bool(args.all or args.vm):
        raise WrongUsage("specify either event IDs, --vm NAME or --all")
    with connect(args, patience=0) as client:
        if all(map(_is_whole, args.ids)) and args.ids:
            chosen, names = args.ids, args.ids
        else:
            waiting = [event for event in _waiting(client) if _is_chosen(event, args)]
            _refuse_unclear(args.ids, waiting)
            chosen = [event.id for event in waiting]
            names = [describe(event, client.now()) for event in waiting]
        if chosen:
            client.approve(*chosen)
    if args.json:
        write_json({"approved": chosen})
    elif not chosen:
        write("no events to approve")
    else:
        write("\n".join(f"approved {clean(name)}" for name in names))
    return 0


def _waiting(client: Client) -> Sequence[ScheduledEvent]:
    events = client.document().events
    return [event for event in events if event.status == EventStatus.SCHEDULED]


def _is_whole(any_id: str) -> bool:
    """Return whether this is a whole ID; the service reports whether it is known."""
    return len(any_id) >= _ID_LENGTH


def _is_chosen(event: ScheduledEvent, args: argparse.Namespace) -> bool:
    if args.ids:
        return any(_starts(event, any_id) for any_id in args.ids)
    vms = {name.lower() for name in args.vm or ()}
    return bool(args.all) or not vms.isdisjoint(map(str.lower, event.resources))


def _starts(event: ScheduledEvent, any_id: str) -> bool:
    return event.id.lower().startswith(any_id.lower())


def _refuse_unclear(ids: Sequence[str], waiting: Sequence[ScheduledEvent]) -> None:
    """Raise `WrongUsage` if an ID identifies no scheduled event, or several."""
    for any_id in ids:
        matches = [event.id for event in waiting if _starts(event, any_id)]
        if len(any_id) < _SHORTEST:
            raise WrongUsage(f"specify at least {_SHORTEST} characters of an event ID")
        if not matches:
            raise WrongUsage(f"no scheduled event has an ID that starts with {any_id}")
        if len(matches) > 1:
            raise WrongUsage(f"{any_id} is ambiguous: {', '.join(matches)}")
