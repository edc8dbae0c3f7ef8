"""Announcing: what it makes, what it refuses, and a preview that changes nothing."""

from datetime import datetime, timedelta

import pytest
from tests.engine.system import (
    MINUTE,
    NOON,
    SECOND,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.announcing import Order
from forewarn.core.facts import Announced, Published
from forewarn.core.maintenance import Cause, Maintenance, Phase
from forewarn.engine.foreseeing import preview
from forewarn.errors import InvalidInput, NotFound, TooSoon
from forewarn.protocol.types import EventSource, EventStatus, EventType

MINIMUM = {
    EventType.FREEZE: 15 * MINUTE,
    EventType.REBOOT: 15 * MINUTE,
    EventType.REDEPLOY: 10 * MINUTE,
    EventType.PREEMPT: 30 * SECOND,
    EventType.TERMINATE: 5 * MINUTE,
}


def test_an_announced_maintenance_is_kept(system: System) -> None:
    made = system.announce(a_reboot("web-0"))
    assert system.maintenance(made.id) == made
    assert (made.phase, made.announced_at) == (Phase.SCHEDULED, NOON)
    assert (made.announced_by, made.cause) == ("ops", Cause.PLATFORM)


def test_an_announcement_is_journaled_once_and_published(system: System) -> None:
    made = system.announce(a_reboot("web-0"))
    assert [fact.announced for fact in system.facts(Announced)] == [made]
    assert [fact.audience for fact in system.facts(Published)] == ["web"]


def test_every_vm_of_the_group_is_told(system: System) -> None:
    made = system.announce(a_reboot("web-0"))
    for vm in ("web-0", "web-1", "web-2"):
        (event,) = system.plane.document(vm).events
        assert (event.id, event.resources) == (made.events[0].id, ("web-0",))
        assert event.status == EventStatus.SCHEDULED
        assert event.not_before == NOON + 15 * MINUTE


def test_no_other_group_is_told(system: System) -> None:
    system.announce(a_reboot("web-0"))
    for vm in ("db-0", "iso-0", "lone"):
        assert system.plane.document(vm).events == ()
        assert system.plane.document(vm).incarnation == 0


@pytest.mark.parametrize(("kind", "notice"), MINIMUM.items())
def test_the_least_notice_is_that_of_the_type(
    system: System, kind: EventType, notice: timedelta
) -> None:
    made = system.announce(Order(type=kind, vms=("lone",)))
    assert made.not_before == NOON + notice


@pytest.mark.parametrize(("kind", "notice"), MINIMUM.items())
def test_less_notice_is_refused_with_the_earliest_time(
    system: System, kind: EventType, notice: timedelta
) -> None:
    with pytest.raises(TooSoon) as refused:
        system.announce(Order(type=kind, vms=("lone",), notice=notice - SECOND))
    assert refused.value.earliest == NOON + notice
    assert not system.maintenances()


def test_more_notice_may_be_given(system: System) -> None:
    at = NOON + 16 * MINUTE
    made = system.announce(Order(type=EventType.REBOOT, vms=("lone",), not_before=at))
    assert made.not_before == at


def test_not_before_is_rounded_up_to_a_whole_second(open_store: OpenStore) -> None:
    system = a_system(open_store(), at=NOON + timedelta(microseconds=1))
    made = system.announce(a_reboot("web-0"))
    assert made.not_before == NOON + 15 * MINUTE + SECOND


def test_a_host_is_one_maintenance_with_an_event_for_each_group(
    system: System,
) -> None:
    made = system.announce(a_reboot(host="host-a"))
    assert made.host == "host-a"
    assert [(each.group, each.resources) for each in made.events] == [
        ("db", ("db-0",)),
        ("web", ("web-0",)),
    ]


def test_a_group_is_one_maintenance_for_each_update_domain(system: System) -> None:
    made = system.engine.announce(Order(type=EventType.REBOOT, group="web"), by="ops")
    assert [each.vms for each in made] == [("web-0",), ("web-1",), ("web-2",)]


def test_names_are_found_in_any_case_and_answered_as_they_are_written(
    system: System,
) -> None:
    assert system.announce(a_reboot("WEB-0")).vms == ("web-0",)
    assert system.announce(a_reboot(host="HOST-A")).host == "host-a"
    (lone,) = system.engine.announce(
        Order(type=EventType.REBOOT, group="LONE"), by="ops"
    )
    assert lone.vms == ("lone",)


def test_a_vm_named_twice_is_meant_once(system: System) -> None:
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


@pytest.mark.parametrize(
    "order",
    [
        Order(type=EventType.REBOOT),
        Order(type=EventType.REBOOT, vms=("web-0",), host="host-a"),
        Order(
            type=EventType.REBOOT, vms=("lone",), notice=20 * MINUTE, not_before=NOON
        ),
        Order(type=EventType.FREEZE, vms=("web-0",), source=EventSource.USER),
        Order(type=EventType.REBOOT, vms=("web-0",), emergency=True),
        Order(type=EventType.REBOOT, vms=("web-0",), ignore_gates=True),
    ],
    ids=["nobody", "two targets", "two times", "user freeze", "no reason", "gates"],
)
def test_an_order_that_contradicts_itself_is_refused(
    system: System, order: Order
) -> None:
    with pytest.raises(InvalidInput):
        system.engine.announce(order, by="ops")
    with pytest.raises(InvalidInput):
        preview(system.engine, order, by="ops")


def test_an_empty_host_has_nobody_to_tell(system: System) -> None:
    system.fleets.put_vm(system.fleet().vms["lone"], by="ops")
    for name in ("web-1", "db-1"):
        system.fleets.remove_vm(name, by="ops")
    with pytest.raises(InvalidInput, match="host-b has no VMs"):
        system.announce(a_reboot(host="host-b"))


def test_an_emergency_starts_at_once_with_a_blank_not_before(system: System) -> None:
    made = system.announce(an_emergency("web-0"))
    (event,) = system.plane.document("web-0").events
    assert made.phase is Phase.STARTED
    assert (event.status, event.not_before) == (EventStatus.STARTED, None)


def test_an_emergency_waits_for_a_gate(system: System) -> None:
    system.announce(an_emergency("web-0"))
    assert system.announce(an_emergency("web-1")).phase is Phase.SCHEDULED


def test_several_maintenances_are_answered_in_the_order_they_will_run(
    system: System,
) -> None:
    order = Order(type=EventType.REBOOT, vms=("web-2", "db-1", "lone", "web-0"))
    made = system.engine.announce(order, by="ops")
    system.advance.by(20 * MINUTE)
    ended = sorted(made, key=lambda each: _ended(system, each.id))
    assert {each.vms for each in made[:2]} <= {("db-1",), ("lone",), ("web-0",)}
    assert [each.id for each in ended if each.vms[0].startswith("web")] == [
        each.id for each in made if each.vms[0].startswith("web")
    ]


def _ended(system: System, any_id: str) -> datetime:
    at = system.maintenance(any_id).ended_at
    assert at is not None
    return at


# --- preview -----------------------------------------------------------------


def previewed(system: System, order: Order) -> list[Maintenance]:
    return [each.maintenance for each in preview(system.engine, order, by="ops")]


def test_a_preview_says_what_would_be_announced(system: System) -> None:
    (seen,) = previewed(system, a_reboot(host="host-a"))
    made = system.announce(a_reboot(host="host-a"))
    assert (seen.vms, seen.not_before, seen.phase) == (
        made.vms,
        made.not_before,
        made.phase,
    )
    assert [each.resources for each in seen.events] == [
        each.resources for each in made.events
    ]


def test_a_preview_changes_nothing(system: System) -> None:
    before = system.journal()
    for order in (a_reboot("web-0"), an_emergency("web-1"), a_reboot(host="host-a")):
        preview(system.engine, order, by="ops")
    assert system.journal() == before
    assert not system.maintenances()
    assert system.engine.next_moment() is None


def test_a_preview_refuses_what_announce_refuses(system: System) -> None:
    with pytest.raises(TooSoon):
        preview(system.engine, a_reboot("web-0", minutes=1), by="ops")
    with pytest.raises(NotFound):
        preview(system.engine, a_reboot("web-9"), by="ops")


def test_a_preview_shows_what_a_gate_holds(system: System) -> None:
    system.announce(an_emergency("web-0"))
    (held,) = previewed(system, an_emergency("web-1"))
    (free,) = previewed(system, an_emergency("db-0"))
    assert (held.phase, free.phase) == (Phase.SCHEDULED, Phase.STARTED)


def test_a_preview_knows_of_requests_that_are_only_noted(system: System) -> None:
    order = Order(type=EventType.REBOOT, vms=("lone",), source=EventSource.USER)
    system.notes.ask("lone", NOON)
    (seen,) = previewed(system, order)
    made = system.announce(order)
    assert (seen.phase, seen.at_once) == (made.phase, made.at_once)


def test_a_preview_uses_no_id_up(open_store: OpenStore) -> None:
    one, other = a_system(open_store()), a_system(open_store())
    previewed(one, a_reboot("web-0", "web-1"))
    assert one.announce(a_reboot("lone")).id == other.announce(a_reboot("lone")).id


def test_a_preview_explains_each_of_several_acts(system: System) -> None:
    order = Order(type=EventType.REBOOT, group="web")
    first, second, third = preview(system.engine, order, by="ops")
    assert first.explanation.starts_at_latest == first.maintenance.not_before
    assert second.explanation.starts_at_latest is None
    (gate,) = [each for each in third.explanation.waits if each.kind == "gate"]
    assert "the one before it, Reboot of web-1, comes first" in gate.what


def test_a_preview_explains_what_holds_it_from_elsewhere(system: System) -> None:
    held = system.announce(an_emergency("web-1"))
    (seen,) = preview(system.engine, a_reboot("web-0"), by="ops")
    (gate,) = [each for each in seen.explanation.waits if each.kind == "gate"]
    assert f"maintenance {held.id}" in gate.what
