"""Where the agent keeps what it knows."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from forewarn.errors import CannotStart

_OF_THE_MACHINE = Path("/var/lib/forewarn-agent")


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Find it where no file says so: as systemd says, the machine's, the user's own."""
    known = os.environ if environment is None else environment
    made = known.get("STATE_DIRECTORY")
    if made:
        return Path(made.partition(":")[0])
    if os.geteuid() == 0:
        return _OF_THE_MACHINE
    shared = known.get("XDG_STATE_HOME")
    above = Path(shared) if shared else Path.home() / ".local" / "state"
    return above / "forewarn-agent"


def state_of(file: Path) -> Path:
    """Find it by the agent's `file`, whatever else may be wrong with that."""
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
