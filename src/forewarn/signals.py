"""Stop signals: wait for SIGTERM, SIGINT or SIGHUP without missing one.

A program that hangs before it waits would not notice a signal. Therefore, the first
signal before the wait sets an alarm, which ends the process unless the wait begins in
time.

Windows has neither SIGHUP nor alarms. A hanging program can be ended there with
Ctrl-Break, which is therefore not handled here.
"""

import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX
from typing import NoReturn

#: Signals that stop the program, except those that the caller ignores, like nohup does.
_STOP_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP")
    if hasattr(signal, name)
)

_START_LIMIT = 10  # seconds between a signal and the wait


class StopSignal:
    """Waits for a stop signal or a call to `wake`."""

    def __init__(self, read_end: socket.socket, write_end: socket.socket) -> None:
        """Create a signal from two connected sockets; `write_end` is nonblocking."""
        self._read_end = read_end
        self._write_end = write_end
        self._is_awaited = False  # whether the wait has begun
        self._has_alarm = False

    def expect(self) -> None:
        """Set an alarm that ends the process unless the wait begins in time."""
        if not self._is_awaited and hasattr(signal, "alarm"):
            self._has_alarm = True
            signal.alarm(_START_LIMIT)

    def end_alarm(self) -> None:
        """Cancel the alarm set by `expect`, but not others, such as a test runner's."""
        if self._has_alarm:
            signal.alarm(0)

    def wake(self) -> None:
        """Wake the waiter, from any thread."""
        with suppress(BlockingIOError):  # full buffer: the waiter is already awake
            self._write_end.send(b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait at most `seconds` for a signal or `wake`; return whether one arrived."""
        self._is_awaited = True
        self.end_alarm()
        limit = None if seconds is None else min(seconds, TIMEOUT_MAX)
        return bool(select.select([self._read_end], [], [], limit)[0])


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Raise `SystemExit` in the block on SIGTERM or SIGHUP, so that it can clean up.

    A second signal does not interrupt the cleanup.
    """
    before = {
        number: signal.getsignal(number)
        for number in _STOP_SIGNALS
        if number != signal.SIGINT and signal.getsignal(number) is not signal.SIG_IGN
    }

    def leave(number: int, frame: object) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)  # the code that shells report

    for number in before:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_on_signals() -> Iterator[StopSignal]:
    """Handle stop signals within the block; restore the old handlers afterward.

    Unlike with an `Event`, a signal just before the wait is not missed. A second signal
    cannot deadlock on a lock held by the first signal's handler.
    """
    read_end, write_end = (
        socket.socketpair()
    )  # not a pipe: Windows selects only sockets
    write_end.setblocking(False)
    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    signal.set_wakeup_fd(write_end.fileno(), warn_on_full_buffer=False)
    stop = StopSignal(read_end, write_end)
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop.expect())
    try:
        yield stop
    finally:
        stop.end_alarm()
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        read_end.close()
        write_end.close()
