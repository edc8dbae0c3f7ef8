"""A store in a file: who may open it, what is refused, and a disk that is full."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.stores.things import (
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    everything,
    put,
    sqlite_store,
)

from forewarn.errors import CannotStart, Unavailable
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


def test_the_first_store_is_not_disturbed_by_a_second_one(path: Path) -> None:
    with opened(path) as store:
        refusal(path)
        assert put(store, a_seen(1)) == 1
        refusal(path)  # the refusal before did not give the file free


def test_closing_gives_the_file_free(path: Path) -> None:
    for position in (1, 2, 3):
        with opened(path) as store:
            assert put(store, a_seen(position)) == position


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


# --- a full disk -------------------------------------------------------------


class Disk:
    """A disk that can be full: it lets a database have no more pages than it has."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []
        self._pages: int | None = None

    def connect(self, path: str) -> sqlite3.Connection:
        connection = connect(path)
        self._connections.append(connection)
        if self._pages is not None:
            connection.execute(f"PRAGMA max_page_count={self._pages}")
        return connection

    def fill(self) -> None:
        """Leave no page free."""
        self._pages = 1  # never less than there are
        self._limit(self._pages)

    def clear(self) -> None:
        """Leave room again."""
        self._pages = None
        self._limit(1_000_000)

    def _limit(self, pages: int) -> None:
        for connection in self._connections:
            connection.execute(f"PRAGMA max_page_count={pages}")


LARGE = [a_seen(number) for number in range(2000)]  # more than the pages in use hold


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def on_disk(path: Path, disk: Disk) -> Iterator[Store]:
    store = sqlite_store(path, disk.connect)
    store.open()
    with closing(store):
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        yield store


def test_a_full_disk_makes_the_store_unavailable(on_disk: Store, disk: Disk) -> None:
    disk.fill()
    with pytest.raises(Unavailable, match=r"[^\n]+full"):
        put(on_disk, *LARGE)


def test_a_full_disk_changes_nothing(on_disk: Store, disk: Disk) -> None:
    with on_disk.snapshot() as snapshot:
        before = everything(snapshot)
    disk.fill()
    with pytest.raises(Unavailable):
        put(on_disk, *LARGE)
    with on_disk.snapshot() as snapshot:
        assert everything(snapshot) == before
        assert (snapshot.position(), snapshot.next_moment()) == (2, NOON)
    assert len(on_disk.facts(0, 10)) == 2


def test_the_store_works_again_once_there_is_room(on_disk: Store, disk: Disk) -> None:
    disk.fill()
    with pytest.raises(Unavailable):
        put(on_disk, *LARGE)
    disk.clear()
    assert put(on_disk, *LARGE) == 2 + len(LARGE)
    assert [entry.position for entry in on_disk.facts(0, 10_000)] == [
        *range(1, 3 + len(LARGE))
    ]


def test_a_store_cannot_start_on_a_full_disk(path: Path, disk: Disk) -> None:
    disk.fill()
    with ExitStack() as stack:
        store = sqlite_store(path, disk.connect)
        stack.callback(store.close)
        with pytest.raises(CannotStart, match=r"[^\n]+full"):
            store.open()


def test_a_store_that_could_not_start_on_a_full_disk_does_not_hold_the_file(
    path: Path, disk: Disk
) -> None:
    disk.fill()
    with ExitStack() as stack:
        store = sqlite_store(path, disk.connect)
        stack.callback(store.close)
        with pytest.raises((CannotStart, Unavailable)):
            store.open()
        with opened(path) as another:
            assert put(another, a_seen(1)) == 1
