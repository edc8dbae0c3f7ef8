"""How a rehearsal goes, while it goes."""

import os
import time
from threading import Event as Bell
from threading import Thread
from typing import IO, TYPE_CHECKING, Protocol

from forewarn.cli.tables import clean, columns

if TYPE_CHECKING:
    from forewarn.testing.verdicts import Result

_EVERY = 0.5  # seconds


class Screen(Protocol):
    """What shows progress."""

    def begin(self, number: int, what: str) -> None:
        """Hear that a step begins."""

    def end(self, result: "Result") -> None:
        """Hear what came of a step."""

    def close(self) -> None:
        """Show no more."""


def screen_on(stream: IO[str], steps: int) -> Screen:
    """Show progress on `stream`: in a line that changes, if that is a terminal."""
    return Line(stream, steps) if stream.isatty() else Lines(stream, steps)


class Silence:
    """Shows nothing."""

    def begin(self, number: int, what: str) -> None:
        """Hear that a step begins."""

    def end(self, result: "Result") -> None:
        """Hear what came of a step."""

    def close(self) -> None:
        """Show no more."""


class Lines:
    """A line for each step, when it is over; as a log wants it."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        """Write to `stream` of so many `steps`."""
        self._stream = stream
        self._steps = steps

    def begin(self, number: int, what: str) -> None:
        """Hear that a step begins."""

    def end(self, result: "Result") -> None:
        """Show what came of a step, if it was reached."""
        if result.number is not None and result.verdict != "not reached":
            where = f"step {result.number} of {self._steps}"
            self._stream.write(f"{where}: {result.verdict}: {clean(result.what)}\n")
            self._stream.flush()

    def close(self) -> None:
        """Show no more."""


class Line:
    """One line that changes: the step at hand, and how long it takes already."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        """Write to the terminal `stream` of so many `steps`."""
        self._stream = stream
        self._steps = steps
        self._what = ""
        self._since = time.monotonic()
        self._leaving = Bell()
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def begin(self, number: int, what: str) -> None:
        """Show the step that begins."""
        self._what = f"step {number} of {self._steps}: {clean(what)}"
        self._since = time.monotonic()
        self._show()

    def end(self, result: "Result") -> None:
        """Hear what came of a step; the table tells it."""

    def close(self) -> None:
        """Take the line away."""
        self._leaving.set()
        self._thread.join()
        self._stream.write("\r\x1b[K")
        self._stream.flush()

    def _run(self) -> None:
        while not self._leaving.wait(_EVERY):
            self._show()

    def _show(self) -> None:
        waited = f"  {time.monotonic() - self._since:.0f} s"
        room = max(0, _width(self._stream) - len(waited) - 1)
        self._stream.write(f"\r\x1b[K{self._what[:room]}{waited}")
        self._stream.flush()


def _width(stream: IO[str]) -> int:
    """Say how wide the terminal is: a line that it breaks cannot be taken away."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or columns()
    except OSError:
        return columns()
