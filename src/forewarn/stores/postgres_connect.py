"""PostgreSQL connections: URL, session settings, exclusive lock and timeouts."""

import os
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread

import psycopg
from psycopg.conninfo import conninfo_to_dict

from forewarn.errors import CannotStart
from forewarn.stores.patience import Patience
from forewarn.stores.postgres_errors import InUseElsewhere, Trouble

Connection = psycopg.Connection[tuple[object, ...]]

#: The oldest release that PostgreSQL still supports.
OLDEST = 14

#: Defaults that the URL can override. A peer that is gone is noticed in seconds: by the
#: user timeout if it owes an acknowledgment, else by the keepalives.
_PARAMETERS: Mapping[str, str | int] = {
    "connect_timeout": 5,
    "fallback_application_name": "forewarn",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}

#: Settings of every session, whatever the server, database or role sets; in
#: milliseconds, except for the keepalives.
_SETTINGS: Mapping[str, str] = {
    # A timeout would end the wait of a COMMIT for its standby and report success. We
    # abort it ourselves, and report the outcome as unknown.
    "statement_timeout": "0",
    # For manual changes of a table, or the last moments of a killed forewarn.
    "lock_timeout": "2000",
    # A frozen forewarn must not prevent others from cleaning up.
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
_OURS = int.from_bytes(b"fore")  # the upper half of the lock's number


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The database to connect to."""

    name: str  # for display, so without the password
    parameters: Mapping[str, str | int] = field(repr=False)


def read_url(url: str) -> Target:
    """Parse `url`; errors never quote it, because it may contain a password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.Error, ValueError):
        parts = {"host": "@"}
    user, host = parts.get("user", ""), parts.get("host", "")
    port, database = parts.get("port", ""), parts.get("dbname", "")
    if "@" in host + port + database or not f"0{port}".replace(",", "").isdigit():
        raise CannotStart(
            "the URL of the store is not valid; write it as"
            " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and special characters"
            " of the password by their code, such as %40 for @ and %2F for /"
        )
    name = f"{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{database}"
    return Target(
        name=f"postgresql://{name}",
        parameters={**_PARAMETERS, **parts, "client_encoding": "utf8"},
    )


def connect(target: Target, oldest: int = OLDEST) -> Connection:
    """Connect, check the server's version and encoding, and set up the session."""
    try:
        connection = psycopg.connect("", autocommit=True, **target.parameters)  # type: ignore[arg-type]  # the parameters are libpq's, not psycopg's
    except UnicodeError:  # in a host name
        raise Trouble("cannot be used: its host has no valid name") from None
    try:
        _refuse_unfit(connection, oldest)
        connection.execute(_SET, [[*_SETTINGS], [*_SETTINGS.values()]])
        connection.execute(_KEEP)  # acknowledged commits must be on disk
    except BaseException:
        connection.close()
        raise
    return connection


def connect_alone(target: Target, oldest: int = OLDEST) -> Connection:
    """Connect, and take the lock that only one server per schema can hold."""
    connection = connect(target, oldest)
    try:
        schema = connection.execute(_SCHEMA).fetchone()
        if schema is None:
            raise Trouble("has no schema for our tables; see its search_path")
        connection.execute(_LOCK, [_OURS << 32 | int(str(schema[0]))])
    except psycopg.errors.LockNotAvailable as error:
        connection.close()
        raise InUseElsewhere("is in use by another forewarn") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_unfit(connection: Connection, oldest: int) -> None:
    version = connection.info.server_version // 10_000
    if version < oldest:
        raise Trouble(f"is of PostgreSQL {version}; {oldest} or newer is needed")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Trouble(f"is encoded in {encoding}; it must be made with ENCODING 'UTF8'")


def within(
    patience: Patience, seconds: float, connect: Callable[[], Connection]
) -> Connection:
    """Call `connect` in a thread that can be abandoned.

    The driver's timeout applies to one address. Neither name resolution nor the number
    of addresses is limited.
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

    with patience.lasting(seconds, future.cancel):
        Thread(target=run, name="connect", daemon=True).start()
        try:
            return future.result()
        except CancelledError:
            raise Trouble("does not answer") from None


def cut(connection: Connection) -> None:
    """Abort any wait for the server on `connection`; safe from any thread."""
    with suppress(psycopg.Error, OSError):
        same = socket.socket(fileno=os.dup(connection.fileno()))
        with same:
            same.shutdown(socket.SHUT_RDWR)
