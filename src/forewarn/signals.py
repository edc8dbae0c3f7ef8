"""Stop signals: wait for SIGTERM, SIGINT or SIGHUP without missing one."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX

#: Signals that stop the program, except those that the caller ignores, as nohup does.
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignal:
    """Waits for a stop signal or for a call of `wake`."""

    def __init__(self, read_end: int, write_end: int) -> None:
        """Wait on the pipe from `write_end` to `read_end`."""
        self._read_end = read_end
        self._write_end = write_end

    def wake(self) -> None:
        """Wake the waiter, from any thread."""
        with suppress(BlockingIOError):  # the pipe is full: the waiter is already woken
            os.write(self._write_end, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, at most `seconds`; return whether it has come."""
        limit = None if seconds is None else min(seconds, TIMEOUT_MAX)
        return bool(select.select([self._read_end], [], [], limit)[0])


@contextmanager
def stop_on_signals() -> Iterator[StopSignal]:
    """Handle stop signals within the block; restore the old handlers after it.

    Unlike with an `Event`, a signal just before the wait is not missed. A second
    signal cannot deadlock on a lock that the first one holds.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    try:
        yield StopSignal(read_end, write_end)
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
