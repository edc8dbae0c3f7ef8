"""A document is seen."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.agent.lives import (
    MINUTE,
    NOON,
    SECOND,
    a_life,
    a_run,
    a_sight,
    an_event,
)

from forewarn.agent.lives import Impact, Life, Seen
from forewarn.agent.sighting import Sighted, see
from forewarn.protocol.types import Document, EventStatus, EventType, ScheduledEvent

SCHEDULED = an_event()
STARTED = an_event(status=EventStatus.STARTED)


def shown(*events: ScheduledEvent) -> Document:
    return Document(incarnation=7, events=events)


def known(life: Life) -> Mapping[str, Life]:
    return {life.id: life}


def said(sighted: Sighted) -> list[str]:
    return [each.what for each in sighted.notes]


def test_a_new_event_begins_a_life() -> None:
    sighted = see({}, shown(SCHEDULED), a_sight())
    (life,) = sighted.lives
    assert (life.seen, life.notice, life.is_mine, life.is_leader) == (
        Seen.SCHEDULED,
        900.0,
        True,
        True,
    )
    assert said(sighted) == ["seen", "decided"]
    assert sighted.notes[1].said["why"] == ("it matches",)


def test_who_is_named_second_is_no_leader_and_who_is_not_named_is_not_concerned() -> (
    None
):
    second = see({}, shown(an_event(resources=["web-1", "web-0"])), a_sight())
    assert (second.lives[0].is_mine, second.lives[0].is_leader) == (True, False)
    other = see({}, shown(an_event(resources=["web-1"])), a_sight())
    assert (other.lives[0].is_mine, other.lives[0].is_leader) == (False, False)


def test_an_event_that_is_started_at_first_sight_is_sudden() -> None:
    sighted = see({}, shown(STARTED), a_sight())
    assert sighted.lives[0].is_sudden
    assert sighted.lives[0].notice is None
    assert said(sighted) == ["seen", "started", "decided"]


def test_the_same_document_changes_nothing() -> None:
    assert see(known(a_life()), shown(SCHEDULED), a_sight()) == Sighted()


def test_a_counter_that_begins_anew_changes_nothing() -> None:
    anew = Document(incarnation=1, events=(SCHEDULED,))
    assert see(known(a_life()), anew, a_sight()) == Sighted()


def test_ids_are_the_same_whatever_their_case() -> None:
    sighted = see(known(a_life()), shown(an_event("e1")), a_sight())
    assert said(sighted) == []


def test_a_start_before_its_time_that_we_did_not_approve_was_approved_elsewhere() -> (
    None
):
    early = see(known(a_life()), shown(STARTED), a_sight(now=NOON + MINUTE))
    assert early.lives[0].approved_elsewhere
    assert early.notes[0].said == {
        "early": True,
        "approved_elsewhere": True,
        "without_notice": False,
    }
    ours = a_life(posted_at=NOON)
    assert not see(known(ours), shown(STARTED), a_sight()).lives[0].approved_elsewhere
    late = see(known(a_life()), shown(STARTED), a_sight(now=NOON + 15 * MINUTE))
    assert not late.lives[0].approved_elsewhere


@pytest.mark.parametrize(("seconds", "is_early"), [(3, True), (1, False)])
def test_a_start_is_early_by_more_than_dates_are_exact(
    seconds: int, is_early: bool
) -> None:
    now = NOON + 15 * MINUTE - seconds * SECOND
    started = see(known(a_life()), shown(STARTED), a_sight(now=now))
    assert started.lives[0].approved_elsewhere is is_early


def test_what_has_started_leaves_no_notice_though_it_tells_a_time() -> None:
    event = replace(STARTED, not_before=NOON + 15 * MINUTE)
    assert see({}, shown(event), a_sight()).lives[0].notice is None


def test_what_this_vm_was_not_part_of_has_happened_if_its_time_had_come() -> None:
    life = replace(a_life(), is_mine=False)
    sighted = see(known(life), shown(), a_sight(now=NOON + 16 * MINUTE))
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
def test_what_restarts_a_vm_has_not_happened_to_one_that_runs_on(
    type: EventType, is_lived_through: bool
) -> None:
    life = a_life(event=an_event(type=type), posted_at=NOON)
    sighted = see(known(life), shown(), a_sight(now=NOON + 16 * MINUTE))
    assert (sighted.lives[0].started_at is not None) is is_lived_through


def test_what_is_gone_after_its_start_has_happened() -> None:
    life = a_life(event=STARTED, seen=Seen.STARTED, started_at=NOON)
    sighted = see(known(life), shown(), a_sight(now=NOON + MINUTE))
    assert sighted.lives[0].seen is Seen.GONE
    assert sighted.lives[0].gone_at == NOON + MINUTE
    assert sighted.notes[0].said["after_start"] is True


def test_what_is_gone_before_its_start_was_called_off() -> None:
    sighted = see(known(a_life()), shown(), a_sight(now=NOON + MINUTE))
    assert sighted.lives[0].started_at is None
    assert sighted.notes[0].said["canceled"] is True


def test_what_is_gone_after_another_boot_has_happened() -> None:
    sighted = see(known(a_life()), shown(), a_sight(boot="boot-2"))
    assert sighted.lives[0].started_at is not None
    assert sighted.lives[0].impact == Impact(boots=1)
    assert sighted.notes[0].said["after_start"] is True


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_reboot_that_this_vm_lived_through_did_not_happen(is_approved: bool) -> None:
    life = a_life(posted_at=NOON if is_approved else None)
    sighted = see(known(life), shown(), a_sight(now=NOON + 20 * MINUTE))
    assert sighted.lives[0].started_at is None


def test_a_reboot_that_was_approved_or_due_may_have_happened_while_nobody_watched() -> (
    None
):
    away = a_sight(was_away=True)
    posted = a_life(posted_at=NOON)
    assert see(known(posted), shown(), away).lives[0].started_at is not None
    assert see(known(a_life()), shown(), away).lives[0].started_at is None
    late = a_sight(was_away=True, now=NOON + 15 * MINUTE)
    assert see(known(a_life()), shown(), late).lives[0].started_at is not None


def test_a_freeze_that_was_approved_or_due_may_have_happened_unseen() -> None:
    event = an_event(type=EventType.FREEZE)
    approved = a_life(event=event, posted_at=NOON)
    assert see(known(approved), shown(), a_sight()).lives[0].started_at is not None
    due = a_sight(now=NOON + 15 * MINUTE)
    assert see(known(a_life(event=event)), shown(), due).lives[0].started_at is not None
    early = see(known(a_life(event=event)), shown(), a_sight())
    assert early.lives[0].started_at is None


def test_what_comes_back_begins_anew() -> None:
    gone = a_life(seen=Seen.GONE, runs=(a_run(),))
    sighted = see(known(gone), shown(SCHEDULED), a_sight())
    assert sighted.lives[0].runs == ()
    assert said(sighted) == ["came-back", "seen", "decided"]


def test_what_is_gone_stays_gone_without_a_word() -> None:
    assert see(known(a_life(seen=Seen.GONE)), shown(), a_sight()) == Sighted()


def test_an_event_never_goes_back() -> None:
    life = a_life(event=STARTED, seen=Seen.STARTED, started_at=NOON)
    assert see(known(life), shown(SCHEDULED), a_sight()) == Sighted()


def test_a_status_that_nobody_knows_is_left_alone() -> None:
    assert see({}, shown(an_event(status="Completed")), a_sight()) == Sighted()
    life = a_life()
    odd = shown(an_event(status="Postponed"))
    assert see(known(life), odd, a_sight()) == Sighted()


def test_what_is_felt_is_added_to_every_event_that_is_there() -> None:
    felt = a_sight(felt=Impact(seconds=3.0, total=4.0))
    once = see(known(a_life()), shown(SCHEDULED), felt).lives[0]
    assert once.impact == Impact(seconds=3.0, total=4.0)
    twice = see(known(once), shown(SCHEDULED), felt).lives[0]
    assert twice.impact == Impact(seconds=3.0, total=8.0)


def test_what_is_felt_is_counted_as_durations_are_announced() -> None:
    felt = Impact(boots=1, seconds=2.0, total=3.0)
    assert felt.scaled(60.0) == Impact(boots=1, seconds=120.0, total=180.0)
    assert felt.scaled(0.0) == felt


def test_a_time_at_the_beginning_of_the_calendar_is_in_the_past() -> None:
    event = an_event(not_before=datetime.min.replace(tzinfo=UTC))
    started = see(known(a_life(event=event)), shown(STARTED), a_sight())
    assert not started.lives[0].approved_elsewhere


def test_an_event_that_names_this_vm_after_all_is_decided_anew() -> None:
    (other,) = see({}, shown(SCHEDULED), a_sight(name="host")).lives
    assert not other.is_mine
    sighted = see(known(other), shown(SCHEDULED), a_sight())
    assert sighted.lives[0].is_mine
    assert said(sighted) == ["seen", "decided"]


def test_an_event_for_which_something_was_done_is_not_decided_anew() -> None:
    (other,) = see({}, shown(SCHEDULED), a_sight(name="host")).lives
    touched = replace(other, runs=(a_run(),))
    assert see(known(touched), shown(SCHEDULED), a_sight()) == Sighted()
