"""Connections to PostgreSQL: the URL, session settings, the lock, and errors.

Errors are translated to sentences for operators. The sentences never quote the URL,
which may contain a password.
"""

import os
import re
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from forewarn.errors import (
    CannotStart,
    InvalidInput,
    NotApplied,
    StoreDamaged,
    Unavailable,
)
from forewarn.stores.timeouts import StoreTimeouts

Connection = psycopg.Connection[tuple[object, ...]]

SILENT = "does not respond"

_LOST = "closed the connection"

#: The oldest release that PostgreSQL still supports.
OLDEST = 14

#: Defaults that the URL can override. With these defaults, a vanished peer is detected
#: within seconds, by the user timeout if the peer owes an acknowledgment, otherwise by
#: the keepalives.
_PARAMETERS: Mapping[str, str | int] = {
    "connect_timeout": 5,
    "fallback_application_name": "forewarn",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}

#: Settings for every session, which override settings of the server, database or role.
#: Times are in milliseconds, except for the keepalives.
_SETTINGS: Mapping[str, str] = {
    # A timeout would end a COMMIT's wait for its standby and report success. Instead,
    # we abort the COMMIT ourselves and report its outcome as unknown.
    "statement_timeout": "0",
    # For manual changes to a table, or the last moments of a killed forewarn.
    "lock_timeout": "2000",
    # A frozen forewarn must not keep others from cleaning up.
    "idle_in_transaction_session_timeout": "120000",
    "idle_session_timeout": "0",  # an idle session holds the lock
    # A forewarn whose machine is gone must not hold the lock for hours.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "5000",
}
_SET = (
    "SELECT set_config(name, value, false)"
    " FROM unnest(%s::text[], %s::text[]) AS t (name, value)"
)
_KEEP = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
_SCHEMA = "SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema()"
_LOCK = "SELECT pg_advisory_lock(%s)"
_END_HOLDER = (  # waits up to 2000 ms for the end
    "SELECT pg_terminate_backend(pid, 2000) FROM pg_locks WHERE locktype = 'advisory'"
    " AND (classid::bigint << 32 | objid::bigint) = %s AND pid = %s"
)
_OURS = int.from_bytes(b"fore")  # the upper half of the lock's number

#: Problems that an operator can solve, by SQLSTATE.
_PHRASES: Mapping[str, str] = {
    "25006": "is read-only",
    "25P03": "ended an idle transaction",
    "42501": "does not allow this role to use its tables",
    "42P01": "lacks one of the forewarn tables; stop forewarn and restore a backup",
    "53100": "has no space left on its disk",
    "53300": "has no free connections",
    "55P03": "is locked by another session",
    "57P01": _LOST,
    "57P02": "is restarting after a crash",
    "57P03": "is starting or shutting down",
}
#: Classes of errors caused by changes to our tables: a constraint or trigger that
#: rejects a row; a missing column, function or schema; a column of the wrong type.
_CHANGED = ("0A", "23", "3F", "42", "P0")

#: Problems that only a backup can solve.
_DAMAGE = ("42P01", "XX001", "XX002")  # missing table, corrupt data, corrupt index
_TOO_LONG = "22001"

#: Errors that can occur without a bug in our code.
_FAILURES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)

_SEVERITY = re.compile(r"^\w+: {2}")  # in the server's language


class PostgresFailure(psycopg.OperationalError):
    """A problem that forewarn itself detects; the message follows the store's name."""


class InUseElsewhere(PostgresFailure):
    """Another forewarn process holds the lock."""


class LostBeforeCommit(PostgresFailure):
    """The connection was lost before any part of the transaction was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTarget:
    """The database to connect to."""

    name: str  # for display, without the password
    parameters: Mapping[str, str | int] = field(repr=False)


# --- connecting --------------------------------------------------------------


def read_url(url: str) -> PostgresTarget:
    """Parse `url`, which errors never quote because it may contain a password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.Error, ValueError):
        parts = {"host": "@"}
    user, host = parts.get("user", ""), parts.get("host", "")
    port, database = parts.get("port", ""), parts.get("dbname", "")
    if "@" in host + port + database or not f"0{port}".replace(",", "").isdigit():
        raise CannotStart(
            "the store URL is not valid; expected"
            " postgresql://USER:PASSWORD@HOST:PORT/DATABASE; escape special"
            " characters in the password, such as %40 for @ and %2F for /"
        )
    name = f"{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{database}"
    return PostgresTarget(
        name=f"postgresql://{name}",
        parameters={**_PARAMETERS, **parts, "client_encoding": "utf8"},
    )


def dump_command(url: str, file: str) -> str:
    """Return the shell command for a backup to `file`, without the password."""
    read_url(url)
    parts = conninfo_to_dict(url)
    public = {name: value for name, value in parts.items() if "password" not in name}
    database = make_conninfo("", **public)
    words = ["pg_dump", "--format=custom", f"--file={file}", f"--dbname={database}"]
    return shlex.join(words)


def connect(target: PostgresTarget, oldest: int = OLDEST) -> Connection:
    """Connect, check the server's version and encoding, and set up the session."""
    try:
        connection = psycopg.connect("", autocommit=True, **target.parameters)  # type: ignore[arg-type]  # the parameters are libpq's, not psycopg's
    except UnicodeError:  # in a host name
        raise PostgresFailure("cannot be used: invalid host name") from None
    try:
        _refuse_unfit(connection, oldest)
        connection.execute(_SET, [[*_SETTINGS], [*_SETTINGS.values()]])
        connection.execute(_KEEP)  # acknowledged commits must be on disk
    except BaseException:
        connection.close()
        raise
    return connection


def connect_alone(
    target: PostgresTarget, oldest: int = OLDEST, *, instead_of: int | None = None
) -> Connection:
    """Connect and acquire the lock that only one server per schema can hold.

    If the session with process ID `instead_of` holds the lock, end that session,
    because it belongs to our lost connection.
    """
    connection = connect(target, oldest)
    try:
        schema = connection.execute(_SCHEMA).fetchone()
        if schema is None:
            raise PostgresFailure(
                "has no schema in which to create the tables; check its search_path"
            )
        key = _OURS << 32 | int(str(schema[0]))
        if instead_of is not None:
            connection.execute(_END_HOLDER, [key, instead_of])
        connection.execute(_LOCK, [key])
    except psycopg.errors.LockNotAvailable as error:
        connection.close()
        raise InUseElsewhere("is in use by another forewarn process") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_unfit(connection: Connection, oldest: int) -> None:
    version = connection.info.server_version // 10_000
    if version < oldest:
        raise PostgresFailure(
            f"runs PostgreSQL {version}; {oldest} or newer is required"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise PostgresFailure(
            f"uses the encoding {encoding}; create it with ENCODING 'UTF8'"
        )


def within(
    timeouts: StoreTimeouts, seconds: float, connect: Callable[[], Connection]
) -> Connection:
    """Call `connect` in a thread that can be abandoned.

    The driver's timeout applies to each address separately and limits neither name
    resolution nor the number of addresses.
    """
    future: Future[Connection] = Future()

    def run() -> None:
        try:
            connection = connect()
        except BaseException as error:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        if future.set_running_or_notify_cancel():
            future.set_result(connection)
        else:
            connection.close()

    with timeouts.limit(seconds, future.cancel):
        Thread(target=run, name="connect", daemon=True).start()
        try:
            return future.result()
        except CancelledError:
            raise PostgresFailure(SILENT) from None


def interrupt(connection: Connection) -> None:
    """Abort any wait for the server on `connection`; safe to call from any thread."""
    with suppress(psycopg.Error, OSError):
        same = socket.socket(fileno=os.dup(connection.fileno()))
        with same:
            same.shutdown(socket.SHUT_RDWR)


# --- errors ------------------------------------------------------------------


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate database errors to `InvalidInput` and `Unavailable`."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == _TOO_LONG:
            raise InvalidInput("a value is too long for the store") from error
        if error.sqlstate in _DAMAGE:
            raise StoreDamaged(f"the store {describe_error(error)}") from error
        if isinstance(error, LostBeforeCommit):
            raise NotApplied(f"the store {error}") from error
        if error.sqlstate in _PHRASES or isinstance(error, _FAILURES):
            raise Unavailable(f"the store {describe_error(error)}") from error
        if (error.sqlstate or "").startswith(_CHANGED):
            raise Unavailable(
                f"the store {describe_error(error)}; the structure of its tables was"
                " changed: undo the change, or restore a backup"
            ) from error
        raise  # bugs in our code


def describe_error(error: psycopg.Error) -> str:
    """Describe the problem in words that follow the store's name."""
    if isinstance(error, PostgresFailure):
        return str(error)
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return SILENT
    phrase = _PHRASES.get(error.sqlstate or "")
    if phrase is not None:
        return phrase
    primary = error.diag.message_primary
    if primary is None and "pipeline mode" in str(error):
        return _LOST  # how the driver describes a lost connection
    return f"cannot be used: {primary or _first_line(str(error))}"


def _first_line(text: str) -> str:
    """Extract the reason from the driver's message about a connection."""
    line = text.strip().partition("\n")[0]
    reason = line.rpartition(" failed: ")[2]
    return _SEVERITY.sub("", reason).strip()
