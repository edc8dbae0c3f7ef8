"""SQLite store: opening the file, and refusals."""

import fcntl
import logging
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_seen,
    opened,
    put,
    sqlite_store,
)

from forewarn.core.lifecycle.facts import OutageEnded
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart, StoreDamaged
from forewarn.stores.sqlite import back_up, connect
from forewarn.stores.sqlite_copy import copy_database

SENTENCE = re.compile(r"[^\n]+")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "forewarn.db"


def refusal(path: Path) -> str:
    """Return the message with which `path` is refused: one line."""
    with pytest.raises(CannotStart) as refused:
        sqlite_store(path).open()
    assert SENTENCE.fullmatch(str(refused.value))
    return str(refused.value)


def a_database_of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.execute("INSERT INTO recipes VALUES ('bread')")
        other.commit()


def set_stamp(path: Path, stamp: str) -> None:
    with opened(sqlite_store(path)):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", (stamp,))
        database.commit()


# --- opening -----------------------------------------------------------------


def test_folder_of_the_file_is_created(tmp_path: Path) -> None:
    path = tmp_path / "state" / "forewarn" / "forewarn.db"
    with opened(sqlite_store(path)):
        assert path.exists()


def test_second_store_on_the_same_file_is_refused_with_one_line(
    path: Path,
) -> None:
    with opened(sqlite_store(path)):
        message = refusal(path)
    assert str(path) in message
    assert "in use" in message


def test_second_store_on_the_same_file_through_a_link_is_refused(
    path: Path, tmp_path: Path
) -> None:
    with opened(sqlite_store(path)):
        (tmp_path / "link.db").symlink_to(path)
        assert "in use" in refusal(tmp_path / "link.db")


def test_every_connection_syncs_to_the_disk(path: Path) -> None:
    connections: list[sqlite3.Connection] = []

    def remembered(path: str) -> sqlite3.Connection:
        connections.append(connect(path))
        return connections[-1]

    store = sqlite_store(path, remembered)
    store.open()
    with closing(store):
        store.facts(0, 1)
        assert len(connections) == 2
        for connection in connections:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_reading_does_not_wait_for_a_writer(path: Path) -> None:
    with opened(sqlite_store(path)) as store, ThreadPoolExecutor(1) as pool:
        put(store, a_seen(1))
        with store.transaction() as transaction:
            transaction.keep("name", "value")
            assert len(pool.submit(store.facts, 0, 10).result(PATIENCE)) == 1


# --- copies ------------------------------------------------------------------


def test_commits_do_not_restart_a_copy_or_get_into_it(path: Path) -> None:
    with opened(sqlite_store(path)) as store:
        put(store, *map(a_seen, range(1, 101)))
        commits: list[int] = []

        class Disturbed(sqlite3.Connection):
            def backup(self, target: sqlite3.Connection, **_: object) -> None:
                def disturb(*_: int) -> None:
                    commits.append(put(store, a_seen(1)))
                    assert len(commits) < 1000

                super().backup(target, pages=1, progress=disturb)

        copy = path.with_name("copy.db")
        with closing(
            sqlite3.connect(path, isolation_level=None, factory=Disturbed)
        ) as source:
            copy_database(source, copy)
    assert len(commits) > 10
    with opened(sqlite_store(copy)) as store:
        assert len(store.facts(0, 1000)) == 100


def test_copy_removes_what_a_killed_copy_left_but_not_what_is_in_use(
    path: Path, tmp_path: Path
) -> None:
    names = (".a.forewarn-partial", ".b.forewarn-partial", ".c.forewarn-partial")
    killed, running, other = places = [tmp_path / name for name in names]
    for place in places:
        place.mkdir()
        (place / "copy").touch()
    (killed / "lock").touch()
    (killed / "copy-journal").touch()
    with opened(sqlite_store(path)), (running / "lock").open("xb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        back_up(str(path), tmp_path / "copy.db")
    assert {place.name for place in tmp_path.glob(".*")} == {running.name, other.name}


# --- damage ------------------------------------------------------------------


def damage(path: Path) -> None:
    """Overwrite part of a page in the middle of a database with 2,000 facts."""
    with opened(sqlite_store(path)) as store:
        put(store, *map(a_seen, range(2000)))
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 8192 * 4096)
        file.write(b"x" * 256)


def test_damaged_file_is_refused_with_the_remedy(path: Path) -> None:
    damage(path)
    message = refusal(path)
    assert "restore a backup" in message
    assert "now" not in message


def test_large_file_is_not_read_at_the_start_but_damage_is_reported_when_met(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("forewarn.stores.sqlite._LARGE", 0)
    caplog.set_level(logging.INFO, "forewarn")
    damage(path)
    with opened(sqlite_store(path)) as store:
        assert "`forewarn store check`" in caplog.text
        with pytest.raises(StoreDamaged, match="restore a backup") as error:
            store.facts(0, 5000)
    assert "now" not in str(error.value)


# --- refusals ----------------------------------------------------------------


def test_file_that_is_not_a_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("[[vms]]\nname = 'web-0'\n" * 100)
    before = path.read_bytes()
    message = refusal(path)
    assert str(path) in message
    assert path.read_bytes() == before


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    refusal(tmp_path)


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    a_database_of_another_program(path)
    path.chmod(0o644)
    before = path.read_bytes()
    assert "another program" in refusal(path)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_database_of_a_newer_forewarn_is_refused(path: Path) -> None:
    set_stamp(path, "9999")
    message = refusal(path)
    assert "newer" in message
    assert "9999" in message


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with opened(sqlite_store(path)) as store:
        assert put(store, a_seen(1)) == 1


def test_unwritable_folder_is_refused() -> None:
    message = refusal(Path("/proc/forewarn.db"))  # not even root may write here
    assert "--store" in message


def test_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = refusal(tmp_path / "file" / "forewarn.db")
    assert "--store" in message


def test_refused_file_is_not_locked(path: Path) -> None:
    path.write_text("no database" * 100)
    refusal(path)
    path.unlink()
    with opened(sqlite_store(path)) as store:
        assert put(store, a_seen(1)) == 1


def test_missing_table_is_created(path: Path) -> None:
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(1))
    with closing(sqlite3.connect(path)) as older:
        older.execute("DROP TABLE outages")
    away = Outage(since=NOON - MINUTE, until=NOON)
    with opened(sqlite_store(path)) as store:
        put(store, OutageEnded(at=NOON, outage=away))
        assert len(store.facts(0, 10)) == 2
