"""Processes of a session: listing, signaling and killing them.

Uses only the standard library, like everything in the supervisor process.
"""

import os
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from signal import SIGKILL


def kill_session(session: int, seconds: float) -> None:
    """Kill all of `session` but its leader, and wait up to `seconds` for the end."""
    until = time.monotonic() + seconds
    signal_session(session, SIGKILL)
    for pid, _ in members(session):
        with suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            ended = select.poll()  # not select(): it fails for large descriptors
            ended.register(process, select.POLLIN)
            ended.poll(max(until - time.monotonic(), 0.0) * 1000)
            os.close(process)


def signal_session(session: int, number: int) -> None:
    """Send a signal to all of `session` but its leader."""
    for group in {group for _, group in members(session)}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def members(session: int) -> Iterator[tuple[int, int]]:
    """Yield the pid and process group of all of `session` but its leader."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == session:
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:  # the process is gone
            continue
        state, _, group, its_session = stat[stat.rindex(b")") + 1 :].split()[:4]
        if int(its_session) == session and state not in (b"Z", b"X"):
            yield int(name), int(group)
