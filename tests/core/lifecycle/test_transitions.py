"""Maintenance lifecycle: the allowed transitions, and no others."""

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
)

from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import transitions
from forewarn.core.lifecycle.document import views
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.errors import NotFound, TooLate
from forewarn.protocol.types import EventStatus, ScheduledEvent

LATER = NOON + MINUTE

MOVES: dict[Phase, f.Fact] = {
    Phase.STARTED: f.Started(at=LATER, maintenance="m0"),
    Phase.COMPLETED: f.Completed(at=LATER, maintenance="m0"),
    Phase.CANCELED: f.Canceled(at=LATER, by="ops", maintenance="m0"),
    Phase.FAILED: f.Closed(at=LATER, by="ops", maintenance="m0"),
}

ALLOWED = {
    (Phase.SCHEDULED, Phase.STARTED),
    (Phase.SCHEDULED, Phase.CANCELED),
    (Phase.STARTED, Phase.COMPLETED),
    (Phase.STARTED, Phase.FAILED),
}

FORBIDDEN = {(here, there) for here in Phase for there in MOVES} - ALLOWED


@pytest.mark.parametrize(("here", "there"), sorted(ALLOWED))
def test_an_allowed_transition_is_applied(here: Phase, there: Phase) -> None:
    slice_ = a_slice(maintenances=[a_maintenance("m0", phase=here)])
    moved = transitions.apply(slice_, MOVES[there]).maintenance("m0")
    assert moved.phase is there


@pytest.mark.parametrize(("here", "there"), sorted(FORBIDDEN))
def test_any_other_transition_is_refused(here: Phase, there: Phase) -> None:
    slice_ = a_slice(maintenances=[a_maintenance("m0", phase=here)])
    with pytest.raises(TooLate, match="m0"):
        transitions.apply(slice_, MOVES[there])


def test_the_transition_table_equals_the_one_here() -> None:
    table = {
        (here, there)
        for here, allowed in transitions.TRANSITIONS.items()
        for there in allowed
    }
    assert table == ALLOWED
    assert set(transitions.TRANSITIONS) == set(Phase)


def test_a_start_records_its_time() -> None:
    slice_ = a_slice(maintenances=[a_maintenance("m0")])
    started = transitions.apply(slice_, MOVES[Phase.STARTED]).maintenance("m0")
    assert (started.started_at, started.ended_at) == (LATER, None)


@pytest.mark.parametrize("end", [Phase.COMPLETED, Phase.FAILED])
def test_an_end_records_its_time_and_clears_stuck(end: Phase) -> None:
    stuck = a_maintenance("m0", phase=Phase.STARTED, stuck_since=NOON)
    ended = transitions.apply(a_slice(maintenances=[stuck]), MOVES[end]).maintenance(
        "m0"
    )
    assert (ended.ended_at, ended.stuck_since) == (LATER, None)


def test_a_fact_about_an_unknown_maintenance_is_refused() -> None:
    with pytest.raises(NotFound, match="m0"):
        transitions.apply(a_slice(), f.Started(at=NOON, maintenance="m0"))


def test_a_transition_keeps_the_order_of_maintenance() -> None:
    older, younger = a_maintenance("m0"), a_maintenance("m1")
    slice_ = a_slice(maintenances=[older, younger])
    moved = transitions.apply(slice_, MOVES[Phase.STARTED])
    assert list(moved.maintenances) == ["m0", "m1"]


def test_only_scheduled_and_started_are_live() -> None:
    assert [phase for phase in Phase if phase.is_live] == [
        Phase.SCHEDULED,
        Phase.STARTED,
    ]


@pytest.mark.parametrize("vm", ["vm0", "vm1"])
def test_sightings_do_not_change_the_slice(vm: str) -> None:
    slice_ = a_slice(maintenances=[a_maintenance()])
    seen = f.Seen(at=NOON, sights=(f.Sight(event="e0", vm=vm, at=NOON),))
    assert transitions.apply(slice_, seen) == slice_


def test_an_approval_records_who_how_and_when() -> None:
    slice_ = a_slice(
        maintenances=[a_maintenance(events=[an_event("e0"), an_event("e1")])]
    )
    approved = f.Approved(
        at=LATER, by="vm7", via=Via.ARM, maintenance="m0", event="e1", group="group0"
    )
    first, second = transitions.apply(slice_, approved).maintenance("m0").events
    assert first.approved_at is None
    assert (second.approved_by, second.approved_via) == ("vm7", Via.ARM)
    assert second.approved_at == LATER


def test_the_journal_alone_rebuilds_the_state() -> None:
    group, vm, maintenance = a_group(), a_vm(), a_maintenance()
    rebuilt = transitions.replay(
        [
            f.FleetChanged(at=NOON, by="ops", epoch="epoch0", groups=(group,)),
            f.FleetChanged(at=NOON, by="ops", epoch="epoch1", vms=(vm,)),
            f.Announced(at=NOON, by="ops", maintenance="m0", announced=maintenance),
        ]
    )
    assert rebuilt == a_slice(groups=[group], vms=[vm], maintenances=[maintenance])


# --- the view of an audience -------------------------------------------------

EVERYBODY = Audience(name="group0", group="group0", epoch="epoch0", incarnation=4)


def view(audience: Audience, shown: list[Maintenance]) -> tuple[ScheduledEvent, ...]:
    return views([audience], shown)[audience.name]


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        (Phase.SCHEDULED, EventStatus.SCHEDULED),
        (Phase.STARTED, EventStatus.STARTED),
    ],
)
def test_live_maintenance_is_on_the_wire(phase: Phase, status: EventStatus) -> None:
    (event,) = view(EVERYBODY, [a_maintenance(phase=phase)])
    assert event.status is status


@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.CANCELED, Phase.FAILED])
def test_finished_maintenance_is_not_on_the_wire(phase: Phase) -> None:
    assert view(EVERYBODY, [a_maintenance(phase=phase)]) == ()


def test_not_before_is_shown_until_the_start() -> None:
    scheduled, started = a_maintenance(), a_maintenance(phase=Phase.STARTED)
    assert view(EVERYBODY, [scheduled])[0].not_before == scheduled.not_before
    assert view(EVERYBODY, [started])[0].not_before is None


def test_without_notice_not_before_is_always_blank() -> None:
    (event,) = view(EVERYBODY, [a_maintenance(at_once=True)])
    assert (event.status, event.not_before) == (EventStatus.SCHEDULED, None)


def test_events_are_shown_in_order_of_announcement() -> None:
    late = a_maintenance("m0", events=[an_event("e0")], not_before=NOON + 60 * MINUTE)
    soon = a_maintenance("m1", events=[an_event("e1"), an_event("e2")])
    shown = view(EVERYBODY, [late, soon])
    assert [event.id for event in shown] == ["e0", "e1", "e2"]


def test_a_group_sees_only_its_own_events() -> None:
    maintenance = a_maintenance(
        events=[an_event("e0"), an_event("e1", group="group1", resources=("vm1",))]
    )
    assert [event.id for event in view(EVERYBODY, [maintenance])] == ["e0"]


def test_a_vm_of_an_isolated_group_sees_only_events_that_list_it() -> None:
    alone = Audience(name="group0/vm1", group="group0", vm="vm1", epoch="epoch0")
    maintenance = a_maintenance(
        events=[
            an_event("e0", resources=("vm0",)),
            an_event("e1", resources=("vm1", "vm2")),
        ]
    )
    assert [event.id for event in view(alone, [maintenance])] == ["e1"]
