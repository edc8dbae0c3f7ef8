"""Fleet files on this machine: a starter, a check, and conversion to and from TOML."""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from datetime import time as time_of_day
from pathlib import Path
from typing import TypeAlias

from forewarn.cli.options import JSON, Subcommands, add_argument, add_command
from forewarn.cli.output import write, write_error, write_json
from forewarn.errors import FaultyFile, WrongUsage
from forewarn.formats import count

Table: TypeAlias = Mapping[str, object]

DEFAULT_FILE = "fleet.toml"
_STDIN = "-"

_INIT = """\
Write a commented fleet file to start from. The command never overwrites a file."""

_VALIDATE = """\
Check a fleet file without a service. All problems are printed together, each with
its line number. The exit code is 1 if there are any. To see what the file would
change, run `forewarn fleet diff`."""

_STARTER = """\
# The fleet: hosts, groups and VMs. Edit this file, and then run:
#
#   forewarn fleet validate {file}    check the file
#   forewarn fleet diff {file}        show what would change
#   forewarn fleet apply {file}       make the service's fleet match the file

# A host is a physical machine. Maintenance on a host affects all VMs on it.
[[hosts]]
name = "host-a"

[[hosts]]
name = "host-b"

# The VMs of a group see each other's events, and each of them can approve the events.
# Planned maintenance affects only one of the group's update domains at a time.
[[groups]]
name = "web"
kind = "availability-set" # or: cloud-service, scale-set, standalone
# enabled = "always"      # default: from the first request on ("on-demand")
# isolated = true         # each VM sees only its own events
# terminate_notice_seconds = 300  # announce deletions 5 to 15 minutes in advance

[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
addresses = ["10.0.0.10"] # the service identifies a VM by its address

[[vms]]
name = "web-1"
group = "web"
host = "host-b"
update_domain = 1
addresses = ["10.0.0.11"]

# A VM without a group is on its own.
[[vms]]
name = "db-0"
host = "host-a"
addresses = ["10.0.0.20"]
# spot = true             # the VM can be evicted
# os = "windows"          # default: linux
"""

#: Keys that only the service sets.
_READ_ONLY = frozenset({"enabled_since", "last_request", "deallocated"})
#: Default values, except those that are absent, false or empty.
_DEFAULTS: Mapping[str, str] = {"enabled": "on-demand", "os": "linux"}

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def register(commands: Subcommands) -> None:
    """Add `fleet init` and `fleet validate`."""
    parser = add_command(
        commands,
        "init",
        _init,
        summary="write a commented fleet file to start from",
        description=_INIT,
        example="forewarn fleet init fleet.toml",
        common=(),
    )
    add_argument(
        parser,
        "file",
        metavar="FILE",
        help=f"file to create, or - for standard output [default: {DEFAULT_FILE}]",
        nargs="?",
        names="files",
    )
    parser = add_command(
        commands,
        "validate",
        _validate,
        summary="check a fleet file without a service",
        description=_VALIDATE,
        example="forewarn fleet validate fleet.toml",
        common=(JSON,),
    )
    add_file(parser)


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add the argument for an existing fleet file."""
    add_argument(
        parser,
        "file",
        metavar="FILE",
        help="fleet file (TOML), or - for standard input",
        names="files",
    )


# --- init --------------------------------------------------------------------


def _init(args: argparse.Namespace) -> int:
    file: str = args.file or DEFAULT_FILE
    if file == _STDIN:
        sys.stdout.write(_STARTER.format(file=DEFAULT_FILE))
        return 0
    try:
        with Path(file).open("x", encoding="utf-8", errors="replace") as stream:
            stream.write(_STARTER.format(file=file))
    except FileExistsError as error:
        raise WrongUsage(
            f"{file} exists and was not changed; specify another file, as in"
            " `forewarn fleet init other.toml`"
        ) from error
    except OSError as error:
        with suppress(OSError):  # an incomplete file would prevent the next attempt
            Path(file).unlink()
        why = (error.strerror or str(error)).lower()
        raise WrongUsage(f"cannot write {file}: {why}") from error
    write(f"wrote {file}; next: edit it, and run `forewarn fleet validate {file}`")
    return 0


# --- validate ----------------------------------------------------------------


def _validate(args: argparse.Namespace) -> int:
    """Print all problems of a file; return 1 if there are any."""
    from forewarn.configfile import toml  # not needed by other commands
    from forewarn.core import fleet_file
    from forewarn.core.fleet import Fleet

    file: str = args.file
    text = _text_of(file)
    data = toml.parse(text, file, FaultyFile)
    lines = toml.lines_of(text)
    problems = sorted(
        (lines.of(path), sentence) for path, sentence in fleet_file.find_problems(data)
    )
    fleet = Fleet() if problems else fleet_file.read_fleet(data, file)
    warnings = fleet_file.warnings(fleet)
    sizes = {"host": len(fleet.hosts), "group": len(fleet.groups), "VM": len(fleet.vms)}
    if args.json:
        plain = [{"line": line, "text": sentence} for line, sentence in problems]
        write_json({"file": file, "problems": plain, "warnings": warnings})
        return 1 if problems else 0
    if problems:
        raise FaultyFile(
            "\n".join(f"{file}, line {line}: {sentence}" for line, sentence in problems)
        )
    for warning in warnings:
        write_error(f"warning: {warning}")
    shown = ", ".join(count(number, noun) for noun, number in sizes.items())
    write(f"{file} is valid: {shown}")
    return 0


def read_tables(file: str) -> Mapping[str, object]:
    """Read the tables of a fleet file, without checking them."""
    from forewarn.configfile import toml  # not needed by other commands

    fleet = toml.parse(_text_of(file), file, WrongUsage)
    json.dumps(fleet, default=lambda value: _refuse(value, file))
    return fleet


def _text_of(file: str) -> str:
    from forewarn.configfile import toml

    content = (
        sys.stdin.buffer.read(toml.MAX_BYTES + 1)
        if file == _STDIN
        else toml.read_bytes(Path(file), WrongUsage)
    )
    return toml.decode(content, file, WrongUsage)


def _refuse(value: object, file: str) -> object:
    if isinstance(value, date | datetime | time_of_day):
        raise WrongUsage(
            f'{file}: {value} is a date or time; for a string, use "{value}"'
        )
    raise TypeError(f"{type(value).__name__} has no JSON form")


# --- from the API's tables to a file -----------------------------------------


def without_defaults(
    fleet: Mapping[str, Sequence[Table]],
) -> Mapping[str, Sequence[Table]]:
    """Return hosts, groups and VMs without anything that a fleet file can omit.

    Default values are omitted, as are groups that exist implicitly for a single VM.
    """
    alone = {str(vm["name"]).lower() for vm in fleet["vms"] if _is_alone(vm)}
    groups = [group for group in fleet["groups"] if not _is_implied(group, alone)]
    needed = {**fleet, "groups": groups}
    return {noun: [*map(explicit, rows)] for noun, rows in needed.items() if rows}


def explicit(table: Table) -> dict[str, object]:
    """Return the keys of a host, group or VM that a fleet file must contain."""
    return {
        key: value
        for key, value in table.items()
        if key not in _READ_ONLY
        and not is_default(key, value)
        and not (key == "group" and _is_alone(table))
    }


def is_default(key: str, value: object) -> bool:
    """Return whether a fleet file can omit this key."""
    if key in _DEFAULTS:
        return value == _DEFAULTS[key]
    return value is None or value is False or value == [] or value == {}


def _is_alone(vm: Table) -> bool:
    group = vm.get("group")
    return group is None or str(group).lower() == str(vm["name"]).lower()


def _is_implied(group: Table, alone: set[str]) -> bool:
    """Return whether the group exists implicitly, for a VM with the same name."""
    own = str(group["name"]).lower() in alone
    return own and set(explicit(group)) <= {"name", "kind"}


def toml_text(fleet: Mapping[str, Sequence[Table]]) -> str:
    """Format hosts, groups and VMs as a fleet file."""
    return "\n\n".join(
        "\n".join([f"[[{name}]]", *_pairs(row)])
        for name, rows in fleet.items()
        for row in rows
    )


def toml_value(value: object) -> str:
    """Format a value as TOML on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(_pairs(value))} }}"
    # For these values, JSON and TOML differ in only one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _pairs(table: Table) -> Iterator[str]:
    for key, value in table.items():
        name = key if _BARE.fullmatch(key) else toml_value(key)
        yield f"{name} = {toml_value(value)}"
