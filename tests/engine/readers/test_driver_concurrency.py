"""Concurrent driver calls: never two for one VM, and none forgotten."""

from collections.abc import Iterator
from threading import Event

from tests.engine.support.slow_driver import (
    LONG,
    BlockingDriver,
    begun,
    done,
    start_reboot,
)
from tests.engine.support.system import OpenStore, RecordingDriver, System, a_system

from forewarn.core.lifecycle.facts import WorkDone
from forewarn.ports import Report, Work

# --- number of calls ---------------------------------------------------------


def test_the_number_of_concurrent_calls_is_limited(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    ids = [start_reboot(system, vm).id for vm in ("web-0", "db-0", "lone")]
    system.works.catch_up()
    first, second = driver.begun(), driver.begun()
    assert {first.maintenance, second.maintenance} == {*ids[:2]}
    assert begun(system) == ids[:2]
    driver.end(first, second)
    driver.end(driver_begins_next(system, driver))
    system.works.finish()
    assert begun(system) == ids


def test_groups_take_turns(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=1)
    vms = ("web-0", "web-1", "lone")
    first, second, other = (start_reboot(system, vm).id for vm in vms)
    for _ in vms:
        driver.end(driver_begins_next(system, driver))
    system.works.finish()
    assert begun(system) == [first, other, second]


def driver_begins_next(system: System, driver: BlockingDriver) -> Work:
    """Catch up whenever a call ends, until the next has begun."""
    ended = system.works.bell
    system.works.catch_up()
    while not driver.has_begun_more() and ended.wait(LONG):
        ended.clear()
        system.works.catch_up()
    return driver.begun()


def test_the_end_of_a_call_is_signaled(
    open_store: OpenStore,
) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=1)
    ended = system.works.bell
    start_reboot(system, "web-0")
    system.works.catch_up()
    work = driver.begun()
    assert not ended.is_set()
    driver.end(work)
    assert ended.wait(LONG)


def test_slow_work_is_handed_over_once(
    open_store: OpenStore,
) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    start_reboot(system, "web-0")
    for _ in range(3):
        system.works.catch_up()
    driver.end(driver.begun())
    system.works.finish()
    assert len(begun(system)) == 1


def test_a_hanging_call_does_not_delay_others(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=2)
    slow, quick = start_reboot(system, "web-0"), start_reboot(system, "lone")
    system.works.catch_up()
    works = {work.maintenance: work for work in (driver.begun(), driver.begun())}
    ended = system.works.bell
    driver.end(works[quick.id])
    assert ended.wait(LONG)
    assert system.maintenance(quick.id).done == ("lone",)
    assert system.maintenance(slow.id).done == ()
    driver.end(works[slow.id])
    system.works.finish()


# --- one call per VM ---------------------------------------------------------


def test_no_two_calls_share_a_vm(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    first, second = start_reboot(system, "web-0"), start_reboot(system, host="host-a")
    system.works.catch_up()
    work = driver.begun()
    assert begun(system) == [first.id]
    driver.end(work)
    following = driver_begins_next(system, driver)
    assert following.maintenance == second.id
    assert [type(fact) for fact in system.journal()].count(WorkDone) == 1
    driver.end(following)
    system.works.finish()


def test_a_call_waiting_for_a_vm_keeps_its_place(open_store: OpenStore) -> None:
    driver = BlockingDriver()
    system = a_system(open_store(), driver=driver, parallel=4)
    first = start_reboot(system, "web-0")
    waiting = start_reboot(system, host="host-a")  # web-0 and db-0
    behind, beside = start_reboot(system, "db-0"), start_reboot(system, "lone")
    system.works.catch_up()
    works = [driver.begun(), driver.begun()]
    assert {work_begun.maintenance for work_begun in works} == {first.id, beside.id}
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
    maintenance = start_reboot(system, host="host-a")
    system.works.catch_up()
    assert failed_one.wait(LONG)
    system.engine.retry(maintenance.id, by="ops")
    system.works.catch_up()
    assert len(driver.works) == 1
    may_end.set()
    system.works.finish()
    assert [[vm.name for vm in work.vms] for work in driver.works] == [
        ["db-0", "web-0"],
        ["db-0"],
    ]
