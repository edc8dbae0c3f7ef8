"""SQLite connections that call a function before every statement."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from forewarn.stores.sqlite import Connect

Values = Mapping[str, str | int | None]


def watched(before: Callable[[str], None]) -> Connect:
    """Return a function that connects and calls `before` with each statement.

    `before` may raise an exception, which fails the statement.
    """

    class Cursor(sqlite3.Cursor):
        def execute(  # type: ignore[override]  # only the types the store uses
            self, sql: str, parameters: Values | tuple[()] = ()
        ) -> "Cursor":
            before(sql)
            super().execute(sql, parameters)
            return self

        def executemany(  # type: ignore[override]  # only the types the store uses
            self, sql: str, parameters: Sequence[Values]
        ) -> "Cursor":
            before(sql)
            super().executemany(sql, parameters)
            return self

    class Connection(sqlite3.Connection):
        def cursor(self, factory: object = None) -> Cursor:  # type: ignore[override]  # always the same class
            return super().cursor(Cursor)

    def connect(path: str) -> sqlite3.Connection:
        return sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=Connection
        )

    return connect
