"""The processes of this machine, as /proc shows them."""

import os
from collections.abc import Iterator

_GONE = (b"Z", b"X")  # ended, and only waited for


def of_group(group: int) -> Iterator[int]:
    """Find the living processes of a process group, but for its leader."""
    for pid in _all():
        stat = _read(pid, "stat")
        fields = stat[stat.rfind(b")") + 1 :].split()[:3]  # a name may hold anything
        if pid == group or len(fields) < 3:
            continue
        state, _, its_group = fields
        if int(its_group) == group and state not in _GONE:
            yield pid


def with_variable(name: str, value: str) -> Iterator[int]:
    """Find the processes that were begun with this in their environment."""
    for pid in _all():
        if has_variable(pid, name, value):
            yield pid


def has_variable(pid: int, name: str, value: str) -> bool:
    """Say whether the process was begun with this; not, if it cannot be seen."""
    return f"{name}={value}".encode() in _read(pid, "environ").split(b"\0")


def _all() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def _read(pid: int, what: str) -> bytes:
    """Read what is told of a process; nothing, if it is gone or somebody else's."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""
