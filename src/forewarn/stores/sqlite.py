"""SQLite database with one writer, readers that never wait, and a file lock."""

import filecmp
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from queue import Empty, LifoQueue
from threading import Lock, RLock

from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect

from forewarn.errors import CannotStart, StoreDamaged, Unavailable
from forewarn.stores import schema, tables
from forewarn.stores.consistency import find_losses, find_problems
from forewarn.stores.database import Cursor, StatementRunner
from forewarn.stores.sqlite_copy import (
    copy_database,
    existing_database,
    quick_check,
    read_only_uri,
    writable_uri,
)
from forewarn.stores.sqlite_file import (
    DatabaseFile,
    has_other_log,
    kept_position,
    log_of,
)

Connect = Callable[[str], sqlite3.Connection]

MEMORY = ":memory:"

#: Larger files are not checked with `quick_check` at startup, because the check
#: reads the whole file.
_LARGE = 256 * 1024 * 1024  # bytes

#: Page cache of each connection. By default, the cache grows to 2 MB with the file,
#: but the operating system caches the file anyway.
_CACHE = 256  # KiB

#: Longer journals are not replayed when another program wrote to the file; 20,000
#: entries take half a second.
_REPLAYED = 20_000

_DIALECT: Dialect = sqlite.dialect(paramstyle="named")
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_RESTORE = "restore a backup; for details, run `forewarn store check`"

_log = logging.getLogger(__name__)


def connect(path: str) -> sqlite3.Connection:
    """Connect to `MEMORY`, or to the existing database file `path`."""
    name = path if path == MEMORY else writable_uri(path)
    return sqlite3.connect(
        name, isolation_level=None, check_same_thread=False, uri=path != MEMORY
    )


def file_bytes(path: str) -> int | None:
    """Return the size of the database and its log, or None on failure."""
    log = log_of(path)  # exists only while a connection is open
    try:
        return sum(
            os.path.getsize(name) for name in (path, log) if os.path.exists(name)
        )
    except OSError:
        return None


class Sqlite:
    """A database in a file or in memory."""

    def __init__(self, path: str, connect: Connect = connect) -> None:
        """Create an interface to the file `path` or to `MEMORY`; `open` connects."""
        self.dialect = _DIALECT
        self.name = self._path = path
        self._connect = connect
        self._lock = RLock()  # in memory, readers share the writer's connection
        self._gate = Lock()  # guards the idle readers; never held while waiting
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._writer: sqlite3.Connection | None = None
        self._file = None if path == MEMORY else DatabaseFile(path)
        self._position = 0  # journal position after the last commit
        self._damage: str | None = None  # found since the start, if any

    def open(self, *, upgrade: bool = False) -> str | None:
        """Lock the file, check it, connect, and create or upgrade the tables.

        The database is copied before an upgrade.
        """
        self._damage = None
        if self._file is not None:
            self._file.lock()
        try:
            self._writer = self._connect(self._path)
            schema.refuse_foreign(_table_names(self._writer.cursor()), self._path)
            _prepare(self._writer)
            damage = self._file and _quick_check(self._file, self._writer)
            if damage:
                self._damage = damage
                raise CannotStart(f"{self._path} is damaged: {damage}; {_RESTORE}")
            report = self._create_or_upgrade()
            loss = self._find_loss_at_start(self._writer)
            if loss is not None:
                self._damage = loss
                raise CannotStart(f"{self._path} has lost data: {loss}; {_RESTORE}")
            if self._file is not None:
                self._file.remember(self._position)
            return report
        except (sqlite3.Error, Unavailable) as error:
            if isinstance(error, StoreDamaged) or _is_damage(error):
                self._damage = str(error)
            self.close()
            remedy = f"; {_RESTORE}" if _is_damage(error) else ""
            raise CannotStart(
                f"cannot use {self._path} as a database: {error}{remedy}"
            ) from error
        except BaseException:
            self.close()
            raise

    def leave(self) -> None:
        """Do nothing, because there is no server that could hang."""

    def close(self) -> None:
        """Disconnect and unlock the file.

        The log is not written into a damaged file, because the log may contain the only
        remaining data.
        """
        with self._lock:
            if self._damage is None or self._writer is None:
                self._disconnect()
            else:
                with _last_connection(self._path):
                    self._disconnect()
            if self._file is not None:
                self._file.unlock()

    def _disconnect(self) -> None:
        writer = self._writer
        with self._gate:
            self._writer = None
            with suppress(Empty):
                while True:
                    self._idle.get_nowait().close()
        if writer is not None:
            writer.close()

    def revision(self) -> str:
        """Return the revision, even if a service is running."""
        with self.existing() as cursor:
            return schema.existing_revision(
                cursor, self.dialect, names=_table_names(cursor), place=self._path
            )

    @contextmanager
    def existing(self) -> Iterator[Cursor]:
        """Read one consistent state, even if a service is running."""
        with existing_database(self._path) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN")
            yield cursor

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """Write exclusively; commit when the block ends, or roll back on failure."""
        with self._lock, _translated():
            connection = self._open_writer()
            self._refuse_damage()
            cursor = connection.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                self._commit(cursor)
            except BaseException:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        cursor.execute("ROLLBACK")
                raise
            finally:
                cursor.close()

    def _commit(self, cursor: sqlite3.Cursor) -> None:
        """Commit, unless the commit would go to a file that is never opened again."""
        position = "SELECT CAST(position AS INTEGER) FROM counter"  # may be damaged
        row = cursor.execute(position).fetchone()
        if self._file is not None:
            self._file.refuse_replaced()
        cursor.execute("COMMIT")
        self._position = row[0] if row else 0
        if self._file is not None:
            self._file.note_commit(self._position)

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
            with self._gate:
                if self._writer is None:  # closed in the meantime
                    connection.close()
                else:
                    self._idle.put(connection)

    def _reader(self) -> sqlite3.Connection:
        self._open_writer()
        try:
            return self._idle.get_nowait()
        except Empty:
            if self._file is not None:
                self._file.refuse_replaced()
            connection = self._connect(self._path)
            _prepare(connection)
            return connection

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            raise Unavailable("the store is closed")
        return self._writer

    def _refuse_damage(self) -> None:
        """Raise `Unavailable` if another program has destroyed or replaced the file."""
        if self._file is None:
            return
        if self._damage is None:
            self._damage = self._find_overwriting(self._file)
        if self._damage is not None:
            raise StoreDamaged(f"the store cannot be written to: {self._damage}")

    def _find_overwriting(self, file: DatabaseFile) -> str | None:
        """Return what another program did to the file, or None if no harm was done."""
        if file.is_backup():
            log = log_of(self._path)
            return (
                f"another program copied a backup over {self._path}, and the latest"
                f" commits are only in {log}; keep that file, stop forewarn, and run"
                " `forewarn store backup FILE`, which combines the two in FILE"
            )
        if not file.is_overwritten():
            return None
        file.refuse_replaced()
        damage = self._find_damage(file)
        if damage is not None:
            return f"another program wrote to {self._path}, and {damage}; {_RESTORE}"
        file.note_commit(self._position)
        _log.warning("another program wrote to %s; no data was lost", self._path)
        return None

    def _find_damage(self, file: DatabaseFile) -> str | None:
        """Return the first problem of the file on disk."""
        with closing(self._connect(self._path)) as fresh:
            try:
                return _quick_check(file, fresh) or self._find_difference(fresh)
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    return str(error)
                raise  # not about the file's contents, so check again

    def _find_difference(self, connection: sqlite3.Connection) -> str | None:
        loss = self._find_loss(connection)
        if loss is not None:
            return loss
        (position,) = connection.execute("SELECT position FROM counter").fetchone()
        if int(position) < self._position:
            return f"its journal ends at position {position}, not {self._position}"
        if int(position) > _REPLAYED:
            return None
        with closing(connection.cursor()) as cursor:
            return next(iter(find_problems(cursor, self.dialect)), None)

    def _find_loss_at_start(self, connection: sqlite3.Connection) -> str | None:
        if self._file is None or not self._file.was_overwritten:
            return self._find_loss(connection)
        difference = self._find_difference(connection)
        if difference is None:
            _log.warning(
                "%s was modified after the last commit, and its write-ahead log was"
                " applied. Either forewarn was killed during a write, or another"
                " program overwrote the file; if it was overwritten, restore a"
                " backup",
                self._path,
            )
        return difference

    def _find_loss(self, connection: sqlite3.Connection) -> str | None:
        with closing(connection.cursor()) as cursor:
            return next(find_losses(StatementRunner(cursor, self.dialect)), None)

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
                f"cannot copy {self._path}, which must be done before it is upgraded"
                f" to revision {tables.STAMP}; the database is unchanged: {error}"
            ) from error
        with (
            schema.migration(
                self._writer, self.dialect, revision=revision, place=self._path
            ) as upgrade,
            self.writing(),
        ):
            upgrade()
        report = (
            f"upgraded {self._path} from revision {revision} to {tables.STAMP}; the"
            f" previous database was copied to {copy}"
        )
        _log.info(report)
        return report

    def _copy(self) -> str:
        """Copy the database, or reuse an equal copy left by a failed upgrade."""
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


def back_up(path: str, target: Path) -> None:
    """Copy the database at `path`, which may be in use, to the new file `target`.

    If a backup was copied over a database, the backup is combined with the database's
    log, provided that the result is complete. Neither file is changed.
    """
    if not has_other_log(path):
        Sqlite(path).revision()  # refuses other programs' databases
        with existing_database(path) as source:
            copy_database(source, target)
        return

    def refuse_mixture(copy: sqlite3.Connection) -> None:
        problem = _mixture(copy, kept_position(path))
        if problem is not None:
            log = log_of(path)
            raise Unavailable(
                f"{path} and {log} cannot be combined: {problem}; to use only"
                f" {path}, move {log} to another directory"
            )

    with existing_database(path, with_other_log=True) as source:
        copy_database(source, target, refuse_mixture)


def _mixture(copy: sqlite3.Connection, last: int) -> str | None:
    """Return the first problem of a combined database, or None if there is none."""
    with closing(copy.cursor()) as cursor:
        problem = next(iter(find_problems(cursor, _DIALECT)), None)
        if problem is not None:
            return problem
        (position,) = cursor.execute("SELECT position FROM counter").fetchone()
    if int(position) < last:
        return f"the result ends at journal position {position} instead of {last}"
    return None


@contextmanager
def _last_connection(path: str) -> Iterator[None]:
    """Keep a read-only connection open until all other connections are closed."""
    with ExitStack() as closed_last:
        with suppress(sqlite3.Error):  # the file may be gone by now
            last = sqlite3.connect(read_only_uri(path), uri=True)
            closed_last.callback(last.close)
            last.execute("SELECT 1 FROM sqlite_master").fetchone()
        yield


def _table_names(cursor: Cursor) -> Collection[str]:
    cursor.execute("SELECT name FROM sqlite_master WHERE type='table'", {})
    return [str(name) for (name,) in cursor.fetchall()]


def _quick_check(file: DatabaseFile, connection: sqlite3.Connection) -> str | None:
    """Return the first problem of the file; skip the check if the file is large."""
    if file.size() > _LARGE:
        _log.info(
            "skipped the integrity check because the database is large; to check"
            " it, run `forewarn store check`"
        )
        return None
    result = quick_check(connection)
    return None if result == "ok" else result


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA busy_timeout=5000")
    connection.execute(f"PRAGMA cache_size=-{_CACHE}")


@contextmanager
def _translated() -> Iterator[None]:
    """Translate SQLite's disk errors to `Unavailable`."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # bugs in our code
    except sqlite3.IntegrityError as error:
        raise Unavailable(
            f"the store rejected a row: {error}; the structure of its tables was"
            " changed: undo the change, or restore a backup"
        ) from error
    except sqlite3.DatabaseError as error:
        if _is_damage(error):
            raise StoreDamaged(
                f"the store is damaged: {error}; stop forewarn and {_RESTORE}"
            ) from error
        raise Unavailable(f"the store is unavailable: {error}") from error


def _is_damage(error: Exception) -> bool:
    """Return whether `error` shows damage, so that retrying can never help."""
    code: int = getattr(error, "sqlite_errorcode", 0)  # absent if Python raised it
    return "no such table" in str(error) or code & 0xFF in _DAMAGED  # ignores detail
