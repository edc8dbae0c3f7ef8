"""Where the agent keeps what it knows, if its file does not say so."""

import os
from collections.abc import Mapping
from pathlib import Path

_OF_THE_MACHINE = Path("/var/lib/forewarn-agent")


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Find it: what systemd made, else the machine's, else the user's own."""
    known = os.environ if environment is None else environment
    made = known.get("STATE_DIRECTORY")
    if made:
        return Path(made.partition(":")[0])
    if os.geteuid() == 0:
        return _OF_THE_MACHINE
    shared = known.get("XDG_STATE_HOME")
    above = Path(shared) if shared else Path.home() / ".local" / "state"
    return above / "forewarn-agent"
