"""Database schema: created if there is none, else checked and upgraded.

1. The revision of a database is in Alembic's own table.
2. New databases are created from `tables`; a test proves that the revisions in
   `migrations` lead to the same schema.
3. Alembic is imported only if a database is at another revision: that is rare, and
   the import is slow.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine
from sqlalchemy.engine import Dialect
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable

from forewarn.errors import CannotStart
from forewarn.stores import statements, tables
from forewarn.stores.database import Cursor, StatementRunner

if TYPE_CHECKING:
    from alembic.config import Config

#: The folder of Alembic's environment and revisions.
MIGRATIONS = Path(__file__).parent / "migrations"

_FIRST = "0001"
_OURS = frozenset({tables.stamp.name, tables.counter.name})


def refuse_foreign(names: Collection[str], place: str) -> None:
    """Raise `CannotStart` if the tables `names` belong to another program."""
    if names and not {*names} >= _OURS:
        raise CannotStart(f"{place} is a database of another program")


def create_or_check(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> str | None:
    """Create missing tables, or return the older revision that must be upgraded first.

    Some may be missing in a database created by an unreleased version.
    """
    refuse_foreign(names, place)
    revision = read_revision(cursor, dialect) if names else tables.STAMP
    if revision != tables.STAMP:
        if _is_known(revision):
            return revision
        raise CannotStart(f"{place} {obstacle(revision)}")
    _create(cursor, dialect, but=names)
    if not names:
        session = StatementRunner(cursor, dialect)
        session.run(statements.ADD_STAMP, version_num=tables.STAMP)
        session.run(statements.ADD_COUNTER, id=1, position=0, last_at=None, ordinal=0)
    return None


def existing_revision(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> str:
    """Return the revision; raise `CannotStart` if the tables `names` are not ours."""
    refuse_foreign(names, place)
    if not names:
        raise CannotStart(f"{place} has no tables yet; `forewarn serve` creates them")
    return read_revision(cursor, dialect)


def read_revision(cursor: Cursor, dialect: Dialect) -> str:
    """Return the revision of a database with our tables."""
    row = StatementRunner(cursor, dialect).row(statements.STAMP)
    return str(row and row[0])


def obstacle(revision: str) -> str | None:
    """Return why a database at `revision` cannot be used; None if it can.

    The words follow the name of the database.
    """
    if revision == tables.STAMP:
        return None
    if _is_known(revision):
        return (
            f"was made by an older forewarn (revision {revision}, this one needs"
            f" {tables.STAMP}); run `forewarn store upgrade --store URL` with its URL"
        )
    return (
        f"was made by a newer forewarn (layout {revision}, this one knows"
        f" {tables.STAMP}); upgrade forewarn, or choose another store with --store"
    )


@contextmanager
def migration(
    connection: object, dialect: Dialect, *, revision: str, place: str
) -> Iterator[Callable[[], None]]:
    """Prepare an upgrade from `revision`; no transaction may be open on `connection`.

    The function that is yielded runs the upgrade, in a transaction that the caller
    begins and commits within the block.
    """
    from alembic import command

    def upgrade() -> None:
        try:
            if revision == _FIRST:  # run again: others change the tables it creates
                borrowed.execute(statements.DROP_STAMP)
            command.upgrade(config, tables.STAMP)
        except Exception as error:  # revisions may raise anything
            reason = str(getattr(error, "orig", error)).partition("\n")[0]
            raise CannotStart(
                f"{place} cannot be upgraded from revision {revision} to"
                f" {tables.STAMP} and is unchanged: {reason or type(error).__name__}"
            ) from error

    config = _config()
    engine = create_engine(
        f"{dialect.name}+{dialect.driver}://",
        creator=lambda: connection,
        poolclass=StaticPool,
    )
    with engine.connect() as borrowed:
        borrowed.begin()  # so that Alembic leaves transactions to the caller
        config.attributes["connection"] = borrowed
        yield upgrade


def _is_known(revision: str) -> bool:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return any(script.revision == revision for script in scripts)


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


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
