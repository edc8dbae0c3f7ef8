"""`forewarn fleet`: apply a fleet file, or show or export the fleet."""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from typing import TypeAlias

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import (
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    format_distance,
    paragraph,
    table,
    unbroken,
    write_error,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.errors import Refused, WrongUsage
from forewarn.formats import count, join_names

Table: TypeAlias = Mapping[str, object]

_APPLY = """\
Replace the service's hosts, groups and VMs with those in FILE, and show what was
added, changed and removed. Events and approvals are kept. Removing more than a
tenth of the VMs requires --remove."""

_SHOW = """\
Show hosts, groups and VMs. The output also shows whether Scheduled Events is
enabled for each group and which VMs exceeded a metadata-plane limit in the last
hour."""

_EXPORT = """\
Print the fleet as a fleet file, which you can apply with `forewarn fleet apply`.
With --json, print it in the API's format."""

_TIMEOUT = 600.0  # seconds; 100,000 VMs take a while
_NOUNS: Mapping[str, str] = {"hosts": "host", "groups": "group", "vms": "VM"}

_HOSTS = ("HOST", "VMS")
_GROUPS = ("GROUP", "KIND", "SETTINGS", "ENABLED", "VMS")
_VMS = ("VM", "GROUP", "HOST", "UPDATE DOMAIN", "ADDRESSES", "SETTINGS")

#: After this time without a request, Scheduled Events is disabled for a group.
_DISABLED_AFTER = timedelta(hours=24)

#: Keys that only the service sets.
_READ_ONLY = frozenset({"enabled_since", "last_request", "deallocated"})
#: Default values, except those that are absent, false or empty.
_DEFAULTS: Mapping[str, str] = {"enabled": "on-demand", "os": "linux"}

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def register(subcommands: Subcommands) -> None:
    """Add `fleet apply`, `fleet show` and `fleet export`."""
    commands = add_noun(
        subcommands,
        "fleet",
        summary="apply, show or export the fleet",
        example="forewarn fleet apply fleet.toml",
    )
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
    add_argument(
        parser,
        "file",
        metavar="FILE",
        help="fleet file (TOML), or - for standard input",
    )
    add_command(
        commands,
        "show",
        _show,
        summary="show hosts, groups and VMs",
        description=_SHOW,
        example="forewarn fleet show",
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
    fleet = _read(file)
    api = api_of(args)
    path = "/v1/fleet?remove=true" if args.remove else "/v1/fleet"
    try:
        plain = api.request("PUT", path, fleet, timeout=_TIMEOUT)
    except Refused as refusal:
        place, separator, rest = str(refusal).partition("fleet: ")
        if place or not separator:
            raise
        raise Refused(f"{file}: {rest}", refusal.status) from refusal
    return write_response(args, plain, _difference_lines(plain))


def _read(file: str) -> object:
    from forewarn.configfile import toml  # not needed by other commands

    content = (
        sys.stdin.buffer.read(toml.MAX_BYTES + 1)
        if file == "-"
        else toml.read_bytes(Path(file), WrongUsage)
    )
    fleet = toml.parse(toml.decode(content, file, WrongUsage), file, WrongUsage)
    json.dumps(fleet, default=lambda value: _refuse(value, file))
    return fleet


def _refuse(value: object, file: str) -> object:
    if isinstance(value, date | datetime | time_of_day):
        raise WrongUsage(
            f'{file}: {value} is a date or time; for a string, use "{value}"'
        )
    raise TypeError(f"{type(value).__name__} has no JSON form")


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
    return write_response(args, fleet, _fleet_lines(fleet, api))


def _fleet(api: ControlApi) -> Mapping[str, Sequence[Table]]:
    return {
        noun: [object_from(item).plain for item in api.items(f"/v1/{noun}")]
        for noun in _NOUNS
    }


def _fleet_lines(
    fleet: Mapping[str, Sequence[Table]], api: ControlApi
) -> Iterator[str]:
    now = api.now()
    vms = [JsonObject(vm) for vm in fleet["vms"]]
    on_host = Counter(vm.text("host") for vm in vms)
    in_group = Counter(vm.text("group") for vm in vms)
    hosts = [host.text("name") or "" for host in map(JsonObject, fleet["hosts"])]
    groups = map(JsonObject, fleet["groups"])
    tables = (
        (_HOSTS, [(name, str(on_host[name])) for name in hosts]),
        (_GROUPS, [_group_row(group, in_group, now) for group in groups]),
        (_VMS, [_vm_row(vm) for vm in vms]),
    )
    text = "\n\n".join(table(header, rows) for header, rows in tables if rows)
    yield text or "the fleet is empty; to add VMs, run `forewarn fleet apply FILE`"
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
    name = group.text("name") or ""
    return (
        name,
        group.text("kind") or "",
        ", ".join(_settings(group)),
        _enabled_state(group, now),
        str(members[name]),
    )


def _settings(group: JsonObject) -> list[str]:
    notice = group.number("terminate_notice_seconds")
    settings = [] if notice is None else [f"terminate notice {notice} s"]
    settings += [f"auto-approves {text}" for text in group.names("auto_approve")]
    settings += ["isolated"] if group.plain.get("isolated") else []
    settings += _eviction(group)
    return [unbroken(text) for text in settings]


def _enabled_state(group: JsonObject, now: datetime) -> str:
    last = group.time("last_request")
    last_poll = f", {unbroken(f'polled {format_distance(last, now)}')}" if last else ""
    if group.text("enabled") == "always":
        return f"always{last_poll}"
    listens = last is not None and now - last < _DISABLED_AFTER
    return f"{'enabled' if listens else 'disabled'}{last_poll}"


def _vm_row(vm: JsonObject) -> tuple[str, ...]:
    return (
        vm.text("name") or "",
        vm.text("group") or "",
        vm.text("host") or "",
        vm.text("update_domain") or "",
        ", ".join(vm.names("addresses")),
        ", ".join(_vm_settings(vm)),
    )


def _vm_settings(vm: JsonObject) -> Iterator[str]:
    yield from (flag for flag in ("spot", "paas") if vm.plain.get(flag))
    yield from _eviction(vm)
    os = vm.text("os")
    if os and not _is_default("os", os):
        yield os
    if vm.plain.get("deallocated"):
        yield "deallocated"


def _eviction(table: JsonObject) -> Iterator[str]:
    policy = table.text("eviction_policy")
    if policy is not None:
        yield unbroken(f"eviction: {policy}")


# --- export ------------------------------------------------------------------


def _export(args: argparse.Namespace) -> int:
    fleet = _without_defaults(_fleet(api_of(args)))
    return write_response(args, fleet, [_toml_text(fleet)])


def _without_defaults(
    fleet: Mapping[str, Sequence[Table]],
) -> Mapping[str, Sequence[Table]]:
    """Return hosts, groups and VMs without anything that a fleet file can omit.

    Default values are omitted, as are groups that exist implicitly for a single VM.
    """
    alone = {str(vm["name"]).lower() for vm in fleet["vms"] if _is_alone(vm)}
    groups = [group for group in fleet["groups"] if not _is_implied(group, alone)]
    needed = {**fleet, "groups": groups}
    return {noun: [*map(_explicit, rows)] for noun, rows in needed.items() if rows}


def _is_alone(vm: Table) -> bool:
    group = vm.get("group")
    return group is None or str(group).lower() == str(vm["name"]).lower()


def _is_implied(group: Table, alone: set[str]) -> bool:
    """Return whether the group exists implicitly, for a VM with the same name."""
    own = str(group["name"]).lower() in alone
    return own and set(_explicit(group)) <= {"name", "kind"}


def _explicit(table: Table) -> dict[str, object]:
    return {
        key: value
        for key, value in table.items()
        if key not in _READ_ONLY
        and not _is_default(key, value)
        and not (key == "group" and _is_alone(table))
    }


def _is_default(key: str, value: object) -> bool:
    if key in _DEFAULTS:
        return value == _DEFAULTS[key]
    return value is None or value is False or value == [] or value == {}


def _toml_text(fleet: Mapping[str, Sequence[Table]]) -> str:
    return "\n\n".join(
        "\n".join([f"[[{name}]]", *_pairs(row)])
        for name, rows in fleet.items()
        for row in rows
    )


def _pairs(table: Table) -> Iterator[str]:
    for key, value in table.items():
        name = key if _BARE.fullmatch(key) else _value(key)
        yield f"{name} = {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(_pairs(value))} }}"
    # For these values, JSON and TOML differ in only one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
