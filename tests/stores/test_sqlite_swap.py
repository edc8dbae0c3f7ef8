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
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    opened,
    put,
    sqlite_store,
)

from forewarn.core.lifecycle.facts import Fact, OutageEnded
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart, StoreDamaged, Unavailable
from forewarn.stores import sqlite
from forewarn.stores.sqlite import Sqlite, back_up, connect
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


def test_path_of_another_service_is_refused_although_its_file_was_moved(
    path: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with another_service(link):
        _move(path, path)
        for name in (path, link):
            assert "in use by another forewarn" in refusal(name)
        assert not path.exists()


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


def test_nothing_is_read_from_a_file_that_replaced_the_open_one(
    path: Path, older: Path
) -> None:
    with opened(sqlite_store(path)) as store:
        _replace(path, older)
        with pytest.raises(Unavailable, match="was replaced"):
            store.facts(0, 1)


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
        _move(path, older)  # does not keep the store from being closed


def test_checkpoint_by_another_program_is_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "new.db"
    with opened(sqlite_store(path)) as store:
        put(store, a_fleet())
        _checkpoint(path)
        assert put(store, announced(a_maintenance())) == 2
    assert "another program wrote to" in caplog.text


def test_failure_of_the_check_is_not_taken_for_damage(tmp_path: Path) -> None:
    path, failures = tmp_path / "new.db", [sqlite3.SQLITE_CANTOPEN]

    class Unopened(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = failures.pop()
            raise error

    def connect_or_fail(path: str) -> sqlite3.Connection:
        return Unopened(path) if is_short and failures else connect(path)

    is_short = False
    with opened(sqlite_store(path, connect_or_fail)) as store:
        put(store, a_fleet())
        os.utime(path)
        is_short = True
        with pytest.raises(Unavailable, match="unable to open") as failed:
            put(store, announced(a_maintenance()))
        assert not isinstance(failed.value, StoreDamaged)
        assert failures == []
        assert put(store, announced(a_maintenance())) == 2


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
    assert caplog.text.count("was readable by all users") == 1


# --- restored backups --------------------------------------------------------


def an_outage() -> OutageEnded:
    return OutageEnded(at=NOON, outage=Outage(since=NOON - MINUTE, until=NOON))


def announce(store: SqlStore, *numbers: int) -> None:
    put(store, *(announced(a_maintenance(f"M{number}")) for number in numbers))


def restored_while_running(folder: Path, *, is_checkpointed: bool = False) -> Path:
    """Copy a backup with M1 over a store in use that has M1 and M2."""
    path = folder / "new.db"
    with opened(sqlite_store(path)) as store:
        put(store, a_fleet())
        announce(store, 1)
        back_up(str(path), folder / "backup.db")
        if is_checkpointed:
            put(store, an_outage())
            _checkpoint(path)
        announce(store, 2)
        shutil.copy(folder / "backup.db", path)
        for _ in range(2):
            with pytest.raises(StoreDamaged, match=r"commits are only in .*-wal"):
                announce(store, 3)
    return path


def announced_in(path: Path) -> set[str]:
    with opened(sqlite_store(path)) as store, store.snapshot() as snapshot:
        return {*snapshot.slice(None).maintenances}


def files_of(path: Path) -> list[bytes]:
    log = path.with_name(f"{path.name}-wal")
    return [file.read_bytes() for file in (path, log)]


def test_commits_survive_a_backup_copied_over_the_file_in_use(tmp_path: Path) -> None:
    path = restored_while_running(tmp_path)
    before, log = files_of(path), path.with_name("new.db-wal")
    message = refusal(path)
    assert "delete" not in message
    assert "`forewarn store backup FILE`" in message
    with pytest.raises(CannotStart, match="is a restored backup"):
        Sqlite(str(path)).revision()
    both = tmp_path / "both.db"
    back_up(str(path), both)
    assert files_of(path) == before
    assert announced_in(both) == {"M1", "M2"}
    log.rename(tmp_path / "moved-away")
    assert announced_in(path) == {"M1"}


def test_backup_is_not_combined_with_a_log_that_does_not_continue_it(
    tmp_path: Path,
) -> None:
    path = restored_while_running(tmp_path, is_checkpointed=True)
    before = files_of(path)
    with pytest.raises(
        Unavailable, match=r"cannot be combined.*move .* to another directory"
    ):
        back_up(str(path), tmp_path / "both.db")
    assert files_of(path) == before
    assert not (tmp_path / "both.db").exists()


def test_backup_is_not_combined_with_a_log_whose_end_is_missing(
    tmp_path: Path,
) -> None:
    path = restored_while_running(tmp_path)
    log = path.with_name("new.db-wal")
    os.truncate(log, log.stat().st_size - 1)  # the last commit is incomplete
    with pytest.raises(Unavailable, match=r"journal position 2 instead of 3"):
        back_up(str(path), tmp_path / "both.db")
    assert not (tmp_path / "both.db").exists()


def test_refused_start_leaves_the_log_alone(path: Path, older: Path) -> None:
    del older  # the fixture adds entries
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        file, log = files_of(path)
    middle = len(file) // 8192 * 4096
    file = file[:middle] + b"x" * 256 + file[middle + 256 :]
    path.write_bytes(file)
    path.with_name("forewarn.db-wal").write_bytes(log)
    assert "is damaged" in refusal(path)
    assert files_of(path) == [file, log]


def test_refused_start_of_a_large_file_leaves_the_log_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_LARGE", 0)  # not checked
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        copy = killed(path, path.with_name("killed"))
    with closing(sqlite3.connect(path)) as database:
        pages = "SELECT rootpage FROM sqlite_master WHERE name = 'alembic_version'"
        ((page,),) = database.execute(pages)
    file = bytearray(copy.read_bytes())
    file[(page - 1) * 4096 : page * 4096] = b"x" * 4096
    copy.write_bytes(file)
    before = files_of(copy)
    assert "is damaged" in refusal(copy)
    assert files_of(copy) == before


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
        assert "ends at position 10, but had reached position 3000" in caplog.text
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
        assert "ends at position 10, but had reached position 11" in caplog.text


# --- killed services ---------------------------------------------------------


def killed(path: Path, folder: Path) -> Path:
    """Return a copy of the files of an open store, as kill -9 leaves them."""
    folder.mkdir()
    for suffix in ("", "-wal", "-lock"):
        shutil.copy2(path.with_name(f"{path.name}{suffix}"), folder)
    return folder / path.name


def test_start_after_a_kill_reports_nothing(
    path: Path, older: Path, caplog: pytest.LogCaptureFixture
) -> None:
    del older  # the fixture adds entries
    with opened(sqlite_store(path)) as store:
        put(store, a_seen(99))
        copy = killed(path, path.with_name("killed"))
    with opened(sqlite_store(copy)) as store:
        assert len(store.facts(0, 5000)) == 3001
    assert caplog.text == ""


def mixture(folder: Path, *facts: Fact) -> Path:
    """Copy an older file under a log; it lacks `facts` and the last sign-out."""
    folder.mkdir()
    path, older = folder / "new.db", folder / "older.db"
    with opened(sqlite_store(path)) as store:
        put(store, a_fleet())
    shutil.copy(path, older)
    os.utime(older, (0, 0))
    with opened(sqlite_store(path)) as store:
        put(store, *facts)
        with store.transaction() as transaction:
            transaction.keep("sign_outs", "{}")
    with opened(sqlite_store(path)) as store:
        announce(store, 1)
        copy = killed(path, folder / "killed")
    shutil.copy2(older, copy)
    return copy


def test_older_copy_under_the_log_of_a_killed_service_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert "outages has 0 rows" in refusal(mixture(tmp_path / "refused", an_outage()))
    with opened(sqlite_store(mixture(tmp_path / "reported"))):
        assert "another program overwrote the file" in caplog.text
