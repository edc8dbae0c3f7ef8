"""Revisions of the schema, and upgrades to them."""

import logging
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from tests.patience import PATIENCE
from tests.postgres import PostgresServer
from tests.stores.builders import (
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    postgres_store,
    put,
    sqlite_store,
)
from tests.stores.releases import ADD_RACK, ADD_SLOT, FAIL, become_newer, largest_file

from forewarn.core.lifecycle.facts import Announced, OutageEnded
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart
from forewarn.stores import schema, tables
from forewarn.stores.consistency import find_problems
from forewarn.stores.database import Database
from forewarn.stores.postgres import Postgres
from forewarn.stores.sqlite import MEMORY, Sqlite, connect
from forewarn.stores.store import SqlStore

BecomeNewer = Callable[..., None]

EARLIER = Path(__file__).parents[1] / "golden" / "earlier" / "store.sql"

#: This release's revision, and those that `newer` adds.
THIS = tables.STAMP
NEXT, LAST = (f"{int(THIS) + number:04}" for number in (1, 3))


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> BecomeNewer:
    """Return a function that adds revisions to this release."""

    def add(*steps: str) -> None:
        become_newer(monkeypatch, tmp_path, *steps)

    return add


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Create a database with some state."""
    path = tmp_path / "forewarn.db"
    with closing(sqlite_store(path)) as store:
        store.open()
        put(store, a_fleet(), announced(a_maintenance()), a_seen(1))
    return path


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Create a database with some state."""
    url = postgres.url(schema=postgres.new_schema())
    with closing(postgres_store(url)) as store:
        store.open()
        put(store, a_fleet(), a_seen(1))
    return url


def content(path: Path) -> list[str]:
    """Return the whole database as SQL."""
    with closing(sqlite3.connect(path)) as database:
        return [*database.iterdump()]


def copies(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.glob(f"*{path.name}.*"))


def refusal(path: Path) -> str:
    with pytest.raises(CannotStart) as refused:
        Sqlite(str(path)).open()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def run(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        done = connection.execute(sql.encode())
        return done.fetchall() if done.description else []


# --- revisions and tables ----------------------------------------------------


def test_tables_are_at_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [tables.STAMP]


def sqlite_schema(database: sqlite3.Connection) -> list[object]:
    """Describe all columns and indexes."""
    found: list[object] = []
    for table in sorted(tables.metadata.tables):
        found += [
            (table, database.execute(f"PRAGMA table_xinfo('{table}')").fetchall())
        ]
        indexes = database.execute(f"PRAGMA index_list('{table}')").fetchall()
        found += [
            (
                index[1:],
                database.execute(f"PRAGMA index_xinfo('{index[1]}')").fetchall(),
            )
            for index in sorted(indexes, key=lambda index: str(index[1]))
        ]
    return found


def rebuild(
    connection: "sqlite3.Connection | psycopg.Connection", of: Database
) -> None:
    """Drop all tables, and run all revisions."""
    for table in {*tables.metadata.tables} - {"alembic_version"}:
        connection.execute(f'DROP TABLE "{table}"')
    with schema.migration(connection, of.dialect, revision="0001", place="") as upgrade:
        connection.execute("BEGIN")
        upgrade()
        connection.execute("COMMIT")
    rows = connection.execute("SELECT * FROM counter").fetchall()
    assert rows == [(1, 0, None, 0, 0)]


def test_revisions_lead_to_the_tables_on_sqlite(path: Path) -> None:
    with closing(connect(str(path))) as database:
        expected = sqlite_schema(database)
        rebuild(database, Sqlite(MEMORY))
        assert sqlite_schema(database) == expected


_COLUMNS = (
    "SELECT table_name, column_name, ordinal_position, data_type, collation_name,"
    " character_maximum_length, is_nullable, column_default"
    " FROM information_schema.columns WHERE table_schema = current_schema()"
    " ORDER BY 1, 3"
)
_INDEXES = (
    "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
)
_CONSTRAINTS = (
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)"
    " FROM pg_constraint WHERE connamespace = current_schema()::regnamespace"
    " ORDER BY 1, 2"
)


def test_revisions_lead_to_the_tables_on_postgresql(url: str) -> None:
    queries = (_COLUMNS, _INDEXES, _CONSTRAINTS)
    expected = [run(url, query) for query in queries]
    with psycopg.connect(url, autocommit=True) as database:
        rebuild(database, Postgres(url))
    assert [run(url, query) for query in queries] == expected


# --- numbers of maintenance operations ---------------------------------------


def assert_is_numbered(database: Database) -> None:
    """Check that a store is complete and numbered in order of announcement."""
    store = SqlStore(database)
    with store.snapshot() as snapshot:
        kept = [item for _, item in snapshot.maintenances(phases=(), after=0, limit=99)]
        last = snapshot.last_number()
    announced = [
        entry.fact.announced
        for entry in store.facts(0, 1000)
        if isinstance(entry.fact, Announced)
    ]
    assert last == 5
    assert [item.number for item in kept] == [1, 2, 3, 4, 5]
    assert [(item.id, item.number) for item in announced] == [
        (item.id, item.number) for item in kept
    ]
    with database.existing() as cursor:
        assert find_problems(cursor, database.dialect) == []


@pytest.mark.parametrize("lost", ["", "DROP TABLE concerned"])
def test_earlier_file_is_numbered(tmp_path: Path, lost: str) -> None:
    path = tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as earlier:
        earlier.executescript(EARLIER.read_text())
        earlier.executescript(lost)
    with closing(Sqlite(str(path))) as database:
        database.open()
        assert_is_numbered(database)


def test_earlier_postgresql_database_is_numbered(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(schema=postgres.new_schema())
    database = Postgres(url)
    with monkeypatch.context() as earlier:
        earlier.setattr(tables, "STAMP", "0001")
        with (
            psycopg.connect(url, autocommit=True) as empty,
            schema.migration(
                empty, database.dialect, revision="", place=""
            ) as create_tables,
        ):
            empty.execute("BEGIN")
            create_tables()
            empty.execute("COMMIT")
    with (
        closing(sqlite3.connect(":memory:")) as rows,
        psycopg.connect(url) as target,
    ):
        rows.executescript(EARLIER.read_text())
        target.execute("DELETE FROM counter")
        for table in {*tables.metadata.tables} - {"alembic_version"}:
            copy_rows(rows, target, table)
    with closing(database):
        database.open(upgrade=True)
        assert_is_numbered(database)


def copy_rows(
    source: sqlite3.Connection, target: "psycopg.Connection", table: str
) -> None:
    found = source.execute(f'SELECT * FROM "{table}"')
    names = [column[0] for column in found.description]
    columns = ", ".join(f'"{name}"' for name in names)
    places = ", ".join(["%s"] * len(names))
    for row in found:
        values = [
            bool(value) if name == "live" else value
            for name, value in zip(names, row, strict=True)
        ]
        target.execute(
            f'INSERT INTO "{table}" ({columns}) VALUES ({places})'.encode(), values
        )


_OPEN = """\
import sys
from forewarn.service.setup import open_store
for url in sys.argv[1:]:
    open_store(url).close()
assert "sqlalchemy" in sys.modules
assert "alembic" not in sys.modules
"""


def test_current_and_new_stores_are_opened_without_alembic(
    path: Path, url: str
) -> None:
    new = path.with_name("new.db")
    words = [f"sqlite:///{path}", f"sqlite:///{new}", "memory", url]
    subprocess.run([sys.executable, "-c", _OPEN, *words], check=True, timeout=PATIENCE)


# --- SQLite ------------------------------------------------------------------


def test_older_file_is_copied_and_upgraded(
    path: Path, newer: BecomeNewer, caplog: pytest.LogCaptureFixture
) -> None:
    before = content(path)
    newer(ADD_RACK)
    caplog.set_level(logging.INFO, "forewarn")
    with closing(sqlite_store(path)) as store:
        store.open()
        assert put(store, a_seen(2)) == 4
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT DISTINCT rack FROM hosts").fetchall() == [
            (None,)
        ]
        stamp = database.execute("SELECT version_num FROM alembic_version").fetchall()
    assert stamp == [(NEXT,)]
    copy = path.with_name(f"forewarn.db.before-{NEXT}")
    assert content(copy) == before
    [record] = caplog.records
    assert f"from revision {THIS} to {NEXT}; the previous database" in record.message
    assert str(copy) in record.message


def test_upgraded_file_is_not_upgraded_again(path: Path, newer: BecomeNewer) -> None:
    newer(ADD_RACK)
    for _ in range(2):
        with closing(Sqlite(str(path))) as database:
            database.open()
    assert copies(path) == [f"forewarn.db.before-{NEXT}"]


def test_earlier_copy_is_not_overwritten(path: Path, newer: BecomeNewer) -> None:
    newer(ADD_RACK)
    earlier = path.with_name(f"forewarn.db.before-{NEXT}")
    earlier.write_text("of last year")
    with closing(Sqlite(str(path))) as database:
        report = database.open()
    assert report is not None
    assert f"forewarn.db.before-{NEXT}.2" in report
    assert earlier.read_text() == "of last year"


def test_failed_upgrade_changes_nothing_and_leaves_one_copy(
    path: Path, newer: BecomeNewer
) -> None:
    newer(ADD_RACK)
    with closing(Sqlite(str(path))) as database:
        database.open()
    before = content(path)
    newer(ADD_SLOT, FAIL)
    for _ in range(3):
        message = refusal(path)
        assert f"from revision {NEXT} to {LAST} and is unchanged" in message
        assert "no such table: nowhere" in message
        assert content(path) == before
    assert copies(path) == [f"forewarn.db.before-{NEXT}", f"forewarn.db.before-{LAST}"]


def test_file_that_cannot_be_copied_is_not_upgraded(
    path: Path, newer: BecomeNewer
) -> None:
    with closing(sqlite_store(path)) as store:
        store.open()
        put(store, *map(a_seen, range(2000)))
    before = content(path)
    newer(ADD_RACK)
    with largest_file(64 * 1024):  # SQLite's shared memory needs half of it
        message = refusal(path)
    assert "which must be done before it is upgraded" in message
    assert f"before-{NEXT}" in message
    assert content(path) == before
    assert copies(path) == []


def test_missing_table_of_an_older_file_is_created_first(
    tmp_path: Path, newer: BecomeNewer
) -> None:
    path = tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as older:
        older.executescript(EARLIER.read_text())
        older.execute("DROP TABLE outages")
    newer('op.execute("ALTER TABLE outages ADD COLUMN reason TEXT")')
    with closing(sqlite_store(path)) as store:
        store.open()
        assert len(store.facts(0, 100)) == 27
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT reason FROM outages").fetchall() == []


def test_older_file_that_lost_a_table_with_rows_is_not_upgraded(
    path: Path, newer: BecomeNewer
) -> None:
    with closing(sqlite_store(path)) as store:
        store.open()
        put(store, OutageEnded(at=NOON, outage=Outage(since=NOON, until=NOON)))
    with closing(sqlite3.connect(path)) as older:
        older.execute("DROP TABLE outages")
    before = content(path)
    newer(ADD_RACK)
    assert "missing tables: outages; restore a backup" in refusal(path)
    assert content(path) == before
    assert copies(path) == []


# --- PostgreSQL --------------------------------------------------------------


def test_older_postgresql_database_is_refused_with_the_command(
    url: str, newer: BecomeNewer
) -> None:
    before = run(url, _COLUMNS)
    newer(ADD_RACK)
    with pytest.raises(CannotStart) as refused:
        Postgres(url).open()
    message = str(refused.value)
    assert (
        f"older version of forewarn (revision {THIS}; this version requires {NEXT})"
        in message
    )
    assert "`forewarn store upgrade --store URL`" in message
    assert "newer" not in message
    assert run(url, _COLUMNS) == before


def test_older_postgresql_database_is_upgraded_on_request(
    url: str, newer: BecomeNewer
) -> None:
    newer(ADD_RACK)
    with closing(Postgres(url)) as database:
        report = database.open(upgrade=True)
    assert report is not None
    assert report.endswith(f"from revision {THIS} to {NEXT}")
    with closing(postgres_store(url)) as store:
        store.open()
        assert len(store.facts(0, 10)) == 2
    assert run(url, "SELECT DISTINCT rack FROM hosts") == [(None,)]


def test_failed_upgrade_of_postgresql_changes_nothing(
    url: str, newer: BecomeNewer
) -> None:
    before = run(url, _COLUMNS)
    newer(ADD_RACK, FAIL)
    with pytest.raises(CannotStart, match=r"is unchanged: .*nowhere.* does not exist$"):
        Postgres(url).open(upgrade=True)
    assert run(url, _COLUMNS) == before
    assert run(url, "SELECT version_num FROM alembic_version") == [(THIS,)]
