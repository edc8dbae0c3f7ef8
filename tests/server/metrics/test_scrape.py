"""Scrape of all metrics while the store is unavailable or slow, without any writes."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from math import inf
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest
from tests.engine.support.system import MINUTE, NOON, SECOND, System, a_reboot
from tests.patience import PATIENCE
from tests.server.support.handlers import a_harness
from tests.server.support.scrapes import Scrape, parse

from forewarn.clocks import FastClock
from forewarn.core.faults import FaultKind
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.engine.readers.notifications import TargetState, TargetStatus
from forewarn.errors import Unavailable
from forewarn.ports import Bell, Snapshot, Store, Transaction
from forewarn.server.control.auth.token_limits import TokenLimits, token_shares
from forewarn.server.control.auth.work_slots import WorkSlots
from forewarn.server.control.http.shares import (
    ConnectionPlaces,
    ConnectionShares,
    InvalidRequests,
)
from forewarn.server.metadata.limits import Admission, MetadataLimit
from forewarn.server.metrics.endpoint import make_registry
from forewarn.server.metrics.reader import MetricsReader
from forewarn.server.metrics.sources import MetricSources, SharedQuery


class ReadOnlyStore:
    """A store that can be unavailable and fails on writes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_away = False
        self.hangs = Bell()  # set while the store does not hang
        self.hangs.set()

    def transaction(self) -> AbstractContextManager[Transaction]:
        raise AssertionError("a scrape writes")

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        self.hangs.wait()
        self._find()
        return self._store.snapshot()

    def facts(self, after: int, limit: int) -> Sequence[JournalEntry]:
        self._find()
        return self._store.facts(after, limit)

    def close(self) -> None:
        pass

    def _find(self) -> None:
        if self.is_away:
            raise Unavailable("the disk has gone")


class ScrapeEnvironment:
    """A service in which only the engine is real."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.store = ReadOnlyStore(system.store)
        self.documents = SimpleNamespace(position=0)  # a slow reader
        self.timers = SimpleNamespace(since_heartbeat=3.5)
        self.engine = SimpleNamespace(
            clock=system.clock,
            store=self.store,
            health=system.engine.health,
            write_queue=system.engine.write_queue,
            receipts=system.engine.receipts,
        )
        counting = MetricsReader(self.store)
        counting.open()
        places = ConnectionPlaces(total=16)
        parts: dict[str, Any] = {
            "engine": self.engine,
            "connections": ConnectionShares(places),
            "invalid_requests": InvalidRequests(),
            "token_limits": TokenLimits(token_shares(places)),
            "work_slots": WorkSlots(),
            "operations": SimpleNamespace(refused={"vm": 8}),
            "documents": self.documents,
            "driver_runner": SimpleNamespace(calls=4, position=0),
            "timers": self.timers,
            "plane": SimpleNamespace(
                handler=a_harness().handler,
                limits=SimpleNamespace(
                    count=7,
                    not_admitted={
                        Admission.REFUSED: 2,
                        Admission.DROPPED: 1,
                        Admission.FULL: 2,
                    },
                ),
                long_polls=SimpleNamespace(count=5),
                turns=SimpleNamespace(deferred=8),
                faults=SimpleNamespace(counts=lambda: {FaultKind.SLOW: 6}),
            ),
        }
        self.sources = MetricSources(
            metrics_reader=counting, store_bytes=lambda: 4096, **parts
        )

    def scrape(self, *, patience: float = 10.0, **changes: Any) -> Scrape:
        sources = replace(self.sources, **changes)
        registry = make_registry(lambda: sources, timeout=patience)
        return parse(generate_latest(registry).decode())


@pytest.fixture
def environment(system: System) -> ScrapeEnvironment:
    system.announce(a_reboot("lone"))
    return ScrapeEnvironment(system)


def test_other_metrics_are_exported_while_the_store_is_unavailable(
    environment: ScrapeEnvironment,
) -> None:
    environment.scrape()
    environment.store.is_away = True
    metrics = environment.scrape()
    assert metrics.value("forewarn_store_up") == 0
    assert metrics.value("forewarn_metadata_requests_held") == 5
    assert metrics.value("forewarn_events", type="Reboot", phase="SCHEDULED") == 1
    assert metrics.value("forewarn_vms") == 3
    assert metrics.value("forewarn_heartbeat_age_seconds") == 3.5
    for missing in ("forewarn_journal_position", "forewarn_reader_lag_seconds"):
        assert metrics.all(missing) == {}


def test_scrape_does_not_wait_for_a_hanging_store(
    environment: ScrapeEnvironment,
) -> None:
    environment.scrape()
    environment.store.hangs.clear()
    metrics = environment.scrape(patience=0.01)
    environment.store.hangs.set()
    assert metrics.value("forewarn_store_up") == 0
    assert metrics.value("forewarn_events", type="Reboot", phase="SCHEDULED") == 1


def test_nothing_is_missed_when_the_store_is_back(
    environment: ScrapeEnvironment,
) -> None:
    environment.store.is_away = True
    environment.scrape()
    environment.system.announce(a_reboot("web-0"))
    environment.store.is_away = False
    metrics = environment.scrape()
    assert metrics.value("forewarn_store_up") == 1
    counted = metrics.all("forewarn_maintenances_announced_total")
    assert sum(counted.values()) == 1


def test_reader_lag_is_the_age_of_the_first_unread_fact(
    environment: ScrapeEnvironment,
) -> None:
    name, reader = "forewarn_reader_lag_seconds", "documents"
    environment.documents.position = len(environment.system.journal())
    assert environment.scrape().value(name, reader=reader) == 0
    environment.system.announce(a_reboot("web-0"))
    environment.system.advance.by(MINUTE)
    environment.system.announce(a_reboot("web-1"))
    environment.system.advance.by(SECOND)
    metrics = environment.scrape()
    behind = len(environment.system.journal()) - environment.documents.position
    assert metrics.value("forewarn_reader_behind_facts", reader=reader) == behind > 1
    assert metrics.value(name, reader=reader) == 61


def test_lag_is_real_time_whatever_the_clock(environment: ScrapeEnvironment) -> None:
    environment.engine.clock = FastClock(600, NOON + timedelta(hours=1))
    metrics = environment.scrape()
    lag = metrics.value("forewarn_reader_lag_seconds", reader="documents")
    assert 6 <= lag < 60


def test_values_of_other_components_are_exported(
    environment: ScrapeEnvironment,
) -> None:
    metrics = environment.scrape()
    assert metrics.value("forewarn_metadata_connections") == 7
    assert metrics.value("forewarn_driver_calls_running") == 4
    assert metrics.value("forewarn_store_size_bytes") == 4096
    name = "forewarn_metadata_connections_refused_total"
    assert metrics.value(name, how="refused") == 2
    assert metrics.value(name, how="dropped") == 3
    assert metrics.value("forewarn_metadata_turns_deferred_total") == 8


def test_refusals_are_exported_by_limit(environment: ScrapeEnvironment) -> None:
    refusals = environment.sources.plane.handler.refusals
    for _ in range(3):
        refusals.add(MetadataLimit.APPROVALS, "web-0", NOON)
    metrics, name = environment.scrape(), "forewarn_metadata_refused_total"
    assert metrics.value(name, limit="approvals") == 3
    assert {metrics.value(name, limit=limit) for limit in MetadataLimit} == {0, 3}


def test_refused_commands_are_exported_by_limit(
    environment: ScrapeEnvironment,
) -> None:
    environment.engine.write_queue.refused["waiting"] += 2
    environment.engine.receipts.refused += 1
    metrics, name = environment.scrape(), "forewarn_commands_refused_total"
    limits = ("waiting", "time", "keys")
    assert [metrics.value(name, limit=limit) for limit in limits] == [2, 0, 1]


def test_notifier_metrics_are_labeled_by_name(environment: ScrapeEnvironment) -> None:
    hook = TargetStatus(
        name="hook",
        kind="webhook",
        url=None,
        position=4,
        behind=3,
        lag_seconds=9.5,
        state=TargetState.WAITING,
        failures=2,
        last_error="it refused the connection",
        last_success=None,
        next_attempt=NOON,
    )
    metrics = environment.scrape(targets=lambda: [hook])
    assert metrics.value("forewarn_notifier_behind_facts", target="hook") == 3
    assert metrics.value("forewarn_notifier_lag_seconds", target="hook") == 9.5
    assert metrics.value("forewarn_notifier_failures", target="hook") == 2


def test_heartbeat_age_is_omitted_before_the_first_heartbeat(
    environment: ScrapeEnvironment,
) -> None:
    environment.timers.since_heartbeat = inf
    assert environment.scrape().all("forewarn_heartbeat_age_seconds") == {}


def test_result_is_returned() -> None:
    assert SharedQuery(lambda: 7).run(PATIENCE) == 7


def test_finished_query_is_run_again() -> None:
    answers = iter((1, 2))
    asking = SharedQuery(lambda: next(answers))
    assert [asking.run(PATIENCE), asking.run(PATIENCE)] == [1, 2]


def test_hanging_query_is_run_once() -> None:
    calls: list[None] = []
    goes_on = Event()

    def hang() -> int:
        calls.append(None)
        goes_on.wait(PATIENCE)
        return 7

    asking = SharedQuery(hang)
    assert [asking.run(0.01), asking.run(0.01)] == [None, None]
    goes_on.set()
    assert asking.run(PATIENCE) == 7
    assert len(calls) == 1


def test_unavailable_result_is_none() -> None:
    def refuse() -> int:
        raise Unavailable("it is away")

    assert SharedQuery(refuse).run(PATIENCE) is None


def test_programming_error_is_raised() -> None:
    nothing: dict[str, int] = {}
    asking = SharedQuery(lambda: nothing["x"])
    with pytest.raises(KeyError):
        asking.run(PATIENCE)


def test_failed_writes_and_a_clock_behind_the_journal_are_exported(
    environment: ScrapeEnvironment,
) -> None:
    health = environment.system.engine.health
    metrics = environment.scrape()
    assert metrics.value("forewarn_store_writable") == 1
    assert metrics.value("forewarn_store_write_failures_total") == 0
    assert metrics.value("forewarn_clock_behind_journal_seconds") == 0
    health.write_succeeded(environment.system.clock.now() + MINUTE)
    for _ in range(3):
        health.write_failed(Unavailable("the disk is full"))
    metrics = environment.scrape()
    assert metrics.value("forewarn_store_writable") == 0
    assert metrics.value("forewarn_store_write_failures_total") == 3
    assert metrics.value("forewarn_clock_behind_journal_seconds") == 60
