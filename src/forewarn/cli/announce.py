"""`forewarn announce`: tell VMs what is coming."""

import argparse
from collections.abc import Iterator
from datetime import datetime

from forewarn.cli.answers import Maintenance, answer, maintenance
from forewarn.cli.api import api_of
from forewarn.cli.options import (
    Option,
    Subcommands,
    add,
    add_command,
    add_one_of,
)
from forewarn.cli.tables import fields, some, span, when, write, write_json
from forewarn.cli.values import read_duration, read_source, read_time, read_type
from forewarn.errors import WrongUsage

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
_TIMES = (
    Option(
        flag="--notice",
        metavar="DURATION",
        read=read_duration,
        help="how long the VMs get, such as 20m; the minimum of the type if absent",
    ),
    Option(
        flag="--not-before",
        metavar="TIME",
        read=read_time,
        help="when it starts at the latest, such as 2026-01-31T12:15:00Z",
    ),
)
_DETAILS = (
    Option(
        flag="--duration",
        metavar="DURATION",
        read=read_duration,
        help="how long the VMs will be away, such as 9s",
    ),
    Option(flag="--description", metavar="TEXT", help="what the VMs are told"),
    Option(
        flag="--source",
        metavar="platform|user",
        read=read_source,
        help="who causes it: platform, unless it is a terminate",
    ),
    Option(flag="--reason", metavar="TEXT", help="why; kept in the journal"),
    Option(
        flag="--emergency",
        switch=True,
        help="give less notice than the minimum, or none; needs --reason",
    ),
    Option(
        flag="--ignore-gates",
        switch=True,
        help="with --emergency: start even while a gate is shut",
    ),
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
    add_one_of(parser, *_TIMES)
    add(parser, *_DETAILS)


def announce(args: argparse.Namespace) -> int:
    """Announce, and say what was announced."""
    body = _body(args)
    api = api_of(args)
    path = "/v1/maintenances/preview" if args.preview else "/v1/maintenances"
    plain = api.request("POST", path, body)
    if args.json:
        write_json(plain)
        return 0
    made = [maintenance(each) for each in answer(plain).list("maintenances")]
    now = api.now()
    for number, each in enumerate(made, 1):
        place = f" ({number} of {len(made)})" if len(made) > 1 else ""
        verb = "would be announced" if args.preview else "announced"
        write(f"{verb}{place}: {each.title}")
        write(fields(_fields(each, now)))
    if not args.preview and made:
        write("\n".join(_next_commands(made)))
    return 0


def _body(args: argparse.Namespace) -> dict[str, object]:
    if args.emergency and not args.reason:
        raise WrongUsage("--emergency needs a --reason, which is kept in the journal")
    if args.ignore_gates and not args.emergency:
        raise WrongUsage("--ignore-gates is only possible with --emergency")
    not_before: datetime | None = args.not_before
    body: dict[str, object] = {
        "type": args.type,
        "vms": args.vm,
        "host": args.host,
        "group": args.group,
        "notice_seconds": args.notice,
        "not_before": not_before and not_before.isoformat(),
        "duration_seconds": args.duration,
        "description": args.description,
        "source": args.source,
        "reason": args.reason,
        "emergency": args.emergency,
        "ignore_gates": args.ignore_gates,
    }
    return {name: value for name, value in body.items() if value is not None}


def _fields(made: Maintenance, now: datetime) -> Iterator[tuple[str, str | None]]:
    groups = tuple(dict.fromkeys(event.group for event in made.events))
    known = made.duration is not None and made.duration >= 0
    yield "id", made.id
    yield "starts", _start(made, now)
    yield "lasts", span(made.duration) if known and made.duration else None
    yield "told", f"{some(groups)} ({made.source}: {made.description or made.cause})"


def _start(made: Maintenance, now: datetime) -> str:
    if made.phase == "STARTED":
        return "at once, without notice"
    if made.not_before is not None and made.not_before <= now:
        return "as soon as the gates are open"
    latest = when(made.not_before, now)
    return f"when all have approved, at the latest {latest}, unless a gate is shut"


def _next_commands(made: list[Maintenance]) -> Iterator[str]:
    first = made[0].id
    yield "next:"
    yield f"  forewarn events show {first}"
    if made[0].phase == "SCHEDULED":
        yield f"  forewarn events approve {first}"
        yield f"  forewarn events cancel {first}"
    else:
        yield f"  forewarn events complete {first}"
    yield "  forewarn journal --follow"
