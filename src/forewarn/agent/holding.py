"""One agent at a time: a lock on its folder, which ends with its process."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from forewarn.errors import CannotStart

PATIENCE = 2.0  # seconds
_LOOK_AGAIN = 0.02  # seconds


def hold(
    folder: Path, patience: float, wait: Callable[[float], None] = time.sleep
) -> int:
    """Hold `folder` by a file that is kept open; refuse if another agent has it.

    For `patience` seconds an agent is waited for that has just been killed: a hook that
    it was about to begin has its files until it is another program.
    """
    held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + patience
    try:
        while not _is_locked(held):
            if time.monotonic() >= end:
                raise CannotStart(
                    f"{folder} is in use by another agent, process {_holder(held)}"
                )
            wait(_LOOK_AGAIN)
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        os.close(held)
        raise
    return held


def let_go(held: int) -> None:
    """Let another agent have the folder, also while a hook is about to begin."""
    fcntl.flock(held, fcntl.LOCK_UN)
    os.close(held)


def _is_locked(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(held: int) -> str:
    text = os.pread(held, 20, 0).decode(errors="replace").strip()
    return text or "unknown"
