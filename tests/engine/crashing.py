"""Connections that die before any statement one likes."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from forewarn.stores.sqlite import Connect


class Crash(BaseException):
    """The process is gone; nothing that is not committed will ever be."""


class Fuse:
    """Counts statements, and blows before the one after the next `left`."""

    def __init__(self, left: int | None = None) -> None:
        self._left = left  # None: never
        self.blown_at: str | None = None  # the first word of a statement

    def burn(self, sql: str) -> None:
        """Let `sql` through, or crash; after a crash nothing is let through."""
        if self.blown_at is None and self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.blown_at = sql.split()[0]
        if self.blown_at is not None:
            raise Crash(self.blown_at)


def fused(fuse: Fuse) -> Connect:
    """Connect so that every statement burns `fuse`."""

    class FusedCursor(sqlite3.Cursor):
        def execute(
            self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
        ) -> "FusedCursor":
            fuse.burn(sql)
            super().execute(sql, parameters)  # type: ignore[arg-type]  # as given
            return self

        def executemany(self, sql: str, parameters: object) -> "FusedCursor":
            fuse.burn(sql)
            super().executemany(sql, parameters)  # type: ignore[arg-type]  # as given
            return self

    class FusedConnection(sqlite3.Connection):
        def cursor(
            self, factory: Callable[[sqlite3.Connection], sqlite3.Cursor] | None = None
        ) -> sqlite3.Cursor:
            return super().cursor(FusedCursor)

    def connect(path: str) -> sqlite3.Connection:
        return sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=FusedConnection
        )

    return connect
