"""Observation of a document: how it changes the state of events."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.agent.support.events import (
    MINUTE,
    NOON,
    SECOND,
    a_life,
    a_run,
    a_sight,
    an_event,
)

from forewarn.agent.events.observation import ObservedEvents, observe
from forewarn.agent.events.state import EventState, Impact, LastStatus
from forewarn.protocol.types import Document, EventStatus, EventType, ScheduledEvent

SCHEDULED = an_event()
STARTED = an_event(status=EventStatus.STARTED)


def shown(*events: ScheduledEvent) -> Document:
    return Document(incarnation=7, events=events)


def known(life: EventState) -> Mapping[str, EventState]:
    return {life.id: life}


def said(sighted: ObservedEvents) -> list[str]:
    return [entry.what for entry in sighted.notes]


def test_a_new_event_gets_a_state() -> None:
    sighted = observe({}, shown(SCHEDULED), a_sight())
    (life,) = sighted.lives
    assert (life.seen, life.notice, life.is_mine, life.is_leader) == (
        LastStatus.SCHEDULED,
        900.0,
        True,
        True,
    )
    assert said(sighted) == ["seen", "decided"]
    assert sighted.notes[1].said["why"] == ("it matches",)


def test_only_the_first_listed_vm_leads_and_only_listed_vms_are_concerned() -> None:
    second = observe({}, shown(an_event(resources=["web-1", "web-0"])), a_sight())
    assert (second.lives[0].is_mine, second.lives[0].is_leader) == (True, False)
    other = observe({}, shown(an_event(resources=["web-1"])), a_sight())
    assert (other.lives[0].is_mine, other.lives[0].is_leader) == (False, False)


def test_an_event_first_seen_as_started_is_sudden() -> None:
    sighted = observe({}, shown(STARTED), a_sight())
    assert sighted.lives[0].is_sudden
    assert sighted.lives[0].notice is None
    assert said(sighted) == ["seen", "started", "decided"]


def test_the_same_document_changes_nothing() -> None:
    assert observe(known(a_life()), shown(SCHEDULED), a_sight()) == ObservedEvents()


def test_a_restarted_incarnation_counter_changes_nothing() -> None:
    restarted = Document(incarnation=1, events=(SCHEDULED,))
    assert observe(known(a_life()), restarted, a_sight()) == ObservedEvents()


def test_ids_ignore_case() -> None:
    sighted = observe(known(a_life()), shown(an_event("e1")), a_sight())
    assert said(sighted) == []


def test_an_early_start_without_our_approval_was_approved_elsewhere() -> None:
    early = observe(known(a_life()), shown(STARTED), a_sight(now=NOON + MINUTE))
    assert early.lives[0].approved_elsewhere
    assert early.notes[0].said == {
        "early": True,
        "approved_elsewhere": True,
        "without_notice": False,
    }
    ours = a_life(posted_at=NOON)
    assert (
        not observe(known(ours), shown(STARTED), a_sight()).lives[0].approved_elsewhere
    )
    late = observe(known(a_life()), shown(STARTED), a_sight(now=NOON + 15 * MINUTE))
    assert not late.lives[0].approved_elsewhere


@pytest.mark.parametrize(("seconds", "is_early"), [(3, True), (1, False)])
def test_a_start_is_early_by_more_than_the_precision_of_dates(
    seconds: int, is_early: bool
) -> None:
    now = NOON + 15 * MINUTE - seconds * SECOND
    started = observe(known(a_life()), shown(STARTED), a_sight(now=now))
    assert started.lives[0].approved_elsewhere is is_early


def test_a_started_event_has_no_notice_even_with_not_before() -> None:
    event = replace(STARTED, not_before=NOON + 15 * MINUTE)
    assert observe({}, shown(event), a_sight()).lives[0].notice is None


def test_an_event_of_other_vms_took_place_if_its_time_had_come() -> None:
    life = replace(a_life(), is_mine=False)
    sighted = observe(known(life), shown(), a_sight(now=NOON + 16 * MINUTE))
    assert sighted.lives[0].started_at is not None


@pytest.mark.parametrize(
    ("type", "is_lived_through"),
    [
        (EventType.FREEZE, True),
        (EventType.REBOOT, False),
        (EventType.REDEPLOY, False),
        (EventType.PREEMPT, False),
        (EventType.TERMINATE, False),
    ],
)
def test_a_restarting_event_did_not_happen_to_a_vm_that_kept_running(
    type: EventType, is_lived_through: bool
) -> None:
    life = a_life(event=an_event(type=type), posted_at=NOON)
    sighted = observe(known(life), shown(), a_sight(now=NOON + 16 * MINUTE))
    assert (sighted.lives[0].started_at is not None) is is_lived_through


def test_a_started_event_that_disappears_took_place() -> None:
    life = a_life(event=STARTED, seen=LastStatus.STARTED, started_at=NOON)
    sighted = observe(known(life), shown(), a_sight(now=NOON + MINUTE))
    assert sighted.lives[0].seen is LastStatus.GONE
    assert sighted.lives[0].gone_at == NOON + MINUTE
    assert sighted.notes[0].said["after_start"] is True


def test_a_scheduled_event_that_disappears_early_was_canceled() -> None:
    sighted = observe(known(a_life()), shown(), a_sight(now=NOON + MINUTE))
    assert sighted.lives[0].started_at is None
    assert sighted.notes[0].said["canceled"] is True


def test_an_event_that_disappears_across_a_boot_took_place() -> None:
    sighted = observe(known(a_life()), shown(), a_sight(boot="boot-2"))
    assert sighted.lives[0].started_at is not None
    assert sighted.lives[0].impact == Impact(boots=1)
    assert sighted.notes[0].said["after_start"] is True


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_reboot_without_a_boot_did_not_happen(is_approved: bool) -> None:
    life = a_life(posted_at=NOON if is_approved else None)
    sighted = observe(known(life), shown(), a_sight(now=NOON + 20 * MINUTE))
    assert sighted.lives[0].started_at is None


def test_an_approved_or_due_reboot_may_have_happened_while_the_agent_was_away() -> None:
    away = a_sight(was_away=True)
    posted = a_life(posted_at=NOON)
    assert observe(known(posted), shown(), away).lives[0].started_at is not None
    assert observe(known(a_life()), shown(), away).lives[0].started_at is None
    late = a_sight(was_away=True, now=NOON + 15 * MINUTE)
    assert observe(known(a_life()), shown(), late).lives[0].started_at is not None


def test_an_approved_or_due_freeze_may_have_happened_unseen() -> None:
    event = an_event(type=EventType.FREEZE)
    approved = a_life(event=event, posted_at=NOON)
    assert observe(known(approved), shown(), a_sight()).lives[0].started_at is not None
    due = a_sight(now=NOON + 15 * MINUTE)
    assert (
        observe(known(a_life(event=event)), shown(), due).lives[0].started_at
        is not None
    )
    early = observe(known(a_life(event=event)), shown(), a_sight())
    assert early.lives[0].started_at is None


def test_an_event_that_returns_starts_over() -> None:
    gone = a_life(seen=LastStatus.GONE, runs=(a_run(),))
    sighted = observe(known(gone), shown(SCHEDULED), a_sight())
    assert sighted.lives[0].runs == ()
    assert said(sighted) == ["came-back", "seen", "decided"]


def test_a_gone_event_stays_gone_without_an_entry() -> None:
    assert (
        observe(known(a_life(seen=LastStatus.GONE)), shown(), a_sight())
        == ObservedEvents()
    )


def test_an_event_never_goes_back_to_scheduled() -> None:
    life = a_life(event=STARTED, seen=LastStatus.STARTED, started_at=NOON)
    assert observe(known(life), shown(SCHEDULED), a_sight()) == ObservedEvents()


def test_an_unknown_status_is_ignored() -> None:
    assert (
        observe({}, shown(an_event(status="Completed")), a_sight()) == ObservedEvents()
    )
    life = a_life()
    odd = shown(an_event(status="Postponed"))
    assert observe(known(life), odd, a_sight()) == ObservedEvents()


def test_impact_is_added_to_every_current_event() -> None:
    felt = a_sight(felt=Impact(seconds=3.0, total=4.0))
    once = observe(known(a_life()), shown(SCHEDULED), felt).lives[0]
    assert once.impact == Impact(seconds=3.0, total=4.0)
    twice = observe(known(once), shown(SCHEDULED), felt).lives[0]
    assert twice.impact == Impact(seconds=3.0, total=8.0)


def test_impact_is_scaled_to_the_service_s_clock() -> None:
    felt = Impact(boots=1, seconds=2.0, total=3.0)
    assert felt.scaled(60.0) == Impact(boots=1, seconds=120.0, total=180.0)
    assert felt.scaled(0.0) == felt


def test_the_earliest_possible_not_before_is_in_the_past() -> None:
    event = an_event(not_before=datetime.min.replace(tzinfo=UTC))
    started = observe(known(a_life(event=event)), shown(STARTED), a_sight())
    assert not started.lives[0].approved_elsewhere


def test_an_event_found_to_list_this_vm_is_decided_again() -> None:
    (other,) = observe({}, shown(SCHEDULED), a_sight(name="host")).lives
    assert not other.is_mine
    sighted = observe(known(other), shown(SCHEDULED), a_sight())
    assert sighted.lives[0].is_mine
    assert said(sighted) == ["seen", "decided"]


def test_an_event_with_hook_runs_is_not_decided_again() -> None:
    (other,) = observe({}, shown(SCHEDULED), a_sight(name="host")).lives
    touched = replace(other, runs=(a_run(),))
    assert observe(known(touched), shown(SCHEDULED), a_sight()) == ObservedEvents()
