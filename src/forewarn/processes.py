"""Processes of this machine: runnable commands, members of sessions and groups.

Members are read from /proc. Only the standard library is used: the supervisor of driver
scripts starts without any other package.
"""

import os
import select
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from signal import SIGKILL

_ENDED = (b"Z", b"X")  # states in /proc of processes that were not reaped yet


def command_problem(command: Sequence[str]) -> str | None:
    """Return why `command` cannot be run; None if no problem is visible."""
    if not command or not command[0]:
        return "it is empty"
    name = command[0]
    if "\0" in "".join(command):
        return "no command has a zero character in it"
    if os.sep not in name:
        return None if shutil.which(name) else f"{name} is not in $PATH"
    return _file_problem(name)


def _file_problem(path: str) -> str | None:
    if os.path.isdir(path):
        return f"{path} is a directory"
    if not os.path.exists(path):
        return f"{path} does not exist"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable; `chmod +x` makes it so"
    interpreter = _interpreter(path)
    if interpreter and not os.path.exists(interpreter):
        return f"{path} wants the interpreter {interpreter!r}, which does not exist"
    return None


def _interpreter(path: str) -> str | None:
    """Return the interpreter in the script's first line; None if there is none."""
    try:
        with open(path, "rb") as file:
            first = file.read(256).partition(b"\n")[0]
    except OSError:  # an executable need not be readable
        return None
    if not first.startswith(b"#!"):
        return None
    words = [word for word in first[2:].split(b" ") if word]
    return os.fsdecode(words[0]) if words else None


# --- sessions ----------------------------------------------------------------


def kill_session(session: int, seconds: float) -> None:
    """Kill all of `session` but its leader, and wait up to `seconds` for the end."""
    until = time.monotonic() + seconds
    signal_session(session, SIGKILL)
    for pid, _ in session_members(session):
        with suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            ended = select.poll()  # not select(): it fails for large descriptors
            ended.register(process, select.POLLIN)
            ended.poll(max(until - time.monotonic(), 0.0) * 1000)
            os.close(process)


def signal_session(session: int, number: int) -> None:
    """Send a signal to all of `session` but its leader."""
    for group in {group for _, group in session_members(session)}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def session_members(session: int) -> Iterator[tuple[int, int]]:
    """Yield the pid and process group of all of `session` but its leader."""
    for pid, group, its_session in _living_processes():
        if its_session == session and pid != session:
            yield pid, group


# --- process groups and variables --------------------------------------------


def group_members(group: int) -> Iterator[int]:
    """Yield the pids of a process group's living processes, without its leader."""
    for pid, its_group, _ in _living_processes():
        if its_group == group and pid != group:
            yield pid


def with_variable(name: str, value: str) -> Iterator[int]:
    """Yield the pids of processes started with this environment variable."""
    return (pid for pid in _pids() if has_variable(pid, name, value))


def has_variable(pid: int, name: str, value: str) -> bool:
    """Return whether a process was started with this; False if it is hidden."""
    return f"{name}={value}".encode() in _read(pid, "environ").split(b"\0")


# --- /proc -------------------------------------------------------------------


def _living_processes() -> Iterator[tuple[int, int, int]]:
    """Yield the pid, process group and session of every process that has not ended."""
    for pid in _pids():
        stat = _read(pid, "stat")
        fields = stat[stat.rfind(b")") + 1 :].split()[:4]  # a name may contain anything
        if len(fields) == 4 and fields[0] not in _ENDED:
            yield pid, int(fields[2]), int(fields[3])


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _read(pid: int, name: str) -> bytes:
    """Read a file of a process; empty if it is gone or belongs to another user."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
