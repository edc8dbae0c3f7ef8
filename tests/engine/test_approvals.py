"""Approvals: by a VM, all or nothing; by the operator, one event."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.engine.support.system import (
    MINUTE,
    NOON,
    System,
    a_reboot,
    a_system,
)
from tests.stores.builders import sqlite_store
from tests.stores.watched_store import watched

from forewarn.core.lifecycle.facts import Approved, Started
from forewarn.core.lifecycle.model import Phase, Via
from forewarn.engine.operations import approve_each
from forewarn.errors import NotFound, TooLate, UnknownEvent
from forewarn.protocol.types import EventStatus


def test_an_approved_maintenance_starts_in_the_same_transaction(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.engine.approve_as_vm("web-0", [maintenance.events[0].id])
    assert system.maintenance(maintenance.id).started_at == NOON
    (event,) = system.plane.document("web-2").events
    assert (event.status, event.not_before) == (EventStatus.STARTED, None)


def test_the_journal_records_who_approved_and_how(system: System) -> None:
    first, second = (system.announce(a_reboot(vm)) for vm in ("web-0", "db-0"))
    system.engine.approve_as_vm("web-1", [first.events[0].id])
    system.engine.approve(second.events[0].id, by="ops")
    assert [(fact.by, fact.via) for fact in system.facts(Approved)] == [
        ("web-1", Via.METADATA),
        ("ops", Via.CONTROL),
    ]


def test_any_vm_of_the_audience_may_approve(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.engine.approve_as_vm("WEB-2", [maintenance.events[0].id])
    assert system.maintenance(maintenance.id).events[0].approved_by == "web-2"


def test_a_shared_host_starts_only_when_both_groups_have_approved(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    of = {event.group: event.id for event in maintenance.events}
    system.engine.approve_as_vm("web-0", [of["web"]])
    assert system.phase(maintenance.id) is Phase.SCHEDULED
    system.engine.approve_as_vm("db-1", [of["db"]])
    assert system.phase(maintenance.id) is Phase.STARTED
    for vm in ("web-1", "db-0"):
        (event,) = system.plane.document(vm).events
        assert event.status == EventStatus.STARTED


def test_all_ids_of_one_request_are_approved_in_one_transaction(
    system: System,
) -> None:
    maintenances = [system.announce(a_reboot(vm)) for vm in ("web-0", "web-1")]
    system.engine.approve_as_vm(
        "web-0", [maintenance.events[0].id for maintenance in maintenances]
    )
    kinds = [type(fact) for fact in system.journal()[-4:]]
    assert kinds[:3] == [Approved, Approved, Started]


@pytest.mark.parametrize("wrong", ["unknown", "of another group", "of a maintenance"])
def test_one_foreign_id_refuses_all(system: System, wrong: str) -> None:
    mine, other = (system.announce(a_reboot(vm)) for vm in ("web-0", "db-0"))
    ids = {
        "unknown": "NO-SUCH-ID",
        "of another group": other.events[0].id,
        "of a maintenance": mine.id,
    }
    before = system.journal()
    with pytest.raises(UnknownEvent):
        system.engine.approve_as_vm("web-0", [mine.events[0].id, ids[wrong]])
    assert system.journal() == before
    assert system.phase(mine.id) is Phase.SCHEDULED


def test_an_isolated_vm_approves_only_what_it_sees(system: System) -> None:
    maintenance = system.announce(a_reboot("iso-0"))
    with pytest.raises(UnknownEvent):
        system.engine.approve_as_vm("iso-1", [maintenance.events[0].id])
    system.engine.approve_as_vm("iso-0", [maintenance.events[0].id])
    assert system.phase(maintenance.id) is Phase.STARTED


def test_finished_events_may_be_approved_along_with_others(system: System) -> None:
    canceled, completed, live = (
        system.announce(a_reboot(vm)) for vm in ("web-0", "web-1", "web-2")
    )
    system.engine.cancel(canceled.id, by="ops")
    system.engine.approve(completed.events[0].id, by="ops")
    system.advance.by(MINUTE)
    system.engine.approve_as_vm(
        "web-0",
        [maintenance.events[0].id for maintenance in (canceled, completed, live)],
    )
    assert [
        system.phase(maintenance.id) for maintenance in (canceled, completed, live)
    ] == [
        Phase.CANCELED,
        Phase.COMPLETED,
        Phase.STARTED,
    ]


def test_approving_nothing_changes_nothing(system: System) -> None:
    before = system.journal()
    system.engine.approve_as_vm("web-0", [])
    assert system.journal() == before


def test_an_unknown_vm_approves_nothing(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    with pytest.raises(NotFound):
        system.engine.approve_as_vm("web-9", [maintenance.events[0].id])


# --- by the operator ---------------------------------------------------------


def test_an_operator_s_approval_returns_the_maintenance(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    any_case = maintenance.events[0].id.lower()
    after = system.engine.approve(any_case, by="ops")
    assert after == system.maintenance(maintenance.id)
    assert after.phase is Phase.STARTED


def test_an_operator_approves_events_not_maintenance_ids(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    with pytest.raises(NotFound):
        system.engine.approve(maintenance.id, by="ops")


# --- several events individually ---------------------------------------------


def test_approvable_events_are_approved_and_the_others_are_explained(
    system: System,
) -> None:
    over, good, other = (
        system.announce(a_reboot(vm)) for vm in ("web-0", "web-1", "db-0")
    )
    system.engine.cancel(over.id, by="ops")
    ids = [item.events[0].id for item in (over, good, other)]
    results = approve_each(
        system.engine,
        [*ids, "none"],
        by="ops",
        via=Via.ARM,
        is_seen=lambda event: event.group == "web",
    )
    assert [type(item) for item in results.values()] == [
        TooLate,
        type(None),
        NotFound,
        NotFound,
    ]
    assert [(fact.event, fact.via) for fact in system.facts(Approved)] == [
        (ids[1], Via.ARM)
    ]


def test_several_are_approved_in_one_transaction(system: System) -> None:
    maintenances = [system.announce(a_reboot(vm)) for vm in ("web-0", "db-0")]
    before = system.plane.document("web-0").incarnation
    ids = [item.events[0].id.lower() for item in maintenances]
    approve_each(system.engine, ids, by="ops", via=Via.ARM, is_seen=lambda event: True)
    assert system.plane.document("web-0").incarnation == before + 1
    assert [item.by for item in system.facts(Approved)] == ["ops", "ops"]


def test_if_none_can_be_approved_nothing_is_written(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    before = len(system.journal())
    approve_each(
        system.engine,
        [maintenance.events[0].id, maintenance.id],
        by="ops",
        via=Via.ARM,
        is_seen=lambda event: False,
    )
    assert len(system.journal()) == before


def test_many_events_are_found_with_one_query(tmp_path: Path) -> None:
    statements: list[str] = []
    store = sqlite_store(tmp_path / "forewarn.db", watched(statements.append))
    store.open()
    with closing(store):
        system = a_system(store)
        known = system.announce(a_reboot("web-0")).events[0].id
        unknown = [f"NO-EVENT-{number}" for number in range(100)]
        queries = []
        for ids in (unknown, [known, *unknown[1:]]):
            statements.clear()
            results = approve_each(
                system.engine, ids, by="ops", via=Via.ARM, is_seen=lambda event: True
            )
            assert len(results) == 100
            queries.append(sum("events.id" in statement for statement in statements))
        assert queries == [1, 2]  # the second time, once more in the transaction
        assert len(system.facts(Approved)) == 1


def test_a_vm_s_events_are_found_with_one_query(tmp_path: Path) -> None:
    statements: list[str] = []
    store = sqlite_store(tmp_path / "forewarn.db", watched(statements.append))
    store.open()
    with closing(store):
        system = a_system(store)
        known = system.announce(a_reboot("web-0")).events[0].id
        unknown = [f"NO-EVENT-{number}" for number in range(99)]
        statements.clear()
        with pytest.raises(UnknownEvent):
            system.engine.approve_as_vm("web-0", [known, *unknown], are_shown=False)
        assert sum("events.id" in statement for statement in statements) == 1
