"""Store connections that crash before a chosen statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stores.builders import sqlite_store
from tests.stores.watched_store import watched


class Crash(BaseException):
    """The process has died; uncommitted changes are lost."""


class CrashCountdown:
    """Counts statements and crashes before the one after the next `left`."""

    def __init__(self, left: int | None = None) -> None:
        self._left = left  # None: never crashes
        self._is_out = False
        self.blown_at: str | None = None  # first word of the statement

    def count(self, sql: str) -> None:
        """Pass `sql` or crash; after a crash nothing passes."""
        if self._is_out:
            return
        if self.blown_at is None and self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.blown_at = sql.split()[0]
        if self.blown_at is not None:
            raise Crash(self.blown_at)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pass every statement while the test inspects the store."""
        self._is_out = True
        try:
            yield
        finally:
            self._is_out = False


class CrashingMachine:
    """A store in a file, on a machine that dies when its fuse blows."""

    def __init__(self, path: Path) -> None:
        """Keep the store in `path`."""
        self.path = path
        self.fuse = CrashCountdown()
        self.store = sqlite_store(path, watched(lambda sql: self.fuse.count(sql)))
