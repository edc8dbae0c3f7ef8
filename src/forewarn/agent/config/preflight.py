"""Startup check: whether this machine has everything that a plan needs.

It changes nothing and runs no hook.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.config.schema import SHELL, address_of
from forewarn.agent.hooks.command import command_of

_FIRST_WORD = re.compile(r"\s*([A-Za-z0-9_./+-]+)(?=[\s;&|]|$)")
_LONGEST_LINE = 256  # bytes of a script's first line that the kernel reads
_TIMEOUT = 60.0  # seconds; a module may import a lot

_FIND_WORD = 'command -v -- "$1"'


def check_machine(plan: Plan) -> list[str]:
    """Return a sentence for each problem that would break the handling of an event."""
    problems = [
        f'hook "{hook.name}": {problem}'
        for hook in plan.hooks.values()
        for problem in _hook(hook)
    ]
    return [*problems, *_folders(plan), *_addresses(plan)]


# --- hooks -------------------------------------------------------------------


def _hook(hook: Hook) -> Iterator[str]:
    if hook.python is not None:
        yield from _function(hook)
    elif hook.command[:2] == SHELL:
        yield from _shell(hook.command[2])
    else:
        yield from _command(hook.command)


def _command(command: Sequence[str]) -> Iterator[str]:
    name = command[0] if command else ""
    if "/" in name:
        yield from _file(name)
    elif not name:
        yield "it has no command"
    else:
        program = shutil.which(name)
        yield from [f"{name} is not in $PATH"] if program is None else _file(program)
    if os.path.basename(name) == "env":
        yield from _after_env(command[1:])


def _after_env(words: Sequence[str]) -> Iterator[str]:
    """Check the command that `env` runs, unless options come first."""
    rest = [*dropwhile(lambda word: "=" in word, words)]
    if rest and not rest[0].startswith("-"):
        yield from _command(rest)


def _file(path: str) -> Iterator[str]:
    if os.path.isdir(path):
        yield f"{path} is a directory"
    elif not os.path.exists(path):
        yield f"{path} does not exist{_taken_literally(path)}"
    elif not os.access(path, os.X_OK):
        yield f"{path} is not executable by this user; `chmod +x` may make it so"
    else:
        yield from _interpreter(path)


def _taken_literally(path: str) -> str:
    """Return a hint about syntax that only a shell understands."""
    if re.search(r"\s", path):
        return '; in a list each word stands for itself: ["drain", "--now"]'
    if "$" in path or "~" in path:
        return "; only a shell knows ~ and $: write a text instead of a list"
    return ""


def _interpreter(path: str) -> Iterator[str]:
    """Check the interpreter in the first line of a script."""
    try:
        with open(path, "rb") as file:
            first = file.read(_LONGEST_LINE).partition(b"\n")[0]
    except OSError:  # a program can be executable but not readable
        return
    words = [os.fsdecode(word) for word in first[2:].split()]
    if not first.startswith(b"#!") or not words:
        return
    name, *rest = words
    if first.endswith(b"\r"):
        yield f"{path} has lines that end as on Windows, so its first line is wrong"
    elif not os.access(name, os.X_OK):
        yield f"{path} wants the interpreter {name}, which does not exist"
    elif os.path.basename(name) == "env" and _is_missing(rest):
        yield f"{path} wants the interpreter {rest[0]}, which is not in $PATH"


def _is_missing(words: Sequence[str]) -> bool:
    """Return whether `env` would not find its command; options are not parsed."""
    is_plain = bool(words) and not words[0].startswith("-") and "=" not in words[0]
    return is_plain and shutil.which(words[0]) is None


def _shell(text: str) -> Iterator[str]:
    shell = SHELL[0]
    if not os.access(shell, os.X_OK):
        yield f"{shell}, which is to run it, does not exist"
        return
    failure = _error_of([shell, "-n", "-c", text])
    if failure is not None:
        yield f"{shell} cannot read it: {failure}"
        return
    first = _FIRST_WORD.match(text)
    # Only the shell knows its builtins.
    if first and _error_of([shell, "-c", _FIND_WORD, shell, first[1]]) is not None:
        yield f"{first[1]} is not found by {shell}"


def _function(hook: Hook) -> Iterator[str]:
    *runs, target = command_of(hook)
    failure = _error_of([*runs, "--check", target])
    if failure is not None:
        yield f"{target} cannot be called: {failure}"


def _error_of(command: Sequence[str]) -> str | None:
    """Run a command without side effects; return its error, None if it succeeds."""
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
        return f"it took longer than {_TIMEOUT:.0f} s"
    if completed.returncode == 0:
        return None
    lines = completed.stderr.decode(errors="replace").split("\n")
    messages = [line.strip() for line in lines if line.strip()]
    return messages[-1] if messages else f"exit code {completed.returncode}"


# --- folders and addresses ---------------------------------------------------


def _folders(plan: Plan) -> Iterator[str]:
    if not plan.state.exists():
        above = next(
            folder for folder in plan.state.absolute().parents if folder.exists()
        )
        if not _can_write(above):
            yield (
                f"state: {plan.state} cannot be made in {above} by this user; `state`"
                " in the file names another folder"
            )
    elif not _can_write(plan.state):
        yield f"state: {plan.state} is not a folder that this user can write"
    if plan.textfile is not None and not _can_write(plan.textfile.parent):
        yield (
            f"textfile: {plan.textfile.parent} is not a folder that this user can write"
        )


def _can_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _addresses(plan: Plan) -> Iterator[str]:
    if plan.metrics is not None and address_of(plan.metrics) is None:
        yield f"metrics: {plan.metrics} is not an address such as 127.0.0.1:9254"
