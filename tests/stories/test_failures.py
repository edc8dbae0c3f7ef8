"""Drivers: which VMs they get, and what happens after failures."""

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
    """Report success for all VMs, but a failure of node-2 on the first attempt."""
    for vm in work.vms:
        failed = vm.name == "node-2" and work.attempt == 1
        yield Report(vm=vm.name, failed=failed, detail="no answer" if failed else "")


def fail_at_third(work: Work) -> Iterable[Report]:
    """Report like `third_fails`, but stop at the first failure."""
    for report in third_fails(work):
        yield report
        if report.failed:
            return


@pytest.fixture
def store() -> Iterator[Store]:
    store = sqlite_store(MEMORY)
    store.open()
    yield store
    store.close()


def called_vms(driver: RecordingDriver) -> list[list[str]]:
    """Return the names of the VMs in each call of the driver."""
    return [[vm.name for vm in work.vms] for work in driver.works]


def rebooted(store: Store, driver: RecordingDriver) -> tuple[System, str]:
    """Announce a reboot of the host with five VMs, and advance by an hour."""
    system = a_system(store, driver=driver, fleet=FLEET)
    maintenance = system.announce(a_reboot(host="rack-1"))
    system.advance.by(HOUR)
    return system, maintenance.id


def test_only_the_failed_vm_is_retried(store: Store) -> None:
    driver = RecordingDriver(third_fails)
    system, maintenance = rebooted(store, driver)
    assert system.phase(maintenance) is Phase.STARTED
    assert system.maintenance(maintenance).stuck_since is not None
    (event,) = system.plane.document("node-0").events
    assert [*event.resources] == FIVE

    system.engine.retry(maintenance, by="ops")
    system.read_to_end()
    assert called_vms(driver) == [FIVE, ["node-2"]]
    assert system.phase(maintenance) is Phase.COMPLETED
    assert [*system.plane.document("node-0").events] == []


def test_vms_that_the_driver_skipped_are_retried(store: Store) -> None:
    driver = RecordingDriver(fail_at_third)
    system, maintenance = rebooted(store, driver)
    assert system.phase(maintenance) is Phase.STARTED
    system.engine.retry(maintenance, by="ops")
    system.read_to_end()
    assert called_vms(driver) == [FIVE, ["node-2", "node-3", "node-4"]]
    assert system.phase(maintenance) is Phase.COMPLETED


def test_closing_a_stuck_maintenance_removes_its_event(store: Store) -> None:
    system, maintenance = rebooted(store, RecordingDriver(third_fails))
    system.engine.close(maintenance, by="ops")
    assert system.phase(maintenance) is Phase.FAILED
    assert [*system.plane.document("node-0").events] == []


def test_a_stuck_maintenance_blocks_other_update_domains_of_its_group(
    store: Store,
) -> None:
    system, maintenance = rebooted(store, RecordingDriver(third_fails))
    later = system.announce(a_reboot("other"))
    system.advance.by(HOUR)
    assert system.phase(later.id) is Phase.SCHEDULED
    system.engine.close(maintenance, by="ops")
    assert system.phase(later.id) is Phase.STARTED


def test_a_stuck_maintenance_is_explained(store: Store) -> None:
    system, maintenance = rebooted(store, RecordingDriver(third_fails))
    explanation = explain_maintenance(system.engine, maintenance)
    assert (explanation.phase, explanation.due, explanation.starts_at_latest) == (
        Phase.STARTED,
        False,
        None,
    )
    (wait,) = explanation.waits
    assert (wait.kind.value, wait.opens_at) == ("work", None)
    assert wait.since == system.maintenance(maintenance).stuck_since
    assert "node-2" in wait.what
    assert "node-0" not in wait.what
    text = " ".join(explanation.sentences)
    for word in ("stuck", "node-2", "retry", "close"):
        assert word in text


def test_the_driver_skips_moved_and_removed_vms(store: Store) -> None:
    driver = RecordingDriver()
    system = a_system(store, driver=driver, fleet=FLEET)
    maintenance = system.announce(a_reboot(host="rack-1"))
    system.advance.by(MINUTE)
    system.fleets.put_vm(replace(FLEET.vms["node-1"], host="rack-2"), by="ops")
    system.fleets.remove_vm("node-3", by="ops")
    system.advance.by(HOUR)
    assert called_vms(driver) == [["node-0", "node-2", "node-4"]]
    assert system.phase(maintenance.id) is Phase.COMPLETED
