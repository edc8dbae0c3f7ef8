"""Processes on this machine: runnable commands and members of sessions and groups.

Members are read from /proc. This module uses only the standard library, because the
supervisor of driver scripts starts without other packages.
"""

import os
import select
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import dropwhile
from signal import SIGKILL

_LONGEST_LINE = 256  # bytes of a script's first line that the kernel reads
_ENDED = (b"Z", b"X")  # states in /proc of processes that are not reaped yet


def command_problem(command: Sequence[str]) -> str | None:
    """Return why `command` cannot be run, or None if no problem is visible."""
    if not command or not command[0]:
        return "the command is empty"
    name = command[0]
    if "\0" in "".join(command):
        return "the command contains a null character"
    program = name if os.sep in name else shutil.which(name)
    problem = (
        f"{name} not found in $PATH" if program is None else _file_problem(program)
    )
    if problem is None and os.path.basename(name) == "env":
        rest = [*dropwhile(lambda word: "=" in word, command[1:])]
        if rest and not rest[0].startswith("-"):  # options are not parsed
            return command_problem(rest)
    return problem


def _file_problem(path: str) -> str | None:
    if os.path.isdir(path):
        return f"{path} is a directory"
    if not os.path.exists(path):
        return f"{path} does not exist"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable by this user; try `chmod +x`"
    return _interpreter_problem(path)


def _interpreter_problem(path: str) -> str | None:
    """Check the interpreter in the first line of a script."""
    try:
        with open(path, "rb") as file:
            first = file.read(_LONGEST_LINE).partition(b"\n")[0]
    except OSError:  # a program can be executable but unreadable
        return None
    words = [os.fsdecode(word) for word in first[2:].split()]
    if not first.startswith(b"#!") or not words:
        return None
    if first.endswith(b"\r"):
        return f"{path} has Windows line endings, so its interpreter cannot be found"
    name, *rest = words
    if not os.access(name, os.X_OK):
        return f"{path} requires the interpreter {name}, which does not exist"
    is_plain = bool(rest) and not rest[0].startswith("-") and "=" not in rest[0]
    if os.path.basename(name) == "env" and is_plain and not shutil.which(rest[0]):
        return f"{path} requires the interpreter {rest[0]}, which is not in $PATH"
    return None


# --- sessions ----------------------------------------------------------------


def kill_session(session: int, seconds: float) -> None:
    """Kill all of `session` except its leader; wait up to `seconds` for them to end."""
    until = time.monotonic() + seconds
    signal_session(session, SIGKILL)
    for pid, _ in session_members(session):
        with suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            ended = select.poll()  # not select(), which fails for large descriptors
            ended.register(process, select.POLLIN)
            ended.poll(max(until - time.monotonic(), 0.0) * 1000)
            os.close(process)


def signal_session(session: int, number: int) -> None:
    """Send a signal to all of `session` except its leader."""
    for group in {group for _, group in session_members(session)}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def session_members(session: int) -> Iterator[tuple[int, int]]:
    """Yield the PID and process group of each member of `session` except its leader."""
    for pid, group, its_session in _living_processes():
        if its_session == session and pid != session:
            yield pid, group


def marked_sessions(name: str, mark: str) -> set[int]:
    """Return the sessions with processes whose variable `name` is SESSION:`mark`.

    A session is listed only if its own ID is in the variable, so that a process that
    inherited the variable and then started another session does not count.
    """
    return {
        session
        for pid, _, session in _living_processes()
        if has_variable(pid, name, f"{session}:{mark}")
    }


# --- process groups and variables --------------------------------------------


def group_members(group: int) -> Iterator[int]:
    """Yield the PIDs of a process group's living processes, except its leader."""
    for pid, its_group, _ in _living_processes():
        if its_group == group and pid != group:
            yield pid


def with_variable(name: str, value: str) -> Iterator[int]:
    """Yield the PIDs of processes started with this environment variable."""
    return (pid for pid in _pids() if has_variable(pid, name, value))


def has_variable(pid: int, name: str, value: str) -> bool:
    """Return whether a process was started with this variable; False if unreadable."""
    return f"{name}={value}".encode() in _read(pid, "environ").split(b"\0")


# --- /proc -------------------------------------------------------------------


def _living_processes() -> Iterator[tuple[int, int, int]]:
    """Yield the PID, process group and session of every process that has not ended."""
    for pid in _pids():
        stat = _read(pid, "stat")
        fields = stat[stat.rfind(b")") + 1 :].split()[:4]  # a name may contain anything
        if len(fields) == 4 and fields[0] not in _ENDED:
            yield pid, int(fields[2]), int(fields[3])


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _read(pid: int, name: str) -> bytes:
    """Read a process's file; return an empty result if it is gone or not accessible."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
