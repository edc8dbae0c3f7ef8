"""SQLite store: a disk that is full or temporarily fails."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.stores.builders import (
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    opened,
    probe,
    put,
    sqlite_store,
    whole_state,
)
from tests.stores.watched_store import watched

from forewarn.errors import CannotStart, StoreDamaged, Unavailable
from forewarn.ports import Store
from forewarn.stores import tables

#: All tables that get rows while the service runs; a heartbeat needs only settings.
PROBED = sorted(
    tables.metadata.tables.keys() - {"alembic_version", "counter", "settings"}
)


class FaultyDisk:
    """A disk that can be full, or fail at statements of one kind."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []
        self._pages: int | None = None
        self.fails_at: str | None = None  # first word; None if nothing fails

    def connect(self, path: str) -> sqlite3.Connection:
        connection = watched(self._before)(path)
        self._connections.append(connection)
        if self._pages is not None:
            connection.execute(f"PRAGMA max_page_count={self._pages}")
        return connection

    def _before(self, sql: str) -> None:
        if sql.split()[0] == self.fails_at:
            raise sqlite3.OperationalError("disk I/O error")

    def fill(self) -> None:
        """Leave no page free."""
        self._limit(1)  # SQLite never goes below the pages in use

    def clear(self) -> None:
        """Make room again."""
        self._limit(1_000_000)

    def _limit(self, pages: int) -> None:
        self._pages = pages
        for connection in self._connections:
            connection.execute(f"PRAGMA max_page_count={pages}")


LARGE = [a_seen(number) for number in range(2000)]  # more than the pages in use hold


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "forewarn.db"


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def on_disk(path: Path, disk: FaultyDisk) -> Iterator[Store]:
    store = sqlite_store(path, disk.connect)
    store.open()
    with closing(store):
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        yield store


def test_a_full_disk_makes_the_store_unavailable(
    on_disk: Store, disk: FaultyDisk
) -> None:
    disk.fill()
    with pytest.raises(Unavailable, match=r"[^\n]+full"):
        put(on_disk, *LARGE)


def test_a_full_disk_changes_nothing(on_disk: Store, disk: FaultyDisk) -> None:
    with on_disk.snapshot() as snapshot:
        before = whole_state(snapshot)
    disk.fill()
    with pytest.raises(Unavailable):
        put(on_disk, *LARGE)
    with on_disk.snapshot() as snapshot:
        assert whole_state(snapshot) == before
        assert (snapshot.position(), snapshot.next_moment()) == (2, NOON)
    assert len(on_disk.facts(0, 10)) == 2


def test_store_works_again_once_there_is_room(on_disk: Store, disk: FaultyDisk) -> None:
    disk.fill()
    with pytest.raises(Unavailable):
        put(on_disk, *LARGE)
    disk.clear()
    assert put(on_disk, *LARGE) == 2 + len(LARGE)
    assert [entry.position for entry in on_disk.facts(0, 10_000)] == [
        *range(1, 3 + len(LARGE))
    ]


def test_a_store_cannot_start_on_a_full_disk(path: Path, disk: FaultyDisk) -> None:
    disk.fill()
    with ExitStack() as stack:
        store = sqlite_store(path, disk.connect)
        stack.callback(store.close)
        with pytest.raises(CannotStart, match=r"[^\n]+full"):
            store.open()


def test_store_that_could_not_start_on_a_full_disk_releases_the_file(
    path: Path, disk: FaultyDisk
) -> None:
    disk.fill()
    with ExitStack() as stack:
        store = sqlite_store(path, disk.connect)
        stack.callback(store.close)
        with pytest.raises((CannotStart, Unavailable)):
            store.open()
        another = sqlite_store(path)
        stack.callback(another.close)
        another.open()
        assert put(another, a_seen(1)) == 1


# --- temporary failures ------------------------------------------------------


@pytest.mark.parametrize("statement", ["BEGIN", "UPDATE", "COMMIT"])
def test_failed_write_changes_nothing_and_can_be_retried(
    on_disk: Store, disk: FaultyDisk, statement: str
) -> None:
    disk.fails_at = statement
    with pytest.raises(Unavailable, match="disk I/O error"):
        put(on_disk, a_seen(1))
    disk.fails_at = None
    with on_disk.snapshot() as snapshot:
        assert snapshot.position() == 2
    assert put(on_disk, a_seen(1)) == 3


def test_failed_rollback_does_not_hide_the_original_error(
    on_disk: Store, disk: FaultyDisk
) -> None:
    disk.fails_at = "ROLLBACK"
    with pytest.raises(LookupError, match="why"), on_disk.transaction():
        raise LookupError("why")


@pytest.mark.parametrize("statement", ["BEGIN", "SELECT", "COMMIT"])
def test_failed_read_can_be_retried(
    on_disk: Store, disk: FaultyDisk, statement: str
) -> None:
    disk.fails_at = statement
    with pytest.raises(Unavailable, match="disk I/O error"):
        on_disk.facts(0, 10)
    disk.fails_at = None
    assert len(on_disk.facts(0, 10)) == 2


# --- damage ------------------------------------------------------------------


@pytest.mark.parametrize("table", PROBED)
def test_probe_fails_while_a_table_refuses_rows(tmp_path: Path, table: str) -> None:
    path = tmp_path / "changed.db"

    def change(statement: str) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)

    with opened(sqlite_store(path)) as store:
        change(
            f'CREATE TRIGGER no BEFORE INSERT ON "{table}"'
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        with store.transaction() as transaction:
            transaction.keep("heartbeat", "now")
        with pytest.raises(
            Unavailable, match=r"no room; the structure of its tables was changed"
        ):
            probe(store)
        change("DROP TRIGGER no")
        probe(store)


def test_missing_table_is_not_a_reason_to_retry(tmp_path: Path) -> None:
    path = tmp_path / "incomplete.db"
    with closing(sqlite_store(path)) as store:
        store.open()
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE journal")
        with pytest.raises(StoreDamaged, match="no such table"):
            put(store, a_seen(1))
