"""SQLite store: one service per file, and files that are replaced under it."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.stores.builders import a_seen, opened, put, sqlite_store

from forewarn.errors import CannotStart, Unavailable
from forewarn.stores.sqlite import Sqlite
from forewarn.stores.sqlite_copy import copy_database, existing_database
from forewarn.stores.store import SqlStore

Swap = Callable[[Path, Path], None]

_SERVE = """\
import sys
from forewarn.service.setup import open_store
store = open_store("sqlite:///" + sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_service(path: Path) -> Iterator[None]:
    """Open the store in another process."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "open\n"
            yield
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "forewarn.db"
    with opened(sqlite_store(path)) as store:
        put(store, *map(a_seen, range(10)))
    return path


@pytest.fixture
def older(path: Path, tmp_path: Path) -> Path:
    """Return a sound copy that lacks what the store gets later."""
    older = tmp_path / "backup.db"
    shutil.copy(path, older)
    with opened(sqlite_store(path)) as store:
        put(store, *map(a_seen, range(10, 3000)))
    return older


def refusal(path: Path) -> str:
    store = sqlite_store(path)
    with closing(store), pytest.raises(CannotStart) as refused:
        store.open()
    return str(refused.value)


# --- one service per file ----------------------------------------------------


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_file_of_another_service_is_refused_under_any_name(
    path: Path, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    other = tmp_path / "elsewhere" / "other.db"
    other.parent.mkdir()
    link(path, other)
    with another_service(path):
        path.with_name("forewarn.db-lock").unlink()
        for name in (path, other):
            assert "in use by another forewarn" in refusal(name)


def test_refused_second_store_leaves_the_locks_of_the_first_alone(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with opened(sqlite_store(path)) as store:
        os.link(path, other)
        assert "in use" in refusal(other)
        # SQLite's own lock keeps other connections from deleting the log at the end.
        words = ("-m", "forewarn", "store", "check", "--store", f"sqlite:///{path}")
        subprocess.run(
            [sys.executable, *words],
            check=False,
            capture_output=True,
            timeout=PATIENCE,
        )
        assert path.with_name("forewarn.db-wal").exists()
        assert put(store, a_seen(99)) == 11


# --- replaced files ----------------------------------------------------------


def _move(path: Path, _: Path) -> None:
    path.rename(path.with_name("gone.db"))


def _replace(path: Path, older: Path) -> None:
    older.rename(path)


def _delete_log(path: Path, _: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.parametrize("swap", [_move, _replace, _delete_log])
def test_nothing_is_written_after_a_file_was_swapped(
    path: Path, older: Path, swap: Swap
) -> None:
    with opened(sqlite_store(path)) as store:
        store.facts(0, 1)  # makes a connection that can still read
        swap(path, older)
        for _ in range(3):
            with pytest.raises(Unavailable, match=r"moved or deleted|replaced"):
                put(store, a_seen(99))
        assert len(store.facts(0, 5000)) == 3000


def test_nothing_is_written_after_a_link_to_the_file_was_changed(
    path: Path, older: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with opened(sqlite_store(link)) as store:
        link.unlink()
        link.symlink_to(older)
        with pytest.raises(Unavailable, match="was replaced"):
            put(store, a_seen(99))


def test_transaction_during_which_the_file_is_moved_is_not_committed(
    path: Path,
) -> None:
    def write_and_move(store: SqlStore) -> None:
        with store.transaction() as transaction:
            transaction.keep("name", "value")
            _move(path, path)

    with opened(sqlite_store(path)) as store:
        with pytest.raises(Unavailable):
            write_and_move(store)
        path.with_name("gone.db").rename(path)
        with store.transaction() as transaction:
            assert transaction.setting("name") is None
            transaction.keep("name", "later")
    assert not path.with_name("gone.db").exists()


def test_reading_does_not_create_a_database_that_was_moved(path: Path) -> None:
    with opened(sqlite_store(path)) as store:
        _move(path, path)
        with pytest.raises(Unavailable):
            store.facts(0, 1)
        assert not path.exists()


def _checkpoint(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(RESTART)")


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_nothing_is_written_after_an_older_copy_was_written_over_the_file(
    path: Path, older: Path, is_checkpointed: bool
) -> None:
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(3000))
        if is_checkpointed:
            _checkpoint(path)
        path.write_bytes(older.read_bytes())
        for _ in range(2):
            with pytest.raises(Unavailable, match="restore a backup"):
                put(store, a_seen(99))


def test_checkpoint_by_another_program_is_harmless(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(98))
        _checkpoint(path)
        assert put(store, a_seen(99)) == 12
    assert "another program wrote to" in caplog.text


def test_log_without_its_database_is_refused_and_kept(path: Path) -> None:
    log = path.with_name("forewarn.db-wal")
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        kept = log.read_bytes()
    path.unlink()
    log.write_bytes(kept)
    assert "the latest commits are in" in refusal(path)
    assert log.read_bytes() == kept
    assert not path.exists()


# --- permissions -------------------------------------------------------------


def modes(path: Path) -> set[int]:
    names = ("", "-wal", "-shm")
    files = (path.with_name(f"{path.name}{suffix}") for suffix in names)
    return {stat.S_IMODE(file.stat().st_mode) for file in files}


@pytest.fixture
def _umask() -> Iterator[None]:
    earlier = os.umask(0)
    yield
    os.umask(earlier)


@pytest.mark.usefixtures("_umask")
def test_only_the_owner_can_read_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(1))
        assert modes(path) == {0o600}


def test_store_that_all_users_could_read_keeps_only_the_group(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.chmod(0o644)
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(1))
        assert modes(path) == {0o640}
    assert caplog.text.count("all users could read") == 1


# --- restored backups --------------------------------------------------------


def test_log_left_from_another_database_is_refused(path: Path, tmp_path: Path) -> None:
    log = path.with_name("forewarn.db-wal")
    with opened(sqlite_store(path)) as store:
        backup = tmp_path / "backup.db"
        with existing_database(str(path)) as source:
            copy_database(source, backup)
        put(store, a_seen(99))
        kept = log.read_bytes()
    shutil.copy(backup, path)
    log.write_bytes(kept)
    assert "does not belong to" in refusal(path)
    with pytest.raises(CannotStart, match="does not belong to"):
        Sqlite(str(path)).revision()
    assert log.read_bytes() == kept
    log.unlink()
    with opened(sqlite_store(path)) as store:
        assert len(store.facts(0, 100)) == 10


def test_log_left_after_a_copied_file_was_restored_is_noticed(
    path: Path, older: Path
) -> None:
    log = path.with_name("forewarn.db-wal")
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        kept = log.read_bytes()
    shutil.copy(older, path)
    log.write_bytes(kept)
    assert "restore a backup" in refusal(path)


def test_store_that_went_back_is_reported_once(
    path: Path, older: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copy(older, path)
    with opened(sqlite_store(path)) as store:
        assert "from position 3000 of the journal to 10" in caplog.text
        put(store, a_seen(99))
    caplog.clear()
    with opened(sqlite_store(path)):
        assert caplog.text == ""


def test_lost_log_is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        kept = path.read_bytes()  # as kill -9 leaves it: the last commit is in the log
    path.write_bytes(kept)
    with opened(sqlite_store(path)):
        assert "from position 11 of the journal to 10" in caplog.text
