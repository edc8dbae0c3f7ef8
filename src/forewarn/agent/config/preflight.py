"""Startup check: verifies that this machine has everything that a plan needs.

The check changes nothing and runs no hooks.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.config.schema import SHELL
from forewarn.agent.hooks.command import command_of
from forewarn.agent.permissions import own_file_problem, permission_problem
from forewarn.client.discovery import dhcp_problem
from forewarn.processes import command_problem

_FIRST_WORD = re.compile(r"\s*([A-Za-z0-9_./+-]+)(?=[\s;&|]|$)")
_TIMEOUT = 60.0  # seconds; a module may import a lot

_MOST_FILES = 5  # maximum number of state files reported

_FIND_WORD = 'command -v -- "$1"'


def check_machine(plan: Plan) -> list[str]:
    """Return a sentence for each problem that would prevent handling an event."""
    problems = [
        f'hook "{hook.name}": {problem}'
        for hook in plan.hooks.values()
        for problem in _hook(hook)
    ]
    return [*problems, *_discovery(plan), *_folders(plan), *_permissions(plan)]


# --- hooks -------------------------------------------------------------------


def _hook(hook: Hook) -> Iterator[str]:
    if hook.python is not None:
        yield from _function(hook)
    elif hook.command[:2] == SHELL:
        yield from _shell(hook.command[2])
    else:
        yield from _command(hook.command)


def _command(command: Sequence[str]) -> Iterator[str]:
    problem = command_problem(command)
    if problem is not None and problem == f"{command[0]} does not exist":
        yield f"{problem}{_taken_literally(command[0])}"
    elif problem is not None:
        yield problem


def _taken_literally(path: str) -> str:
    """Return a hint about a path that only a shell would interpret."""
    if re.search(r"\s", path):
        return '; in a list, each word must be a separate string: ["drain", "--now"]'
    if "$" in path or "~" in path:
        return "; only a shell expands ~ and $; use a string instead of a list"
    return ""


def _shell(text: str) -> Iterator[str]:
    shell = SHELL[0]
    if not os.access(shell, os.X_OK):
        yield f"{shell} does not exist, but the command requires it"
        return
    failure = _error_of([shell, "-n", "-c", text])
    if failure is not None:
        yield f"{shell} cannot parse the command: {failure}"
        return
    first = _FIRST_WORD.match(text)
    # Only the shell knows its own builtins.
    if first and _error_of([shell, "-c", _FIND_WORD, shell, first[1]]) is not None:
        yield f"{shell} cannot find {first[1]}"


def _function(hook: Hook) -> Iterator[str]:
    *runs, target = command_of(hook)
    failure = _error_of([*runs, "--check", target])
    if failure is not None:
        yield f"cannot call {target}: {failure}"


def _error_of(command: Sequence[str]) -> str | None:
    """Run a command without side effects; return its error, or None if it succeeds."""
    try:
        completed = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"timed out after {_TIMEOUT:.0f} s"
    if completed.returncode == 0:
        return None
    lines = completed.stderr.decode(errors="replace").split("\n")
    messages = [line.strip() for line in lines if line.strip()]
    return messages[-1] if messages else f"exit code {completed.returncode}"


# --- discovery ---------------------------------------------------------------


def _discovery(plan: Plan) -> Iterator[str]:
    problem = dhcp_problem() if plan.discover else None
    if problem is not None:
        yield f"discover: {problem}"


# --- folders -----------------------------------------------------------------


def _folders(plan: Plan) -> Iterator[str]:
    if not plan.state.exists():
        above = next(
            folder for folder in plan.state.absolute().parents if folder.exists()
        )
        if not _can_write(above):
            yield (
                f"state: this user cannot create {plan.state} in {above}; set `state`"
                " to another folder"
            )
    elif not _can_write(plan.state):
        yield f"state: {plan.state} is not a folder that this user can write to"
    if plan.textfile is not None and not _can_write(plan.textfile.parent):
        folder = plan.textfile.parent
        yield f"textfile: {folder} is not a folder that this user can write to"


def _can_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


# --- permissions -------------------------------------------------------------


def _permissions(plan: Plan) -> Iterator[str]:
    """Yield one problem for each path that other users can change."""
    trusted = [("config", plan.file), ("state", plan.state), ("scripts", plan.scripts)]
    trusted += [
        ("scripts", Path(hook.command[0]))
        for hook in plan.hooks.values()
        if hook.is_script
    ]
    seen: set[str] = set()
    for name, path in trusted:
        problem = None if path is None else permission_problem(path)
        if problem is not None and problem not in seen:
            seen.add(problem)
            yield f"{name}: {problem}"
    problems = (own_file_problem(path) for path in _state_files(plan.state))
    for problem in islice((each for each in problems if each), _MOST_FILES):
        yield f"state: {problem}"


def _state_files(state: Path) -> Iterator[Path]:
    yield from (state / "lock", state / "alive", state / "events")
    yield from sorted(state.glob("audit.jsonl*"))
    yield from sorted((state / "events").glob("*.json*"))
