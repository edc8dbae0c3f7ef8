"""`forewarn announce`: announce maintenance on VMs, a host or a group."""

import argparse

from forewarn.cli import orders
from forewarn.cli.announced import tell, tell_next, tell_preview
from forewarn.cli.answers import answer, maintenance
from forewarn.cli.api import api_of
from forewarn.cli.options import (
    Option,
    Subcommands,
    add,
    add_command,
    add_one_of,
)
from forewarn.cli.tables import write_json
from forewarn.cli.values import read_type

_DESCRIPTION = """\
Announce maintenance. Every group concerned sees it as an event, gets at least
the notice that its type promises (Freeze and Reboot 15 minutes, Redeploy 10,
Terminate 5, Preempt 30 seconds), and may approve it early.

TYPE is freeze, reboot, redeploy, preempt or terminate. A host is one act and
starts as one; VMs and groups are taken one update domain after the other."""

_TARGETS = (
    Option(flag="--vm", metavar="NAME", repeated=True, help="these VMs"),
    Option(flag="--host", metavar="NAME", help="everything on this host, as one act"),
    Option(flag="--group", metavar="NAME", help="all VMs of this group"),
)
_DETAILS = (
    orders.DURATION,
    orders.DESCRIPTION,
    orders.source("who causes it: platform, unless it is a terminate"),
    orders.REASON,
    *orders.EMERGENCY,
    Option(
        flag="--preview",
        switch=True,
        help="show what would be announced, and announce nothing",
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `announce`."""
    parser = add_command(
        subcommands,
        "announce",
        announce,
        summary="announce maintenance on VMs, a host or a group",
        description=_DESCRIPTION,
        example="forewarn announce reboot --host host-a --notice 20m",
    )
    parser.add_argument(
        "type", metavar="TYPE", type=read_type, help="what will happen to the VMs"
    )
    add_one_of(parser, *_TARGETS, required=True)
    add_one_of(parser, *orders.TIMES)
    add(parser, *_DETAILS)


def announce(args: argparse.Namespace) -> int:
    """Announce maintenance, or preview it, and print the result."""
    body = orders.body_of(args)
    api = api_of(args)
    path = "/v1/maintenances/preview" if args.preview else "/v1/maintenances"
    plain = api.request("POST", path, body)
    if args.json:
        write_json(plain)
        return 0
    response = answer(plain)
    announced = [maintenance(item) for item in response.list("maintenances")]
    if args.preview:
        tell_preview(announced, api.now(), response.parts("explained"))
    else:
        tell(announced, api.now())
        tell_next(announced)
    return 0
