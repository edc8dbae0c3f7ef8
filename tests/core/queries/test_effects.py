"""Effects of a dry run, as sentences."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.support.builders import NOON, a_maintenance, a_vm, an_event

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import Fact
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.queries.effects import effects

OLD = replace(
    a_maintenance(
        "OLD",
        host="host-a",
        events=(
            an_event("E1", group="web", resources=("web-0",)),
            an_event("E2", group="db", resources=("db-0",)),
        ),
    ),
    number=17,
)
KNOWN: Mapping[str, Maintenance] = {"OLD": OLD}


def texts(*facts: Fact, group: str | None = None) -> list[str]:
    return [effect.text for effect in effects(facts, KNOWN.get, group)]


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (f.Started(at=NOON, maintenance="OLD"), "would start {} immediately"),
        (f.Completed(at=NOON, maintenance="OLD"), "would complete {}"),
        (f.Canceled(at=NOON, by="ops", maintenance="OLD"), "would cancel {}"),
        (f.Closed(at=NOON, by="ops", maintenance="OLD"), "would close {} as failed"),
        (
            f.WorkEnded(at=NOON, by="ops", maintenance="OLD"),
            "would mark the work of {} as done",
        ),
        (
            f.WorkRetried(at=NOON, by="ops", maintenance="OLD"),
            "would call the driver again for {}",
        ),
        (
            f.VmsLeft(at=NOON, maintenance="OLD", vms=("db-0",)),
            "would remove db-0 from {}",
        ),
        (
            f.Withdrawn(at=NOON, maintenance="OLD", event="E2", group="db"),
            "would withdraw the event of {} for group db",
        ),
    ],
    ids=lambda item: type(item).__name__,
)
def test_effect_on_existing_maintenance_is_a_sentence(fact: Fact, text: str) -> None:
    what = "the reboot of host-a (web-0, db-0) (m-17)"
    assert texts(fact) == [text.format(what)]


def test_what_happens_to_new_maintenance_is_not_an_effect() -> None:
    announced = f.Announced(at=NOON, by="ops", maintenance="OLD", announced=OLD)
    assert texts(announced, f.Started(at=NOON, maintenance="OLD")) == []


def test_vms_that_leave_or_stop_are_named() -> None:
    assert texts(
        f.FleetChanged(at=NOON, by=None, epoch="", removed_vms=("web-0", "web-1")),
        f.FleetChanged(
            at=NOON, by=None, epoch="", vms=(a_vm("db-0", deallocated=True),)
        ),
        f.FleetChanged(at=NOON, by="ops", epoch="", vms=(a_vm("db-1"),)),
    ) == [
        "would remove 2 VMs (web-0, web-1) from the fleet",
        "would deallocate 1 VM (db-0)",
        "would mark 1 VM (db-1) as running",
    ]


def test_group_sees_neither_the_host_nor_other_groups() -> None:
    canceled = f.Canceled(at=NOON, by="ops", maintenance="OLD")
    assert texts(canceled, group="web") == ["would cancel the reboot of web-0 (m-17)"]
    assert texts(canceled, group="other") == []
    gone = f.VmsLeft(at=NOON, maintenance="OLD", vms=("db-0",))
    assert texts(gone, group="web") == []
