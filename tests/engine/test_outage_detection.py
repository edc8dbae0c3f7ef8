"""Outage detection: recorded once, with the first successful transaction."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.engine.support.system import HOUR, NOON, SECOND, OpenStore
from tests.engine.support.system_time import (
    SystemTime,
    an_engine,
    announce,
    beat_of,
    journal,
    outages,
    read_maintenance,
)
from tests.stores.builders import sqlite_store
from tests.stores.watched_store import watched

from forewarn.core.lifecycle.facts import OutageEnded
from forewarn.core.lifecycle.model import Phase
from forewarn.core.outages import Outage
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.errors import NotFound, Unavailable
from forewarn.ports import Store


def an_engine_after_downtime(store: Store) -> tuple[Engine, SystemTime]:
    """Return an engine that has not yet noticed an hour of downtime."""
    clock = SystemTime()
    engine = an_engine(store, clock)
    clock.run(HOUR)
    return engine, clock


Act = Callable[[Engine], object]

FIRST_ACTS: dict[str, Act] = {
    "heartbeat": lambda engine: engine.beat(),
    "announcement": announce,
    "approval": lambda engine: engine.approve_as_vm("web-0", []),
    "listening": lambda engine: engine.listen(["web"]),
    "fleet": lambda engine: FleetCommands(engine).remove_vm("web-2", by="ops"),
}


@pytest.mark.parametrize("act", FIRST_ACTS.values(), ids=FIRST_ACTS)
def test_any_first_write_records_the_outage_beforehand(
    open_store: OpenStore, act: Act
) -> None:
    engine, _ = an_engine_after_downtime(open_store())
    before = len(journal(engine.store))
    act(engine)
    engine.beat()
    assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR)]
    assert isinstance(journal(engine.store)[before], OutageEnded)


def test_a_tick_records_the_outage_before_it_starts_anything(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    maintenance = announce(engine)
    clock.run(HOUR)
    engine.tick()
    assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR)]
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED


def test_an_outage_begins_after_the_last_fact(open_store: OpenStore) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    clock.run(5 * SECOND)
    announce(engine)  # after the heartbeat at noon
    clock.run(HOUR)
    engine.beat()
    since = NOON + 5 * SECOND
    assert outages(engine) == [Outage(since=since, until=since + HOUR)]


def test_only_one_of_many_concurrent_writers_records_it(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path / "forewarn.db")
    store.open()
    with closing(store), ThreadPoolExecutor(8) as pool:
        engine, _ = an_engine_after_downtime(store)
        for future in [pool.submit(announce, engine) for _ in range(16)]:
            future.result()
        assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR)]


def test_a_refused_command_leaves_it_to_the_next(
    open_store: OpenStore,
) -> None:
    engine, clock = an_engine_after_downtime(open_store())
    with pytest.raises(NotFound):
        announce(engine, "nobody")
    assert outages(engine) == []
    clock.run(SECOND)
    engine.beat()
    assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR + SECOND)]


@contextmanager
def a_failing_store(path: Path) -> Iterator[tuple[Store, list[str]]]:
    """Yield a store that fails once at each statement whose first word is listed."""
    failures: list[str] = []

    def before(sql: str) -> None:
        if failures and sql.split()[0] == failures[0]:
            failures.pop(0)
            raise sqlite3.OperationalError("database or disk is full")

    store = sqlite_store(path, watched(before))
    store.open()
    with closing(store):
        yield store, failures


@pytest.mark.parametrize("statement", ["INSERT", "UPDATE", "DELETE", "COMMIT"])
def test_after_a_failure_the_next_transaction_records_it(
    tmp_path: Path, statement: str
) -> None:
    with a_failing_store(tmp_path / "forewarn.db") as (store, failures):
        engine, clock = an_engine_after_downtime(store)
        failures += [statement] * 2
        for _ in range(2):
            with pytest.raises(Unavailable):
                announce(engine)
        assert outages(engine) == []
        assert beat_of(store) == NOON
        clock.run(SECOND)
        announce(engine)
        announce(engine)
        assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR + SECOND)]
