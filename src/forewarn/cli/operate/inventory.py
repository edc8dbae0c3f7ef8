"""`forewarn vm list`, `vm show`, `host list` and `host show`."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.operate import fleet
from forewarn.cli.options import (
    FORMATS,
    WATCH,
    Option,
    Subcommands,
    add_argument,
    add_command,
)
from forewarn.cli.output import (
    Column,
    Styled,
    fields,
    format_distance,
    format_when,
    table,
    write_response,
)
from forewarn.cli.responses import JsonObject, maintenance_from, object_from
from forewarn.formats import count

_GROUP = Option(
    flag="--group", metavar="NAME", help="show only VMs in this group", names="groups"
)
_HOST = Option(
    flag="--host", metavar="NAME", help="show only VMs on this host", names="hosts"
)

_LIVE = [("phase", "SCHEDULED"), ("phase", "STARTED")]  # query for live maintenance

_ID, _EVENT = Column(title="ID", is_fixed=True), Column(title="EVENT", is_fixed=True)
_OF_VM = (_ID, "TYPE", "PHASE", "WHEN", _EVENT, Column(title="VMS", is_wide=True))
_ON_HOST = (_ID, "TYPE", "PHASE", "WHEN", Column(title="EVENTS", is_wide=True), "VMS")
_HOSTS = ("HOST", "VMS", "MAINTENANCE")

_LIST_VMS = """\
List VMs with their groups, hosts and addresses. With -o name, print only their
names."""

_SHOW_VM = """\
Show a VM: its group, host and addresses, when it last polled for events, its current
maintenance, and the limits that it exceeded in the last hour."""

_LIST_HOSTS = """\
List hosts, with the number of their VMs and their current maintenance. With -o name,
print only their names."""


def register_vms(commands: Subcommands) -> None:
    """Add `vm list` and `vm show`."""
    add_command(
        commands,
        "list",
        _list_vms,
        summary="list VMs",
        description=_LIST_VMS,
        example="forewarn vm list --host host-a",
        options=(_GROUP, _HOST, WATCH),
        formats=FORMATS,
    )
    parser = add_command(
        commands,
        "show",
        _show_vm,
        summary="show a VM and its current maintenance",
        description=_SHOW_VM,
        example="forewarn vm show web-0",
        options=(WATCH,),
        formats=FORMATS,
    )
    add_argument(parser, "name", metavar="NAME", help="name of the VM", names="vms")


def register_hosts(commands: Subcommands) -> None:
    """Add `host list` and `host show`."""
    add_command(
        commands,
        "list",
        _list_hosts,
        summary="list hosts",
        description=_LIST_HOSTS,
        example="forewarn host list",
        options=(WATCH,),
        formats=FORMATS,
    )
    parser = add_command(
        commands,
        "show",
        _show_host,
        summary="show a host, its VMs and its current maintenance",
        description="Show a host with its VMs and the current maintenance of the host"
        " and its VMs.",
        example="forewarn host show host-a",
        options=(WATCH,),
        formats=FORMATS,
    )
    add_argument(parser, "name", metavar="NAME", help="name of the host", names="hosts")


# --- VMs ---------------------------------------------------------------------


def _list_vms(args: argparse.Namespace) -> int:
    filters = [("group", args.group), ("host", args.host)]
    query = [(key, name) for key, name in filters if name is not None]
    vms = [*map(object_from, api_of(args).items("/v1/vms", query))]
    plain = [vm.plain for vm in vms]
    return write_response(
        args,
        plain,
        [fleet.vm_table(vms, args) if vms else "no VMs"],
        [vm.text("name") for vm in vms],
    )


def _show_vm(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", f"/v1/vms/{segment(args.name)}/status")
    status = object_from(plain)
    lines = _vm_lines(args, status, api)
    return write_response(args, plain, lines, [status.part("vm").text("name")])


def _vm_lines(
    args: argparse.Namespace, status: JsonObject, api: ControlApi
) -> Iterator[str]:
    vm, now = status.part("vm"), api.now()
    domain = vm.text("update_domain")
    group = vm.text("group")
    yield fields(
        [
            ("VM", vm.text("name")),
            ("group", f"{group} (update domain {domain})" if domain else group),
            ("host", vm.text("host")),
            ("addresses", ", ".join(vm.names("addresses")) or None),
            ("settings", ", ".join(fleet.vm_settings(vm)) or None),
            ("events", _enabled(status, now)),
            ("last poll", _moment(status.time("last_request"), now)),
            ("limited", _limited(status.part("limits"), now)),
        ]
    )
    yield ""
    yield _maintenance_table(args, _OF_VM, status, now, vm.text("name"))


def _enabled(status: JsonObject, now: datetime) -> str:
    state = "disabled" if status.plain.get("is_disabled") else "enabled"
    last = _moment(status.time("group_last_request"), now)
    return f"{state} (last poll of the group: {last})"


def _moment(time: datetime | None, now: datetime) -> str:
    return format_when(time, now) or "never"


def _limited(limits: JsonObject, now: datetime) -> str | None:
    if not limits.plain:
        return None
    kinds = ", ".join(f"{kind} {n}" for kind, n in limits.part("limits").plain.items())
    last = limits.time("last")
    when = f", most recently {format_distance(last, now)}" if last else ""
    return f"{count(limits.number('refused') or 0, 'rejection')} ({kinds}){when}"


# --- hosts -------------------------------------------------------------------


def _list_hosts(args: argparse.Namespace) -> int:
    api = api_of(args)
    fleet_map = object_from(api.request("GET", "/v1/fleet/map"))
    names = fleet_map.names("hosts")
    numbers = Counter(fleet_map.part("vms").list("host"))
    live: dict[str, list[str]] = {}
    for item in api.items("/v1/maintenances", _LIVE):
        maintenance = maintenance_from(item)
        if maintenance.host is not None:
            text = f"{maintenance.type} {maintenance.phase} ({maintenance.id})"
            live.setdefault(maintenance.host, []).append(text)
    rows = [
        (name, str(numbers[index]), _highlighted(live.get(name, [])))
        for index, name in enumerate(names)
    ]
    plain = [
        {"name": name, "vms": numbers[index], "maintenance": live.get(name, [])}
        for index, name in enumerate(names)
    ]
    lines = [table(_HOSTS, rows, args) if rows else "no hosts"]
    return write_response(args, plain, lines, names)


def _highlighted(texts: Sequence[str]) -> str:
    return Styled(", ".join(texts), "yellow") if texts else ""


def _show_host(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", f"/v1/hosts/{segment(args.name)}/status")
    status = object_from(plain)
    name = status.part("host").text("name")
    return write_response(args, plain, _host_lines(args, status, api.now()), [name])


def _host_lines(
    args: argparse.Namespace, status: JsonObject, now: datetime
) -> Iterator[str]:
    vms = status.parts("vms")
    name = status.part("host").text("name")
    yield fields([("host", name), ("VMs", str(len(vms)))])
    yield ""
    if vms:
        yield fleet.vm_table(vms, args)
        yield ""
    yield _maintenance_table(args, _ON_HOST, status, now)


def _maintenance_table(
    args: argparse.Namespace,
    columns: Sequence[Column | str],
    status: JsonObject,
    now: datetime,
    vm: str | None = None,
) -> str:
    """Format live maintenance; if `vm` is given, show only its own events."""
    rows = []
    for maintenance in map(maintenance_from, status.list("maintenances")):
        is_started = maintenance.phase == "STARTED"
        at = maintenance.started_at if is_started else maintenance.not_before
        is_stuck = maintenance.stuck_since is not None
        events = [
            event.id or ""
            for event in maintenance.events
            if vm is None or vm in event.resources
        ]
        rows.append(
            (
                maintenance.id or "",
                maintenance.type,
                Styled(maintenance.phase, "red" if is_stuck else "yellow"),
                format_distance(at, now) if at else "",
                ", ".join(events),
                ", ".join(maintenance.vms),
            )
        )
    nothing = "no scheduled or started maintenance"
    return table(columns, rows, args) if rows else nothing
