"""`forewarn agent install`: install the agent as a systemd service."""

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
Write a systemd unit that starts the agent whenever this VM boots, restarts it if
it exits or hangs, and gives it time to stop its hooks. A unit that was edited
manually is overwritten only with --force."""

_OPTIONS = (
    CONFIG,
    Option(flag="--print", switch=True, help="print the unit without installing it"),
    Option(
        flag="--force",
        switch=True,
        help="overwrite an existing unit file that differs",
    ),
    Option(
        flag="--unit-directory",
        metavar="DIR",
        default="/etc/systemd/system",
        help="directory for the unit file",
    ),
)
_NEXT = ("systemctl daemon-reload", f"systemctl enable --now {NAME}")


def register(subcommands: Subcommands) -> None:
    """Add `agent install`."""
    parser = add_command(
        subcommands,
        "install",
        run,
        summary="install the agent as a systemd service",
        description=_DESCRIPTION,
        example="forewarn agent install --config /etc/forewarn/agent.toml",
        common=(JSON,),
    )
    add(parser, *_OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Write or print the systemd unit."""
    file = Path(args.config).absolute()
    text = unit_file(_this_program(), file)
    path = Path(args.unit_directory).absolute() / NAME
    if args.print:
        _show(text, path, json=args.json)
        return 0
    is_new = _install(path, text, force=bool(args.force))
    if not file.exists():
        write_error(f"{file} does not exist yet; create it before you start the agent")
    _write_next_steps(path, is_new=is_new, json=args.json)
    return 0


def _this_program() -> tuple[str, ...]:
    import zipfile  # not at the top, to speed up every start of the agent

    called = Path(sys.argv[0])
    return program(called, sys.executable, is_archive=zipfile.is_zipfile(called))


def _install(path: Path, text: str, *, force: bool) -> bool:
    """Write the unit; return whether the file has changed."""
    try:
        before = path.read_text(errors="replace") if path.exists() else None
        if before == text:
            return False
        if before is not None and not force:
            raise Conflict(
                f"{path} already exists and differs from the new unit; use --print to"
                " show the new unit, or --force to overwrite the old one"
            )
        _replace(path, text)
    except PermissionError as error:
        raise Conflict(
            f"cannot write {path}: permission denied; run as root, or use --print"
        ) from error
    except FileNotFoundError as error:
        raise Conflict(
            f"{path.parent} not found: this machine does not seem to use systemd. Run"
            " `forewarn agent` from your init system instead; SIGTERM stops it"
        ) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise Conflict(f"cannot write {path}: {why.lower()}") from error
    return True


def _replace(path: Path, text: str) -> None:
    """Replace the unit atomically, so that a power cut leaves no partial file."""
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
    write(f"{f'wrote {path}' if is_new else f'{path} is up to date'}; next, run:")
    for command in _NEXT:
        write(f"  {command}")
