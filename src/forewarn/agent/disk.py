"""The system calls by which the agent keeps things, so that a test can end any of them.

Writing is in the order that a power cut allows: the bytes are on the disk before their
name is, and the name is before anybody acts on them.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o600  # what hooks write is nobody else's business


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What is called to change files."""

    open: Callable[[Path, int, int], int] = os.open
    write: Callable[[int, bytes], int] = os.write
    fsync: Callable[[int], None] = os.fsync
    close: Callable[[int], None] = os.close
    link: Callable[[Path, Path], None] = os.link
    replace: Callable[[Path, Path], None] = os.replace
    unlink: Callable[[Path], None] = os.unlink

    def fill(self, path: Path, content: bytes) -> None:
        """Make the file `path` of `content`, and wait until the disk has it."""
        number = self.open(path, _FRESH, _MODE)
        try:
            left = content
            while left:
                left = left[self.write(number, left) :]
            self.fsync(number)
        finally:
            self.close(number)

    def settle(self, folder: Path) -> None:
        """Wait until the disk has the names in `folder`."""
        number = self.open(folder, _FOLDER, 0)
        try:
            self.fsync(number)
        finally:
            self.close(number)

    def remove(self, path: Path) -> None:
        """Remove `path`, if it is there."""
        with suppress(FileNotFoundError):
            self.unlink(path)
