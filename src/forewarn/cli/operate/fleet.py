"""`forewarn fleet`: write, check, apply, show or export the fleet."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.operate import fleet_file
from forewarn.cli.operate.fleet_file import Table
from forewarn.cli.options import (
    FORMATS,
    Option,
    Subcommands,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    Column,
    Styled,
    format_distance,
    paragraph,
    table,
    write_error,
    write_response,
)
from forewarn.cli.progress import ProgressLine, progress
from forewarn.cli.responses import JsonObject, object_from
from forewarn.errors import Refused
from forewarn.formats import count, join_names

_APPLY = """\
Replace the service's hosts, groups and VMs with those in FILE, and show what was
added, changed and removed. Events and approvals are kept. Removing more than a
tenth of the VMs requires --remove."""

_SHOW = """\
Show hosts, groups and VMs. The output also shows whether Scheduled Events is
enabled for each group and which VMs exceeded a metadata-plane limit in the last
hour. With -o name, print the names of the VMs."""

_EXPORT = """\
Print the fleet as a fleet file, which you can apply with `forewarn fleet apply`.
With --json, print it in the API's format."""

_TIMEOUT = 600.0  # seconds; 100,000 VMs take a while
_NOUNS: Mapping[str, str] = {"hosts": "host", "groups": "group", "vms": "VM"}

_HOSTS = ("HOST", "VMS")
_GROUPS = ("GROUP", "KIND", "VMS", "EVENTS", "LAST POLL", "SETTINGS")
_VMS = (
    "VM",
    "GROUP",
    "HOST",
    "UD",
    Column(title="FD", is_wide=True),
    Column(title="ZONE", is_wide=True),
    "ADDRESSES",
    "SETTINGS",
)

#: After this time without a request, Scheduled Events is disabled for a group.
_DISABLED_AFTER = timedelta(hours=24)


def register(subcommands: Subcommands) -> None:
    """Add `fleet` and its subcommands."""
    commands = add_noun(
        subcommands,
        "fleet",
        summary="write, check, apply, show or export the fleet",
        example="forewarn fleet apply fleet.toml",
    )
    fleet_file.register(commands)
    parser = add_command(
        commands,
        "apply",
        _apply,
        summary="replace the fleet with a fleet file",
        description=_APPLY,
        example="forewarn fleet apply fleet.toml",
        options=(
            Option(
                flag="--remove",
                switch=True,
                help="allow removing more than a tenth of the VMs",
            ),
        ),
    )
    fleet_file.add_file(parser)
    add_command(
        commands,
        "show",
        _show,
        summary="show hosts, groups and VMs",
        description=_SHOW,
        example="forewarn fleet show",
        formats=FORMATS,
    )
    add_command(
        commands,
        "export",
        _export,
        summary="print the fleet as a fleet file",
        description=_EXPORT,
        example="forewarn fleet export > fleet.toml",
    )


# --- apply -------------------------------------------------------------------


def _apply(args: argparse.Namespace) -> int:
    file: str = args.file
    fleet = fleet_file.read_tables(file)
    api = api_of(args)
    path = "/v1/fleet?remove=true" if args.remove else "/v1/fleet"
    try:
        with progress(f"applying {file}"):
            plain = api.request("PUT", path, fleet, timeout=_TIMEOUT)
    except Refused as refusal:
        place, separator, rest = str(refusal).partition("fleet: ")
        if place or not separator:
            raise
        raise Refused(f"{file}: {rest}", refusal.status) from refusal
    return write_response(args, plain, _difference_lines(plain))


def _difference_lines(plain: object) -> Iterator[str]:
    difference, changed = object_from(plain), False
    for verb in ("added", "changed", "removed"):
        part = difference.part(verb)
        names = {noun: part.names(key) for key, noun in _NOUNS.items()}
        kinds = [
            f"{count(len(listed), noun)} ({join_names(listed)})"
            for noun, listed in names.items()
            if listed
        ]
        if kinds:
            changed = True
            yield paragraph(f"{verb}: {', '.join(kinds)}")
    if not changed:
        yield "no changes"
    for warning in difference.names("warnings"):
        write_error(f"warning: {warning}")


# --- show --------------------------------------------------------------------


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    fleet = _fleet(api)
    names = (str(vm["name"]) for vm in fleet["vms"])
    return write_response(args, fleet, _fleet_lines(args, fleet, api), names)


def _fleet(api: ControlApi) -> Mapping[str, Sequence[Table]]:
    with progress("reading the fleet") as line:
        return {noun: [*_rows(api, noun, line)] for noun in _NOUNS}


def _rows(api: ControlApi, noun: str, line: ProgressLine) -> Iterator[Table]:
    for number, item in enumerate(api.items(f"/v1/{noun}"), 1):
        line.update(f"reading the fleet: {count(number, _NOUNS[noun])}")
        yield object_from(item).plain


def _fleet_lines(
    args: argparse.Namespace, fleet: Mapping[str, Sequence[Table]], api: ControlApi
) -> Iterator[str]:
    now = api.now()
    vms = [JsonObject(vm) for vm in fleet["vms"]]
    on_host = Counter(vm.text("host") for vm in vms)
    in_group = Counter(vm.text("group") for vm in vms)
    hosts = [host.text("name") or "" for host in map(JsonObject, fleet["hosts"])]
    groups = map(JsonObject, fleet["groups"])
    tables: Sequence[tuple[Sequence[Column | str], Sequence[Sequence[str]]]] = (
        (_HOSTS, [(name, str(on_host[name])) for name in hosts]),
        (_GROUPS, [_group_row(group, in_group, now) for group in groups]),
        (_VMS, [_vm_row(vm) for vm in vms]),
    )
    text = "\n\n".join(table(columns, rows, args) for columns, rows in tables if rows)
    yield text or (
        "the fleet is empty; to add VMs, run `forewarn fleet init`, and then"
        " `forewarn fleet apply FILE`"
    )
    for vm in object_from(api.request("GET", "/v1/fleet/limited")).parts("items"):
        yield paragraph(f"limited: {_limited_line(vm, now)}")


def _limited_line(vm: JsonObject, now: datetime) -> str:
    limits = vm.part("limits").plain
    kinds = ", ".join(f"{kind} {times}" for kind, times in limits.items())
    last = vm.time("last")
    when = f", most recently {format_distance(last, now)}" if last else ""
    total = count(vm.number("refused") or 0, "rejection")
    return f"VM {vm.text('name')}: {total} ({kinds}){when}"


def _group_row(
    group: JsonObject, members: Mapping[str | None, int], now: datetime
) -> tuple[str, ...]:
    name, last = group.text("name") or "", group.time("last_request")
    return (
        name,
        group.text("kind") or "",
        str(members[name]),
        _enabled_state(group, now),
        format_distance(last, now) if last else "never",
        ", ".join(_settings(group)),
    )


def _settings(group: JsonObject) -> Iterator[str]:
    notice = group.number("terminate_notice_seconds")
    if notice is not None:
        yield f"terminate notice {notice} s"
    yield from (f"auto-approves {text}" for text in group.names("auto_approve"))
    if group.plain.get("isolated"):
        yield "isolated"
    yield from _eviction(group)


def _enabled_state(group: JsonObject, now: datetime) -> str:
    last = group.time("last_request")
    if group.text("enabled") == "always":
        return "always"
    if last is not None and now - last < _DISABLED_AFTER:
        return "enabled"
    return Styled("disabled", "yellow")


def _vm_row(vm: JsonObject) -> tuple[str, ...]:
    return (
        vm.text("name") or "",
        vm.text("group") or "",
        vm.text("host") or "",
        vm.text("update_domain") or "",
        vm.text("fault_domain") or "",
        vm.text("zone") or "",
        ", ".join(vm.names("addresses")),
        ", ".join(_vm_settings(vm)),
    )


def _vm_settings(vm: JsonObject) -> Iterator[str]:
    yield from (flag for flag in ("spot", "paas") if vm.plain.get(flag))
    yield from _eviction(vm)
    os = vm.text("os")
    if os and not fleet_file.is_default("os", os):
        yield os
    if vm.plain.get("deallocated"):
        yield "deallocated"


def _eviction(group_or_vm: JsonObject) -> Iterator[str]:
    policy = group_or_vm.text("eviction_policy")
    if policy is not None:
        yield f"eviction: {policy}"


# --- export ------------------------------------------------------------------


def _export(args: argparse.Namespace) -> int:
    fleet = fleet_file.without_defaults(_fleet(api_of(args)))
    return write_response(args, fleet, [fleet_file.toml_text(fleet)])
