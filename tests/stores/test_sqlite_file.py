"""A store in a file: who may open it, what is refused, and a disk that is full."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.stores.things import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    everything,
    put,
    sqlite_store,
)

from forewarn.core.facts import OutageEnded
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart
from forewarn.ports import Store
from forewarn.stores.sqlite import connect

SENTENCE = re.compile(r"[^\n]+")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "forewarn.db"


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    store = sqlite_store(path)
    store.open()
    with closing(store):
        yield store


def refusal(path: Path) -> str:
    """What is said when `path` is refused."""
    with pytest.raises(CannotStart) as refused:
        sqlite_store(path).open()
    return str(refused.value)


def a_database_of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.execute("INSERT INTO recipes VALUES ('bread')")
        other.commit()


def set_stamp(path: Path, stamp: str) -> None:
    with opened(path):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", (stamp,))
        database.commit()


# --- who may open it ---------------------------------------------------------


def test_what_was_kept_is_there_when_the_file_is_opened_again(path: Path) -> None:
    with opened(path) as store:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        with store.snapshot() as snapshot:
            before = everything(snapshot)
    with opened(path) as store, store.snapshot() as snapshot:
        assert everything(snapshot) == before
        assert (snapshot.position(), snapshot.next_moment()) == (2, NOON)


def test_outages_are_there_when_the_file_is_opened_again(path: Path) -> None:
    outage = Outage(since=NOON + MINUTE, until=NOON + 30 * MINUTE)
    with opened(path) as store:
        put(store, a_fleet(), announced(a_maintenance()))
        put(store, OutageEnded(at=outage.until, outage=outage))
    with opened(path) as store, store.snapshot() as snapshot:
        assert snapshot.slice(["web"]).outages == (outage,)


def test_the_folder_of_the_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "state" / "forewarn" / "forewarn.db"
    with opened(path):
        assert path.exists()


def test_a_second_store_on_the_same_file_is_refused_with_one_sentence(
    path: Path,
) -> None:
    with opened(path):
        said = refusal(path)
    assert SENTENCE.fullmatch(said)
    assert str(path) in said
    assert "in use" in said


def test_a_second_store_on_the_same_file_by_another_name_is_refused(
    path: Path, tmp_path: Path
) -> None:
    with opened(path):
        (tmp_path / "link.db").symlink_to(path)
        assert "in use" in refusal(tmp_path / "link.db")


def test_the_first_store_is_not_disturbed_by_a_second_one(path: Path) -> None:
    with opened(path) as store:
        refusal(path)
        assert put(store, a_seen(1)) == 1
        refusal(path)  # the refusal before did not give the file free


def test_closing_gives_the_file_free(path: Path) -> None:
    for position in (1, 2, 3):
        with opened(path) as store:
            assert put(store, a_seen(position)) == position


def test_every_connection_waits_for_the_disk(path: Path) -> None:
    made: list[sqlite3.Connection] = []

    def remembered(path: str) -> sqlite3.Connection:
        made.append(connect(path))
        return made[-1]

    store = sqlite_store(path, remembered)
    store.open()
    with closing(store):
        store.facts(0, 1)
        assert len(made) == 2
        for connection in made:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


# --- what is refused ---------------------------------------------------------


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_text("[[vms]]\nname = 'web-0'\n" * 100)
    before = path.read_bytes()
    said = refusal(path)
    assert SENTENCE.fullmatch(said)
    assert str(path) in said
    assert path.read_bytes() == before


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert SENTENCE.fullmatch(refusal(tmp_path))


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    a_database_of_another_program(path)
    said = refusal(path)
    assert SENTENCE.fullmatch(said)
    assert "another program" in said


def test_a_database_of_another_program_is_left_as_it_is(path: Path) -> None:
    a_database_of_another_program(path)
    before = path.read_bytes()
    refusal(path)
    assert path.read_bytes() == before


def test_a_database_of_a_newer_forewarn_is_refused(path: Path) -> None:
    set_stamp(path, "9999")
    said = refusal(path)
    assert SENTENCE.fullmatch(said)
    assert "newer" in said
    assert "9999" in said


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with opened(path) as store:
        assert put(store, a_seen(1)) == 1


def test_a_folder_that_cannot_be_written_is_refused() -> None:
    said = refusal(Path("/proc/forewarn.db"))  # not even root may write here
    assert SENTENCE.fullmatch(said)
    assert "--store" in said


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refusal(tmp_path / "file" / "forewarn.db")
    assert SENTENCE.fullmatch(said)
    assert "--store" in said


def test_a_refused_file_is_not_held(path: Path) -> None:
    path.write_text("no database" * 100)
    refusal(path)
    path.unlink()
    with opened(path) as store:
        assert put(store, a_seen(1)) == 1


def test_a_table_that_is_missing_is_made(path: Path) -> None:
    with opened(path) as store:
        put(store, a_seen(1))
    with closing(sqlite3.connect(path)) as older:
        older.execute("DROP TABLE outages")
    away = Outage(since=NOON - MINUTE, until=NOON)
    with opened(path) as store:
        put(store, OutageEnded(at=NOON, outage=away))
        assert len(store.facts(0, 10)) == 2
