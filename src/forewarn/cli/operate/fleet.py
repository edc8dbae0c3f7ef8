"""`forewarn fleet`: write, check, compare, apply, show or export the fleet."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlencode

from forewarn.cli.api import ControlApi, api_of, require_dry_runs
from forewarn.cli.confirmation import confirm
from forewarn.cli.operate import fleet_file
from forewarn.cli.operate.fleet_file import Table
from forewarn.cli.options import (
    DRY_RUN,
    FORMATS,
    YES,
    Option,
    Subcommands,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    Column,
    Style,
    Styled,
    format_distance,
    paragraph,
    table,
    write_error,
    write_response,
)
from forewarn.cli.progress import ProgressLine, progress
from forewarn.cli.responses import JsonObject, object_from
from forewarn.errors import ForewarnError, Refused, WrongUsage
from forewarn.formats import count, join_names

_APPLY = """\
Replace the service's hosts, groups and VMs with those in FILE, and show what was
added, changed and removed. Events and approvals are kept. If VMs would be removed,
the command prompts for confirmation. Removing more than a tenth of the VMs also
requires --remove."""

_DIFF = """\
Show what `forewarn fleet apply` would add, change and remove, with the old and new
values of each changed field. Nothing is changed. The command needs the same token
as `fleet apply`.

The exit code is 0 if nothing would change, 1 if something would, and 2 if the
comparison failed."""

_SHOW = """\
Show hosts, groups and VMs. The output also shows whether Scheduled Events is
enabled for each group and which VMs exceeded a metadata-plane limit in the last
hour. With -o name, print the names of the VMs."""

_EXPORT = """\
Print the fleet as a fleet file, which you can apply with `forewarn fleet apply`.
With --json, print it in the API's format."""

_TIMEOUT = 600.0  # seconds; 100,000 VMs take a while
_MOST_ROWS = 100  # for each of added, changed and removed
_NOUNS: Mapping[str, str] = {"hosts": "host", "groups": "group", "vms": "VM"}
#: The effects of a fleet change, with their color and their infinitive.
_VERBS: Mapping[str, tuple[Style, str]] = {
    "added": ("green", "add"),
    "changed": ("yellow", "change"),
    "removed": ("red", "remove"),
}

_CHANGES = ("CHANGE", "KIND", Column(title="NAME", is_fixed=True), "FIELDS")

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
        summary="write, check, compare, apply, show or export the fleet",
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
            DRY_RUN,
            YES,
        ),
        formats=FORMATS,
    )
    fleet_file.add_file(parser)
    parser = add_command(
        commands,
        "diff",
        _diff,
        summary="show what applying a fleet file would change",
        description=_DIFF,
        example="forewarn fleet diff fleet.toml",
        formats=FORMATS,
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
    fleet, api = fleet_file.read_tables(file), api_of(args)
    query = [("remove", "true")] if args.remove else []
    if args.dry_run or not args.yes:
        plan = _put(api, file, fleet, [*query, ("dry_run", "true")])
        if args.dry_run:
            return _write_plan(args, plan)
        gone = object_from(plan).part("removed").names("vms")
        if gone:
            what = f"remove {count(len(gone), 'VM')} ({join_names(gone)})"
            confirm(args, api, f"{what} from the fleet")
    plain = _put(api, file, fleet, query)
    return write_response(args, plain, _difference_lines(plain), _names(plain))


def _diff(args: argparse.Namespace) -> int:
    """Print what `apply` would change; return 1 if it would change something."""
    try:
        fleet, api = fleet_file.read_tables(args.file), api_of(args)
        query = [("remove", "true"), ("dry_run", "true")]
        plan = _put(api, args.file, fleet, query)
    except ForewarnError as error:
        raise WrongUsage(str(error)) from error
    _write_plan(args, plan)
    return 1 if any(_names(plan)) else 0


def _put(
    api: ControlApi,
    file: str,
    fleet: Mapping[str, object],
    query: Sequence[tuple[str, str]],
) -> object:
    """Send the fleet in `file`; errors name the file."""
    path = f"/v1/fleet?{urlencode(query)}" if query else "/v1/fleet"
    is_dry_run = ("dry_run", "true") in query
    what = "comparing" if is_dry_run else "applying"
    if is_dry_run:
        require_dry_runs(api)
    try:
        with progress(f"{what} {file}"):
            return api.request("PUT", path, fleet, timeout=_TIMEOUT)
    except Refused as refusal:
        place, separator, rest = str(refusal).partition("fleet: ")
        if place or not separator:
            raise
        raise Refused(f"{file}: {rest}", refusal.status) from refusal


def _names(plain: object) -> Iterator[str]:
    """Yield the names of everything that a fleet change affects."""
    for verb in _VERBS:
        for noun in _NOUNS:
            yield from object_from(plain).part(verb).names(noun)


def _write_plan(args: argparse.Namespace, plan: object) -> int:
    """Print what a fleet change would do."""
    return write_response(args, plan, _plan_lines(args, plan), _names(plan))


def _plan_lines(args: argparse.Namespace, plain: object) -> Iterator[str]:
    plan = object_from(plain)
    fields = {
        (change.text("kind"), change.text("name")): "; ".join(_changed_fields(change))
        for change in plan.parts("changes")
    }
    rows: list[Sequence[str]] = []
    summary = []
    for verb, (style, infinitive) in _VERBS.items():
        names = [
            (noun, name)
            for key, noun in _NOUNS.items()
            for name in plan.part(verb).names(key)
        ]
        rows += [
            (Styled(verb, style), noun, name, fields.get((noun.lower(), name), ""))
            for noun, name in names[:_MOST_ROWS]
        ]
        if len(names) > _MOST_ROWS:
            rest = f"and {len(names) - _MOST_ROWS:,} more; for all, add -o json"
            rows.append((Styled(verb, style), "", "...", rest))
        if names:
            summary.append(f"{infinitive} {len(names):,}")
    if not rows:
        yield "no changes"
        return
    yield table(_CHANGES, rows, args)
    yield f"would {', '.join(summary)}"
    for warning in plan.names("warnings"):
        write_error(f"warning: {warning}")


def _changed_fields(change: JsonObject) -> Iterator[str]:
    for item in change.parts("fields"):
        old, new = (_value(item.plain.get(key)) for key in ("old", "new"))
        yield f"{item.text('field')}: {old} -> {new}"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


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


def vm_table(vms: Sequence[JsonObject], args: argparse.Namespace) -> str:
    """Format VMs as a table."""
    return table(_VMS, [_vm_row(vm) for vm in vms], args)


def _vm_row(vm: JsonObject) -> tuple[str, ...]:
    return (
        vm.text("name") or "",
        vm.text("group") or "",
        vm.text("host") or "",
        vm.text("update_domain") or "",
        vm.text("fault_domain") or "",
        vm.text("zone") or "",
        ", ".join(vm.names("addresses")),
        ", ".join(vm_settings(vm)),
    )


def vm_settings(vm: JsonObject) -> Iterator[str]:
    """Yield the settings of a VM that differ from their defaults."""
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
