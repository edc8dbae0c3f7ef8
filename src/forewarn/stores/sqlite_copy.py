"""Copies and checks of SQLite database files."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO
from urllib.parse import quote

from forewarn.errors import Unavailable
from forewarn.stores.sqlite_file import refuse_other_log

_PAGES = 1000  # pages between two chances to interrupt
_PARTIAL = ".forewarn-partial"  # suffix of a directory with a partial copy
_LOCK = "lock"  # in that directory, locked during the copy


@contextmanager
def existing_database(
    path: str, *, with_other_log: bool = False
) -> Iterator[sqlite3.Connection]:
    """Connect to an existing database, even if a service is using it.

    A backup next to another database's log is refused. If `with_other_log`, the
    backup and the log are combined instead, without changing either file.
    """
    problem = _problem(path)
    if problem is not None:
        raise Unavailable(f"{path} {problem}, or choose another file with --store")
    if not with_other_log:
        refuse_other_log(path)
    uri = read_only_uri(path) if with_other_log else writable_uri(path)
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as database:
            yield database
    except sqlite3.Error as error:
        raise Unavailable(
            f"cannot use {path} as a database: {error}; restore a backup, or choose"
            " another file with --store"
        ) from error


def writable_uri(path: str) -> str:
    """Return the URI of an existing database."""
    return f"file:{quote(os.path.abspath(path))}?mode=rw"


def read_only_uri(path: str) -> str:
    """Return the URI of a database for connections that never write the log into it.

    Other connections write the log into the database when the last of them is closed.
    """
    return f"file:{quote(os.path.abspath(path))}?mode=ro"


def _problem(path: str) -> str | None:
    if not os.path.exists(path):
        return "does not exist; check the path"
    if os.path.isdir(path):
        return "is a directory; add a file name"
    folder = os.path.dirname(os.path.abspath(path))
    if all(os.access(place, os.R_OK | os.W_OK) for place in (path, folder)):
        return None  # SQLite adds files next to a database, even when reading
    return "is not readable and writable; run this as the service's user"


def quick_check(database: sqlite3.Connection) -> str:
    """Return "ok" or the first problem of the database."""
    (result,) = database.execute("PRAGMA quick_check(1)").fetchone()
    return str(result).rpartition("\n")[2]


def copy_database(
    source: sqlite3.Connection,
    target: Path,
    check: Callable[[sqlite3.Connection], None] = lambda copy: None,
) -> None:
    """Copy the database to the new file `target`, even while others write to it.

    Raise `Unavailable` if copying fails; `check` may also raise this error to
    reject the copy. An incomplete `target` never exists.
    """
    try:
        if os.path.lexists(target):
            raise FileExistsError(None, "the file already exists; choose another name")
        with _partial_copy(target.parent) as partial:
            _copy(source, str(partial), check)
            _sync(partial)
            os.rename(partial, target)
        _sync(target.parent)
    except OSError as error:
        raise Unavailable(f"cannot write {target}: {error.strerror}") from error
    except sqlite3.Error as error:
        raise Unavailable(f"cannot write {target}: {error}") from error


@contextmanager
def _partial_copy(folder: Path) -> Iterator[Path]:
    """Yield an empty private file in a new directory that is removed afterward.

    If the process is killed, the next copy to `folder` removes the directory.
    """
    _remove_abandoned(folder)
    place = Path(mkdtemp(prefix=".", suffix=_PARTIAL, dir=folder))
    try:
        with _open_private(place / _LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _open_private(place / "copy").close()
            yield place / "copy"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove partial copies that no process has locked."""
    for place in folder.glob(f".*{_PARTIAL}"):
        with suppress(OSError), open(place / _LOCK, "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place)


def _open_private(path: Path) -> BinaryIO:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _copy(
    source: sqlite3.Connection, name: str, check: Callable[[sqlite3.Connection], None]
) -> None:
    source.execute("BEGIN")
    try:
        source.execute("SELECT 1 FROM sqlite_master").fetchone()
        with closing(sqlite3.connect(name)) as copy:
            # The transaction keeps later commits from restarting the copy. Signals are
            # handled when `progress` is called.
            source.backup(copy, pages=_PAGES, progress=lambda *_: None)
            copy.execute("PRAGMA journal_mode=DELETE")  # `sqlite_file` expects this
            result = quick_check(copy)
            if result != "ok":
                raise Unavailable(
                    f"the database is damaged: {result}; restore a backup"
                )
            check(copy)
    finally:
        source.rollback()


def _sync(path: str | Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
