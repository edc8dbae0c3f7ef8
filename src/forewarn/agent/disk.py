"""System calls for durable writes; tests replace them to simulate a crash.

The order of writes survives a power cut: data is on disk before its file name, and the
name before anything acts on it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o600  # the output of hooks is private


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The calls that change files."""

    open: Callable[[Path, int, int], int] = os.open
    write: Callable[[int, bytes], int] = os.write
    fsync: Callable[[int], None] = os.fsync
    close: Callable[[int], None] = os.close
    link: Callable[[Path, Path], None] = os.link
    replace: Callable[[Path, Path], None] = os.replace
    unlink: Callable[[Path], None] = os.unlink

    def fill(self, path: Path, content: bytes) -> None:
        """Write `content` to the file `path`; it is on disk when this returns."""
        number = self.open(path, _FRESH, _MODE)
        try:
            left = content
            while left:
                left = left[self.write(number, left) :]
            self.fsync(number)
        finally:
            self.close(number)

    def settle(self, folder: Path) -> None:
        """Sync the names in `folder` to disk."""
        number = self.open(folder, _FOLDER, 0)
        try:
            self.fsync(number)
        finally:
            self.close(number)

    def remove(self, path: Path) -> None:
        """Remove `path` if it exists."""
        with suppress(FileNotFoundError):
            self.unlink(path)
