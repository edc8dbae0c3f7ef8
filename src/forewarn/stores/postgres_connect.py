"""How a PostgreSQL database is reached, and what it must be."""

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

#: The oldest release that its makers still look after.
OLDEST = 14

#: What the URL may say otherwise. A peer that is gone is noticed in seconds: one that
#: owes us an acknowledgment by the user timeout, one that is silent by the keepalives.
_PARAMETERS: Mapping[str, str | int] = {
    "connect_timeout": 5,
    "fallback_application_name": "forewarn",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}

#: What holds in every session, whatever is set for the server, the database or the
#: role; milliseconds, but for the keepalives.
_SETTINGS: Mapping[str, str] = {
    # A timeout would end the wait of a COMMIT for its standby, and call it a success.
    # We give up by ourselves, and call it unknown.
    "statement_timeout": "0",
    # Somebody who alters a table by hand, or the last moments of a killed forewarn.
    "lock_timeout": "2000",
    # A frozen forewarn must not keep others from cleaning up.
    "idle_in_transaction_session_timeout": "120000",
    "idle_session_timeout": "0",  # the lock of the one server is held by being idle
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
    """Which database is meant."""

    name: str  # to be shown, so without its password
    parameters: Mapping[str, str | int] = field(repr=False)


def read_url(url: str) -> Target:
    """Take `url` apart; what is wrong with it is not quoted, for it may be secret."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.Error, ValueError):
        given = {"host": "@"}
    user, host = given.get("user", ""), given.get("host", "")
    port, database = given.get("port", ""), given.get("dbname", "")
    if "@" in host + port + database or not f"0{port}".replace(",", "").isdigit():
        raise CannotStart(
            "the URL of the store is not valid; write it as"
            " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and special characters"
            " of the password by their code, such as %40 for @ and %2F for /"
        )
    name = f"{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{database}"
    return Target(
        name=f"postgresql://{name}",
        parameters={**_PARAMETERS, **given, "client_encoding": "utf8"},
    )


def connect(target: Target, oldest: int = OLDEST) -> Connection:
    """Connect to a database that can be used; set what holds in every session."""
    try:
        connection = psycopg.connect("", autocommit=True, **target.parameters)  # type: ignore[arg-type]  # the parameters are libpq's, not psycopg's
    except UnicodeError:  # of a host name
        raise Trouble("cannot be used: its host has no valid name") from None
    try:
        _refuse_unfit(connection, oldest)
        connection.execute(_SET, [[*_SETTINGS], [*_SETTINGS.values()]])
        connection.execute(_KEEP)  # what is acknowledged must be on a disk
    except BaseException:
        connection.close()
        raise
    return connection


def connect_alone(target: Target, oldest: int = OLDEST) -> Connection:
    """Connect, and hold the lock that only one server of a schema can hold."""
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
    """Call `connect` in a thread that can be left behind.

    The driver's timeout is for one address; neither the look-up of a name nor the
    number of addresses has one.
    """
    made: Future[Connection] = Future()

    def run() -> None:
        try:
            connection = connect()
        except BaseException as error:
            if made.set_running_or_notify_cancel():
                made.set_exception(error)
            return
        if made.set_running_or_notify_cancel():
            made.set_result(connection)
        else:
            connection.close()

    with patience.lasting(seconds, made.cancel):
        Thread(target=run, name="connect", daemon=True).start()
        try:
            return made.result()
        except CancelledError:
            raise Trouble("does not answer") from None


def cut(connection: Connection) -> None:
    """Let whoever waits for an answer on `connection` wait no more; from any thread."""
    with suppress(psycopg.Error, OSError):
        same = socket.socket(fileno=os.dup(connection.fileno()))
        with same:
            same.shutdown(socket.SHUT_RDWR)
