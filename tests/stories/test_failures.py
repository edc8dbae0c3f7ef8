"""Stories of drivers: whom they are told to touch, and what becomes of failures."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
)
from tests.stores.builders import sqlite_store

from forewarn.core import fleet_file
from forewarn.core.lifecycle.model import Phase
from forewarn.engine.queries import explain_maintenance
from forewarn.ports import Report, Store, Work
from forewarn.stores.sqlite import MEMORY

FIVE = [f"node-{number}" for number in range(5)]
FLEET = fleet_file.read_fleet(
    {
        "hosts": [{"name": "rack-1"}, {"name": "rack-2"}],
        "groups": [{"name": "nodes", "kind": "availability-set"}],
        "vms": [
            {"name": name, "group": "nodes", "host": "rack-1", "update_domain": 0}
            for name in FIVE
        ]
        + [{"name": "other", "group": "nodes", "host": "rack-2", "update_domain": 1}],
    }
)


def third_fails(work: Work) -> Iterable[Report]:
    """Do what is asked; the first time, node-2 does not come back."""
    for vm in work.vms:
        failed = vm.name == "node-2" and work.attempt == 1
        yield Report(vm=vm.name, failed=failed, detail="no answer" if failed else "")


def gives_up(work: Work) -> Iterable[Report]:
    """Do what is asked, up to the first failure."""
    for each in third_fails(work):
        yield each
        if each.failed:
            return


@pytest.fixture
def store() -> Iterator[Store]:
    store = sqlite_store(MEMORY)
    store.open()
    yield store
    store.close()


def asked(driver: RecordingDriver) -> list[list[str]]:
    """Whom the driver was asked to touch, call by call."""
    return [[vm.name for vm in work.vms] for work in driver.works]


def rebooted(store: Store, driver: RecordingDriver) -> tuple[System, str]:
    """The host of the five has been rebooted for an hour."""
    system = a_system(store, driver=driver, fleet=FLEET)
    made = system.announce(a_reboot(host="rack-1"))
    system.advance.by(HOUR)
    return system, made.id


def test_the_third_of_five_fails_and_is_tried_again_alone(store: Store) -> None:
    driver = RecordingDriver(third_fails)
    system, made = rebooted(store, driver)
    assert system.phase(made) is Phase.STARTED
    assert system.maintenance(made).stuck_since is not None
    (event,) = system.plane.document("node-0").events
    assert [*event.resources] == FIVE

    system.engine.retry(made, by="ops")
    system.read_to_end()
    assert asked(driver) == [FIVE, ["node-2"]]
    assert system.phase(made) is Phase.COMPLETED
    assert [*system.plane.document("node-0").events] == []


def test_what_a_driver_left_undone_is_tried_again_too(store: Store) -> None:
    driver = RecordingDriver(gives_up)
    system, made = rebooted(store, driver)
    assert system.phase(made) is Phase.STARTED
    system.engine.retry(made, by="ops")
    system.read_to_end()
    assert asked(driver) == [FIVE, ["node-2", "node-3", "node-4"]]
    assert system.phase(made) is Phase.COMPLETED


def test_a_stuck_one_that_is_given_up_is_gone(store: Store) -> None:
    system, made = rebooted(store, RecordingDriver(third_fails))
    system.engine.close(made, by="ops")
    assert system.phase(made) is Phase.FAILED
    assert [*system.plane.document("node-0").events] == []


def test_a_stuck_one_holds_the_other_update_domains_of_its_group(
    store: Store,
) -> None:
    system, made = rebooted(store, RecordingDriver(third_fails))
    later = system.announce(a_reboot("other"))
    system.advance.by(HOUR)
    assert system.phase(later.id) is Phase.SCHEDULED
    system.engine.close(made, by="ops")
    assert system.phase(later.id) is Phase.STARTED


def test_a_stuck_one_is_explained(store: Store) -> None:
    system, made = rebooted(store, RecordingDriver(third_fails))
    told = explain_maintenance(system.engine, made)
    assert (told.phase, told.due, told.starts_at_latest) == (Phase.STARTED, False, None)
    (wait,) = told.waits
    assert (wait.kind.value, wait.opens_at) == ("work", None)
    assert wait.since == system.maintenance(made).stuck_since
    assert "node-2" in wait.what
    assert "node-0" not in wait.what
    said = " ".join(told.sentences)
    for word in ("stuck", "node-2", "retry", "close"):
        assert word in said


def test_the_driver_leaves_out_who_was_moved_away(store: Store) -> None:
    driver = RecordingDriver()
    system = a_system(store, driver=driver, fleet=FLEET)
    made = system.announce(a_reboot(host="rack-1"))
    system.advance.by(MINUTE)
    system.fleets.put_vm(replace(FLEET.vms["node-1"], host="rack-2"), by="ops")
    system.fleets.remove_vm("node-3", by="ops")
    system.advance.by(HOUR)
    assert asked(driver) == [["node-0", "node-2", "node-4"]]
    assert system.phase(made.id) is Phase.COMPLETED
