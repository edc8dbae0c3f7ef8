"""Processes of this machine, read from /proc."""

import os
from collections.abc import Iterator

_GONE = (b"Z", b"X")  # ended, but not reaped


def of_group(group: int) -> Iterator[int]:
    """Yield the pids of a process group's living processes, without its leader."""
    for pid in _all():
        stat = _read(pid, "stat")
        fields = stat[stat.rfind(b")") + 1 :].split()[:3]  # a name may contain anything
        if pid == group or len(fields) < 3:
            continue
        state, _, its_group = fields
        if int(its_group) == group and state not in _GONE:
            yield pid


def with_variable(name: str, value: str) -> Iterator[int]:
    """Yield the pids of processes started with this environment variable."""
    for pid in _all():
        if has_variable(pid, name, value):
            yield pid


def has_variable(pid: int, name: str, value: str) -> bool:
    """Return whether a process was started with this; False if it is hidden."""
    return f"{name}={value}".encode() in _read(pid, "environ").split(b"\0")


def _all() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def _read(pid: int, what: str) -> bytes:
    """Read a file of a process; empty if it is gone or belongs to another user."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""
