"""`forewarn vm`: restart, redeploy, reimage, evict, delete or start one VM."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.operate import announce
from forewarn.cli.operate.announce import announced_lines, next_steps
from forewarn.cli.options import Option, Subcommands, add_command, add_noun
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
    """One subcommand of `forewarn vm`."""

    summary: str
    description: str
    done: str  # past participle, as in "web-0 is restarted"
    plural: str
    example: str = "web-0"
    options: tuple[Option, ...] = ()


_OPERATIONS: Mapping[str, _Operation] = {
    "restart": _Operation(
        summary="restart a VM, as its user asks",
        description="Restart a VM, as its user asks. Its group is told 15 minutes"
        " before, and may\napprove it early. It is restarted at once if its group is"
        " disabled, or approves\nrestarts beforehand.",
        done="restarted",
        plural="restarts",
    ),
    "redeploy": _Operation(
        summary="move a VM to another host, as its user asks",
        description="Move a VM to another host, as its user asks. Its group is told 10"
        " minutes\nbefore, and may approve it early. It is moved at once if its group"
        " is disabled,\nor approves redeployments beforehand.",
        done="redeployed",
        plural="redeployments",
    ),
    "reimage": _Operation(
        summary="give a VM a new image; it reboots",
        description="Give a VM a new image; it reboots. Its group is told 15 minutes"
        " before, and may\napprove it early. It is done at once if its group is"
        " disabled, unless the\nplatform renews the image.",
        done="reimaged",
        plural="new images",
        options=(
            announce.source_option(
                "who wants it: user, unless the platform renews images"
            ),
        ),
    ),
    "evict": _Operation(
        summary="take a spot VM back",
        description="Take a spot VM back. Its group is notified 30 seconds before."
        " When that is done,\nthe VM leaves the fleet. With eviction_policy ="
        ' "deallocate" it stays, and is\ndeallocated until you run `forewarn vm'
        " start`.",
        done="evicted",
        plural="evictions",
        example="batch_0",
    ),
    "delete": _Operation(
        summary="delete a VM, which then leaves the fleet",
        description="Delete a VM, which leaves the fleet when that is done. A scale"
        " set that gives\nterminate notice is told before; other VMs, and spot VMs, are"
        " deleted at once.",
        done="deleted",
        plural="deletions",
        example="batch_0",
    ),
}


_START = """\
Mark a deallocated VM as running again: it can be restarted, redeployed and
evicted, and maintenance of its host affects it. This does not start the VM
itself; do that in your hypervisor. If the VM is not deallocated, nothing
changes."""


def register(subcommands: Subcommands) -> None:
    """Add `vm restart`, `redeploy`, `reimage`, `evict`, `delete` and `start`."""
    commands = add_noun(
        subcommands,
        "vm",
        summary="restart, redeploy, reimage, evict, delete or start one VM",
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
        parser.add_argument("name", metavar="NAME", help="of the VM")
    parser = add_command(
        commands,
        "start",
        _start,
        summary="mark a deallocated VM as running again",
        description=_START,
        example="forewarn vm start batch_0",
    )
    parser.add_argument("name", metavar="NAME", help="name of the VM")


def _start(args: argparse.Namespace) -> int:
    plain = api_of(args).request("POST", f"/v1/vms/{segment(args.name)}/start")
    name = object_from(plain).text("name")
    return write_response(args, plain, [paragraph(f"{name} is running")])


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
        anyway = ", although notice was asked for" if wants_notice else ""
        yield f"{why}: {vm} is {_OPERATIONS[operation].done} at once{anyway}"
    if operation == "delete":
        yield f"{vm} leaves the fleet when that is done"
    if operation == "evict":
        yield _after_eviction(api, vm, maintenance.events[0].group)


def _after_eviction(api: ControlApi, vm: str, group: str) -> str:
    policies = [
        _read(api, noun, name).text("eviction_policy")
        for noun, name in (("vms", vm), ("groups", group))
    ]
    if next(filter(None, policies), "delete") == "delete":
        return f"{vm} leaves the fleet when that is done"
    return (
        f"{vm} stays in the fleet, deallocated; `forewarn vm start {vm}` marks it as"
        " running again"
    )


def _why(
    api: ControlApi, operation: str, maintenance: MaintenanceResponse, now: datetime
) -> str:
    event = maintenance.events[0]
    if event.approved_via == "policy":
        return (
            f"group {event.group} approves {_OPERATIONS[operation].plural} beforehand"
        )
    group = _read(api, "groups", event.group)
    if operation == "delete":
        return _why_deleted(group)
    last = group.time("last_request")
    if last is None:
        return f"group {event.group} has never asked for events"
    return (
        f"group {event.group} has not asked for events in the last 24 h"
        f" (it last did {format_distance(last, now)})"
    )


def _why_deleted(group: JsonObject) -> str:
    if group.text("kind") != "scale-set":
        return "only scale sets give terminate notice"
    if group.number("terminate_notice_seconds") is None:
        return f"scale set {group.text('name')} gives no terminate notice"
    return "spot VMs get no terminate notice"


def _read(api: ControlApi, noun: str, name: str) -> JsonObject:
    try:
        return object_from(api.request("GET", f"/v1/{noun}/{segment(name)}"))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return JsonObject({"name": name})  # already deleted, as a single VM's group
