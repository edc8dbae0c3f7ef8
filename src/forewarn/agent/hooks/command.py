"""The command line of a hook and messages for commands that cannot run."""

import errno
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import forewarn
from forewarn.agent.config.plan import Hook
from forewarn.processes import command_problem

_SHELL = "/bin/sh"
_ENTRY = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from forewarn.agent.hooks.python_entry import main; main(sys.argv[1:])"
)
_PACKAGE_ROOT = str(Path(forewarn.__file__).parents[1])  # a directory, or a zipapp
_PROBE = 256  # bytes; a script contains no null byte here

_PROBLEMS: Mapping[int, str] = {
    errno.ENOEXEC: "is not a program for this machine",
    errno.E2BIG: "could not be started: its arguments and environment are too long",
}


def command_of(hook: Hook) -> tuple[str, ...]:
    """Return the command line of `hook`; a Python function runs in its own process."""
    if hook.python is None:
        return hook.command
    # -P: never import from the agent's current directory.
    return (sys.executable, "-P", "-c", _ENTRY, _PACKAGE_ROOT, hook.python)


def shell_command(command: Sequence[str]) -> tuple[str, ...] | None:
    """Return a shell command for a script without a #! line; otherwise, None."""
    path = shutil.which(command[0]) or command[0]
    try:
        with open(path, "rb") as file:
            is_text = b"\0" not in file.read(_PROBE)
    except OSError:  # a program can be executable but unreadable
        return None
    return (_SHELL, path, *command[1:]) if is_text else None


def command_failure(command: Sequence[str], error: OSError | ValueError) -> str:
    """Return a sentence that explains why `command` could not start."""
    problem = command_problem(command)
    if problem is not None:
        return problem
    if not isinstance(error, OSError):
        return f"{command[0]} could not be started: {error}"
    reason = _PROBLEMS.get(error.errno or 0, f"could not be started: {error.strerror}")
    return f"{command[0]} {reason}"
