"""`forewarn host`: list and maintain hosts, and report failures and recoveries."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.batch import check_each, distinct, merged, run_each
from forewarn.cli.confirmation import confirm
from forewarn.cli.operate import announce, inventory
from forewarn.cli.options import (
    DRY_RUN,
    YES,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import format_when, paragraph, write_response
from forewarn.cli.responses import MaintenanceResponse, maintenances_from
from forewarn.cli.values import one_of, read_time_or_duration
from forewarn.core.lifecycle.operations import HOST_TYPES
from forewarn.errors import WrongUsage
from forewarn.formats import join_names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """A subcommand of `forewarn host`."""

    summary: str
    description: str
    example: str
    options: tuple[Option | tuple[Option, ...], ...]


_TYPE = Option(
    flag="--type",
    metavar="freeze|reboot|redeploy",
    read=one_of(*HOST_TYPES),
    help="event type shown to the VMs",
    shown_default="freeze",
)
_FAILS_BY = Option(
    flag="--fails-by",
    metavar="TIME|DURATION",
    read=read_time_or_duration,
    help="when the host is predicted to fail, such as 2026-01-31T12:15:00Z, or 3d for"
    " three days from now",
    shown_default="7d",
)

_COMMANDS: Mapping[str, _Command] = {
    "maintain": _Command(
        summary="announce planned maintenance on hosts",
        description="Announce planned maintenance on hosts. Maintenance on a host"
        " affects all of its VMs at once. Each group with VMs on the host gets notice."
        " The maintenance starts early if all of these groups approve it.",
        example="forewarn host maintain host-a --type reboot --notice 20m",
        options=(
            announce.TIMES,
            _TYPE,
            announce.DURATION,
            announce.DESCRIPTION,
            announce.LIVE_MIGRATION,
            announce.REASON,
            *announce.EMERGENCY,
            YES,
        ),
    ),
    "degraded": _Command(
        summary="report that hosts are predicted to fail",
        description="Report that hosts are predicted to fail. The VMs on a host are"
        " redeployed within seven days. Each group's VMs are moved as soon as the group"
        " approves its events or redeploys the VMs, without waiting for other groups."
        " If the host is already degraded, reporting an earlier time replaces its"
        " existing events with new ones. VMs that were added to the host after the"
        " first report also get events.",
        example="forewarn host degraded host-a --fails-by 3d",
        options=(_FAILS_BY, announce.DESCRIPTION, announce.REASON),
    ),
    "failed": _Command(
        summary="report that hosts have failed",
        description="Report that hosts have failed. Operations scheduled for a failed"
        " host are canceled, and its VMs are notified. The failure ends when you run"
        " `forewarn host recovered`, or after --duration.",
        example="forewarn host failed host-a --reason 'power supply'",
        options=(announce.DURATION, announce.DESCRIPTION, announce.REASON, YES),
    ),
    "recovered": _Command(
        summary="report that hosts have recovered",
        description="Report that hosts are no longer degraded or failed. Planned"
        " maintenance on the hosts remains scheduled.",
        example="forewarn host recovered host-a",
        options=(announce.REASON,),
    ),
}


def register(subcommands: Subcommands) -> None:
    """Add `host list`, `show`, `maintain`, `degraded`, `failed` and `recovered`."""
    commands = add_noun(
        subcommands,
        "host",
        summary="list hosts, and manage their maintenance and failures",
        example="forewarn host maintain host-a",
    )
    inventory.register_hosts(commands)
    for name, command in _COMMANDS.items():
        parser = add_command(
            commands,
            name,
            _report,
            summary=command.summary,
            description=command.description,
            example=command.example,
            options=(*command.options, DRY_RUN),
            formats=announce.FORMATS,
        )
        add_argument(
            parser,
            "name",
            metavar="NAME",
            help="names of the hosts",
            nargs="+",
            names="hosts",
        )


def _report(args: argparse.Namespace) -> int:
    api, names = api_of(args), distinct(args.name)
    body = _body(args, api)

    def report(name: str, *, dry_run: bool | None = None) -> tuple[int, object]:
        path = f"/v1/hosts/{segment(name)}/{args.host_command}"
        return announce.post(api, path, body, dry_run=dry_run)

    _confirm(args, api, names)
    if args.dry_run:
        plain = merged(
            [plain for _, plain in check_each(names, partial(report, dry_run=True))]
        )
        return write_response(args, plain, announce.dry_run_lines(plain, api))
    batch = run_each(names, report, partial(report, dry_run=True))
    plain = merged([response for _, response in batch.results])
    lines = _lines(args, api, [*zip(names, batch.results, strict=False)])
    return batch.finish(write_response(args, plain, lines, announce.ids_of(plain)))


def _confirm(args: argparse.Namespace, api: ControlApi, names: Sequence[str]) -> None:
    hosts = join_names(names)
    if args.host_command == "failed":
        what = "cancel the maintenance scheduled there"
        confirm(args, api, f"report that {hosts} failed, and {what}")
    if args.host_command == "maintain":
        announce.confirm_emergency(args, api, hosts)


def _lines(
    args: argparse.Namespace,
    api: ControlApi,
    results: Sequence[tuple[str, tuple[int, object]]],
) -> Iterator[str]:
    now = api.now()
    announced = merged([plain for _, (status, plain) in results if status == 201])
    if announced:
        yield from announce.announcement_lines(announced, api)
    for name, (status, plain) in results:
        if status != 201:
            maintenances = maintenances_from(plain)
            for line in _unannounced(args.host_command, name, maintenances, now):
                yield paragraph(line)


def _body(args: argparse.Namespace, api: ControlApi) -> dict[str, object]:
    body = announce.body_of(args)
    fails_by = body.get("fails_by")
    if isinstance(fails_by, int):
        try:
            body["fails_by"] = (api.now() + timedelta(seconds=fails_by)).isoformat()
        except OverflowError:
            raise WrongUsage("--fails-by is out of range") from None
    return body


# --- output if nothing was announced -----------------------------------------


def _unannounced(
    command: str, host: str, maintenances: Sequence[MaintenanceResponse], now: datetime
) -> Iterator[str]:
    if maintenances:
        for maintenance in maintenances:
            yield f"{_outcome(command, maintenance, now)} ({maintenance.id})"
    elif command == "recovered":
        yield f"nothing to do: {host} is neither degraded nor failed"
    else:
        yield f"{host} has no VMs, so no group was notified"


def _outcome(command: str, maintenance: MaintenanceResponse, now: datetime) -> str:
    if maintenance.phase in ("CANCELED", "COMPLETED"):
        return f"{maintenance.phase.lower()}: {maintenance.title}"
    if command != "recovered":
        return f"no change: {maintenance.title} {_state(maintenance, now)}"
    if maintenance.cause == "host-failure":
        return f"ending after its minimum display time: {maintenance.title}"
    return f"{maintenance.phase.lower()}: {maintenance.title}"


def _state(maintenance: MaintenanceResponse, now: datetime) -> str:
    if maintenance.phase == "STARTED":
        return f"started at {format_when(maintenance.started_at, now)}"
    when = format_when(maintenance.not_before, now)
    return f"is already SCHEDULED, not before {when}"
