"""Announcements through the engine: results, refusals and previews."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import pytest
from tests.engine.support.system import (
    MINUTE,
    NOON,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase
from forewarn.engine.queries import DryRun, Preview
from forewarn.errors import InvalidInput, NotFound, TooSoon
from forewarn.protocol.types import EventSource, EventStatus, EventType


def test_an_announced_maintenance_is_stored(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    assert system.maintenance(maintenance.id) == maintenance
    assert (maintenance.phase, maintenance.announced_at) == (Phase.SCHEDULED, NOON)
    assert (maintenance.announced_by, maintenance.cause) == ("ops", Cause.PLATFORM)


def test_operations_are_numbered_in_order_of_announcement(system: System) -> None:
    first = system.announce(a_reboot("web-0"))
    with pytest.raises(NotFound):
        system.announce(a_reboot("web-9"))
    later = system.engine.announce(a_reboot("web-1", "lone"), by="ops")
    assert [item.number for item in (first, *later)] == [1, 2, 3]
    assert first.label == "m-1"


def test_number_is_never_used_again(system: System) -> None:
    last = system.announce(a_reboot("web-0"))
    system.engine.cancel(last.id, by="ops")
    preview(system, a_reboot("web-1"))
    assert system.announce(a_reboot("web-1")).number == 2
    again = a_system(system.store, fleet=None)
    assert again.announce(a_reboot("web-2")).number == 3


def test_every_vm_of_the_group_sees_it(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    for vm in ("web-0", "web-1", "web-2"):
        (event,) = system.plane.document(vm).events
        assert (event.id, event.resources) == (maintenance.events[0].id, ("web-0",))
        assert event.status == EventStatus.SCHEDULED
        assert event.not_before == NOON + 15 * MINUTE


def test_names_match_in_any_case_and_are_returned_as_declared(
    system: System,
) -> None:
    assert system.announce(a_reboot("WEB-0")).vms == ("web-0",)
    assert system.announce(a_reboot(host="HOST-A")).host == "host-a"
    (lone,) = system.engine.announce(
        Order(type=EventType.REBOOT, group="LONE"), by="ops"
    )
    assert lone.vms == ("lone",)


def test_a_vm_named_twice_counts_once(system: System) -> None:
    assert system.announce(a_reboot("web-0", "WEB-0")).vms == ("web-0",)


@pytest.mark.parametrize(
    "order",
    [
        a_reboot("web-9"),
        a_reboot("web-0", "web-9"),
        a_reboot(host="host-9"),
        Order(type=EventType.REBOOT, group="web-0"),
    ],
)
def test_unknown_names_are_refused_and_nothing_is_announced(
    system: System, order: Order
) -> None:
    with pytest.raises(NotFound):
        system.engine.announce(order, by="ops")
    assert not system.maintenances()


def test_an_empty_host_is_refused(system: System) -> None:
    system.fleets.put_vm(system.fleet().vms["lone"], by="ops")
    for name in ("web-1", "db-1"):
        system.fleets.remove_vm(name, by="ops")
    with pytest.raises(InvalidInput, match="host-b has no running VMs"):
        system.announce(a_reboot(host="host-b"))


def test_several_operations_are_returned_in_the_order_they_will_run(
    system: System,
) -> None:
    order = Order(type=EventType.REBOOT, vms=("web-2", "db-1", "lone", "web-0"))
    maintenances = system.engine.announce(order, by="ops")
    system.advance.by(20 * MINUTE)
    ended = sorted(maintenances, key=lambda maintenance: _ended(system, maintenance.id))
    assert {maintenance.vms for maintenance in maintenances[:2]} <= {
        ("db-1",),
        ("lone",),
        ("web-0",),
    }
    assert [
        maintenance.id for maintenance in ended if maintenance.vms[0].startswith("web")
    ] == [
        maintenance.id
        for maintenance in maintenances
        if maintenance.vms[0].startswith("web")
    ]


def _ended(system: System, any_id: str) -> datetime:
    at = system.maintenance(any_id).ended_at
    assert at is not None
    return at


# --- preview -----------------------------------------------------------------


def preview(system: System, order: Order) -> Sequence[Preview]:
    trial = DryRun[Sequence[Maintenance]]()
    trial.run(partial(system.engine.announce, order), by="ops")
    return trial.previews


def previewed(system: System, order: Order) -> list[Maintenance]:
    return [forecast.maintenance for forecast in preview(system, order)]


def test_a_preview_shows_what_would_be_announced(system: System) -> None:
    (seen,) = previewed(system, a_reboot(host="host-a"))
    maintenance = system.announce(a_reboot(host="host-a"))
    assert (seen.vms, seen.not_before, seen.phase) == (
        maintenance.vms,
        maintenance.not_before,
        maintenance.phase,
    )
    assert [event.resources for event in seen.events] == [
        event.resources for event in maintenance.events
    ]


def test_a_preview_changes_nothing(system: System) -> None:
    before = system.journal()
    for order in (a_reboot("web-0"), an_emergency("web-1"), a_reboot(host="host-a")):
        preview(system, order)
    assert system.journal() == before
    assert not system.maintenances()
    assert system.engine.next_moment() is None


def test_a_preview_refuses_what_announce_refuses(system: System) -> None:
    with pytest.raises(TooSoon):
        preview(system, a_reboot("web-0", minutes=1))
    with pytest.raises(NotFound):
        preview(system, a_reboot("web-9"))
    with pytest.raises(InvalidInput):
        preview(system, Order(type=EventType.REBOOT))


def test_a_preview_shows_what_a_blocker_blocks(system: System) -> None:
    system.announce(an_emergency("web-0"))
    (held,) = previewed(system, an_emergency("web-1"))
    (free,) = previewed(system, an_emergency("db-0"))
    assert (held.phase, free.phase) == (Phase.SCHEDULED, Phase.STARTED)


def test_a_preview_considers_requests_not_yet_written(system: System) -> None:
    order = Order(type=EventType.REBOOT, vms=("lone",), source=EventSource.USER)
    system.observations.add_poll("lone", NOON)
    (seen,) = previewed(system, order)
    maintenance = system.announce(order)
    assert (seen.phase, seen.at_once) == (maintenance.phase, maintenance.at_once)


def test_a_preview_consumes_no_id(open_store: OpenStore) -> None:
    previewing, other = a_system(open_store()), a_system(open_store())
    previewed(previewing, a_reboot("web-0", "web-1"))
    assert (
        previewing.announce(a_reboot("lone")).id == other.announce(a_reboot("lone")).id
    )


def test_a_preview_names_a_blocker_from_elsewhere(system: System) -> None:
    held = system.announce(an_emergency("web-1"))
    (seen,) = preview(system, a_reboot("web-0"))
    (blocker,) = [wait for wait in seen.explanation.waits if wait.kind == "blocker"]
    assert blocker.maintenance == held.label
