"""Orphaned hook processes: finds and stops processes left running by a killed agent."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from select import POLLIN, poll

from forewarn import processes

_VARIABLE = "FOREWARN_RUN"
_AFTER_KILL = 1.0  # seconds to wait for a killed process before giving up
_ROUNDS = 3  # a killed process may already have started another one
_EXEC_PAUSE = 0.05  # seconds; a process in `exec` briefly has no visible environment
_BATCH = 256  # processes at a time; each uses a file descriptor


def end_orphans(token: str, *, kill_after: float) -> int:
    """Stop all processes started with `token`; return how many were found.

    The processes receive SIGTERM and, after `kill_after` real seconds, SIGKILL. The
    current process is never included.
    """
    if not token:
        return 0
    ended: set[int] = set()
    for number, seconds in _signals(kill_after):
        pids = _end_batch(token, number, seconds)
        if not pids:
            time.sleep(_EXEC_PAUSE)
            pids = _end_batch(token, number, seconds)
        if not pids:
            break
        ended.update(pids)
    return len(ended)


def _end_batch(token: str, number: int, seconds: float) -> set[int]:
    """Signal all matching processes and wait until they end; return their PIDs."""
    with _open_processes(token) as pidfds:
        _signal_all(pidfds, number, seconds)
        return set(pidfds)


def _signals(kill_after: float) -> Iterator[tuple[int, float]]:
    yield signal.SIGTERM, kill_after
    for _ in range(_ROUNDS):
        yield signal.SIGKILL, _AFTER_KILL


@contextmanager
def _open_processes(token: str) -> Iterator[dict[int, int]]:
    """Open the processes with `token`; yield their pidfds, keyed by PID.

    A PID may be reused before its pidfd is open, so the token is checked again
    afterward.
    """
    pidfds: dict[int, int] = {}
    with ExitStack() as files:
        for pid in processes.with_variable(_VARIABLE, token):
            if pid == os.getpid() or len(pidfds) >= _BATCH:
                continue
            with suppress(OSError):
                pidfd = os.pidfd_open(pid)
                files.callback(os.close, pidfd)
                if processes.has_variable(pid, _VARIABLE, token):
                    pidfds[pid] = pidfd
        yield pidfds


def _signal_all(pidfds: dict[int, int], number: int, seconds: float) -> None:
    """Signal all processes; wait at most `seconds` for them to end."""
    waiting = poll()
    for pidfd in pidfds.values():
        with suppress(OSError):  # already gone, or owned by another user
            signal.pidfd_send_signal(pidfd, number)
        waiting.register(pidfd, POLLIN)
    left, until = len(pidfds), time.monotonic() + seconds
    while left and (rest := until - time.monotonic()) > 0:
        for pidfd, _ in waiting.poll(rest * 1000):
            waiting.unregister(pidfd)
            left -= 1
