"""Progress line on standard error, for work that may take more than two seconds.

1. Only a terminal that can erase lines shows it, so that logs and pipes contain no
   control characters.
2. By default, it appears after two seconds. It is updated in place, always fits the
   terminal, and is erased at the end.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import IO

from forewarn.cli.output import is_screen, line_width
from forewarn.formats import clean, format_duration

_DELAY = 2.0  # seconds before the line appears
_INTERVAL = 0.5  # seconds between updates
_BAR = 10  # characters


class ProgressLine:
    """What a program is doing, how much of it is done, and for how long it has run."""

    def __init__(
        self,
        stream: IO[str],
        what: str,
        total: int | None = None,
        *,
        delay: float = _DELAY,
    ) -> None:
        """Start to show `what`; `total` is the number of parts, if known.

        The line appears after `delay` seconds.
        """
        self._stream = stream
        self._what = what
        self._total = total  # None if unknown, so that no bar is shown
        self._done = 0
        self._delay = delay
        self._since = time.monotonic()
        self._closing = Event()
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._is_shown = is_screen(stream)
        if self._is_shown:
            self._thread.start()

    def update(self, what: str | None = None, *, done: int | None = None) -> None:
        """Change what is shown; None keeps the current value."""
        with self._lock:
            self._what = self._what if what is None else what
            self._done = self._done if done is None else done

    def close(self) -> None:
        """Erase the line."""
        if not self._is_shown:
            return
        self._closing.set()
        self._thread.join()
        self._stream.write("\r\x1b[K")
        self._stream.flush()

    def _run(self) -> None:
        pause = self._delay
        while not self._closing.wait(pause):
            pause = _INTERVAL
            self._stream.write(f"\r\x1b[K{self._text(_width(self._stream))}")
            self._stream.flush()

    def _text(self, width: int) -> str:
        with self._lock:
            what, done, total = clean(self._what), self._done, self._total
        end = f"  {format_duration(int(time.monotonic() - self._since))}"
        if total:
            filled = min(_BAR, done * _BAR // total)
            bar = f"  [{'#' * filled}{'.' * (_BAR - filled)}]"
            end = f" {done}/{total}{end}"
            end = f"{bar if len(bar) + len(end) < width else ' '}{end}"
        room = max(0, width - len(end) - 1)
        return f"{what[:room]}{end}"[: width - 1]


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[ProgressLine]:
    """Show `what` on standard error while the block runs."""
    line = ProgressLine(sys.stderr, what, total)
    try:
        yield line
    finally:
        line.close()


def _width(stream: IO[str]) -> int:
    """Return the terminal's width, because a line that wraps cannot be erased."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or line_width()
    except OSError:
        return line_width()
