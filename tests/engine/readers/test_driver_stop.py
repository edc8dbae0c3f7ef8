"""Halting driver calls: cancellation, store failures and shutdown."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread

from tests.engine.support.slow_driver import (
    LONG,
    BlockingDriver,
    begun,
    done,
    start_reboot,
)
from tests.engine.support.system import (
    FLEET,
    HOUR,
    NOON,
    FailingStore,
    OpenStore,
    RecordingDriver,
    a_system,
    fail,
)

from forewarn.core.lifecycle.facts import WorkDone, WorkFailed
from forewarn.core.lifecycle.model import Phase
from forewarn.errors import Unavailable
from forewarn.ports import Report, Work

# --- unwanted calls ----------------------------------------------------------


def test_complete_halts_the_driver(open_store: OpenStore) -> None:
    driver = BlockingDriver(fail)
    system = a_system(open_store(), driver=driver, parallel=1)
    maintenance = start_reboot(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    assert not work.halt.is_set()
    system.engine.complete(maintenance.id, by="ops")
    system.works.catch_up()
    assert work.halt.is_set()
    driver.end(work)
    system.works.finish()
    assert not system.facts(WorkFailed)


def test_close_halts_the_driver(open_store: OpenStore) -> None:
    failed_one, halted = Event(), Event()

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0", failed=True)
        failed_one.set()
        assert work.halt.wait(LONG)
        halted.set()

    system = a_system(open_store(), driver=RecordingDriver(half), parallel=1)
    maintenance = start_reboot(system, host="host-a")
    system.works.catch_up()
    assert failed_one.wait(LONG)
    system.engine.close(maintenance.id, by="ops")
    system.works.catch_up()
    assert halted.wait(LONG)
    system.works.finish()
    assert system.phase(maintenance.id) is Phase.FAILED


def test_the_driver_is_halted_when_all_remaining_vms_have_left(
    open_store: OpenStore,
) -> None:
    reported, halted = Event(), Event()

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0")
        reported.set()
        assert work.halt.wait(LONG)
        halted.set()

    system = a_system(open_store(), driver=RecordingDriver(half), parallel=1)
    start_reboot(system, host="host-a")
    system.works.catch_up()
    assert reported.wait(LONG)
    rest = {name: vm for name, vm in FLEET.vms.items() if name != "web-0"}
    system.fleets.apply(replace(FLEET, vms=rest), by="ops", remove=True)
    system.works.catch_up()
    assert halted.wait(LONG)
    system.works.finish()


def test_a_driver_that_has_reported_everything_may_clean_up(
    open_store: OpenStore,
) -> None:
    reported, may_end = Event(), Event()
    was_halted: list[bool] = []

    def tidily(work: Work) -> Iterator[Report]:
        yield from done(work)
        reported.set()
        assert may_end.wait(LONG)
        was_halted.append(work.halt.is_set())

    system = a_system(open_store(), driver=RecordingDriver(tidily), parallel=1)
    maintenance = start_reboot(system, "web-0")
    system.works.catch_up()
    assert reported.wait(LONG)
    system.clock.move_to(NOON + HOUR)
    system.engine.tick()
    assert system.phase(maintenance.id) is Phase.COMPLETED
    system.works.catch_up()
    may_end.set()
    system.works.finish()
    assert was_halted == [False]


# --- advance -----------------------------------------------------------------


def test_advance_waits_for_running_calls(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    maintenance = start_reboot(system, "web-0")
    thread = Thread(target=lambda: system.advance.by(HOUR))
    thread.start()
    work = driver.begun()
    assert system.clock.now() == NOON
    driver.end(work)
    thread.join(LONG)
    assert system.clock.now() == NOON + HOUR
    assert system.phase(maintenance.id) is Phase.COMPLETED


def test_advance_ends_when_the_service_stops(open_store: OpenStore) -> None:
    driver, refused = BlockingDriver(), Event()
    system = a_system(open_store(), driver=driver, parallel=4)
    start_reboot(system, "web-0")

    def advance() -> None:
        try:
            system.advance.by(HOUR)
        except Unavailable:
            refused.set()

    Thread(target=advance).start()
    work = driver.begun()
    system.works.leave()
    assert refused.wait(LONG)
    driver.end(work)
    system.works.stop()


# --- store failures ----------------------------------------------------------


def test_a_report_that_cannot_be_written_is_kept_until_it_can(
    open_store: OpenStore,
) -> None:
    store = FailingStore(open_store())
    driver = BlockingDriver()
    system = a_system(store, driver=driver, parallel=4)
    maintenance = start_reboot(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    store.failures += [Unavailable("the disk is full"), ValueError("a bug")]
    driver.end(work)
    system.works.finish()
    assert not store.failures
    assert system.maintenance(maintenance.id).done == ("web-0",)
    assert len(begun(system)) == 1


# --- shutdown ----------------------------------------------------------------


def test_a_stop_halts_all_drivers_and_starts_nothing(
    open_store: OpenStore,
) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    for vm in ("web-0", "db-0", "lone"):
        start_reboot(system, vm)
    system.works.catch_up()
    works = [driver.begun(), driver.begun()]
    system.works.leave()
    assert all(work.halt.is_set() for work in works)
    driver.end(*works)
    system.works.stop()
    system.works.catch_up()
    assert len(begun(system)) == 2


def test_interrupted_work_is_not_a_failure_and_is_repeated(
    open_store: OpenStore,
) -> None:
    def partly(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0")
        yield Report(vm="web-0", failed=True, detail="killed by signal 15 (TERM)")

    store, driver = open_store(), BlockingDriver(partly)
    system = a_system(store, driver=driver, parallel=2)
    maintenance = start_reboot(system, host="host-a")
    system.works.catch_up()
    work = driver.begun()
    system.works.leave()
    driver.end(work)
    system.works.stop()
    assert not system.facts(WorkFailed)
    again = RecordingDriver()
    after = a_system(store, driver=again, fleet=None)
    after.works.finish()
    assert [vm.name for vm in again.works[0].vms] == ["web-0"]
    assert again.works[0].attempt == 2
    assert after.maintenance(maintenance.id).done == ("db-0", "web-0")


def test_reports_after_the_stop_are_not_written(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=1)
    ended = system.works.bell
    start_reboot(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    system.works.stop()  # without patience
    driver.end(work)
    assert ended.wait(LONG)
    assert not system.facts(WorkDone)
