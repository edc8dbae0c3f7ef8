"""Location of the agent's state folder."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from forewarn.errors import CannotStart

_OF_THE_MACHINE = Path("/var/lib/forewarn-agent")


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the default folder: systemd's, the machine's, or the user's own."""
    variables = os.environ if environment is None else environment
    systemd_folder = variables.get("STATE_DIRECTORY")
    if systemd_folder:
        return Path(systemd_folder.partition(":")[0])
    if os.geteuid() == 0:
        return _OF_THE_MACHINE
    shared = variables.get("XDG_STATE_HOME")
    above = Path(shared) if shared else Path.home() / ".local" / "state"
    return above / "forewarn-agent"


def state_of(file: Path) -> Path:
    """Return the folder set in the agent's `file`, even if other settings are wrong."""
    try:
        plain = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CannotStart(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CannotStart(f"{file} is not TOML: {error}") from error
    named = plain.get("state")
    if isinstance(named, str) and named:
        return file.parent / named
    return state_folder()
