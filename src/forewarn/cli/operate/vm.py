"""`forewarn vm`: list, restart, redeploy, reimage, evict, delete or start VMs."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.batch import check_each, distinct, merged, run_each
from forewarn.cli.confirmation import confirm
from forewarn.cli.operate import announce, inventory
from forewarn.cli.operate.announce import announced_lines, next_steps
from forewarn.cli.options import (
    DRY_RUN,
    YES,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import format_distance, paragraph, write_response
from forewarn.cli.responses import (
    JsonObject,
    MaintenanceResponse,
    maintenances_from,
    object_from,
)
from forewarn.errors import Refused
from forewarn.formats import count, join_names

_DETAILS = (announce.DURATION, announce.DESCRIPTION, announce.REASON)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """A subcommand of `forewarn vm`."""

    summary: str
    description: str
    done: str  # past participle, as in "web-0 is restarted"
    plural: str
    example: str = "web-0"
    options: tuple[Option, ...] = ()


_OPERATIONS: Mapping[str, _Operation] = {
    "restart": _Operation(
        summary="restart VMs, as if their users had requested it",
        description="Restart VMs, as if their users had requested it. A VM's group gets"
        " 15 minutes' notice and can approve the restart early. The VM restarts"
        " immediately if Scheduled Events is disabled for its group, or if the group"
        " auto-approves restarts.",
        done="restarted",
        plural="restarts",
    ),
    "redeploy": _Operation(
        summary="move VMs to other hosts, as if their users had requested it",
        description="Move VMs to other hosts, as if their users had requested it. A"
        " VM's group gets 10 minutes' notice and can approve the move early. The VM"
        " moves immediately if Scheduled Events is disabled for its group, or if the"
        " group auto-approves redeployments.",
        done="redeployed",
        plural="redeployments",
    ),
    "reimage": _Operation(
        summary="reimage VMs, which also reboots them",
        description="Reimage VMs, which also reboots them. A VM's group gets 15"
        " minutes' notice and can approve the operation early. The VM is reimaged"
        " immediately if Scheduled Events is disabled for its group, unless --source"
        " is platform.",
        done="reimaged",
        plural="reimaging",
        options=(announce.source_option("user"),),
    ),
    "evict": _Operation(
        summary="evict spot VMs",
        description="Evict spot VMs. A VM's group gets 30 seconds' notice. The VM then"
        ' leaves the fleet. With eviction_policy = "deallocate", it stays in the fleet'
        " and is deallocated until you run `forewarn vm start`.",
        done="evicted",
        plural="evictions",
        example="batch_0",
    ),
    "delete": _Operation(
        summary="delete VMs and remove them from the fleet",
        description="Delete VMs and remove them from the fleet. If a VM's group has a"
        " terminate notice, the group gets this notice first, unless the VM is a spot"
        " VM. Otherwise, the VM is deleted immediately.",
        done="deleted",
        plural="deletions",
        example="batch_0",
    ),
}


_START = """\
Mark deallocated VMs as running again. They can then be restarted, redeployed or
evicted, and are affected by maintenance on their hosts. This command does not
start VMs; use your hypervisor to do that. It has no effect on other VMs."""


def register(subcommands: Subcommands) -> None:
    """Add `vm list`, `show`, `restart`, `redeploy`, and the other operations."""
    commands = add_noun(
        subcommands,
        "vm",
        summary="list, restart, redeploy, reimage, evict, delete or start VMs",
        example="forewarn vm restart web-0",
    )
    inventory.register_vms(commands)
    for name, operation in _OPERATIONS.items():
        is_final = name == "delete"
        parser = add_command(
            commands,
            name,
            _operate,
            summary=operation.summary,
            description=operation.description,
            example=f"forewarn vm {name} {operation.example}",
            options=(
                announce.TIMES,
                *_DETAILS,
                *operation.options,
                DRY_RUN,
                *([YES] if is_final else []),
            ),
            formats=announce.FORMATS,
        )
        _add_names(parser)
    parser = add_command(
        commands,
        "start",
        _start,
        summary="mark deallocated VMs as running again",
        description=_START,
        example="forewarn vm start batch_0",
        options=(DRY_RUN,),
        formats=announce.FORMATS,
    )
    _add_names(parser)


def _add_names(parser: argparse.ArgumentParser) -> None:
    add_argument(
        parser, "name", metavar="NAME", help="names of the VMs", nargs="+", names="vms"
    )


def _start(args: argparse.Namespace) -> int:
    api, names = api_of(args), distinct(args.name)

    def start(name: str, *, dry_run: bool | None = None) -> object:
        path = f"/v1/vms/{segment(name)}/start"
        return announce.post(api, path, None, dry_run=dry_run)[1]

    if args.dry_run:
        plain = merged(check_each(names, partial(start, dry_run=True)))
        return write_response(args, plain, announce.dry_run_lines(plain, api))
    batch = run_each(names, start, partial(start, dry_run=True))
    vms = [object_from(plain).text("name") or "" for plain in batch.results]
    lines = [paragraph(f"{vm} is marked as running") for vm in vms]
    plains = [*batch.results]
    shown = plains[0] if len(names) == 1 else plains
    return batch.finish(write_response(args, shown, lines, vms))


def _operate(args: argparse.Namespace) -> int:
    api, names = api_of(args), distinct(args.name)
    operation, body = args.vm_command, announce.body_of(args)

    def operate(name: str, *, dry_run: bool | None = None) -> object:
        path = f"/v1/vms/{segment(name)}/{operation}"
        return announce.post(api, path, body, dry_run=dry_run)[1]

    if operation == "delete":
        confirm(args, api, f"delete {count(len(names), 'VM')} ({join_names(names)})")
    if args.dry_run:
        plain = merged(check_each(names, partial(operate, dry_run=True)))
        lines = announce.dry_run_lines(plain, api)
        return write_response(args, plain, lines)
    batch = run_each(names, operate, partial(operate, dry_run=True))
    plain = merged(batch.results)
    lines = _lines(plain, args, api)
    return batch.finish(write_response(args, plain, lines, announce.ids_of(plain)))


def _lines(plain: object, args: argparse.Namespace, api: ControlApi) -> Iterator[str]:
    maintenances = maintenances_from(plain)
    now = api.now()
    yield from announced_lines(maintenances, now)
    for maintenance in maintenances:
        for sentence in _explanations(api, args, maintenance, now):
            yield paragraph(sentence, indent=2)
    yield from next_steps(maintenances)


# --- why there was no notice -------------------------------------------------


def _explanations(
    api: ControlApi,
    args: argparse.Namespace,
    maintenance: MaintenanceResponse,
    now: datetime,
) -> Iterator[str]:
    operation, vm = args.vm_command, maintenance.vms[0]
    if maintenance.phase == "STARTED":
        why = _why(api, operation, maintenance, now)
        wants_notice = args.notice is not None or args.not_before is not None
        anyway = ", even though notice was requested" if wants_notice else ""
        yield f"{why}, so {vm} is {_OPERATIONS[operation].done} immediately{anyway}"
    if operation == "delete":
        yield f"{vm} then leaves the fleet"
    if operation == "evict":
        yield _after_eviction(api, vm, maintenance.events[0].group)


def _after_eviction(api: ControlApi, vm: str, group: str) -> str:
    policies = [
        _read(api, noun, name).text("eviction_policy")
        for noun, name in (("vms", vm), ("groups", group))
    ]
    if next(filter(None, policies), "delete") == "delete":
        return f"{vm} then leaves the fleet"
    return (
        f"{vm} then stays in the fleet as deallocated; to mark it as running again, run"
        f" `forewarn vm start {vm}`"
    )


def _why(
    api: ControlApi, operation: str, maintenance: MaintenanceResponse, now: datetime
) -> str:
    event = maintenance.events[0]
    if event.approved_via == "policy":
        return f"group {event.group} auto-approves {_OPERATIONS[operation].plural}"
    group = _read(api, "groups", event.group)
    if operation == "delete":
        return _why_deleted(group)
    last = group.time("last_request")
    if last is None:
        return f"group {event.group} has never polled for events"
    return (
        f"group {event.group} has not polled for events in the last 24 h"
        f" (last poll: {format_distance(last, now)})"
    )


def _why_deleted(group: JsonObject) -> str:
    if group.text("kind") != "scale-set":
        return "only scale sets support terminate notice"
    if group.number("terminate_notice_seconds") is None:
        return f"scale set {group.text('name')} does not use terminate notice"
    return "spot VMs get no terminate notice"


def _read(api: ControlApi, noun: str, name: str) -> JsonObject:
    try:
        return object_from(api.request("GET", f"/v1/{noun}/{segment(name)}"))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return JsonObject({"name": name})  # already deleted with its only VM
