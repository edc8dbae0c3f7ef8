"""The layout of a database: made where there is none, checked where there is one."""

from collections.abc import Collection, Sequence
from functools import cache

from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from forewarn.errors import CannotStart
from forewarn.stores import statements, tables
from forewarn.stores.database import Cursor, Session, Texts

_OURS = frozenset({tables.stamp.name, tables.counter.name})


def refuse_foreign(names: Collection[str], place: str) -> None:
    """Leave a database as it is whose tables `names` are another program's."""
    if names and not {*names} >= _OURS:
        raise CannotStart(f"{place} is a database of another program")


def settle(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> None:
    """Make the tables that are missing; refuse a layout that is not this one.

    Some may be missing where a forewarn that was never released made the others.
    """
    refuse_foreign(names, place)
    if names:
        check(cursor, dialect, place)
    _make(cursor, dialect, but=names)
    if not names:
        session = Session(cursor, Texts(dialect))
        session.run(statements.ADD_STAMP, version_num=tables.STAMP)
        session.run(statements.ADD_COUNTER, id=1, position=0, last_at=None, ordinal=0)


def check(cursor: Cursor, dialect: Dialect, place: str) -> None:
    """Refuse a layout that is not the one of this release."""
    found = Session(cursor, Texts(dialect)).row(statements.STAMP)
    if found is None or found[0] != tables.STAMP:
        raise CannotStart(
            f"{place} was made by a newer forewarn (layout {found and found[0]}, this"
            f" one knows {tables.STAMP}); upgrade forewarn, or choose another store"
            " with --store"
        )


def _make(cursor: Cursor, dialect: Dialect, *, but: Collection[str]) -> None:
    for name, texts in _written(dialect):
        for text in texts if name not in but else ():
            cursor.execute(text, {})


@cache  # for all stores of a process
def _written(dialect: Dialect) -> Sequence[tuple[str, Sequence[str]]]:
    """Write what makes each table and its indexes."""
    return [
        (
            table.name,
            [
                str(CreateTable(table).compile(dialect=dialect)),
                *(
                    str(CreateIndex(index).compile(dialect=dialect))
                    for index in sorted(table.indexes, key=lambda each: str(each.name))
                ),
            ],
        )
        for table in tables.metadata.sorted_tables
    ]
