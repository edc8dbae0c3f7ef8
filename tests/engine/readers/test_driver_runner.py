"""Driver runner: one driver call per maintenance and attempt."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.support.slow_driver import done
from tests.engine.support.system import (
    FLEET,
    HOUR,
    MINUTE,
    NOON,
    FailingStore,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
    counted,
    fail,
)

from forewarn.core.fleet import EvictionPolicy
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import WorkBegan, WorkDone, WorkFailed, WorkRetried
from forewarn.core.lifecycle.model import Cause, Phase
from forewarn.drivers.registry import OperatorDriver
from forewarn.errors import Unavailable
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventSource, EventStatus, EventType


def test_the_driver_is_called_once_with_all_its_work(
    open_store: OpenStore,
) -> None:
    driver = RecordingDriver()
    system = a_system(open_store(), driver=driver)
    maintenance = system.announce(a_reboot(host="host-a"))
    system.advance.by(HOUR)
    system.works.catch_up()
    (work,) = driver.works
    assert work == Work(
        maintenance=maintenance.id,
        type=EventType.REBOOT,
        source=EventSource.PLATFORM,
        cause=Cause.PLATFORM,
        host="host-a",
        vms=(FLEET.vms["db-0"], FLEET.vms["web-0"]),
        duration=-1,
        description="Host server is undergoing maintenance.",
        attempt=1,
    )


@pytest.mark.parametrize("policy", EvictionPolicy)
def test_the_driver_learns_whether_an_evicted_vm_leaves_the_fleet(
    open_store: OpenStore, policy: EvictionPolicy
) -> None:
    driver = RecordingDriver()
    system = a_system(open_store(), driver=driver)
    vm = replace(FLEET.vms["web-0"], spot=True, eviction_policy=policy)
    system.fleets.put_vm(vm, by="ops")
    system.announce(Order(type=EventType.PREEMPT, vms=("web-0",)))
    system.advance.by(MINUTE)
    system.works.catch_up()
    (work,) = driver.works
    assert work.removes is (policy is EvictionPolicy.DELETE)


def test_started_is_shown_before_the_driver_acts(open_store: OpenStore) -> None:
    shown: list[object] = []

    def look(work: Work) -> Iterable[Report]:
        shown.extend(event.status for event in system.plane.document("web-0").events)
        return done(work)

    system = a_system(open_store(), driver=RecordingDriver(look))
    system.wakes.clear()  # nobody wakes the documents
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    assert shown == [EventStatus.STARTED]


def test_the_beginning_of_work_is_stored_before_the_driver_acts(
    open_store: OpenStore,
) -> None:
    def look(work: Work) -> Iterable[Report]:
        assert [fact.attempt for fact in system.facts(WorkBegan)] == [work.attempt]
        assert not system.facts(WorkDone)
        return done(work)

    driver = RecordingDriver(look)
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    assert len(system.facts(WorkDone)) == len(driver.works) == 1


# --- failing drivers ---------------------------------------------------------


def test_a_driver_that_raises_leaves_it_stuck(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver)
    maintenance = system.announce(an_emergency("web-0"))
    system.works.catch_up()
    assert system.maintenance(maintenance.id).stuck_since == NOON
    (fact,) = system.facts(WorkFailed)
    assert fact.vms == ("web-0",)
    assert "no way to" in fact.detail


def test_a_stuck_maintenance_is_left_alone(open_store: OpenStore) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver)
    maintenance = system.announce(an_emergency("web-0"))
    for _ in range(3):
        system.advance.by(HOUR)
    assert len(driver.works) == 1
    assert system.phase(maintenance.id) is Phase.STARTED


def test_a_failure_does_not_affect_others(open_store: OpenStore) -> None:
    driver = RecordingDriver(
        lambda work: fail(work) if len(work.vms) > 1 else done(work)
    )
    system = a_system(open_store(), driver=driver)
    bad = system.announce(a_reboot(host="host-a"))
    good = system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    assert system.phase(bad.id) is Phase.STARTED
    assert system.phase(good.id) is Phase.COMPLETED


def test_a_retry_calls_the_driver_with_the_remaining_work(
    open_store: OpenStore,
) -> None:
    def half(work: Work) -> Iterator[Report]:
        for vm in work.vms:
            if vm.name == "web-0":
                raise ConnectionError("no")
            yield Report(vm=vm.name)

    driver = RecordingDriver(half)
    system = a_system(open_store(), driver=driver)
    maintenance = system.announce(a_reboot(host="host-a"))
    system.advance.by(HOUR)
    assert system.maintenance(maintenance.id).done == ("db-0",)
    driver.act = done
    system.engine.retry(maintenance.id, by="ops")
    system.works.catch_up()
    assert [[vm.name for vm in work.vms] for work in driver.works] == [
        ["db-0", "web-0"],
        ["web-0"],
    ]
    assert [work.attempt for work in driver.works] == [1, 2]
    assert system.phase(maintenance.id) is Phase.COMPLETED
    assert [fact.by for fact in system.facts(WorkRetried)] == ["ops"]


def test_a_reported_failure_leaves_only_that_vm(open_store: OpenStore) -> None:
    def partly(work: Work) -> list[Report]:
        return [
            Report(vm=vm.name, failed=vm.name == "web-0", detail="no disk")
            for vm in work.vms
        ]

    system = a_system(open_store(), driver=RecordingDriver(partly))
    announced = system.announce(a_reboot(host="host-a"))
    system.advance.by(HOUR)
    maintenance = system.maintenance(announced.id)
    assert (maintenance.done, maintenance.to_do) == (("db-0",), ("web-0",))
    assert maintenance.stuck_since is not None
    (fact,) = system.facts(WorkFailed)
    assert (fact.vms, fact.detail) == (("web-0",), "no disk")


def test_a_failure_on_another_vm_is_not_retried_endlessly(
    open_store: OpenStore,
) -> None:
    def confused(work: Work) -> list[Report]:
        if work.attempt > 3:
            return done(work)
        return [Report(vm="nobody", failed=True)]

    driver = RecordingDriver(confused)
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    system.works.catch_up()
    assert [work.attempt for work in driver.works] == [1]


# --- pending work ------------------------------------------------------------


def test_operator_work_stays_pending_until_complete(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=OperatorDriver())
    maintenance = system.announce(an_emergency("web-0"))
    system.advance.by(24 * HOUR)
    assert system.phase(maintenance.id) is Phase.STARTED
    assert system.maintenance(maintenance.id).stuck_since is None
    system.engine.complete(maintenance.id, by="ops")
    assert system.phase(maintenance.id) is Phase.COMPLETED


def test_pending_work_is_handed_over_once(open_store: OpenStore) -> None:
    driver = RecordingDriver(lambda work: [])
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    for _ in range(3):
        system.works.catch_up()
    assert len(driver.works) == 1
    assert len(system.facts(WorkBegan)) == 1


def test_after_a_restart_the_driver_is_called_again(
    open_store: OpenStore, tmp_path: Path
) -> None:
    driver = RecordingDriver(lambda work: [])
    store = open_store(tmp_path / "forewarn.db")
    before = a_system(store, driver=driver)
    before.announce(an_emergency("web-0"))
    before.works.catch_up()
    store.close()
    after = a_system(
        open_store(tmp_path / "forewarn.db"),
        driver=driver,
        new_id=counted(1000),
        fleet=None,
    )
    after.works.catch_up()
    after.works.catch_up()
    assert [work.attempt for work in driver.works] == [1, 2]


def test_after_a_restart_finished_work_is_not_done_again(
    open_store: OpenStore, tmp_path: Path
) -> None:
    driver = RecordingDriver()
    store = open_store(tmp_path / "forewarn.db")
    before = a_system(store, driver=driver)
    maintenance = before.announce(an_emergency("web-0"))
    before.works.catch_up()
    store.close()
    after = a_system(open_store(tmp_path / "forewarn.db"), driver=driver, fleet=None)
    after.advance.by(HOUR)
    assert len(driver.works) == 1
    assert after.phase(maintenance.id) is Phase.COMPLETED


# --- nothing is forgotten ----------------------------------------------------


def test_work_started_by_a_report_is_done_before_catch_up_ends(
    open_store: OpenStore,
) -> None:
    driver = RecordingDriver(fail)
    system = a_system(open_store(), driver=driver)
    stuck = system.announce(an_emergency("web-0"))
    following = system.announce(a_reboot("web-1"))
    system.advance.by(HOUR)
    driver.act = done
    system.engine.retry(stuck.id, by="ops")
    system.works.catch_up()  # ends the first, which starts the second
    assert system.maintenance(following.id).started_at == NOON + HOUR
    assert [work.maintenance for work in driver.works[1:]] == [stuck.id, following.id]


def test_work_completed_in_the_meantime_is_not_handed_over(
    open_store: OpenStore,
) -> None:
    driver = RecordingDriver()
    system = a_system(open_store(), driver=driver)
    slow = system.announce(an_emergency("web-0"))
    other = system.announce(an_emergency("db-0"))

    def completing_the_other(work: Work) -> Iterable[Report]:
        driver.act = done
        system.engine.complete(other.id, by="ops")
        system.clock.move_to(NOON + MINUTE)
        return done(work)

    driver.act = completing_the_other
    system.works.catch_up()
    assert [work.maintenance for work in driver.works] == [slow.id]


def test_work_that_ended_in_the_meantime_has_no_effect(open_store: OpenStore) -> None:
    driver = RecordingDriver()
    system = a_system(open_store(), driver=driver)
    system.announce(an_emergency("web-0"))
    other = system.announce(an_emergency("db-0"))
    following = system.announce(a_reboot("db-1"))

    def ending_the_other_when_the_next_is_due(work: Work) -> Iterable[Report]:
        driver.act = done
        system.engine.complete(other.id, by="ops")
        system.clock.move_to(NOON + MINUTE)
        system.engine.tick()
        system.clock.move_to(following.not_before)
        return done(work)

    driver.act = ending_the_other_when_the_next_is_due
    system.works.catch_up()
    system.advance.by(HOUR)
    assert system.phase(other.id) is Phase.COMPLETED
    assert system.phase(following.id) is Phase.COMPLETED


def test_a_store_failure_is_not_a_driver_failure(
    open_store: OpenStore,
) -> None:
    driver = RecordingDriver()
    store = FailingStore(open_store())
    system = a_system(store, driver=driver)
    maintenance = system.announce(an_emergency("web-0"))

    def while_the_disk_fills_up(work: Work) -> Iterable[Report]:
        store.failures.append(Unavailable("the disk is full"))
        driver.act = done
        return done(work)

    driver.act = while_the_disk_fills_up
    with suppress(Unavailable):
        system.works.catch_up()
    system.works.catch_up()
    assert not system.facts(WorkFailed)
    assert system.maintenance(maintenance.id).done == ("web-0",)


def test_a_driver_call_is_counted_while_it_runs_and_timed(
    open_store: OpenStore,
) -> None:
    running: list[int] = []

    def watch(work: Work) -> Iterable[Report]:
        running.append(system.works.calls)
        return fail(work)

    ended: list[tuple[str, bool]] = []
    system = a_system(
        open_store(),
        driver=RecordingDriver(watch),
        on_call=lambda kind, seconds: ended.append((kind, seconds >= 0)),
    )
    system.announce(an_emergency("lone"))
    system.works.catch_up()
    assert running == [1]
    assert ended == [("Reboot", True)]
    assert system.works.calls == 0


def test_the_driver_runner_reports_its_position(system: System) -> None:
    system.announce(an_emergency("lone"))
    assert system.works.position < len(system.journal())
    system.works.catch_up()
    assert system.works.position == len(system.journal())
