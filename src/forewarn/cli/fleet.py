"""`forewarn fleet`: apply, show and export the hosts, groups and VMs."""

import argparse
import json
import sys
from collections.abc import Mapping
from datetime import date, datetime
from datetime import time as time_of_day
from pathlib import Path

from forewarn.cli import toml
from forewarn.cli.answers import Answer, answer
from forewarn.cli.api import Api, api_of
from forewarn.cli.fleet_tables import shown_fleet
from forewarn.cli.options import (
    Option,
    Subcommands,
    add,
    add_command,
    add_noun,
)
from forewarn.cli.tables import (
    complain,
    count,
    paragraph,
    some,
    write,
    write_json,
)
from forewarn.errors import Refused, WrongUsage

_TIMEOUT = 600.0  # seconds; 100,000 VMs take a while
_NOUNS: Mapping[str, str] = {"hosts": "host", "groups": "group", "vms": "VM"}

_APPLY = """\
Make FILE (TOML; - for standard input) the whole truth about hosts, groups and
VMs, and show what was added, changed and removed. Events and approvals stay as
they are. More than a tenth of the VMs is only removed with --remove."""

_EXPORT = """\
Print the fleet as a fleet file, which `fleet apply` takes back unchanged; with
--json as the API takes it."""


def register(subcommands: Subcommands) -> None:
    """Add `fleet apply`, `fleet show` and `fleet export`."""
    commands = add_noun(
        subcommands,
        "fleet",
        summary="tell the service which machines there are, or see them",
        example="forewarn fleet apply fleet.toml",
    )
    _register_apply(commands)
    add_command(
        commands,
        "show",
        show,
        summary="show hosts, groups and VMs",
        description="Show hosts, groups and VMs, and which groups are listening.",
        example="forewarn fleet show",
    )
    add_command(
        commands,
        "export",
        export,
        summary="print the fleet as a fleet file",
        description=_EXPORT,
        example="forewarn fleet export > fleet.toml",
    )


def _register_apply(commands: Subcommands) -> None:
    parser = add_command(
        commands,
        "apply",
        apply,
        summary="make a fleet file the truth",
        description=_APPLY,
        example="forewarn fleet apply fleet.toml",
    )
    parser.add_argument("file", metavar="FILE", help="the fleet file")
    add(parser, Option(flag="--remove", switch=True, help="remove however many VMs"))


# --- apply -------------------------------------------------------------------


def apply(args: argparse.Namespace) -> int:
    """Replace the fleet with the contents of a fleet file."""
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
    if args.json:
        write_json(plain)
        return 0
    _show_difference(answer(plain))
    return 0


def _read(file: str) -> object:
    import tomllib  # imported late: no other command needs it

    text = _text(file)
    try:
        fleet = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        end = f"at line {text.count(chr(10)) + 1}, the end of the file"
        problem = str(error).replace("at end of document", end)
        raise WrongUsage(f"{file}: {problem}") from error
    json.dumps(fleet, default=lambda value: _refuse(value, file))
    return fleet


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read: {error.strerror}") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongUsage(f"{file}: line {line} is not UTF-8") from error


def _refuse(value: object, file: str) -> object:
    if isinstance(value, date | datetime | time_of_day):
        raise WrongUsage(f'{file}: {value} is a time; text is written "{value}"')
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _show_difference(found: Answer) -> None:
    changed = False
    for verb in ("added", "changed", "removed"):
        part = found.part(verb) or Answer({})
        names = {noun: part.names(key) for key, noun in _NOUNS.items()}
        kinds = [
            f"{count(len(listed), noun)} ({some(listed)})"
            for noun, listed in names.items()
            if listed
        ]
        if kinds:
            changed = True
            write(paragraph(f"{verb}: {', '.join(kinds)}"))
    if not changed:
        write("nothing has changed")
    for warning in found.names("warnings"):
        complain(f"warning: {warning}")


# --- show and export ---------------------------------------------------------


def show(args: argparse.Namespace) -> int:
    """Show hosts, groups and VMs."""
    api = api_of(args)
    fleet = _fleet(api)
    if args.json:
        write_json(fleet)
        return 0
    shown = shown_fleet(fleet, api.now())
    write(shown or "the fleet is empty; `forewarn fleet apply FILE` fills it")
    return 0


def export(args: argparse.Namespace) -> int:
    """Print the fleet as a fleet file."""
    fleet = _fleet(api_of(args))
    fields = toml.said(fleet["hosts"], fleet["groups"], fleet["vms"])
    if args.json:
        write_json(fields)
    else:
        write(toml.written(fields))
    return 0


def _fleet(api: Api) -> dict[str, list[Mapping[str, object]]]:
    return {
        noun: [answer(item).plain for item in api.items(f"/v1/{noun}")]
        for noun in _NOUNS
    }
