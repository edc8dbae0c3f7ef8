"""Pseudoterminals, and what programs show on them."""

import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from tests.patience import PATIENCE

ERASE = "\r\x1b[K"


class Terminal:
    """A pseudoterminal: a stream to write to, and everything that was written."""

    def __init__(self, reading: int, stream: IO[str]) -> None:
        self.stream = stream
        self.shown = ""
        self._reading = reading

    def read_until(self, text: str) -> None:
        """Wait until `text` is shown."""
        while text not in self.shown:
            assert self._read(PATIENCE), f"{text!r} not in {self.shown!r}"

    def read(self) -> str:
        """Return everything that was shown so far."""
        while self._read(0):
            pass
        return self.shown

    def _read(self, seconds: float) -> bool:
        is_ready = bool(select.select([self._reading], [], [], seconds)[0])
        if is_ready:
            self.shown += os.read(self._reading, 65536).decode()
        return is_ready


@contextmanager
def open_terminal(width: int = 80) -> Iterator[Terminal]:
    """Open a pseudoterminal with `width` columns."""
    reading, writing = os.openpty()
    size = struct.pack("HHHH", 24, width, 0, 0)
    fcntl.ioctl(writing, termios.TIOCSWINSZ, size)
    try:
        with open(writing, "w") as stream:
            yield Terminal(reading, stream)
    finally:
        os.close(reading)
