"""`forewarn clock`: show the service's clock or advance a manual clock."""

import argparse
from collections.abc import Iterator
from datetime import datetime

from forewarn.cli.api import api_of
from forewarn.cli.batch import naming_options
from forewarn.cli.options import Subcommands, add_argument, add_command, add_noun
from forewarn.cli.output import format_time, write_response
from forewarn.cli.responses import object_from
from forewarn.cli.values import read_time_or_duration

_TIMEOUT = 3600.0  # seconds; the service first runs everything that becomes due

_ADVANCE = """\
Advance the manual clock by a duration (15m, 1h30m) or to a time
(2026-01-31T12:15:00Z). Everything that is due by then happens, in order, before
the command returns. The service must have been started with --clock manual."""


def register(subcommands: Subcommands) -> None:
    """Add `clock show` and `clock advance`."""
    commands = add_noun(
        subcommands,
        "clock",
        summary="show the service's clock, or advance a manual clock",
        example="forewarn clock advance 15m",
    )
    add_command(
        commands,
        "show",
        _show,
        summary="show the service's clock",
        description="Show the service's clock, which can differ from this machine's"
        " clock.",
        example="forewarn clock show",
    )
    parser = add_command(
        commands,
        "advance",
        _advance,
        summary="advance a manual clock",
        description=_ADVANCE,
        example="forewarn clock advance 15m",
    )
    add_argument(
        parser,
        "to",
        metavar="DURATION|TIME",
        read=read_time_or_duration,
        help="duration to advance by, or time to advance to",
    )


def _show(args: argparse.Namespace) -> int:
    plain = api_of(args).request("GET", "/v1/clock")
    return write_response(args, plain, _lines(plain))


def _advance(args: argparse.Namespace) -> int:
    to: int | datetime = args.to
    body: dict[str, object] = (
        {"seconds": to} if isinstance(to, int) else {"to": to.isoformat()}
    )
    api = api_of(args)
    with naming_options({"seconds": "DURATION", "to": "TIME"}):
        plain = api.request("POST", "/v1/clock/advance", body, timeout=_TIMEOUT)
    return write_response(args, plain, _lines(plain))


def _lines(plain: object) -> Iterator[str]:
    reply = object_from(plain)
    yield f"{format_time(reply.time('now')) or 'unknown'} ({reply.text('clock')} clock)"
    if until := reply.time("stands_still_until"):
        system = format_time(reply.time("system_now"))
        yield f"paused until {format_time(until)} (system clock: {system})"
