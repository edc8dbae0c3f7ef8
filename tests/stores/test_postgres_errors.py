"""PostgreSQL store: a server that stops, fills up, or is used by others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import psycopg
import pytest
from tests.patience import PATIENCE
from tests.postgres import PostgresServer
from tests.stores.builders import (
    NOON,
    a_fleet,
    a_seen,
    opened,
    postgres_store,
    probe,
    put,
    whole_state,
)
from tests.stores.relay import relayed
from tests.stores.test_contract_observations import a_receipt

from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import CannotStart, NotApplied, StoreDamaged, Unavailable
from forewarn.ports import Store
from forewarn.stores.postgres_connection import describe_error

LONG = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporarySchema:
    """A schema for one test, accessed as superuser."""

    server: PostgresServer
    schema: str

    @property
    def url(self) -> str:
        return self.server.url(schema=self.schema)

    def run(self, *statements: str) -> list[object]:
        completed = [statement.replace("OUR", self.schema) for statement in statements]
        return self.server.run(*completed)

    def terminate(self) -> None:
        """End every session of the role, as a restart would."""
        self.run(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE usename = 'forewarn'"
        )


@pytest.fixture
def schema(postgres: PostgresServer) -> TemporarySchema:
    return TemporarySchema(server=postgres, schema=postgres.new_schema())


@pytest.fixture
def store(schema: TemporarySchema) -> Iterator[Store]:
    with opened(postgres_store(schema.url)) as store:
        yield store


# --- lost connections --------------------------------------------------------


def test_idle_connections_that_were_lost_are_replaced_silently(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_seen(1))
    assert len(store.facts(0, 10)) == 1
    schema.terminate()
    assert len(store.facts(0, 10)) == 1
    assert put(store, a_seen(2)) == 2


def test_connection_lost_in_a_transaction_fails_only_that_transaction(
    store: Store, schema: TemporarySchema
) -> None:
    def write() -> None:
        with store.transaction() as transaction:
            transaction.save(Slice(), Step(Slice(), (a_seen(1),)), {})
            schema.terminate()
            transaction.setting("clock")

    with pytest.raises(NotApplied):
        write()
    assert store.facts(0, 10) == []
    assert put(store, a_seen(2)) == 1


def test_connection_lost_in_a_snapshot_fails_only_that_snapshot(
    store: Store, schema: TemporarySchema
) -> None:
    def read() -> None:
        with store.snapshot() as snapshot:
            schema.terminate()
            snapshot.setting("clock")

    with pytest.raises(Unavailable):
        read()
    with store.snapshot() as snapshot:
        assert snapshot.position() == 0


def test_restarted_server_is_used_again(postgres: PostgresServer) -> None:
    with opened(postgres_store(postgres.url(schema=postgres.new_schema()))) as store:
        put(store, a_fleet())
        with postgres.stopped():
            for _ in range(2):
                with pytest.raises(Unavailable, match="Connection refused"):
                    put(store, a_seen(1))
                with pytest.raises(Unavailable, match="Connection refused"):
                    store.facts(0, 10)
        assert put(store, a_seen(1)) == 2
        assert len(store.facts(0, 10)) == 2


# --- commits -----------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True], ids=["not-kept", "kept"])
def test_commit_without_a_response_is_not_a_success(
    schema: TemporarySchema, *, after: bool
) -> None:
    server = schema.server
    with (
        relayed(server.port) as relay,
        opened(
            postgres_store(server.url(port=relay.port, schema=schema.schema))
        ) as store,
    ):
        put(store, a_seen(1))
        relay.lose(b"COMMIT\0", after=after)
        with pytest.raises(Unavailable, match="may or may not") as failed:
            put(store, a_seen(2))
        assert not isinstance(failed.value, NotApplied)
        assert put(store, a_seen(3)) == (3 if after else 2)
        kept = [entry.fact for entry in store.facts(0, 10)]
    assert kept == [a_seen(1), *([a_seen(2)] if after else []), a_seen(3)]


def test_transaction_that_had_failed_is_not_reported_as_committed(store: Store) -> None:
    def write() -> None:
        with store.transaction() as transaction:
            transaction.keep("clock", "one")
            with suppress(psycopg.IntegrityError):
                for _ in range(2):
                    transaction.keep_receipt(a_receipt(), forget_before=NOON)

    with pytest.raises(Unavailable):
        write()
    with store.snapshot() as snapshot:
        assert snapshot.setting("clock") is None


def test_commit_that_did_not_reach_its_standby_is_not_a_success(
    store: Store, schema: TemporarySchema
) -> None:
    def write_on() -> None:  # until the setting has reached all sessions
        for number in range(10_000):
            put(store, a_seen(number))

    with ThreadPoolExecutor(1) as pool:
        schema.run(
            "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
            "SELECT pg_reload_conf()",
        )
        try:
            writing = pool.submit(write_on)
            waiting = "pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not schema.run(f"SELECT pg_cancel_backend(pid) FROM {waiting}"):
                assert not writing.done()
            with pytest.raises(Unavailable, match="standby"):
                writing.result(LONG)
        finally:
            schema.run(
                "SET synchronous_commit = local",
                "ALTER SYSTEM RESET synchronous_standby_names",
                "SELECT pg_reload_conf()",
            )


# --- other users of the database ---------------------------------------------


def test_store_that_lost_its_lock_stops_writing_until_it_is_free(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_seen(1))
    schema.terminate()
    with opened(postgres_store(schema.url)) as other:
        assert put(other, a_seen(2)) == 2
        with pytest.raises(Unavailable, match="in use by another forewarn"):
            put(store, a_seen(3))
        assert len(store.facts(0, 10)) == 2
    assert put(store, a_seen(3)) == 3


def test_store_upgraded_by_another_process_is_not_written(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_seen(1))
    schema.run("UPDATE OUR.alembic_version SET version_num = '9999'")
    schema.terminate()
    with pytest.raises(Unavailable, match="newer version of forewarn"):
        put(store, a_seen(2))


def test_store_restored_to_an_older_position_is_not_written(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_seen(1), a_seen(2))
    schema.run(
        "UPDATE OUR.counter SET position = 1",
        "DELETE FROM OUR.journal WHERE position > 1",
    )
    with pytest.raises(Unavailable, match="went backward from 2 to 1"):
        put(store, a_seen(3))
    store.close()
    with opened(postgres_store(schema.url)) as again:
        assert put(again, a_seen(3)) == 2


def test_writes_fail_while_another_session_holds_the_counter(
    store: Store, schema: TemporarySchema
) -> None:
    with psycopg.connect(schema.server.url(user="postgres")) as other:
        other.execute(f"SELECT FROM {schema.schema}.counter FOR UPDATE".encode())
        with pytest.raises(Unavailable, match="locked by"), store.transaction():
            pass
    with store.transaction():
        pass


def test_locked_table_is_not_waited_for(store: Store, schema: TemporarySchema) -> None:
    with psycopg.connect(schema.server.url(user="postgres")) as other:
        other.execute(f"LOCK TABLE {schema.schema}.journal".encode())
        with pytest.raises(Unavailable, match="locked by another session"):
            put(store, a_seen(1))
    assert put(store, a_seen(1)) == 1


# --- other failures ----------------------------------------------------------


def test_full_disk_changes_nothing_and_writing_can_be_retried(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_fleet())
    with store.snapshot() as snapshot:
        before = whole_state(snapshot)
    schema.run(
        "CREATE FUNCTION OUR.full() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION"
        " USING ERRCODE = '53100', MESSAGE = 'could not extend file';"
        " END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER full_disk BEFORE INSERT ON OUR.journal"
        " EXECUTE FUNCTION OUR.full()",
    )
    with pytest.raises(Unavailable, match="no space left"):
        put(store, a_fleet(vms=()))
    with store.snapshot() as snapshot:
        assert whole_state(snapshot) == before
    schema.run("DROP TRIGGER full_disk ON OUR.journal")
    assert put(store, a_seen(1)) == 2


def test_database_that_becomes_read_only_can_still_be_read(
    store: Store, schema: TemporarySchema
) -> None:
    put(store, a_seen(1))
    schema.run("ALTER ROLE forewarn SET default_transaction_read_only = on")
    try:
        schema.terminate()
        with pytest.raises(Unavailable, match="read-only"):
            put(store, a_seen(2))
        assert len(store.facts(0, 10)) == 1
    finally:
        schema.run("ALTER ROLE forewarn RESET ALL")
    schema.terminate()
    assert put(store, a_seen(2)) == 2


@pytest.mark.parametrize(
    ("change", "undo", "reason"),
    [
        (
            "REVOKE INSERT ON OUR.maintenances FROM forewarn",
            "GRANT INSERT ON OUR.maintenances TO forewarn",
            "does not allow this role to use its tables",
        ),
        (
            "REVOKE UPDATE ON OUR.audiences FROM forewarn",
            "GRANT UPDATE ON OUR.audiences TO forewarn",
            "does not allow this role to use its tables",
        ),
        (
            "ALTER TABLE OUR.events RENAME COLUMN maintenance TO other",
            "ALTER TABLE OUR.events RENAME COLUMN other TO maintenance",
            r'column "maintenance".* the structure of its tables was changed: undo the'
            " change",
        ),
        (
            "ALTER TABLE OUR.events ADD CONSTRAINT no CHECK (id = 'x') NOT VALID",
            "ALTER TABLE OUR.events DROP CONSTRAINT no",
            "violates check constraint.* the structure of its tables was changed",
        ),
    ],
)
def test_probe_fails_while_a_table_cannot_be_written_although_a_heartbeat_can(
    store: Store, schema: TemporarySchema, change: str, undo: str, reason: str
) -> None:
    schema.run(change)
    with store.transaction() as transaction:
        transaction.keep("heartbeat", "now")
    with pytest.raises(Unavailable, match=reason) as failed:
        probe(store)
    assert not isinstance(failed.value, StoreDamaged)
    schema.run(undo)
    probe(store)


def test_missing_tables_are_damage(store: Store, schema: TemporarySchema) -> None:
    schema.run("DROP SCHEMA OUR CASCADE")
    with pytest.raises(
        StoreDamaged, match=r"lacks one of the forewarn tables.*restore a backup"
    ):
        put(store, a_seen(1))


def test_server_without_free_connections_is_unavailable(
    store: Store, schema: TemporarySchema
) -> None:
    schema.run("ALTER ROLE forewarn CONNECTION LIMIT 1")
    try:
        with pytest.raises(Unavailable, match="too many connections"):
            store.facts(0, 10)
        assert put(store, a_seen(1)) == 1
        with pytest.raises(CannotStart, match="too many connections"):
            postgres_store(schema.url).open()
    finally:
        schema.run("ALTER ROLE forewarn CONNECTION LIMIT -1")
    assert len(store.facts(0, 10)) == 1


def test_no_transaction_is_left_open(store: Store, schema: TemporarySchema) -> None:
    states = "SELECT DISTINCT state FROM pg_stat_activity WHERE usename = 'forewarn'"
    put(store, a_seen(1))
    assert schema.run(states) == ["idle"]
    store.facts(0, 10)
    assert schema.run(states) == ["idle"]
    for block in (store.transaction, store.snapshot):
        with pytest.raises(LookupError), block():
            raise LookupError
        assert schema.run(states) == ["idle"]


def test_driver_messages_about_a_lost_connection_are_replaced() -> None:
    lost = psycopg.OperationalError("cannot exit pipeline mode while busy")
    assert describe_error(lost) == "closed the connection"
