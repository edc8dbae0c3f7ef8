"""Lost tables, rows and journal entries: refused at the start, and never repaired."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.stores.builders import (
    NOON,
    a_fleet,
    a_maintenance,
    announced,
    completed,
    opened,
    postgres_store,
    put,
    sqlite_store,
    started,
)
from tests.stores.test_contract_tokens import a_token

from forewarn.core.lifecycle.facts import (
    OutageEnded,
    Published,
    TokenCreated,
    TokenRevoked,
)
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart
from forewarn.stores import tables
from forewarn.stores.consistency import find_problems
from forewarn.stores.postgres import Postgres
from forewarn.stores.sqlite import Sqlite
from forewarn.stores.store import SqlStore

#: Runs statements on a closed store.
Tamper = Callable[..., None]

#: The lost table or row, and words of the message.
LOSSES = {
    "DELETE FROM journal WHERE position IN (3, 4)": "the journal has 5 entries",
    "DELETE FROM journal WHERE position = 1": "the journal has 6 entries",
    "DELETE FROM journal WHERE position > 5": "ends at position 5, not at 7",
    "DELETE FROM journal": "ends at position 0, not at 7",
    "UPDATE counter SET position = 6": "is at position 6, but the journal extends to 7",
    "UPDATE counter SET position = 8": "ends at position 7, not at 8",
    "UPDATE counter SET ordinal = 3": "is at ordinal 3",
    "UPDATE counter SET number = 1": "is at number 1, but maintenances extends to 2",
    "DELETE FROM counter": "counter has 0 rows",
    "DELETE FROM maintenances WHERE phase = 'SCHEDULED'": "maintenances lacks M1",
    "DELETE FROM maintenances WHERE phase = 'COMPLETED'": "maintenances lacks M0",
    "DELETE FROM events WHERE id = 'M1-db'": "events lacks M1-db",
    "DELETE FROM involved WHERE maintenance = 'M1'": "involved lacks a group of",
    "UPDATE maintenances SET phase = 'COMPLETED'": "M1 is live in involved",
    "UPDATE maintenances SET body = '{}'": "cannot be read",
    f"UPDATE maintenances SET body = '{'[' * 9999}'": "cannot be read",
    "DELETE FROM audiences WHERE name = 'web'": "lacks the audience of VM web-0",
    "DELETE FROM groups WHERE name = 'db'": "groups lacks db",
    "DELETE FROM hosts": "hosts lacks host-a",
    "DELETE FROM vms WHERE name = 'web-0'": "vms lacks web-0",
}
#: Losses that only the journal shows, so that only `find_problems` reports them.
HIDDEN_LOSSES = {
    "UPDATE maintenances SET number = -1 WHERE id = 'M0'": "M0 differs from",
    "DELETE FROM vms WHERE name = 'web-1'": "vms differ from the journal",
    "DELETE FROM addresses": "addresses has 0 rows, but the journal implies 1",
    "DELETE FROM concerned WHERE position = 5": "concerned has 3 rows",
    "DELETE FROM events WHERE id = 'M0-web'": "events has 2 rows",
    "DELETE FROM outages": "outages has 0 rows",
    "UPDATE audiences SET incarnation = 7": "audiences differ from the journal",
    "UPDATE journal SET body = '{}' WHERE position = 3": "after position 2",
    f"UPDATE journal SET body = '{'[' * 9999}' WHERE position = 3": "after position 2",
    "UPDATE maintenances SET body = '{}' WHERE id = 'M0'": "M0 cannot be read",
    "UPDATE vms SET body = '{}'": "a row cannot be read: TypeError",
    "UPDATE groups SET last_request = 9e18": "a row cannot be read: OverflowError",
}

HUGE = "hex(zeroblob(500000))"
HUGE_TIME = f"json_set(body, '$.at', {HUGE})"


def a_filled_store(store: SqlStore) -> None:
    """Save seven facts: one maintenance has ended, and one is scheduled."""
    with opened(store):
        put(store, a_fleet(), announced(a_maintenance()), started(), completed())
        put(store, announced(a_maintenance("M1", groups=("web", "db"))))
        put(store, OutageEnded(at=NOON, outage=Outage(since=NOON, until=NOON)))
        shown = Published(
            at=NOON, audience="web", group="web", epoch="e", incarnation=1
        )
        put(store, shown)


def refusal(store: SqlStore) -> str:
    with closing(store), pytest.raises(CannotStart) as refused:
        store.open()
    assert "\n" not in str(refused.value)
    assert "restore a backup" in str(refused.value)
    return str(refused.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "forewarn.db"
    a_filled_store(sqlite_store(path))
    return path


def run_sqlite(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


# --- tables ------------------------------------------------------------------


@pytest.mark.parametrize("table", sorted(tables.metadata.tables.keys() - {"concerned"}))
def test_store_without_a_table_that_had_rows_is_refused(path: Path, table: str) -> None:
    if table == "tokens":
        run_sqlite(path, "UPDATE journal SET fact = 'TokenCreated' WHERE position = 4")
    run_sqlite(path, f'DROP TABLE "{table}"')
    assert f"missing tables: {table};" in refusal(sqlite_store(path))
    with closing(sqlite3.connect(path)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert table not in names


def test_table_concerned_of_an_early_store_is_rebuilt(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def concerned() -> Sequence[object]:
        with closing(sqlite3.connect(path)) as database:
            return database.execute("SELECT * FROM concerned ORDER BY 2").fetchall()

    before = concerned()
    run_sqlite(path, "DROP TABLE concerned")
    with opened(sqlite_store(path)):
        pass
    assert concerned() == before != []
    assert "added table concerned" in caplog.text


# --- rows --------------------------------------------------------------------


@pytest.mark.parametrize("statement", LOSSES)
def test_store_that_lost_rows_is_refused(path: Path, statement: str) -> None:
    run_sqlite(path, statement)
    assert LOSSES[statement] in refusal(sqlite_store(path))


@pytest.mark.parametrize("statement", HIDDEN_LOSSES)
def test_replayed_journal_shows_hidden_losses(path: Path, statement: str) -> None:
    run_sqlite(path, statement)
    with opened(sqlite_store(path)):
        pass
    database = Sqlite(str(path))
    with database.existing() as cursor:
        problems = find_problems(cursor, database.dialect)
    assert HIDDEN_LOSSES[statement] in problems[0]


def test_counter_that_is_not_a_number_is_refused(path: Path) -> None:
    run_sqlite(path, "UPDATE counter SET position = 'x'")  # only SQLite allows this
    assert "a row cannot be read: ValueError" in refusal(sqlite_store(path))


def test_huge_value_does_not_make_the_refusal_huge(path: Path) -> None:
    run_sqlite(path, f"UPDATE events SET maintenance = {HUGE} WHERE id = 'M1-db'")
    assert "maintenances lacks 0000" in (message := refusal(sqlite_store(path)))
    assert len(message) <= 301 + len(str(path)) + 100


@pytest.mark.parametrize("change", [f"fact = {HUGE}", f"body = {HUGE_TIME}"])
def test_a_huge_journal_entry_is_one_short_problem(path: Path, change: str) -> None:
    run_sqlite(path, f"UPDATE journal SET {change} WHERE position = 3")
    database = Sqlite(str(path))
    with database.existing() as cursor:
        (problem,) = find_problems(cursor, database.dialect)
    assert "after position 2" in problem
    assert len(problem) <= 301


def test_token_that_is_no_longer_revoked_is_a_problem(path: Path) -> None:
    token = a_token(0)
    with opened(sqlite_store(path)) as store, store.transaction() as transaction:
        transaction.keep_token(replace(token, revoked_at=NOON))
        created = TokenCreated(
            at=NOON, by="ops", token=token.id, name=token.name, role=token.role
        )
        revoked = TokenRevoked(at=NOON, by="ops", token=token.id, name=token.name)
        transaction.save(Slice(), Step(Slice(), (created, revoked)), {})
    database = Sqlite(str(path))
    with database.existing() as cursor:
        assert find_problems(cursor, database.dialect) == []
    run_sqlite(path, "UPDATE tokens SET body = json_remove(body, '$.revoked_at')")
    with database.existing() as cursor:
        (problem,) = find_problems(cursor, database.dialect)
    assert problem == "revoked tokens differ from the journal"


def test_sound_store_has_no_problems(path: Path) -> None:
    database = Sqlite(str(path))
    with database.existing() as cursor:
        assert find_problems(cursor, database.dialect) == []


def test_postgresql_store_that_lost_data_is_refused(
    request: pytest.FixtureRequest,
) -> None:
    server = request.getfixturevalue("postgres")
    url = server.url(schema=server.new_schema())
    a_filled_store(postgres_store(url))
    database = Postgres(url)
    with database.existing() as cursor:
        assert find_problems(cursor, database.dialect) == []
    for statement, words in LOSSES.items():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("BEGIN")
            connection.execute(statement.encode())
            cursor = connection.cursor()
            problems = find_problems(cursor, database.dialect)
            connection.execute("ROLLBACK")
        assert words in "; ".join(problems), statement
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM journal WHERE position IN (3, 4)")
    assert "the journal has 5 entries" in refusal(postgres_store(url))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE maintenances")
    assert "missing tables: maintenances" in refusal(postgres_store(url))
