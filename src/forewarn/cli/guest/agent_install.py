"""`forewarn agent install`: the agent as a systemd service."""

import argparse
import os
import sys
from pathlib import Path

from forewarn.agent.systemd import NAME, program, unit_file
from forewarn.cli.guest.agent import CONFIG
from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.output import write, write_error, write_json
from forewarn.errors import Conflict

_DESCRIPTION = """\
Write the unit of a service that runs the agent from every start of this VM on,
restarts it when it ends or hangs, and lets it end its hooks when it is stopped.
A unit that was changed by hand is not overwritten."""

_OPTIONS = (
    CONFIG,
    Option(flag="--print", switch=True, help="write the unit to the terminal alone"),
    Option(flag="--force", switch=True, help="overwrite a unit that is different"),
    Option(
        flag="--unit-directory",
        metavar="DIR",
        default="/etc/systemd/system",
        help="where units are",
    ),
)
_NEXT = ("systemctl daemon-reload", f"systemctl enable --now {NAME}")


def register(subcommands: Subcommands) -> None:
    """Add `agent install`."""
    parser = add_command(
        subcommands,
        "install",
        run,
        summary="make the agent a service of systemd",
        description=_DESCRIPTION,
        example="forewarn agent install --config /etc/forewarn/agent.toml",
        common=(JSON,),
    )
    add(parser, *_OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Write the systemd unit, or print it."""
    file = Path(args.config).absolute()
    text = unit_file(_this_program(), file)
    path = Path(args.unit_directory).absolute() / NAME
    if args.print:
        _show(text, path, json=args.json)
        return 0
    is_new = _install(path, text, force=bool(args.force))
    if not file.exists():
        write_error(f"there is no {file} yet; without it the agent does not start")
    _write_next_steps(path, is_new=is_new, json=args.json)
    return 0


def _this_program() -> tuple[str, ...]:
    import zipfile  # imported late: every agent start imports this module

    called = Path(sys.argv[0])
    return program(called, sys.executable, is_archive=zipfile.is_zipfile(called))


def _install(path: Path, text: str, *, force: bool) -> bool:
    """Write the unit and return whether the file has changed."""
    try:
        before = path.read_text(errors="replace") if path.exists() else None
        if before == text:
            return False
        if before is not None and not force:
            raise Conflict(
                f"{path} is there and is different; --print shows what it would be,"
                " --force overwrites it"
            )
        _replace(path, text)
    except PermissionError as error:
        raise Conflict(
            f"{path} cannot be written by you; try it as root, or use --print"
        ) from error
    except FileNotFoundError as error:
        raise Conflict(
            f"{path.parent} does not exist, so systemd hardly runs here; what starts"
            " services instead can run `forewarn agent`, which ends at TERM"
        ) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise Conflict(f"{path} cannot be written: {why.lower()}") from error
    return True


def _replace(path: Path, text: str) -> None:
    """Replace the unit atomically, so that even a power cut leaves no partial file."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _show(text: str, path: Path, *, json: bool | None) -> None:
    if json:
        write_json({"unit": str(path), "text": text})
    else:
        write(text.rstrip("\n"))


def _write_next_steps(path: Path, *, is_new: bool, json: bool | None) -> None:
    if json:
        write_json({"unit": str(path), "is_new": is_new, "next": [*_NEXT]})
        return
    write(f"{path} {'is written' if is_new else 'is as it should be'}; next:")
    for command in _NEXT:
        write(f"  {command}")
