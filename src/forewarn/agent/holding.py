"""Lock on the agent's folder: one agent at a time; it ends with the process."""

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
    """Lock `folder` and return the open lock file; fail if another agent has it.

    It waits up to `patience` seconds for an agent that was just killed: a hook that was
    being started keeps the agent's files open until its own program runs.
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
    """Release the folder, even while a hook is being started."""
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
