"""`forewarn vm`: restart, redeploy, reimage, evict, delete or start a VM."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.operate import announce
from forewarn.cli.operate.announce import announced_lines, next_steps
from forewarn.cli.options import (
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
        summary="restart a VM, as if its user had requested it",
        description="Restart a VM, as if its user had requested it. Its group gets 15"
        " minutes' notice and can approve the restart early. The VM restarts"
        " immediately if Scheduled Events is disabled for its group, or if the group"
        " auto-approves restarts.",
        done="restarted",
        plural="restarts",
    ),
    "redeploy": _Operation(
        summary="move a VM to another host, as if its user had requested it",
        description="Move a VM to another host, as if its user had requested it. Its"
        " group gets 10 minutes' notice and can approve the move early. The VM moves"
        " immediately if Scheduled Events is disabled for its group, or if the group"
        " auto-approves redeployments.",
        done="redeployed",
        plural="redeployments",
    ),
    "reimage": _Operation(
        summary="reimage a VM, which also reboots it",
        description="Reimage a VM, which also reboots it. Its group gets 15 minutes'"
        " notice and can approve the operation early. The VM is reimaged immediately"
        " if Scheduled Events is disabled for its group, unless --source is"
        " platform.",
        done="reimaged",
        plural="reimaging",
        options=(announce.source_option("user"),),
    ),
    "evict": _Operation(
        summary="evict a spot VM",
        description="Evict a spot VM. Its group gets 30 seconds' notice. The VM then"
        ' leaves the fleet. With eviction_policy = "deallocate", it stays in the fleet'
        " and is deallocated until you run `forewarn vm start`.",
        done="evicted",
        plural="evictions",
        example="batch_0",
    ),
    "delete": _Operation(
        summary="delete a VM and remove it from the fleet",
        description="Delete a VM and remove it from the fleet. If its scale set uses"
        " terminate notifications, the VM gets that notice first, unless it is a spot"
        " VM. Otherwise, the VM is deleted immediately.",
        done="deleted",
        plural="deletions",
        example="batch_0",
    ),
}


_START = """\
Mark a deallocated VM as running again. It can then be restarted, redeployed or
evicted, and is affected by maintenance on its host. This command does not start
the VM; use your hypervisor to do that. If the VM is not deallocated, the command
has no effect."""


def register(subcommands: Subcommands) -> None:
    """Add `vm restart`, `redeploy`, `reimage`, `evict`, `delete` and `start`."""
    commands = add_noun(
        subcommands,
        "vm",
        summary="restart, redeploy, reimage, evict, delete or start a VM",
        example="forewarn vm restart web-0",
    )
    for name, operation in _OPERATIONS.items():
        parser = add_command(
            commands,
            name,
            _operate,
            summary=operation.summary,
            description=operation.description,
            example=f"forewarn vm {name} {operation.example}",
            options=(announce.TIMES, *_DETAILS, *operation.options),
        )
        add_argument(parser, "name", metavar="NAME", help="name of the VM", names="vms")
    parser = add_command(
        commands,
        "start",
        _start,
        summary="mark a deallocated VM as running again",
        description=_START,
        example="forewarn vm start batch_0",
    )
    add_argument(parser, "name", metavar="NAME", help="name of the VM", names="vms")


def _start(args: argparse.Namespace) -> int:
    plain = api_of(args).request("POST", f"/v1/vms/{segment(args.name)}/start")
    name = object_from(plain).text("name")
    return write_response(args, plain, [paragraph(f"{name} is marked as running")])


def _operate(args: argparse.Namespace) -> int:
    api = api_of(args)
    path = f"/v1/vms/{segment(args.name)}/{args.vm_command}"
    plain = api.request("POST", path, announce.body_of(args))
    return write_response(args, plain, _lines(plain, args, api))


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
