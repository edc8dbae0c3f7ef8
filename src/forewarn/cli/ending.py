"""When a program that runs until it is told to end is told so."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX

#: What tells the program to end, unless its caller wants it ignored, as nohup does.
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def end_of_program() -> int:
    """Make a file that can be read as soon as the program is told to end.

    Not even a signal that comes just before it is waited for is missed, which an
    `Event` cannot promise; nor does a second one find a lock that the first one holds.
    """
    end, told = os.pipe()
    _tell(told)
    return end


class Ending:
    """Waits for a signal, or for somebody here to say that all is done."""

    def __init__(self, end: int, told: int) -> None:
        """Wait at the pipe from `told` to `end`."""
        self._end = end
        self._told = told

    def ring(self) -> None:
        """Say that all is done; from any thread."""
        with suppress(BlockingIOError):  # it is full, so it was said before
            os.write(self._told, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is time to end, `seconds` at most; answer whether it is."""
        most = None if seconds is None else min(seconds, TIMEOUT_MAX)
        return bool(select.select([self._end], [], [], most)[0])


@contextmanager
def until_told() -> Iterator[Ending]:
    """Let signals end what the block waits for, and nothing else."""
    end, told = os.pipe()
    before = {each: signal.getsignal(each) for each in _ENDING}
    _tell(told)
    try:
        yield Ending(end, told)
    finally:
        signal.set_wakeup_fd(-1)
        for each, handler in before.items():
            signal.signal(each, handler)
        os.close(end)
        os.close(told)


def _tell(told: int) -> None:
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for each in _ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda number, frame: None)
