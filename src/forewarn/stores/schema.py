"""Database schema, which is created if missing and otherwise checked and upgraded.

1. A database's revision is stored in Alembic's own table.
2. New databases are created from `tables`. A test verifies that the revisions in
   `migrations` lead to the same schema.
3. Alembic is imported only if a database is at another revision, because that is rare
   and the import is slow.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine
from sqlalchemy.engine import Dialect
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable

from forewarn.core.lifecycle.facts import Announced, Fact, OutageEnded, TokenCreated
from forewarn.errors import CannotStart
from forewarn.stores import rows, statements, tables
from forewarn.stores.database import Cursor, StatementRunner

if TYPE_CHECKING:
    from alembic.config import Config

#: The directory of Alembic's environment and revisions.
MIGRATIONS = Path(__file__).parent / "migrations"

_FIRST = "0001"
#: Every database of ours has these tables, unless a table was lost.
_OURS = frozenset({"counter", "journal", "audiences", "involved"})
#: Tables that earlier databases lack and the facts that fill them. A revision that
#: creates a table must add it here.
_LATER: Mapping[str, Collection[type[Fact]]] = {
    "outages": (OutageEnded,),
    "tokens": (TokenCreated,),
    "concerned": (Announced,),
}

_BATCH = 1000

_log = logging.getLogger(__name__)


def refuse_foreign(names: Collection[str], place: str) -> None:
    """Raise `CannotStart` if the tables in `names` belong to another program."""
    if names and len(_OURS.intersection(names)) < len(_OURS) - 1:
        raise CannotStart(f"{place} is a database of another program")


def create_or_check(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> str | None:
    """Create the tables, or return the older revision that must be upgraded first.

    Raise `CannotStart` if a table was lost. A table that early databases lack is
    created if the journal shows that it would be empty or if the journal can rebuild
    it.
    """
    session = StatementRunner(cursor, dialect)
    if not names:
        _create(cursor, dialect, but=())
        session.run(statements.ADD_STAMP, version_num=tables.STAMP)
        session.run(
            statements.ADD_COUNTER, id=1, position=0, last_at=None, ordinal=0, number=0
        )
        return None
    refuse_foreign(names, place)
    _refuse_lost(_missing(names) - _LATER.keys(), place)
    revision = read_revision(cursor, dialect)
    if revision != tables.STAMP and not _is_known(revision):
        raise CannotStart(f"{place} {obstacle(revision)}")
    filled = {name for name in _missing(names) & _LATER.keys() if _has(session, name)}
    _refuse_lost(filled - {"concerned"}, place)
    if revision != tables.STAMP:
        return revision
    _create(cursor, dialect, but=names)
    for name in sorted(_missing(names)):
        _log.warning("%s was created by an older version; added table %s", place, name)
    if "concerned" in filled:
        _rebuild_concerned(session)
    return None


def _missing(names: Collection[str]) -> frozenset[str]:
    return frozenset(tables.metadata.tables).difference(names)


def _has(session: StatementRunner, name: str) -> bool:
    """Return whether the journal contains facts that fill the table `name`."""
    kinds = [rows.stored_name(kind) for kind in _LATER[name]]
    places = dict(zip_longest(statements.KINDS, kinds, fillvalue=""))
    facts = session.rows(
        statements.FACTS_OF_KINDS, after=0, until=2**62, most=1, **places
    )
    return bool(facts)


def _refuse_lost(names: Collection[str], place: str) -> None:
    if names:
        raise CannotStart(
            f"{place} has lost data: missing tables: {', '.join(sorted(names))};"
            " restore a backup"
        )


def _rebuild_concerned(session: StatementRunner) -> None:
    position = 0
    while records := session.rows(statements.FACTS, after=position, most=_BATCH):
        entries = [rows.entry(record) for record in records]
        for entry in entries:
            found = rows.concerned_rows(entry.position, [entry.fact])
            session.run_many(statements.ADD_CONCERNED, [*found])
        position = entries[-1].position


def existing_revision(
    cursor: Cursor, dialect: Dialect, *, names: Collection[str], place: str
) -> str:
    """Return the revision; raise `CannotStart` if the tables `names` are not ours."""
    if not names:
        raise CannotStart(f"{place} has no tables yet; `forewarn serve` creates them")
    refuse_foreign(names, place)
    _refuse_lost(_missing(names) - _LATER.keys(), place)
    return read_revision(cursor, dialect)


def read_revision(cursor: Cursor, dialect: Dialect) -> str:
    """Return the revision of a database with our tables."""
    row = StatementRunner(cursor, dialect).row(statements.STAMP)
    return str(row and row[0])


def obstacle(revision: str) -> str | None:
    """Return why a database at `revision` cannot be used, or None if it can.

    The text follows the name of the database.
    """
    if revision == tables.STAMP:
        return None
    if _is_known(revision):
        return (
            f"was created by an older version of forewarn (revision {revision}; this"
            f" version requires {tables.STAMP}); run `forewarn store upgrade --store"
            " URL`"
        )
    return (
        f"was created by a newer version of forewarn (revision {revision}; this"
        f" version supports revisions up to {tables.STAMP}); upgrade forewarn, or"
        " choose another store with --store"
    )


@contextmanager
def migration(
    connection: object, dialect: Dialect, *, revision: str, place: str
) -> Iterator[Callable[[], None]]:
    """Prepare an upgrade from `revision`; `connection` must have no open transaction.

    The yielded function runs the upgrade in a transaction that the caller begins and
    commits within the block.
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


@cache  # for all stores in a process
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
