"""PostgreSQL store: a server that accepts everything and never responds."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from threading import Event
from threading import enumerate as threads

import psycopg
import pytest
from sqlalchemy import func, select
from tests.patience import PATIENCE
from tests.postgres import PostgresServer
from tests.stores.builders import a_seen, postgres_store, put
from tests.stores.relay import Relay, relayed

from forewarn.errors import CannotStart, NotApplied, Unavailable
from forewarn.stores.database import StatementRunner
from forewarn.stores.postgres import Postgres, PostgresLimits
from forewarn.stores.postgres_connection import describe_error
from forewarn.stores.store import SqlStore
from forewarn.stores.timeouts import StoreTimeouts

SOON = PATIENCE / 2  # seconds; far less than an hour, and enough for a busy machine
LONG = PATIENCE
SHORT = PostgresLimits(connect=5.0, transaction=3.0)
HASTY = PostgresLimits(idle=0.5, statement=0.5, transaction=LONG)


@pytest.fixture
def relay(postgres: PostgresServer) -> Iterator[Relay]:
    with relayed(postgres.port) as relay:
        yield relay


@contextmanager
def opened(
    postgres: PostgresServer, relay: Relay, limits: PostgresLimits
) -> Iterator[SqlStore]:
    url = postgres.url(port=relay.port, schema=postgres.new_schema())
    with closing(postgres_store(url)) as first:  # creating tables exceeds `limits`
        first.open()
        put(first, a_seen(1))
    with closing(postgres_store(url, limits)) as store:
        store.open()
        store.facts(0, 10)
        yield store


@contextmanager
def a_writer_that_hangs(store: SqlStore, relay: Relay) -> Iterator[Future[None]]:
    """Start a write in another thread, then stop the server from responding."""
    begun, silent = Event(), Event()

    def write() -> None:
        with store.transaction() as transaction:
            begun.set()
            assert silent.wait(LONG)
            transaction.setting("clock")

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        assert begun.wait(LONG)
        relay.hang()
        silent.set()
        yield writing


def test_hanging_transaction_is_aborted_and_the_next_one_works(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(postgres, relay, SHORT) as store:
        with a_writer_that_hangs(store, relay) as writing, pytest.raises(Unavailable):
            writing.result(LONG)
        relay.speak()
        assert put(store, a_seen(2)) == 2


def test_statement_without_a_response_ends_only_its_transaction(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(postgres, relay, HASTY) as store:

        def write() -> None:
            with store.transaction() as transaction:
                relay.abandon()
                transaction.setting("clock")

        with pytest.raises(NotApplied, match="does not respond"):
            write()
        assert put(store, a_seen(2)) == 2


def test_check_at_the_start_may_take_longer_than_other_statements(
    postgres: PostgresServer, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_slowly(session: StatementRunner) -> Iterator[str]:
        session.run(select(func.pg_sleep(HASTY.statement + 0.1)))
        yield from ()

    monkeypatch.setattr("forewarn.stores.postgres.find_losses", count_slowly)
    with opened(postgres, relay, HASTY) as store:
        assert put(store, a_seen(2)) == 2


def test_idle_connection_without_a_response_is_replaced_and_loses_the_lock(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(postgres, relay, HASTY) as store:
        relay.abandon()
        assert put(store, a_seen(2)) == 2
        assert len(store.facts(0, 10)) == 2


@pytest.mark.parametrize("does", ["reading", "writing"])
def test_every_wait_for_the_server_in_a_transaction_is_limited(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    limits = PostgresLimits(idle=100.0, statement=200.0, row=0.5, transaction=300.0)
    limit, seconds = StoreTimeouts.limit, list[float]()

    def recorded(
        timeouts: StoreTimeouts, wait: float, give_up: Callable[[], object]
    ) -> AbstractContextManager[None]:
        seconds.append(wait)
        return limit(timeouts, wait, give_up)

    monkeypatch.setattr(StoreTimeouts, "limit", recorded)
    database = Postgres(postgres.url(schema=postgres.new_schema()), limits)
    with closing(database):
        database.open()
        with database.reading():
            pass  # makes a connection, which is idle then
        seconds.clear()
        with getattr(database, does)() as cursor:
            cursor.execute("SELECT 1", {})
            cursor.executemany("SELECT %(number)s::int", [{"number": 1}] * 10)
    begin, whole, one, many, end = 100.0, 300.0, 200.5, 205.0, 200.0
    assert seconds == [begin, whole, one, many, end]


def test_unresponsive_connection_delays_a_command_by_at_most_five_seconds() -> None:
    limits = PostgresLimits()
    assert max(limits.idle, limits.statement) <= 4.0  # the rest is for a new one
    assert limits.statement + 100_000 * limits.row >= 100  # seconds, for a large fleet


@pytest.mark.parametrize("does", ["read", "write"])
def test_first_response_is_not_awaited_forever(
    postgres: PostgresServer, relay: Relay, does: str
) -> None:
    with opened(postgres, relay, SHORT) as store:
        relay.hang()
        began = time.monotonic()
        with pytest.raises(Unavailable, match="does not respond"):
            put(store, a_seen(2)) if does == "write" else store.facts(0, 10)
        assert time.monotonic() - began < SOON


def test_waiting_for_a_turn_is_limited(postgres: PostgresServer, relay: Relay) -> None:
    limits = PostgresLimits(turn=0.1, readers=1)
    with opened(postgres, relay, limits) as store:
        no_answer = pytest.raises(Unavailable, match="does not respond")
        with store.transaction(), no_answer:
            put(store, a_seen(2))
        with store.snapshot(), no_answer:
            store.facts(0, 10)
        assert put(store, a_seen(2)) == 2
        assert len(store.facts(0, 10)) == 2


def test_server_that_never_responds_is_refused(postgres: PostgresServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = postgres.url(port=mute.getsockname()[1])
        with pytest.raises(CannotStart, match="does not respond"):
            postgres_store(url, SHORT).open()


def test_timeout_of_the_driver_has_the_same_message_as_our_own() -> None:
    """Both are 5 seconds long, so either can come first."""
    expired = psycopg.errors.ConnectionTimeout("connection timeout expired")
    assert describe_error(expired) == "does not respond"


def test_leave_limits_pending_transactions(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(
        postgres, relay, PostgresLimits(leaving=0.2, transaction=LONG)
    ) as store:
        with a_writer_that_hangs(store, relay) as writing:
            began = time.monotonic()
            store.leave()
            with pytest.raises(Unavailable):
                writing.result(LONG)
        with pytest.raises(Unavailable, match="closed"):
            put(store, a_seen(2))
        with pytest.raises(Unavailable, match="closed"):
            store.facts(0, 10)
        assert time.monotonic() - began < SOON


def test_transactions_may_still_finish_after_leave(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(postgres, relay, PostgresLimits(leaving=LONG)) as store:
        store.leave()
        assert put(store, a_seen(2)) == 2


def test_close_aborts_pending_transactions(
    postgres: PostgresServer, relay: Relay
) -> None:
    with opened(postgres, relay, PostgresLimits(transaction=LONG)) as store:
        with a_writer_that_hangs(store, relay) as writing:
            began = time.monotonic()
            store.close()
            with pytest.raises(Unavailable):
                writing.result(LONG)
        assert time.monotonic() - began < SOON


def test_close_leaves_no_connection_and_no_thread(postgres: PostgresServer) -> None:
    before = {*threads()}
    store = postgres_store(postgres.url(schema=postgres.new_schema()))
    store.open()
    put(store, a_seen(1))
    with store.snapshot(), store.snapshot():
        pass
    store.close()
    assert {*threads()} <= before
    ours = "pg_stat_activity WHERE usename = 'forewarn'"
    deadline = time.monotonic() + LONG
    while postgres.run(f"SELECT pid FROM {ours}"):  # the server needs a moment
        assert time.monotonic() < deadline
