"""`forewarn clock`: show the service's clock, or advance a manual clock."""

import argparse
from datetime import datetime

from forewarn.cli.api import api_of
from forewarn.cli.options import Subcommands, add_command, add_noun
from forewarn.cli.output import format_time, write, write_json
from forewarn.cli.responses import object_from
from forewarn.cli.values import read_time_or_duration

_TIMEOUT = 3600.0  # seconds; everything that falls due on the way runs first

_ADVANCE = """\
Move the manual clock on, by a duration (15m, 1h30m) or to a time
(2026-01-31T12:15:00Z). Everything that falls due on the way happens, in order,
before the command returns. Only a service that was started with --clock manual
can be moved."""


def register(subcommands: Subcommands) -> None:
    """Add `clock show` and `clock advance`."""
    commands = add_noun(
        subcommands,
        "clock",
        summary="show the service's clock, or move it on",
        example="forewarn clock advance 15m",
    )
    add_command(
        commands,
        "show",
        show,
        summary="show what time it is for the service",
        description="Show the service's clock, which need not be this machine's.",
        example="forewarn clock show",
    )
    parser = add_command(
        commands,
        "advance",
        advance,
        summary="move a manual clock on",
        description=_ADVANCE,
        example="forewarn clock advance 15m",
    )
    parser.add_argument(
        "to",
        metavar="DURATION|TIME",
        type=read_time_or_duration,
        help="how far, or to when",
    )


def show(args: argparse.Namespace) -> int:
    """Print the service's time."""
    _show(api_of(args).request("GET", "/v1/clock"), json=args.json)
    return 0


def advance(args: argparse.Namespace) -> int:
    """Advance the service's manual clock."""
    to: int | datetime = args.to
    body: dict[str, object] = (
        {"seconds": to} if isinstance(to, int) else {"to": to.isoformat()}
    )
    api = api_of(args)
    plain = api.request("POST", "/v1/clock/advance", body, timeout=_TIMEOUT)
    _show(plain, json=args.json)
    return 0


def _show(plain: object, *, json: bool | None) -> None:
    if json:
        write_json(plain)
        return
    reply = object_from(plain)
    write(
        f"{format_time(reply.time('now')) or 'unknown'} ({reply.text('clock')} clock)"
    )
