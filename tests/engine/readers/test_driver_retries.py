"""Automatic driver retries."""

from collections.abc import Iterator
from threading import Thread

import pytest
from tests.engine.support.notified import ManualStopwatch
from tests.engine.support.slow_driver import LONG, done
from tests.engine.support.system import (
    HOUR,
    NOON,
    OpenStore,
    RecordingDriver,
    System,
    a_system,
    an_emergency,
    counted,
    fail,
)

from forewarn.core.lifecycle.facts import WorkBegan, WorkFailed, WorkRetried
from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.engine.readers.driver_runner import RetrySchedule
from forewarn.ports import Bell, Report, Store, Work

TWICE = Rules(retries=2)


def failed_once(store: Store) -> tuple[System, RecordingDriver, ManualStopwatch]:
    """Return a system whose driver has failed, and waits five seconds to retry."""
    driver, watch = RecordingDriver(fail), ManualStopwatch()
    retries = RetrySchedule(5.0, watch.monotonic)
    system = a_system(store, driver=driver, rules=TWICE, retries=retries)
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    return system, driver, watch


@pytest.mark.parametrize("parallel", [0, 4])
def test_a_failed_driver_is_retried_as_often_as_configured(
    open_store: OpenStore, parallel: int
) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver, rules=TWICE, parallel=parallel)
    maintenance = system.announce(an_emergency("web-0"))
    system.works.finish()
    assert [work.attempt for work in driver.works] == [1, 2, 3]
    assert [fact.by for fact in system.facts(WorkRetried)] == [None, None]
    assert len(system.facts(WorkFailed)) == 3
    assert system.maintenance(maintenance.id).stuck_since == NOON


def test_a_retry_requested_during_the_call_is_carried_out(
    open_store: OpenStore,
) -> None:
    def fail_once(work: Work) -> Iterator[Report]:
        yield Report(vm="web-0", failed=work.attempt == 1)
        if work.attempt == 1:
            system.engine.retry(work.maintenance, by="ops")

    driver = RecordingDriver(fail_once)
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    system.works.finish()
    assert [work.attempt for work in driver.works] == [1, 2]


def test_nothing_is_retried_before_the_call_has_ended(
    open_store: OpenStore,
) -> None:
    retried: list[int] = []

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="web-0", failed=work.attempt == 1)
        system.works.catch_up()
        retried.append(len(system.facts(WorkRetried)))

    driver = RecordingDriver(half)
    system = a_system(open_store(), driver=driver, rules=TWICE, parallel=1)
    system.announce(an_emergency("web-0"))
    system.works.finish()
    assert retried == [0, 1]


def test_an_operator_s_retry_resets_the_automatic_retries(
    open_store: OpenStore,
) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver, rules=TWICE)
    maintenance = system.announce(an_emergency("web-0"))
    system.works.finish()
    system.engine.retry(maintenance.id, by="ops")
    system.works.finish()
    assert len(driver.works) == 6


def test_nothing_is_retried_early(open_store: OpenStore) -> None:
    system, driver, watch = failed_once(open_store())
    watch.now += 4.9
    system.works.catch_up()
    assert len(driver.works) == 1
    watch.now += 0.1
    system.works.catch_up()
    assert len(driver.works) == 2


def test_the_driver_thread_wakes_up_for_a_retry(open_store: OpenStore) -> None:
    system, _, watch = failed_once(open_store())
    watch.now += 5.0
    thread = Thread(target=system.works.wait, args=(Bell(),), daemon=True)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_closed_maintenance_is_not_retried(open_store: OpenStore) -> None:
    system, driver, watch = failed_once(open_store())
    (maintenance,) = system.maintenances()
    system.engine.close(maintenance.id, by="ops")
    watch.now += 60.0
    system.works.finish()
    assert len(driver.works) == 1
    assert system.phase(maintenance.id) is Phase.FAILED


def test_an_earlier_operator_retry_restarts_the_pause(open_store: OpenStore) -> None:
    system, driver, watch = failed_once(open_store())
    (maintenance,) = system.maintenances()
    watch.now += 4.0
    system.engine.retry(maintenance.id, by="ops")
    system.works.catch_up()
    watch.now += 4.9
    system.works.catch_up()
    assert len(driver.works) == 2
    assert [fact.by for fact in system.facts(WorkRetried)] == ["ops"]


def test_a_pending_retry_survives_a_restart(
    open_store: OpenStore,
) -> None:
    store, driver = open_store(), RecordingDriver(fail)
    before = a_system(store, driver=driver, rules=TWICE, retries=RetrySchedule(300.0))
    maintenance = before.announce(an_emergency("web-0"))
    before.works.catch_up()
    driver.act = done
    after = a_system(
        store, driver=driver, rules=TWICE, fleet=None, new_id=counted(1000)
    )
    after.works.finish()
    assert [fact.attempt for fact in after.facts(WorkBegan)] == [1, 2]
    assert after.maintenance(maintenance.id).done == ("web-0",)


def test_advance_waits_for_retries(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    retries = RetrySchedule(0.05)
    system = a_system(
        open_store(), driver=driver, rules=TWICE, retries=retries, parallel=4
    )
    system.announce(an_emergency("web-0"))
    system.advance.by(HOUR)
    assert len(driver.works) == 3
    assert [fact.at for fact in system.facts(WorkBegan)] == [NOON] * 3


# --- pauses ------------------------------------------------------------------


def test_each_pause_doubles_up_to_five_minutes() -> None:
    waits = [RetrySchedule(5.0).pause(tries) for tries in range(1, 10)]
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize("first", [0.0, 86_400.0])
def test_a_pause_is_limited(first: float) -> None:
    assert RetrySchedule(first).pause(1_000_000) == (300 if first else 0)
