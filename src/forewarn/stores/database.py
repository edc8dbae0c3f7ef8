"""The store's database interface: connections, cursors and compiled statements."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Protocol

from sqlalchemy.engine import Dialect
from sqlalchemy.sql.expression import Executable

from forewarn.errors import InvalidInput
from forewarn.stores.rows import Parameters, Row

_HALF = "the text contains a lone surrogate (half of a character)"


class Cursor(Protocol):
    """The part of a DB-API cursor that the store uses, the same for every driver."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement changed."""

    def execute(self, sql: str, parameters: Parameters, /) -> object:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> object:
        """Run one statement for each of `parameters`."""

    def fetchone(self) -> Row | None:
        """Return the next row."""

    def fetchall(self) -> Sequence[Row]:
        """Return all remaining rows."""


class Database(Protocol):
    """SQLite or PostgreSQL."""

    dialect: Dialect
    name: str  # for display, without the password

    def open(self, *, upgrade: bool = False) -> str | None:
        """Connect and create the tables if there are none.

        Older tables are upgraded, but on PostgreSQL only with `upgrade`. Return a
        sentence about the upgrade, or None if none was needed.
        """

    def revision(self) -> str:
        """Return the revision of an existing database, which need not be open."""

    def existing(self) -> AbstractContextManager[Cursor]:
        """Read one consistent state of an existing database, which need not be open."""

    def writing(self) -> AbstractContextManager[Cursor]:
        """Write exclusively; commit when the block ends, or roll back on failure."""

    def reading(self) -> AbstractContextManager[Cursor]:
        """Read one consistent state."""

    def leave(self) -> None:
        """End running operations soon, even if the database hangs."""

    def close(self) -> None:
        """Disconnect."""


@cache  # for all stores in a process, because tests open hundreds of them
def _compiled(dialect: Dialect, statement: Executable) -> tuple[str, Parameters]:
    """Return the SQL and the constant parameters of `statement`."""
    compiled = statement.compile(  # type: ignore[attr-defined]  # every Core statement has it
        dialect=dialect, compile_kwargs={"render_postcompile": True}
    )
    fixed = {
        name: value for name, value in compiled.params.items() if value is not None
    }
    return str(compiled), fixed


class StatementRunner:
    """Runs statements on a cursor and compiles each statement only once."""

    def __init__(self, cursor: Cursor, dialect: Dialect) -> None:
        """Create a runner that uses `cursor`."""
        self._cursor = cursor
        self._dialect = dialect

    def run(self, statement: Executable, **parameters: object) -> int:
        """Run `statement`; return the number of rows changed."""
        text, fixed = _compiled(self._dialect, statement)
        _refuse_nul(parameters)
        try:
            self._cursor.execute(text, {**fixed, **parameters})
        except UnicodeEncodeError as error:
            raise InvalidInput(_HALF) from error
        return self._cursor.rowcount

    def run_many(self, statement: Executable, rows: Sequence[Parameters]) -> None:
        """Run `statement` for each of `rows`."""
        if not rows:
            return
        text, fixed = _compiled(self._dialect, statement)
        for row in rows:
            _refuse_nul(row)
        try:
            self._cursor.executemany(text, [{**fixed, **row} for row in rows])
        except UnicodeEncodeError as error:
            raise InvalidInput(_HALF) from error

    def row(self, statement: Executable, **parameters: object) -> Row | None:
        """Return the first row of the results of `statement`."""
        self.run(statement, **parameters)
        return self._cursor.fetchone()

    def rows(self, statement: Executable, **parameters: object) -> Sequence[Row]:
        """Return all rows of the results of `statement`."""
        self.run(statement, **parameters)
        return self._cursor.fetchall()


def _refuse_nul(parameters: Parameters) -> None:
    """Reject NUL characters, which not all databases can store."""
    for value in parameters.values():
        if isinstance(value, str) and "\0" in value:
            raise InvalidInput("the text contains a NUL character")
