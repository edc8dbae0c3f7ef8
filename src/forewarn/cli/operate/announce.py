"""`forewarn announce`: announce maintenance, and the options that announcing takes."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import Option, Subcommands, add, add_command, add_one_of
from forewarn.cli.output import (
    fields,
    format_duration,
    format_when,
    paragraph,
    write_response,
)
from forewarn.cli.responses import (
    JsonObject,
    MaintenanceResponse,
    maintenances_from,
    object_from,
)
from forewarn.cli.values import read_duration, read_source, read_time, read_type
from forewarn.errors import WrongUsage
from forewarn.formats import join_names

_DESCRIPTION = """\
Announce maintenance. Every group concerned sees it as an event, gets at least
the notice that its type promises (Freeze and Reboot 15 minutes, Redeploy 10,
Terminate 5, Preempt 30 seconds), and may approve it early.

TYPE is freeze, reboot, redeploy, preempt or terminate. A host is one act and
starts as one; VMs and groups are taken one update domain after the other."""

TIMES = (
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

DURATION = Option(
    flag="--duration",
    metavar="DURATION",
    read=read_duration,
    help="how long the VMs will be away, such as 9s",
)
DESCRIPTION = Option(flag="--description", metavar="TEXT", help="what the VMs are told")
LIVE_MIGRATION = Option(
    flag="--live-migration",
    switch=True,
    help="for a freeze that moves the VMs to another host: use Azure's description and"
    " a duration of 5s",
)
REASON = Option(flag="--reason", metavar="TEXT", help="why; kept in the journal")

EMERGENCY = (
    Option(
        flag="--emergency",
        switch=True,
        help="give less notice than the minimum, or none; needs --reason",
    ),
    Option(
        flag="--ignore-blockers",
        switch=True,
        help="with --emergency: start even while blocked",
    ),
)


def source_option(help: str) -> Option:
    """Return the --source option with a help text of its own."""
    return Option(flag="--source", metavar="platform|user", read=read_source, help=help)


_TARGETS = (
    Option(flag="--vm", metavar="NAME", repeated=True, help="these VMs"),
    Option(flag="--host", metavar="NAME", help="everything on this host, as one act"),
    Option(flag="--group", metavar="NAME", help="all VMs of this group"),
)

_DETAILS = (
    DURATION,
    DESCRIPTION,
    LIVE_MIGRATION,
    source_option("who causes it: platform, unless it is a terminate"),
    REASON,
    *EMERGENCY,
    Option(
        flag="--preview",
        switch=True,
        help="show what would be announced, and announce nothing",
    ),
)

#: Option and argument names, and their API field names.
_KEYS: Mapping[str, str] = {
    "type": "type",
    "vm": "vms",
    "host": "host",
    "group": "group",
    "notice": "notice_seconds",
    "not_before": "not_before",
    "fails_by": "fails_by",
    "duration": "duration_seconds",
    "description": "description",
    "live_migration": "live_migration",
    "source": "source",
    "reason": "reason",
    "emergency": "emergency",
    "ignore_blockers": "ignore_blockers",
}

_HOST_CAUSES = ("degraded", "host-failure")  # causes ended by `host recovered`


def register(subcommands: Subcommands) -> None:
    """Add `announce`."""
    parser = add_command(
        subcommands,
        "announce",
        _announce,
        summary="announce maintenance on VMs, a host or a group",
        description=_DESCRIPTION,
        example="forewarn announce reboot --host host-a --notice 20m",
    )
    parser.add_argument(
        "type", metavar="TYPE", type=read_type, help="what will happen to the VMs"
    )
    add_one_of(parser, *_TARGETS, required=True)
    add_one_of(parser, *TIMES)
    add(parser, *_DETAILS)


def _announce(args: argparse.Namespace) -> int:
    body = body_of(args)
    api = api_of(args)
    path = "/v1/maintenances/preview" if args.preview else "/v1/maintenances"
    plain = api.request("POST", path, body)
    lines = _preview_lines if args.preview else announcement_lines
    return write_response(args, plain, lines(plain, api))


def _preview_lines(plain: object, api: ControlApi) -> Iterator[str]:
    explained = object_from(plain).parts("explained")
    maintenances = maintenances_from(plain)
    yield from announced_lines(
        maintenances, api.now(), verb="would be announced", explained=explained
    )


# --- shared with `forewarn host` and `forewarn vm` ---------------------------


def body_of(args: argparse.Namespace) -> dict[str, object]:
    """Build the request body from the given options, omitting absent ones."""
    values = vars(args)
    if values.get("emergency") and not values.get("reason"):
        raise WrongUsage("--emergency needs a --reason, which is kept in the journal")
    if values.get("ignore_blockers") and not values.get("emergency"):
        raise WrongUsage("--ignore-blockers is only possible with --emergency")
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for name, key in _KEYS.items()
        if (value := values.get(name)) is not None
    }


def announcement_lines(plain: object, api: ControlApi) -> Iterator[str]:
    """Describe what was announced, and what is useful next."""
    maintenances = maintenances_from(plain)
    yield from announced_lines(maintenances, api.now())
    yield from next_steps(maintenances)


def announced_lines(
    maintenances: Sequence[MaintenanceResponse],
    now: datetime,
    *,
    verb: str = "announced",
    explained: Sequence[JsonObject] = (),
) -> Iterator[str]:
    """Describe what was announced, one maintenance operation after another."""
    for number, (maintenance, waits) in enumerate(
        zip_longest(maintenances, explained), 1
    ):
        place = f" ({number} of {len(maintenances)})" if len(maintenances) > 1 else ""
        yield paragraph(f"{verb}{place}: {maintenance.title}")
        yield fields([*_fields(maintenance, now), *_blocker_fields(waits)])


def next_steps(maintenances: Sequence[MaintenanceResponse]) -> Iterator[str]:
    """List the commands that are useful next for the first operation."""
    if not maintenances:
        return
    maintenance = maintenances[0]
    scheduled = maintenance.phase == "SCHEDULED"
    yield "next:"
    yield f"  forewarn events show {maintenance.id}"
    if scheduled:
        yield f"  forewarn events explain {maintenance.id}"
        yield f"  forewarn events approve {maintenance.id}"
        if maintenance.cause == "degraded":
            yield from (f"  forewarn vm redeploy {vm}" for vm in maintenance.vms[:1])
    if maintenance.cause in _HOST_CAUSES:
        yield f"  forewarn host recovered {maintenance.host}"
    else:
        verb = "cancel" if scheduled else "complete"
        yield f"  forewarn events {verb} {maintenance.id}"
    yield "  forewarn journal --follow"


def _fields(
    maintenance: MaintenanceResponse, now: datetime
) -> Iterator[tuple[str, str | None]]:
    groups = tuple(dict.fromkeys(event.group for event in maintenance.events))
    duration = maintenance.duration
    about = maintenance.description or maintenance.cause
    yield "id", maintenance.id
    yield "starts", _start(maintenance, now)
    yield "lasts", format_duration(duration) if duration and duration > 0 else None
    yield "told", f"{join_names(groups)} ({maintenance.source}: {about})"


def _start(maintenance: MaintenanceResponse, now: datetime) -> str:
    if maintenance.phase == "STARTED":
        return "at once, without notice"
    if maintenance.not_before is not None and maintenance.not_before <= now:
        return "as soon as nothing blocks it"
    latest = format_when(maintenance.not_before, now)
    approval = "all have approved"
    if maintenance.cause == "degraded" and len(maintenance.events) == 1:
        approval = f"{maintenance.events[0].group} has approved"
    return f"when {approval}, at the latest {latest}, unless blocked"


def _blocker_fields(explained: JsonObject | None) -> Iterator[tuple[str, str | None]]:
    for wait in explained.parts("waits") if explained else ():
        if wait.text("kind") == "blocker":
            yield "blocked", wait.text("text")
