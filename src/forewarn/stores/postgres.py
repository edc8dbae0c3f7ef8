"""PostgreSQL database, which only one forewarn process writes and whose readers never
wait for writes.

1. The writer's connection holds a lock in the database. Nothing is written without the
   lock.
2. A connection lost while idle is replaced silently. If a connection is lost in a
   transaction, the transaction fails, and the next one reconnects. If a lost connection
   leaves a session on the server, the session is ended because it would keep the lock.
3. A commit with an unknown outcome counts as failed.
4. Nothing waits forever. Operations that take too long are aborted, and a statement
   that takes too long is aborted together with its connection.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import cast

import psycopg
from psycopg.errors import Diagnostic
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import Dialect

from forewarn.errors import CannotStart, Unavailable
from forewarn.stores import schema, tables
from forewarn.stores.consistency import find_losses
from forewarn.stores.database import Cursor, StatementRunner
from forewarn.stores.postgres_connection import (
    OLDEST,
    SILENT,
    Connection,
    InUseElsewhere,
    LostBeforeCommit,
    PostgresFailure,
    connect,
    connect_alone,
    describe_error,
    interrupt,
    read_url,
    translated_errors,
    within,
)
from forewarn.stores.rows import Parameters, Row
from forewarn.stores.timeouts import StoreTimeouts

_DIALECT: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy has not typed it

_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # the counter's row serializes writers
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

#: The tables in our schema that do not belong to an extension.
_TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND NOT EXISTS (
    SELECT FROM pg_depend
    WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
"""
_UNKNOWN = "was lost during a commit, which may or may not have been saved"
_STANDBY = "SyncRepWaitForLSN"  # source of the warning about an unconfirmed standby


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresLimits:
    """Timeouts in seconds, the number of readers, and the oldest server version."""

    connect: float = 5.0
    idle: float = 2.0  # for the first statement after idling
    statement: float = 4.0  # for any other statement and for a commit
    row: float = 0.001  # additional time for each row that a statement writes
    turn: float = 10.0  # for a turn to write or read
    transaction: float = 120.0  # 100,000 VMs took 26 s on a busy machine
    leaving: float = 2.0
    readers: int = 8
    oldest: int = OLDEST


class Postgres:
    """A database on a PostgreSQL server."""

    def __init__(self, url: str, limits: PostgresLimits | None = None) -> None:
        """Create an interface to the database at `url`; call `open` to connect."""
        self.dialect = _DIALECT
        self._target = read_url(url)
        self.name = self._target.name
        self._limits = limits or PostgresLimits()
        self._timeouts = StoreTimeouts()
        self._writing = BoundedSemaphore(1)
        self._reading = BoundedSemaphore(self._limits.readers)
        self._writer: Connection | None = None
        self._writer_pid: int | None = None  # process ID of its session
        self._gate = Lock()  # guards the idle readers
        self._idle: list[Connection] = []
        self._is_open = False

    def open(self, *, upgrade: bool = False) -> str | None:
        """Connect, acquire the lock, and create the tables if there are none."""
        self._is_open = True
        self._timeouts.start()
        try:
            with self._start_errors():
                oldest = self._limits.oldest
                self._writer = self._new_writer(
                    partial(connect_alone, self._target, oldest)
                )
                report = self._create_or_upgrade(upgrade=upgrade)
                self._refuse_loss()
                return report
        except BaseException:
            self.close()
            raise

    def revision(self) -> str:
        """Return the revision, even if a service is running."""
        with self.existing() as cursor:
            return schema.existing_revision(
                cursor, self.dialect, names=_names(cursor), place=self.name
            )

    @contextmanager
    def existing(self) -> Iterator[Cursor]:
        """Read one consistent state, even if a service is running."""
        target = self._target
        with self._start_errors(), connect(target, self._limits.oldest) as connection:
            connection.execute(_READ.encode(), prepare=False)
            yield cast(Cursor, connection.cursor())

    def _refuse_loss(self) -> None:
        with self._alone():
            assert self._writer is not None
            # The usual limits are too short for counting a long journal.
            cursor = cast(Cursor, self._writer.cursor())
            loss = next(find_losses(StatementRunner(cursor, self.dialect)), None)
        if loss is not None:
            raise CannotStart(
                f"{self.name} has lost data: {loss}; restore a backup; for details,"
                " run `forewarn store check`"
            )

    def _create_or_upgrade(self, *, upgrade: bool) -> str | None:
        with self._alone() as cursor:
            older = schema.create_or_check(
                cursor, self.dialect, names=_names(cursor), place=self.name
            )
        if older is None:
            return None
        if not upgrade:
            raise CannotStart(f"{self.name} {schema.obstacle(older)}")
        # This may rewrite every row.
        forever = float("inf")
        self._limits = replace(self._limits, transaction=forever, statement=forever)
        with (
            schema.migration(
                self._writer, self.dialect, revision=older, place=self.name
            ) as migrate,
            self._alone(),
        ):
            migrate()
        return f"upgraded {self.name} from revision {older} to {tables.STAMP}"

    @contextmanager
    def _start_errors(self) -> Iterator[None]:
        """Translate database errors to `CannotStart`."""
        try:
            yield
        except psycopg.Error as error:
            do = "stop it" if isinstance(error, InUseElsewhere) else "fix this"
            raise CannotStart(
                f"{self.name} {describe_error(error)}; {do}, or choose another"
                " database with --store"
            ) from error

    def leave(self) -> None:
        """End running operations soon, even if the server hangs."""
        self._timeouts.hasten(self._limits.leaving)

    def close(self) -> None:
        """Disconnect and abort running operations."""
        with self._gate:
            self._is_open = False
        self._timeouts.stop()
        self._forget_idle()
        if self._writing.acquire(timeout=1):  # else it was cut off and closes itself
            if self._writer is not None:
                self._writer.close()
            self._writing.release()

    # --- transactions --------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """Write exclusively; commit when the block ends, or roll back on failure."""
        with translated_errors(), self._alone() as cursor:
            yield cursor

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Read one consistent state."""
        with translated_errors(), _turn(self._reading, self._limits.turn):
            connection = self._begin_reading()
            try:
                with self._transaction(connection) as cursor:
                    yield cursor
                    with self._statement(connection, 0):  # nothing to commit
                        connection.execute("ROLLBACK", prepare=False)
            finally:
                self._give_back(connection)

    @contextmanager
    def _alone(self) -> Iterator[Cursor]:
        with _turn(self._writing, self._limits.turn):
            connection = self._begin_writing()
            with self._transaction(connection) as cursor:
                try:
                    yield cursor
                except psycopg.Error as error:
                    if connection.closed:
                        raise LostBeforeCommit(describe_error(error)) from error
                    raise
                with self._statement(connection, 0):
                    _commit(connection)

    @contextmanager
    def _transaction(self, connection: Connection) -> Iterator[Cursor]:
        """Roll back on `connection` if the block fails."""
        try:
            with self._within(connection, self._limits.transaction):
                yield _LimitedCursor(connection, partial(self._statement, connection))
        except BaseException:
            try:
                with self._within(connection, self._limits.connect):
                    connection.rollback()
            except (psycopg.Error, Unavailable):
                connection.close()
            raise

    def _statement(
        self, connection: Connection, written: int
    ) -> AbstractContextManager[None]:
        """Limit the time of a statement that writes up to `written` rows."""
        limits = self._limits
        return self._within(connection, limits.statement + limits.row * written)

    @contextmanager
    def _within(self, connection: Connection, seconds: float) -> Iterator[None]:
        is_aborted = False

        def give_up() -> None:
            nonlocal is_aborted
            is_aborted = True
            interrupt(connection)

        try:
            with self._timeouts.limit(seconds, give_up):
                yield
        except psycopg.Error as error:
            if is_aborted and not isinstance(error, PostgresFailure):
                raise PostgresFailure(SILENT) from error
            raise

    # --- connections ---------------------------------------------------------

    def _begin_writing(self) -> Connection:
        if self._writer is not None:
            with suppress(psycopg.OperationalError):
                return self._begin(self._writer, _WRITE)
        self._writer = None
        self._writer = self._begin(self._new_writer(self._connect_again), _WRITE)
        return self._writer

    def _begin_reading(self) -> Connection:
        with self._gate:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            with suppress(psycopg.OperationalError):
                return self._begin(idle, _READ)
            self._forget_idle()  # the others are closed, too
        new = self._new(partial(connect, self._target, self._limits.oldest))
        return self._begin(new, _READ)

    def _begin(self, connection: Connection, how: str) -> Connection:
        try:
            with self._within(connection, self._limits.idle):
                connection.execute(how.encode(), prepare=False)
        except BaseException:
            connection.close()
            raise
        return connection

    def _new(self, connect: Callable[[], Connection]) -> Connection:
        return within(self._timeouts, self._limits.connect, connect)

    def _new_writer(self, connect: Callable[[], Connection]) -> Connection:
        connection = self._new(connect)
        self._writer_pid = connection.info.backend_pid
        return connection

    def _connect_again(self) -> Connection:
        """Reconnect and check the schema, because this may be another database."""
        oldest = self._limits.oldest
        connection = connect_alone(self._target, oldest, instead_of=self._writer_pid)
        try:
            cursor = cast(Cursor, connection.cursor())
            revision = schema.read_revision(cursor, self.dialect)
            if revision != tables.STAMP:
                raise Unavailable(f"the store {schema.obstacle(revision)}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._gate:
            if self._is_open and not connection.closed:
                self._idle.append(connection)
                return
        connection.close()

    def _forget_idle(self) -> None:
        with self._gate:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class _LimitedCursor:
    """A cursor with a time limit on its statements."""

    def __init__(
        self,
        connection: Connection,
        limit: Callable[[int], AbstractContextManager[None]],
    ) -> None:
        # Typed for literal SQL only.
        self._cursor = cast(Cursor, connection.cursor())
        self._limit = limit  # for a statement that writes this many rows

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    def execute(self, sql: str, parameters: Parameters, /) -> object:
        with self._limit(1):
            return self._cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> object:
        with self._limit(len(parameters)):
            return self._cursor.executemany(sql, parameters)

    def fetchone(self) -> Row | None:
        return self._cursor.fetchone()  # the results have already arrived

    def fetchall(self) -> Sequence[Row]:
        return self._cursor.fetchall()


@contextmanager
def _turn(places: BoundedSemaphore, seconds: float) -> Iterator[None]:
    """Wait at most `seconds` for one of `places`."""
    if not places.acquire(timeout=seconds):
        raise PostgresFailure(SILENT)
    try:
        yield
    finally:
        places.release()


def _commit(connection: Connection) -> None:
    """Commit and verify that the commit succeeded."""
    warned_by: list[str | None] = []

    def add_source(warning: Diagnostic) -> None:  # diagnostics are readable only here
        warned_by.append(warning.source_function)

    connection.add_notice_handler(add_source)
    try:
        done = connection.execute("COMMIT", prepare=False)
    except psycopg.Error as error:
        if connection.closed:
            raise PostgresFailure(_UNKNOWN) from error
        raise
    finally:
        connection.remove_notice_handler(add_source)
    if done.statusmessage != "COMMIT":
        raise PostgresFailure("rolled back a transaction that had already failed")
    if _STANDBY in warned_by:
        raise PostgresFailure("did not wait for its standby; a commit may be lost")


def _names(cursor: Cursor) -> Collection[str]:
    cursor.execute(_TABLES, {})
    return [str(name) for (name,) in cursor.fetchall()]
