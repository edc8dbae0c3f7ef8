"""A driver that has failed is called again by itself, as often as the settings say."""

from collections.abc import Iterator
from threading import Thread

import pytest
from tests.engine.patient import LONG, done
from tests.engine.system import (
    HOUR,
    NOON,
    OpenStore,
    RecordingDriver,
    a_system,
    an_emergency,
    counted,
    fail,
)

from forewarn.core.facts import WorkBegan, WorkFailed, WorkRetried
from forewarn.core.maintenance import Phase
from forewarn.core.policy import Rules
from forewarn.engine.retries import Retries
from forewarn.ports import Bell, Report, Work

TWICE = Rules(retries=2)


class StopWatch:
    """Real time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("parallel", [0, 4])
def test_a_driver_that_fails_is_called_again_so_often(
    open_store: OpenStore, parallel: int
) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver, rules=TWICE, parallel=parallel)
    made = system.announce(an_emergency("web-0"))
    system.works.finish()
    assert [work.attempt for work in driver.works] == [1, 2, 3]
    assert [fact.by for fact in system.facts(WorkRetried)] == [None, None]
    assert len(system.facts(WorkFailed)) == 3
    assert system.maintenance(made.id).stuck_since == NOON


def test_without_the_setting_it_is_called_once(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    system.works.finish()
    assert len(driver.works) == 1


def test_only_what_is_left_is_tried_again(open_store: OpenStore) -> None:
    def partly(work: Work) -> list[Report]:
        failed = "web-0" if work.attempt == 1 else ""
        return [Report(vm=vm.name, failed=vm.name == failed) for vm in work.vms]

    driver = RecordingDriver(partly)
    system = a_system(open_store(), driver=driver, rules=TWICE)
    made = system.announce(an_emergency("web-0"))
    system.works.finish()
    assert [work.attempt for work in driver.works] == [1, 2]
    assert system.maintenance(made.id).done == ("web-0",)


def test_nothing_is_tried_again_before_the_call_has_ended(
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


def test_somebody_who_asks_gets_all_retries_again(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver, rules=TWICE)
    made = system.announce(an_emergency("web-0"))
    system.works.finish()
    system.engine.retry(made.id, by="ops")
    system.works.finish()
    assert len(driver.works) == 6


def test_before_its_time_nothing_is_tried_again(open_store: OpenStore) -> None:
    driver, watch = RecordingDriver(fail), StopWatch()
    retries = Retries(5.0, watch)
    system = a_system(open_store(), driver=driver, rules=TWICE, retries=retries)
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    watch.now = 4.9
    system.works.catch_up()
    assert len(driver.works) == 1
    watch.now = 5.0
    system.works.catch_up()
    assert len(driver.works) == 2


def test_the_thread_that_hands_over_wakes_up_for_it(open_store: OpenStore) -> None:
    driver, watch = RecordingDriver(fail), StopWatch()
    retries = Retries(5.0, watch)
    system = a_system(open_store(), driver=driver, rules=TWICE, retries=retries)
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    watch.now = 5.0
    waiting = Thread(target=system.works.wait, args=(Bell(),), daemon=True)
    waiting.start()
    waiting.join(LONG)
    assert not waiting.is_alive()


def test_an_operator_who_closes_it_is_not_overruled(open_store: OpenStore) -> None:
    driver, watch = RecordingDriver(fail), StopWatch()
    retries = Retries(5.0, watch)
    system = a_system(open_store(), driver=driver, rules=TWICE, retries=retries)
    made = system.announce(an_emergency("web-0"))
    system.works.catch_up()
    system.engine.close(made.id, by="ops")
    watch.now = 60.0
    system.works.finish()
    assert len(driver.works) == 1
    assert system.phase(made.id) is Phase.FAILED


def test_an_operator_who_is_quicker_begins_a_new_wait(open_store: OpenStore) -> None:
    driver, watch = RecordingDriver(fail), StopWatch()
    retries = Retries(5.0, watch)
    system = a_system(open_store(), driver=driver, rules=TWICE, retries=retries)
    made = system.announce(an_emergency("web-0"))
    system.works.catch_up()
    watch.now = 4.0
    system.engine.retry(made.id, by="ops")
    system.works.catch_up()
    watch.now = 8.9
    system.works.catch_up()
    assert len(driver.works) == 2
    assert [fact.by for fact in system.facts(WorkRetried)] == ["ops"]


def test_after_a_restart_what_waits_is_still_tried_again(
    open_store: OpenStore,
) -> None:
    store, driver = open_store(), RecordingDriver(fail)
    before = a_system(store, driver=driver, rules=TWICE, retries=Retries(300.0))
    made = before.announce(an_emergency("web-0"))
    before.works.catch_up()
    driver.act = done
    after = a_system(
        store, driver=driver, rules=TWICE, fleet=None, new_id=counted(1000)
    )
    after.works.finish()
    assert [fact.attempt for fact in after.facts(WorkBegan)] == [1, 2]
    assert after.maintenance(made.id).done == ("web-0",)


def test_advance_waits_for_what_is_tried_again(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    retries = Retries(0.05)
    system = a_system(
        open_store(), driver=driver, rules=TWICE, retries=retries, parallel=4
    )
    system.announce(an_emergency("web-0"))
    system.advance.by(HOUR)
    assert len(driver.works) == 3
    assert [fact.at for fact in system.facts(WorkBegan)] == [NOON] * 3


# --- how long ----------------------------------------------------------------


def test_each_wait_is_twice_as_long_up_to_five_minutes() -> None:
    waits = [Retries(5.0).pause(tries) for tries in range(1, 10)]
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize("first", [0.0, 86_400.0])
def test_a_wait_is_never_beyond_reason(first: float) -> None:
    assert Retries(first).pause(1_000_000) == (300 if first else 0)
