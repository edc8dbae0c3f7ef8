"""The processes of one session.

Nothing but the standard library, as all that the attendant needs.
"""

import os
from collections.abc import Iterator
from contextlib import suppress


def signal_session(session: int, number: int) -> None:
    """Send a signal to every process group of `session`."""
    for group in {session, *(group for _, group in members(session))}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def members(session: int) -> Iterator[tuple[int, int]]:
    """Find the living processes of `session`, and the group of each."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:  # it is gone
            continue
        state, _, group, its_session = stat[stat.rindex(b")") + 1 :].split()[:4]
        if int(its_session) == session and state not in (b"Z", b"X"):
            yield int(name), int(group)
