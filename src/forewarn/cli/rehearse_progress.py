"""Progress display of a rehearsal."""

import os
import time
from threading import Event as Bell
from threading import Thread
from typing import IO, TYPE_CHECKING, Protocol

from forewarn.cli.tables import clean, columns

if TYPE_CHECKING:
    from forewarn.testing.verdicts import Result

_EVERY = 0.5  # seconds between updates


class Screen(Protocol):
    """A progress display."""

    def begin(self, number: int, what: str) -> None:
        """Show that a step begins."""

    def end(self, result: "Result") -> None:
        """Show the result of a step."""

    def close(self) -> None:
        """End the display."""


def screen_on(stream: IO[str], steps: int) -> Screen:
    """Show progress on `stream`: a live line on a terminal, else a log."""
    return Line(stream, steps) if stream.isatty() else Lines(stream, steps)


class Silence:
    """Shows nothing."""

    def begin(self, number: int, what: str) -> None:
        """Ignore the step."""

    def end(self, result: "Result") -> None:
        """Ignore the result."""

    def close(self) -> None:
        """Do nothing."""


class Lines:
    """Writes one line per finished step, as suits a log."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        """Write to `stream`; `steps` is the total number of steps."""
        self._stream = stream
        self._steps = steps

    def begin(self, number: int, what: str) -> None:
        """Ignore the step until it ends."""

    def end(self, result: "Result") -> None:
        """Show the result of a step, if the step was reached."""
        if result.number is not None and result.verdict != "not reached":
            where = f"step {result.number} of {self._steps}"
            self._stream.write(f"{where}: {result.verdict}: {clean(result.what)}\n")
            self._stream.flush()

    def close(self) -> None:
        """Do nothing."""


class Line:
    """One live line: the current step and how long it has been running."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        """Write to the terminal `stream`; `steps` is the total number of steps."""
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
        """Ignore the result, which the final table shows."""

    def close(self) -> None:
        """Erase the line."""
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
    """Return the terminal's width: a wrapped line could not be erased."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or columns()
    except OSError:
        return columns()
