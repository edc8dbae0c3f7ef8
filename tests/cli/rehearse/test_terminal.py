"""Progress lines that fit the terminal."""

import fcntl
import os
import struct
import termios
from contextlib import closing

import pytest

from forewarn.cli.rehearse.terminal import screen_on


@pytest.mark.parametrize("width", [5, 40, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    reading, writing = os.openpty()
    size = struct.pack("HHHH", 24, width, 0, 0)
    fcntl.ioctl(writing, termios.TIOCSWINSZ, size)
    with open(writing, "w") as stream, closing(screen_on(stream, 3)) as screen:
        screen.begin(1, "w" * 200)
        shown = os.read(reading, 1000).decode().removeprefix("\r\x1b[K")
    os.close(reading)
    assert 0 < len(shown) <= width
