"""Stop signals: wait for SIGTERM, SIGINT or SIGHUP without missing one."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX

#: Signals that stop the program, except those that the caller ignores, as nohup does.
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def stop_signal_file() -> int:
    """Return a file descriptor that becomes readable on a stop signal.

    Unlike with an `Event`, a signal just before the wait is not missed. A second
    signal cannot deadlock on a lock that the first one holds.
    """
    end, write_end = os.pipe()
    _tell(write_end)
    return end


class StopSignal:
    """Waits for a stop signal or for a call of `ring`."""

    def __init__(self, end: int, told: int) -> None:
        """Wait on the pipe from `told` to `end`."""
        self._end = end
        self._told = told

    def ring(self) -> None:
        """Wake the waiter, from any thread."""
        with suppress(BlockingIOError):  # the pipe is full: the waiter is already woken
            os.write(self._told, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, at most `seconds`; return whether it has come."""
        limit = None if seconds is None else min(seconds, TIMEOUT_MAX)
        return bool(select.select([self._end], [], [], limit)[0])


@contextmanager
def until_signal() -> Iterator[StopSignal]:
    """Handle stop signals within the block; restore the old handlers after it."""
    end, write_end = os.pipe()
    before = {number: signal.getsignal(number) for number in _ENDING}
    _tell(write_end)
    try:
        yield StopSignal(end, write_end)
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(end)
        os.close(write_end)


def _tell(told: int) -> None:
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for signal_number in _ENDING:
        if signal.getsignal(signal_number) is not signal.SIG_IGN:
            signal.signal(signal_number, lambda number, frame: None)
