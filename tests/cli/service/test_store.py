"""Tests of `forewarn store`."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from signal import SIGHUP, SIGTERM, Signals

import pytest
from tests.cli.support.command_line import Cli
from tests.patience import PATIENCE
from tests.postgres import PostgresServer
from tests.stores.builders import NOON, a_maintenance, announced, put, sqlite_store
from tests.stores.releases import ADD_RACK, become_newer, largest_file

from forewarn.core.lifecycle.facts import Sight
from forewarn.service.setup import open_store
from forewarn.stores import sqlite_copy, tables

#: This release's revision, and the one after it.
THIS = tables.STAMP
NEXT = f"{int(THIS) + 1:04}"


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep paths on one line."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Create the database that commands use by default."""
    path = tmp_path / "state" / "forewarn.db"
    with closing(sqlite_store(path)) as store:
        store.open()
        with store.transaction() as transaction:
            sights = [Sight(event=f"E{n}", vm="web-0", at=NOON) for n in range(2000)]
            transaction.save_observations({}, sights, NOON)
    return path


def error_of(run: Cli, line: str, *words: object) -> str:
    """Run a store command that fails; return its one line."""
    message = run(f"store {line}", *words, code=1)
    assert message.count("\n") == 1
    assert "internal error" not in message
    return message


def checked(run: Cli, code: int = 0) -> dict[str, str]:
    """Run `store check`; return the values that it prints, by name."""
    lines = run("store check", code=code).splitlines()
    pairs = (line.strip().split("  ", 1) for line in lines)
    return {name: value.strip() for name, value in pairs}


def damage(file: Path) -> None:
    """Overwrite some of the pages in the middle of a database."""
    size = file.stat().st_size
    with file.open("r+b") as database:
        database.seek(size // 2)
        database.write(b"x" * (size // 4))


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


#: Gets a signal while the copy is checked.
_STOPPED = """\
import os, sys
from forewarn.cli.main import main
from forewarn.stores import sqlite_copy, tables

#: This release's revision, and the one after it.
THIS = tables.STAMP
NEXT = f"{int(THIS) + 1:04}"
sqlite_copy.quick_check = lambda copy: os.kill(os.getpid(), int(sys.argv[1]))
sys.exit(main(sys.argv[2:]))
"""


# --- check -------------------------------------------------------------------


def test_current_database_passes_the_check_while_it_is_in_use(
    file: Path, run: Cli
) -> None:
    with closing(sqlite_store(file)) as store:
        store.open()
        assert checked(run) == {
            "database": str(file),
            "revision": THIS,
            "newest": THIS,
            "usable": "yes",
            "quick check": "ok",
            "content": "ok",
        }


def test_older_database_fails_the_check(
    file: Path, run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    become_newer(monkeypatch, tmp_path, ADD_RACK)
    shown = checked(run, code=1)
    assert (shown["revision"], shown["newest"]) == (THIS, NEXT)
    assert "no: it was created by an older version of forewarn" in shown["usable"]


def test_newer_database_fails_the_check(file: Path, run: Cli) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    shown = checked(run, code=1)
    assert shown["revision"] == "9999"
    assert "created by a newer version of forewarn" in shown["usable"]


def test_damaged_database_fails_the_check(file: Path, run: Cli) -> None:
    damage(file)
    shown = checked(run, code=1)
    assert shown["usable"] == "no: it is damaged; restore a backup"
    assert shown["quick check"] != "ok"


def test_postgresql_is_checked_without_its_password(
    postgres: PostgresServer, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(schema=postgres.new_schema())
    monkeypatch.setenv("FOREWARN_STORE", url)
    assert "no tables yet" in error_of(run, "check")
    with closing(open_store(url)):
        assert checked(run) == {
            "database": f"postgresql://forewarn@127.0.0.1:{postgres.port}/forewarn",
            "revision": THIS,
            "newest": THIS,
            "usable": "yes",
            "content": "ok",
        }


# --- upgrade -----------------------------------------------------------------


@pytest.mark.usefixtures("file")
def test_current_database_is_not_upgraded(run: Cli) -> None:
    assert "nothing to do" in run("store upgrade")


def test_older_database_is_upgraded_once(
    file: Path, run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    become_newer(monkeypatch, tmp_path, ADD_RACK)
    report = run("store upgrade")
    assert f"upgraded {file} from revision {THIS} to {NEXT}" in report
    assert f"{file}.before-{NEXT}" in report
    assert checked(run)["revision"] == NEXT
    assert "nothing to do" in run("store upgrade")


def test_older_postgresql_database_is_upgraded(
    postgres: PostgresServer,
    run: Cli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    url = postgres.url(schema=postgres.new_schema())
    with closing(open_store(url)):
        become_newer(monkeypatch, tmp_path, ADD_RACK)
        assert "in use" in error_of(run, "upgrade --store", url)
    report = run("store upgrade --store", url)
    assert report.endswith(f"from revision {THIS} to {NEXT}\n")
    assert "nothing to do" in run("store upgrade --store", url)


def test_database_in_use_is_not_upgraded(
    file: Path, run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with closing(sqlite_store(file)) as store:
        store.open()
        become_newer(monkeypatch, tmp_path, ADD_RACK)
        assert "in use" in error_of(run, "upgrade")
    assert checked(run, code=1)["revision"] == THIS


def test_upgrade_creates_no_database(tmp_path: Path, run: Cli) -> None:
    assert "does not exist" in error_of(run, "upgrade")
    empty = tmp_path / "empty.db"
    empty.touch()
    assert "no tables yet" in error_of(run, "upgrade --store", f"sqlite:///{empty}")
    assert empty.read_bytes() == b""


# --- backup ------------------------------------------------------------------


def test_backup_of_a_store_in_use_is_a_private_complete_store(
    file: Path, tmp_path: Path, run: Cli
) -> None:
    copy = tmp_path / "copy.db"
    with closing(sqlite_store(file)) as store:
        store.open()
        put(store, announced(a_maintenance("M16")))
        assert f"copied {file} to {copy}" in run("store backup", copy)
    assert files(tmp_path) == ["copy.db", "state"]
    assert copy.stat().st_mode & 0o077 == 0
    with closing(sqlite_store(copy)) as store:
        store.open()
        assert len(store.facts(0, 10)) == 2
        with store.snapshot() as snapshot:
            assert snapshot.last_number() == 17  # the next operation is m-18


@pytest.mark.usefixtures("file")
def test_backup_and_its_folder_are_synced_to_disk(
    tmp_path: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, bool]] = []

    def record(number: int) -> None:
        name = os.readlink(f"/proc/self/fd/{number}")
        synced.append((name == str(tmp_path), copy.exists()))

    copy = tmp_path / "copy.db"
    monkeypatch.setattr(os, "fsync", record)
    run("store backup", copy)
    # First the file, before it gets its name; then the folder.
    assert synced == [(False, False), (True, True)]


@pytest.mark.usefixtures("file")
def test_backup_overwrites_nothing(tmp_path: Path, run: Cli) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("of last year")
    assert "already exists" in error_of(run, "backup", copy)
    assert copy.read_text() == "of last year"


@pytest.mark.usefixtures("file")
def test_interrupted_backup_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def interrupt(_: sqlite3.Connection) -> None:
        assert len(files(tmp_path)) > 1  # the copy has been written
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_copy, "quick_check", interrupt)
    run("store backup", tmp_path / "copy.db", code=130)
    assert files(tmp_path) == ["state"]


@pytest.mark.usefixtures("file")
def test_backup_that_does_not_fit_leaves_no_file(tmp_path: Path, run: Cli) -> None:
    with largest_file(64 * 1024):  # SQLite's shared memory needs half of it
        message = error_of(run, "backup", tmp_path / "copy.db")
    assert "copy.db" in message
    assert files(tmp_path) == ["state"]


def test_damaged_database_is_not_backed_up(
    file: Path, tmp_path: Path, run: Cli
) -> None:
    damage(file)
    assert "restore a backup" in error_of(run, "backup", tmp_path / "copy.db")
    assert files(tmp_path) == ["state"]


@pytest.mark.usefixtures("file")
def test_backup_into_a_missing_folder_is_refused(tmp_path: Path, run: Cli) -> None:
    message = error_of(run, "backup", tmp_path / "missing" / "copy.db")
    assert "No such file or directory" in message


def test_backup_of_postgresql_shows_the_command_without_the_password(
    run: Cli,
) -> None:
    url = "postgresql://me:hush@db:5433/fw?sslmode=require&sslpassword=hush"
    message = error_of(run, "backup", "my copy.dump", "--store", url)
    assert (
        "pg_dump --format=custom '--file=my copy.dump' '--dbname=user=me dbname=fw"
        " host=db port=5433 sslmode=require'"
    ) in message
    assert "hush" not in message


# --- every command -----------------------------------------------------------


def test_store_commands_do_nothing_for_a_store_in_memory(run: Cli) -> None:
    assert "nothing to check" in run("store check --store memory")
    assert "nothing to do" in run("store upgrade --store memory")
    message = error_of(run, "backup copy.db --store memory")
    assert "nothing to back up" in message


@pytest.mark.parametrize("words", [["check"], ["upgrade"], ["backup", "copy.db"]])
def test_unusable_files_are_refused_with_one_line(
    words: Sequence[str],
    tmp_path: Path,
    run: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database " * 100)
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    expected = {
        "missing": "does not exist",
        "folder": "is a directory",
        "text": "file is not a database",
        "other": "database of another program",
    }
    before = files(tmp_path)
    for name, reason in expected.items():
        assert reason in error_of(run, "", *words, "--store", f"sqlite:///{name}")
    assert files(tmp_path) == before


def test_invalid_store_is_wrong_usage(run: Cli) -> None:
    assert "--store: expected sqlite:///PATH" in run(
        "store check --store nonsense", code=2
    )


@pytest.mark.parametrize("number", [SIGTERM, SIGHUP])
def test_backup_that_is_stopped_leaves_nothing_behind(
    file: Path, tmp_path: Path, number: Signals
) -> None:
    target = tmp_path / "backup" / "copy.db"
    target.parent.mkdir()
    words = ("store", "backup", str(target), "--store", f"sqlite:///{file}")
    done = subprocess.run(
        [sys.executable, "-c", _STOPPED, str(int(number)), *words],
        check=False,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"", b"")
    assert files(target.parent) == []
