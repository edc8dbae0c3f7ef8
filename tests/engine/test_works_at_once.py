"""Several calls of the driver at once: never two for one VM, and none forgotten."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread

from tests.engine.patient import LONG, PatientDriver, done
from tests.engine.system import (
    FLEET,
    HOUR,
    NOON,
    MoodyStore,
    OpenStore,
    RecordingDriver,
    System,
    a_system,
    fail,
)

from forewarn.core.announcing import Order
from forewarn.core.facts import WorkBegan, WorkDone, WorkFailed
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.errors import Unavailable
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventType


def at_once(system: System, *vms: str, host: str | None = None) -> Maintenance:
    """Start a Reboot now, whatever else goes on."""
    order = Order(
        type=EventType.REBOOT,
        vms=vms,
        host=host,
        emergency=True,
        ignore_gates=True,
        reason="smoke",
    )
    return system.announce(order)


def begun(system: System) -> list[str]:
    return [fact.maintenance for fact in system.facts(WorkBegan)]


# --- how many ----------------------------------------------------------------


def test_so_many_calls_run_at_once_as_are_allowed(open_store: OpenStore) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    made = [at_once(system, vm).id for vm in ("web-0", "db-0", "lone")]
    system.works.catch_up()
    first, second = driver.begun(), driver.begun()
    assert {first.maintenance, second.maintenance} == {*made[:2]}
    assert begun(system) == made[:2]
    driver.end(first, second)
    driver.end(driver_begins_next(system, driver))
    system.works.finish()
    assert begun(system) == made


def driver_begins_next(system: System, driver: PatientDriver) -> Work:
    """Catch up as often as a call ends, until the next has begun."""
    ended = Event()
    system.works.on_end = ended.set
    system.works.catch_up()
    while not driver.has_begun_more() and ended.wait(LONG):
        ended.clear()
        system.works.catch_up()
    return driver.begun()


def test_whoever_hands_over_is_told_when_a_call_has_ended(
    open_store: OpenStore,
) -> None:
    driver, ended = PatientDriver(), Event()
    system = a_system(open_store(), driver=driver, parallel=1)
    system.works.on_end = ended.set
    at_once(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    assert not ended.is_set()
    driver.end(work)
    assert ended.wait(LONG)


def test_work_is_handed_over_once_although_it_takes_its_time(
    open_store: OpenStore,
) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    at_once(system, "web-0")
    for _ in range(3):
        system.works.catch_up()
    driver.end(driver.begun())
    system.works.finish()
    assert len(begun(system)) == 1


def test_a_call_that_hangs_keeps_nobody_else(open_store: OpenStore) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    slow, quick = at_once(system, "web-0"), at_once(system, "lone")
    system.works.catch_up()
    works = {work.maintenance: work for work in (driver.begun(), driver.begun())}
    ended = Event()
    system.works.on_end = ended.set
    driver.end(works[quick.id])
    assert ended.wait(LONG)
    assert system.maintenance(quick.id).done == ("lone",)
    assert system.maintenance(slow.id).done == ()
    driver.end(works[slow.id])
    system.works.finish()


# --- one VM ------------------------------------------------------------------


def test_no_two_calls_share_a_vm(open_store: OpenStore) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    first, second = at_once(system, "web-0"), at_once(system, host="host-a")
    system.works.catch_up()
    work = driver.begun()
    assert (work.maintenance, driver.has_begun_more()) == (first.id, False)
    driver.end(work)
    following = driver_begins_next(system, driver)
    assert following.maintenance == second.id
    assert [type(each) for each in system.journal()].count(WorkDone) == 1
    driver.end(following)
    system.works.finish()


def test_whoever_waits_for_a_vm_keeps_his_place(open_store: OpenStore) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    first = at_once(system, "web-0")
    waiting = at_once(system, host="host-a")  # of web-0 and db-0
    behind, beside = at_once(system, "db-0"), at_once(system, "lone")
    system.works.catch_up()
    works = [driver.begun(), driver.begun()]
    assert {each.maintenance for each in works} == {first.id, beside.id}
    driver.end(*works)
    for expected in (waiting, behind):
        work = driver_begins_next(system, driver)
        assert work.maintenance == expected.id
        driver.end(work)
    system.works.finish()


def test_a_retry_waits_until_the_call_has_ended(open_store: OpenStore) -> None:
    failed_one, may_end = Event(), Event()

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0", failed=True, detail="no disk")
        failed_one.set()
        assert may_end.wait(LONG)
        yield Report(vm="web-0")

    driver = RecordingDriver(
        lambda work: half(work) if work.attempt == 1 else done(work)
    )
    system = a_system(open_store(), driver=driver, parallel=4)
    made = at_once(system, host="host-a")
    system.works.catch_up()
    assert failed_one.wait(LONG)
    system.engine.retry(made.id, by="ops")
    system.works.catch_up()
    assert len(driver.works) == 1
    may_end.set()
    system.works.finish()
    assert [[vm.name for vm in work.vms] for work in driver.works] == [
        ["db-0", "web-0"],
        ["db-0"],
    ]


# --- what nobody wants any more ----------------------------------------------


def test_complete_tells_the_driver_to_stop(open_store: OpenStore) -> None:
    driver = PatientDriver(fail)
    system = a_system(open_store(), driver=driver, parallel=1)
    made = at_once(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    assert not work.halt.is_set()
    system.engine.complete(made.id, by="ops")
    system.works.catch_up()
    assert work.halt.is_set()
    driver.end(work)
    system.works.finish()
    assert not system.facts(WorkFailed)


def test_close_tells_the_driver_to_stop(open_store: OpenStore) -> None:
    failed_one, halted = Event(), Event()

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0", failed=True)
        failed_one.set()
        assert work.halt.wait(LONG)
        halted.set()

    system = a_system(open_store(), driver=RecordingDriver(half), parallel=1)
    made = at_once(system, host="host-a")
    system.works.catch_up()
    assert failed_one.wait(LONG)
    system.engine.close(made.id, by="ops")
    system.works.catch_up()
    assert halted.wait(LONG)
    system.works.finish()
    assert system.phase(made.id) is Phase.FAILED


def test_the_driver_is_told_to_stop_when_all_that_is_left_has_left(
    open_store: OpenStore,
) -> None:
    reported, halted = Event(), Event()

    def half(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0")
        reported.set()
        assert work.halt.wait(LONG)
        halted.set()

    system = a_system(open_store(), driver=RecordingDriver(half), parallel=1)
    at_once(system, host="host-a")
    system.works.catch_up()
    assert reported.wait(LONG)
    rest = {name: vm for name, vm in FLEET.vms.items() if name != "web-0"}
    system.fleets.apply(replace(FLEET, vms=rest), by="ops", remove=True)
    system.works.catch_up()
    assert halted.wait(LONG)
    system.works.finish()


def test_a_driver_that_has_done_it_all_may_tidy_up(open_store: OpenStore) -> None:
    reported, may_end = Event(), Event()
    was_halted: list[bool] = []

    def tidily(work: Work) -> Iterator[Report]:
        yield from done(work)
        reported.set()
        assert may_end.wait(LONG)
        was_halted.append(work.halt.is_set())

    system = a_system(open_store(), driver=RecordingDriver(tidily), parallel=1)
    made = at_once(system, "web-0")
    system.works.catch_up()
    assert reported.wait(LONG)
    system.clock.move_to(NOON + HOUR)
    system.engine.tick()
    assert system.phase(made.id) is Phase.COMPLETED
    system.works.catch_up()
    may_end.set()
    system.works.finish()
    assert was_halted == [False]


# --- advance -----------------------------------------------------------------


def test_advance_waits_for_what_is_running(open_store: OpenStore) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    made = at_once(system, "web-0")
    advancing = Thread(target=lambda: system.advance.by(HOUR))
    advancing.start()
    work = driver.begun()
    assert system.clock.now() == NOON
    driver.end(work)
    advancing.join(LONG)
    assert system.clock.now() == NOON + HOUR
    assert system.phase(made.id) is Phase.COMPLETED


def test_advance_ends_when_the_service_stops(open_store: OpenStore) -> None:
    driver, refused = PatientDriver(), Event()
    system = a_system(open_store(), driver=driver, parallel=4)
    at_once(system, "web-0")

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


# --- a store that cannot be written ------------------------------------------


def test_a_report_that_cannot_be_written_is_kept_until_it_can(
    open_store: OpenStore,
) -> None:
    store = MoodyStore(open_store())
    driver = PatientDriver()
    system = a_system(store, driver=driver, parallel=4)
    made = at_once(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    store.failures += [Unavailable("the disk is full"), ValueError("a bug")]
    driver.end(work)
    system.works.finish()
    assert not store.failures
    assert system.maintenance(made.id).done == ("web-0",)
    assert len(begun(system)) == 1


# --- the service stops -------------------------------------------------------


def test_a_stop_tells_all_drivers_to_stop_and_begins_nothing(
    open_store: OpenStore,
) -> None:
    driver = PatientDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    for vm in ("web-0", "db-0", "lone"):
        at_once(system, vm)
    system.works.catch_up()
    works = [driver.begun(), driver.begun()]
    system.works.leave()
    assert all(work.halt.is_set() for work in works)
    driver.end(*works)
    system.works.stop()
    system.works.catch_up()
    assert len(begun(system)) == 2


def test_what_a_stop_interrupts_is_no_failure_and_is_done_again(
    open_store: OpenStore,
) -> None:
    def partly(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0")
        yield Report(vm="web-0", failed=True, detail="ended by signal 15 (TERM)")

    store, driver = open_store(), PatientDriver(partly)
    system = a_system(store, driver=driver, parallel=2)
    made = at_once(system, host="host-a")
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
    assert after.maintenance(made.id).done == ("db-0", "web-0")


def test_what_comes_after_the_stop_is_not_written(open_store: OpenStore) -> None:
    driver, ended = PatientDriver(), Event()
    system = a_system(open_store(), driver=driver, parallel=1)
    system.works.on_end = ended.set
    at_once(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    system.works.stop()  # nobody has patience
    driver.end(work)
    assert ended.wait(LONG)
    assert not system.facts(WorkDone)
