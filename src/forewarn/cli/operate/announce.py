"""`forewarn announce`: announce maintenance. `host` and `vm` share its options."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest

from forewarn.cli.api import ControlApi, api_of, require_dry_runs
from forewarn.cli.batch import distinct, effect_lines, naming_options
from forewarn.cli.confirmation import confirm
from forewarn.cli.options import (
    DRY_RUN,
    YES,
    Option,
    Subcommands,
    add,
    add_argument,
    add_command,
    add_one_of,
)
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
Announce maintenance. Each affected group sees it as an event. The minimum notice
depends on the event type: 15 minutes for freeze and reboot, 10 minutes for
redeploy, 5 minutes for terminate and 30 seconds for preempt. If all affected
groups approve their events, the maintenance starts early.

Maintenance on a host affects all of its VMs at once. With --vm or --group, the
maintenance affects one update domain at a time."""

TIMES = (
    Option(
        flag="--notice",
        metavar="DURATION",
        read=read_duration,
        help="notice period, such as 20m",
        shown_default="the event type's minimum",
    ),
    Option(
        flag="--not-before",
        metavar="TIME",
        read=read_time,
        help="latest start time, such as 2026-01-31T12:15:00Z",
    ),
)

DURATION = Option(
    flag="--duration",
    metavar="DURATION",
    read=read_duration,
    help="expected downtime of the VMs, such as 9s",
)
DESCRIPTION = Option(
    flag="--description", metavar="TEXT", help="description shown to the VMs"
)
LIVE_MIGRATION = Option(
    flag="--live-migration",
    switch=True,
    help="use Azure's live migration description and a duration of 5s; only for freeze",
)
REASON = Option(flag="--reason", metavar="TEXT", help="reason to record in the journal")

EMERGENCY = (
    Option(
        flag="--emergency",
        switch=True,
        help="allow less notice than the minimum, or none; requires --reason",
    ),
    Option(
        flag="--ignore-blockers",
        switch=True,
        help="start even if blocked; requires --emergency",
    ),
)


def source_option(shown_default: str) -> Option:
    """Return a --source option whose help text shows this default."""
    return Option(
        flag="--source",
        metavar="platform|user",
        read=read_source,
        help="who initiates the operation",
        shown_default=shown_default,
    )


_TARGETS = (
    Option(
        flag="--vm", metavar="NAME", repeated=True, help="VMs to maintain", names="vms"
    ),
    Option(flag="--host", metavar="NAME", help="host to maintain", names="hosts"),
    Option(
        flag="--group",
        metavar="NAME",
        help="group with the VMs to maintain",
        names="groups",
    ),
)

_DETAILS = (
    DURATION,
    DESCRIPTION,
    LIVE_MIGRATION,
    source_option("user for terminate, otherwise platform"),
    REASON,
    *EMERGENCY,
    DRY_RUN,
    YES,
)
#: Formats of commands that announce maintenance; `name` prints its IDs.
FORMATS = ("table", "json", "yaml", "name")

#: API field names, keyed by the name of the option or argument.
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

#: The options that set fields of the API, for error messages.
_FLAGS: Mapping[str, str] = {
    key: f"--{name.replace('_', '-')}" for name, key in _KEYS.items()
} | {"type": "TYPE"}

_MOST_EVENTS = 5  # lines per maintenance operation

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
        formats=FORMATS,
    )
    add_argument(
        parser,
        "type",
        metavar="TYPE",
        read=read_type,
        help="event type: freeze, reboot, redeploy, preempt or terminate",
    )
    add_one_of(parser, *_TARGETS, required=True)
    add_one_of(parser, *TIMES)
    add(parser, *_DETAILS)


def _announce(args: argparse.Namespace) -> int:
    body = body_of(args)
    api = api_of(args)
    confirm_emergency(args, api, _target(args))
    _, plain = post(api, "/v1/maintenances", body, dry_run=args.dry_run)
    lines = dry_run_lines if args.dry_run else announcement_lines
    return write_response(args, plain, lines(plain, api), ids_of(plain))


def _target(args: argparse.Namespace) -> str:
    return str(args.host or args.group or join_names(args.vm))


# --- shared with `forewarn host` and `forewarn vm` ---------------------------


def body_of(args: argparse.Namespace) -> dict[str, object]:
    """Build the request body from the options that were given."""
    values = vars(args)
    if values.get("emergency") and not values.get("reason"):
        raise WrongUsage("--emergency requires --reason, which the journal records")
    if values.get("ignore_blockers") and not values.get("emergency"):
        raise WrongUsage("--ignore-blockers requires --emergency")
    if values.get("vm"):
        values = {**values, "vm": distinct(values["vm"])}
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for name, key in _KEYS.items()
        if (value := values.get(name)) is not None
    }


def post(
    api: ControlApi, path: str, body: object, *, dry_run: bool | None = None
) -> tuple[int, object]:
    """Send a command; return the status and the response.

    Error messages contain the names of options instead of the API's names of fields.
    """
    if dry_run:
        require_dry_runs(api)
    with naming_options(_FLAGS):
        return api.send("POST", f"{path}?dry_run=true" if dry_run else path, body)


def confirm_emergency(args: argparse.Namespace, api: ControlApi, target: str) -> None:
    """Prompt for confirmation if this is an emergency."""
    if args.emergency:
        what = f"announce an emergency {args.type or 'freeze'} of {target}".lower()
        confirm(args, api, f"{what}, with less notice than the minimum")


def ids_of(plain: object) -> Iterator[str | None]:
    """Yield the IDs of the maintenance operations in a response."""
    return (maintenance.id for maintenance in maintenances_from(plain))


def dry_run_lines(plain: object, api: ControlApi) -> Iterator[str]:
    """Describe what a dry run would announce and change."""
    response, maintenances = object_from(plain), maintenances_from(plain)
    yield from announced_lines(
        maintenances,
        api.now(),
        verb="would be announced",
        explained=response.parts("explained"),
    )
    yield from effect_lines(plain)
    if not maintenances and not response.list("effects"):
        yield "nothing would change"


def announcement_lines(plain: object, api: ControlApi) -> Iterator[str]:
    """Describe what was announced and suggest the next commands."""
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
    """Describe each maintenance operation that was announced."""
    for number, (maintenance, waits) in enumerate(
        zip_longest(maintenances, explained), 1
    ):
        place = f" ({number} of {len(maintenances)})" if len(maintenances) > 1 else ""
        yield paragraph(f"{verb}{place}: {maintenance.title}")
        yield fields([*_fields(maintenance, now), *_blocker_fields(waits)])


def next_steps(maintenances: Sequence[MaintenanceResponse]) -> Iterator[str]:
    """Suggest the next commands for the first maintenance operation."""
    if not maintenances:
        return
    maintenance = maintenances[0]
    scheduled = maintenance.phase == "SCHEDULED"
    yield "next:"
    yield f"  forewarn maintenance show {maintenance.id}"
    if scheduled:
        yield f"  forewarn maintenance explain {maintenance.id}"
        yield f"  forewarn maintenance approve {maintenance.id}"
        if maintenance.cause == "degraded":
            yield from (f"  forewarn vm redeploy {vm}" for vm in maintenance.vms[:1])
    if maintenance.cause in _HOST_CAUSES:
        yield f"  forewarn host recovered {maintenance.host}"
    else:
        verb = "cancel" if scheduled else "complete"
        yield f"  forewarn maintenance {verb} {maintenance.id}"
    yield "  forewarn journal --follow"


def _fields(
    maintenance: MaintenanceResponse, now: datetime
) -> Iterator[tuple[str, str | None]]:
    groups = tuple(dict.fromkeys(event.group for event in maintenance.events))
    duration = maintenance.duration
    yield "id", maintenance.id
    yield "starts", _start(maintenance, now)
    yield "lasts", format_duration(duration) if duration and duration > 0 else None
    yield "notified", join_names(groups)
    ids = [f"{event.id} ({event.group})" for event in maintenance.events if event.id]
    for number, text in enumerate(ids[:_MOST_EVENTS]):
        yield "" if number else "event" if len(ids) == 1 else "events", text
    if len(ids) > _MOST_EVENTS:
        yield "", f"and {len(ids) - _MOST_EVENTS} more"
    yield "source", f"{maintenance.source} ({maintenance.cause})"
    yield "description", maintenance.description or None


def _start(maintenance: MaintenanceResponse, now: datetime) -> str:
    if maintenance.phase == "STARTED":
        return "immediately, without notice"
    if maintenance.not_before is not None and maintenance.not_before <= now:
        return "as soon as it is no longer blocked"
    latest = format_when(maintenance.not_before, now)
    approval = "all groups approve"
    if maintenance.cause == "degraded" and len(maintenance.events) == 1:
        approval = f"{maintenance.events[0].group} approves"
    return f"by {latest}, earlier if {approval}, later if blocked"


def _blocker_fields(explained: JsonObject | None) -> Iterator[tuple[str, str | None]]:
    for wait in explained.parts("waits") if explained else ():
        if wait.text("kind") == "blocker":
            yield "blocked", wait.text("text")
