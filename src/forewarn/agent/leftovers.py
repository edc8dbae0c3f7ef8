"""What is left of a hook when the agent was killed, and ending it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from select import POLLIN, poll

from forewarn.agent import processes

_VARIABLE = "FOREWARN_RUN"
_AFTER_KILL = 1.0  # seconds until what cannot be killed is left alone
_ROUNDS = 3  # what is killed may have started something meanwhile
_BLINK = 0.05  # seconds in which one shows nothing that becomes another program
_MOST = 256  # processes at a time; each takes a file


def end(token: str, *, kill_after: float) -> int:
    """End all that was begun with `token`, by force after `kill_after` real seconds.

    Say how many processes that were. This one is never among them.
    """
    if not token:
        return 0
    ended: set[int] = set()
    for number, seconds in _steps(kill_after):
        found = _end(token, number, seconds)
        if not found:
            time.sleep(_BLINK)
            found = _end(token, number, seconds)
        if not found:
            break
        ended.update(found)
    return len(ended)


def _end(token: str, number: int, seconds: float) -> set[int]:
    """Send a signal to all that is found, and wait for its end; say to whom."""
    with _found(token) as found:
        _signal(found, number, seconds)
        return set(found)


def _steps(kill_after: float) -> Iterator[tuple[int, float]]:
    yield signal.SIGTERM, kill_after
    for _ in range(_ROUNDS):
        yield signal.SIGKILL, _AFTER_KILL


@contextmanager
def _found(token: str) -> Iterator[dict[int, int]]:
    """Hold the processes with `token`: each number, and a file that is that process.

    The number may be another's by the time the file is open, so it is asked again.
    """
    held: dict[int, int] = {}
    with ExitStack() as files:
        for pid in processes.with_variable(_VARIABLE, token):
            if pid == os.getpid() or len(held) >= _MOST:
                continue
            with suppress(OSError):
                file = os.pidfd_open(pid)
                files.callback(os.close, file)
                if processes.has_variable(pid, _VARIABLE, token):
                    held[pid] = file
        yield held


def _signal(found: dict[int, int], number: int, seconds: float) -> None:
    """Send a signal to all, and wait until they have ended, or for so long."""
    waiting = poll()
    for file in found.values():
        with suppress(OSError):  # it is gone, or somebody else's
            signal.pidfd_send_signal(file, number)
        waiting.register(file, POLLIN)
    left, until = len(found), time.monotonic() + seconds
    while left and (rest := until - time.monotonic()) > 0:
        for file, _ in waiting.poll(rest * 1000):
            waiting.unregister(file)
            left -= 1
