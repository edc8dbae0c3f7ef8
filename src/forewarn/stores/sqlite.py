"""SQLite database: one writer, readers that never wait for it, and a file lock."""

import fcntl
import filecmp
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from queue import Empty, LifoQueue
from threading import RLock

from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect

from forewarn.errors import CannotStart, StoreDamaged, Unavailable
from forewarn.stores import schema, tables
from forewarn.stores.database import Cursor
from forewarn.stores.sqlite_copy import copy_database, existing_database

Connect = Callable[[str], sqlite3.Connection]

MEMORY = ":memory:"

#: Primary result codes of a file that is no longer a valid database.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_DIALECT: Dialect = sqlite.dialect(paramstyle="named")

_log = logging.getLogger(__name__)


def connect(path: str) -> sqlite3.Connection:
    """Connect to the database file `path`."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def file_bytes(path: str) -> int | None:
    """Return the size of the database and its log; None if it cannot be read."""
    log = f"{path}-wal"  # exists only while a connection is open
    try:
        return sum(
            os.path.getsize(name) for name in (path, log) if os.path.exists(name)
        )
    except OSError:
        return None


class Sqlite:
    """A database in a file or in memory."""

    def __init__(self, path: str, connect: Connect = connect) -> None:
        """Use the file `path`, or `MEMORY`, with connections made by `connect`."""
        self.dialect = _DIALECT
        self.name = self._path = path
        self._connect = connect
        self._lock = RLock()  # in memory, readers share the writer's connection
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._writer: sqlite3.Connection | None = None
        self._lock_descriptor: int | None = None

    def open(self, *, upgrade: bool = False) -> str | None:
        """Lock the file, connect, and create or upgrade the tables.

        Before an upgrade, the database is copied.
        """
        if self._path != MEMORY:
            self._lock_file()
        try:
            self._writer = self._connect(self._path)
            schema.refuse_foreign(_table_names(self._writer.cursor()), self._path)
            _prepare(self._writer)
            return self._create_or_upgrade()
        except (sqlite3.Error, Unavailable) as error:
            self.close()
            raise CannotStart(
                f"{self._path} cannot be used as a database: {error}"
            ) from error
        except BaseException:
            self.close()
            raise

    def leave(self) -> None:
        """Do nothing: there is no server that could hang."""

    def close(self) -> None:
        """Disconnect and unlock the file."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            with suppress(Empty):
                while True:
                    self._idle.get_nowait().close()
            if self._lock_descriptor is not None:
                os.close(self._lock_descriptor)
                self._lock_descriptor = None

    def revision(self) -> str:
        """Return the revision, even if a service is running."""
        with existing_database(self._path) as connection:
            cursor = connection.cursor()
            return schema.existing_revision(
                cursor, self.dialect, names=_table_names(cursor), place=self._path
            )

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """Write exclusively; commit at the end of the block, roll back if it fails."""
        with self._lock, _translated():
            connection = self._open_writer()
            cursor = connection.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        cursor.execute("ROLLBACK")
                raise
            finally:
                cursor.close()

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Read one consistent state."""
        if self._path == MEMORY:
            with self._lock:
                cursor = self._open_writer().cursor()
                try:
                    yield cursor
                finally:
                    cursor.close()
            return
        with _translated():
            connection = self._reader()
            try:
                cursor = connection.cursor()
                cursor.execute("BEGIN")
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            cursor.close()
            with self._lock:
                if self._writer is None:  # closed meanwhile
                    connection.close()
                else:
                    self._idle.put(connection)

    def _reader(self) -> sqlite3.Connection:
        self._open_writer()
        try:
            return self._idle.get_nowait()
        except Empty:
            connection = self._connect(self._path)
            _prepare(connection)
            return connection

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            raise Unavailable("the store is closed")
        return self._writer

    def _lock_file(self) -> None:
        # Next to the file: a lock on the file itself would disturb SQLite's own.
        lock = f"{os.path.realpath(self._path)}-lock"
        try:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock_descriptor = os.open(
                lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(self._lock_descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise CannotStart(
                f"{self._path} is in use by another forewarn; stop it, or choose"
                " another file with --store"
            ) from None
        except OSError as error:
            self.close()
            raise CannotStart(
                f"{lock} cannot be written: {error.strerror}; choose another place"
                " with --store"
            ) from error

    def _create_or_upgrade(self) -> str | None:
        with self.writing() as cursor:
            older = schema.create_or_check(
                cursor, self.dialect, names=_table_names(cursor), place=self._path
            )
        return None if older is None else self._upgrade(older)

    def _upgrade(self, revision: str) -> str:
        try:
            copy = self._copy()
        except (OSError, Unavailable) as error:
            raise CannotStart(
                f"{self._path} must be copied before it is upgraded to revision"
                f" {tables.STAMP}, and is unchanged: {error}"
            ) from error
        with (
            schema.migration(
                self._writer, self.dialect, revision=revision, place=self._path
            ) as upgrade,
            self.writing(),
        ):
            upgrade()
        report = (
            f"upgraded {self._path} from revision {revision} to {tables.STAMP}; a copy"
            f" of the database before the upgrade is in {copy}"
        )
        _log.info(report)
        return report

    def _copy(self) -> str:
        """Copy the database; reuse an equal copy, left by an upgrade that failed."""
        copy, earlier = f"{self._path}.before-{tables.STAMP}", None
        for number in count(2):
            if not os.path.lexists(copy):
                break
            earlier, copy = copy, f"{self._path}.before-{tables.STAMP}.{number}"
        copy_database(self._open_writer(), Path(copy))
        if earlier is None or not filecmp.cmp(earlier, copy, shallow=False):
            return copy
        os.unlink(copy)
        return earlier


def _table_names(cursor: Cursor) -> Collection[str]:
    cursor.execute("SELECT name FROM sqlite_master WHERE type='table'", {})
    return [str(name) for (name,) in cursor.fetchall()]


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA busy_timeout=5000")


@contextmanager
def _translated() -> Iterator[None]:
    """Translate SQLite's disk errors to `Unavailable`."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # bugs in our code
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0)  # absent if Python raised it
        is_gone = "no such table" in str(error)
        if is_gone or code & 0xFF in _DAMAGE:  # extended codes have more bits
            raise StoreDamaged(
                f"the store is damaged: {error}; stop forewarn and restore a backup"
            ) from error
        raise Unavailable(f"the store cannot be used now: {error}") from error
