"""Database schema: created if there is none, checked if there is one."""

from collections.abc import Collection, Sequence
from functools import cache

from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from forewarn.errors import CannotStart
from forewarn.stores import statements, tables
from forewarn.stores.database import CompiledStatements, Cursor, StatementRunner

_OURS = frozenset({tables.stamp.name, tables.counter.name})


def refuse_foreign(names: Collection[str], place: str) -> None:
    """Raise `CannotStart` if the tables `names` belong to another program."""
    if names and not {*names} >= _OURS:
        raise CannotStart(f"{place} is a database of another program")


def create_or_check(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> None:
    """Create missing tables; raise `CannotStart` if the schema is another version.

    Some may be missing in a database created by an unreleased version.
    """
    refuse_foreign(names, place)
    if names:
        check(cursor, dialect, place)
    _create(cursor, dialect, but=names)
    if not names:
        session = StatementRunner(cursor, CompiledStatements(dialect))
        session.run(statements.ADD_STAMP, version_num=tables.STAMP)
        session.run(statements.ADD_COUNTER, id=1, position=0, last_at=None, ordinal=0)


def check(cursor: Cursor, dialect: Dialect, place: str) -> None:
    """Raise `CannotStart` if the schema is not the one of this release."""
    row = StatementRunner(cursor, CompiledStatements(dialect)).row(statements.STAMP)
    if row is None or row[0] != tables.STAMP:
        raise CannotStart(
            f"{place} was made by a newer forewarn (layout {row and row[0]}, this"
            f" one knows {tables.STAMP}); upgrade forewarn, or choose another store"
            " with --store"
        )


def _create(cursor: Cursor, dialect: Dialect, *, but: Collection[str]) -> None:
    for name, texts in _creation_sql(dialect):
        for text in texts if name not in but else ():
            cursor.execute(text, {})


@cache  # for all stores of a process
def _creation_sql(dialect: Dialect) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the statements that create each table and its indexes."""
    return [
        (
            table.name,
            [
                str(CreateTable(table).compile(dialect=dialect)),
                *(
                    str(CreateIndex(index).compile(dialect=dialect))
                    for index in sorted(
                        table.indexes, key=lambda table_index: str(table_index.name)
                    )
                ),
            ],
        )
        for table in tables.metadata.sorted_tables
    ]
