"""Observation of a document: how it changes the state of events."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.agent.support.events import (
    MINUTE,
    NOON,
    SECOND,
    a_run,
    a_state,
    an_event,
    an_observation,
)

from forewarn.agent.audit.entries import StartedEntry
from forewarn.agent.config.plan import (
    ApprovalPolicy,
    HookPoint,
    Rule,
    RuleScope,
    SharedApproval,
)
from forewarn.agent.events.observation import (
    LARGEST_EVENT,
    MOST_EVENTS,
    ObservedEvents,
    observe,
)
from forewarn.agent.events.state import EventState, Impact, LastStatus, ResponsePlan
from forewarn.protocol.types import Document, EventStatus, EventType, ScheduledEvent

SCHEDULED = an_event()
STARTED = an_event(status=EventStatus.STARTED)


def a_document(*events: ScheduledEvent) -> Document:
    return Document(incarnation=7, events=events)


def known(state: EventState) -> Mapping[str, EventState]:
    return {state.id: state}


def after(state: EventState, *events: ScheduledEvent, **given: Any) -> EventState:
    """Return a state after a document of `events`."""
    observation = an_observation(**given)
    (changed,) = observe(known(state), a_document(*events), observation).states
    return changed


def entry_kinds(observed: ObservedEvents) -> list[str]:
    return [entry.what for entry in observed.entries]


def test_a_new_event_gets_a_state() -> None:
    observed = observe({}, a_document(SCHEDULED), an_observation())
    (state,) = observed.states
    assert (state.seen, state.notice, state.is_mine, state.is_leader) == (
        LastStatus.SCHEDULED,
        900.0,
        True,
        True,
    )
    assert entry_kinds(observed) == ["seen", "decided"]
    assert observed.entries[1].line()["why"] == ("it matches every event",)


def test_the_matching_rule_becomes_the_course_of_an_event() -> None:
    rule = Rule(
        name="mine",
        hooks={HookPoint.PREPARE: ("drain",)},
        parallel=True,
        approve=ApprovalPolicy.AT_ONCE,
        together=SharedApproval.WHEN_READY,
        ready="all",
    )
    observed = observe({}, a_document(SCHEDULED), an_observation(rules=[rule]))
    assert observed.states[0].course == ResponsePlan(
        rule="mine",
        hooks=rule.hooks,
        parallel=True,
        approve=ApprovalPolicy.AT_ONCE,
        together=SharedApproval.WHEN_READY,
        ready="all",
    )


def test_without_a_matching_rule_there_is_no_course() -> None:
    others = Rule(name="others", concerns=RuleScope.OTHERS)
    observed = observe({}, a_document(SCHEDULED), an_observation(rules=[others]))
    assert observed.states[0].course is None
    decided = observed.entries[1].line()
    assert decided["why"] == ("rule others does not match: it lists this VM",)


def test_only_the_first_listed_vm_leads_and_only_listed_vms_are_concerned() -> None:
    second = observe(
        {}, a_document(an_event(resources=["web-1", "web-0"])), an_observation()
    )
    assert (second.states[0].is_mine, second.states[0].is_leader) == (True, False)
    other = observe({}, a_document(an_event(resources=["web-1"])), an_observation())
    assert (other.states[0].is_mine, other.states[0].is_leader) == (False, False)


def test_an_event_first_seen_as_started_is_sudden() -> None:
    observed = observe({}, a_document(STARTED), an_observation())
    assert observed.states[0].is_sudden
    assert observed.states[0].notice is None
    assert entry_kinds(observed) == ["seen", "started", "decided"]


def test_the_same_document_changes_nothing() -> None:
    assert (
        observe(known(a_state()), a_document(SCHEDULED), an_observation())
        == ObservedEvents()
    )


def test_a_restarted_incarnation_counter_changes_nothing() -> None:
    restarted = Document(incarnation=1, events=(SCHEDULED,))
    assert observe(known(a_state()), restarted, an_observation()) == ObservedEvents()


def test_ids_ignore_case() -> None:
    observed = observe(known(a_state()), a_document(an_event("e1")), an_observation())
    assert entry_kinds(observed) == []


def test_an_early_start_without_our_approval_was_approved_elsewhere() -> None:
    early = observe(
        known(a_state()), a_document(STARTED), an_observation(now=NOON + MINUTE)
    )
    assert early.states[0].approved_elsewhere
    assert early.entries == (
        StartedEntry(
            at=NOON + MINUTE,
            event="E1",
            early=True,
            approved_elsewhere=True,
            without_notice=False,
        ),
    )
    assert not after(a_state(posted_at=NOON), STARTED).approved_elsewhere
    late = after(a_state(), STARTED, now=NOON + 15 * MINUTE)
    assert not late.approved_elsewhere


@pytest.mark.parametrize(("seconds", "is_early"), [(3, True), (1, False)])
def test_a_start_is_early_by_more_than_the_precision_of_dates(
    seconds: int, is_early: bool
) -> None:
    now = NOON + 15 * MINUTE - seconds * SECOND
    assert after(a_state(), STARTED, now=now).approved_elsewhere is is_early


def test_a_started_event_has_no_notice_even_with_not_before() -> None:
    event = replace(STARTED, not_before=NOON + 15 * MINUTE)
    assert observe({}, a_document(event), an_observation()).states[0].notice is None


def test_an_event_of_other_vms_took_place_if_its_time_had_come() -> None:
    state = replace(a_state(), is_mine=False)
    assert after(state, now=NOON + 16 * MINUTE).started_at is not None


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
    state = a_state(event=an_event(type=type), posted_at=NOON)
    gone = after(state, now=NOON + 16 * MINUTE)
    assert (gone.started_at is not None) is is_lived_through


def test_a_started_event_that_disappears_took_place() -> None:
    state = a_state(event=STARTED, seen=LastStatus.STARTED, started_at=NOON)
    observed = observe(known(state), a_document(), an_observation(now=NOON + MINUTE))
    assert observed.states[0].seen is LastStatus.GONE
    assert observed.states[0].gone_at == NOON + MINUTE
    assert observed.entries[0].line()["after_start"] is True


def test_a_scheduled_event_that_disappears_early_was_canceled() -> None:
    observed = observe(
        known(a_state()), a_document(), an_observation(now=NOON + MINUTE)
    )
    assert observed.states[0].started_at is None
    assert observed.entries[0].line()["canceled"] is True


def test_an_event_that_disappears_across_a_boot_took_place() -> None:
    observed = observe(known(a_state()), a_document(), an_observation(boot="boot-2"))
    assert observed.states[0].started_at is not None
    assert observed.states[0].impact == Impact(boots=1)
    assert observed.entries[0].line()["after_start"] is True


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_reboot_without_a_boot_did_not_happen(is_approved: bool) -> None:
    state = a_state(posted_at=NOON if is_approved else None)
    assert after(state, now=NOON + 20 * MINUTE).started_at is None


def test_an_approved_or_due_reboot_may_have_happened_while_the_agent_was_away() -> None:
    posted, due = a_state(posted_at=NOON), NOON + 15 * MINUTE
    assert after(posted, was_away=True).started_at is not None
    assert after(a_state(), was_away=True).started_at is None
    assert after(a_state(), was_away=True, now=due).started_at is not None


def test_an_approved_or_due_freeze_may_have_happened_unseen() -> None:
    freeze = a_state(event=an_event(type=EventType.FREEZE))
    assert after(replace(freeze, posted_at=NOON)).started_at is not None
    assert after(freeze, now=NOON + 15 * MINUTE).started_at is not None
    assert after(freeze).started_at is None


def test_an_event_that_returns_starts_over() -> None:
    gone = a_state(seen=LastStatus.GONE, runs=(a_run(),))
    observed = observe(known(gone), a_document(SCHEDULED), an_observation())
    assert observed.states[0].runs == ()
    assert entry_kinds(observed) == ["came-back", "seen", "decided"]


def test_a_gone_event_stays_gone_without_an_entry() -> None:
    assert (
        observe(known(a_state(seen=LastStatus.GONE)), a_document(), an_observation())
        == ObservedEvents()
    )


def test_an_event_never_goes_back_to_scheduled() -> None:
    state = a_state(event=STARTED, seen=LastStatus.STARTED, started_at=NOON)
    assert (
        observe(known(state), a_document(SCHEDULED), an_observation())
        == ObservedEvents()
    )


def test_an_unknown_status_is_ignored() -> None:
    assert (
        observe({}, a_document(an_event(status="Completed")), an_observation())
        == ObservedEvents()
    )
    state = a_state()
    odd = a_document(an_event(status="Postponed"))
    assert observe(known(state), odd, an_observation()) == ObservedEvents()


def test_impact_is_added_to_every_current_event() -> None:
    impact = Impact(seconds=3.0, total=4.0)
    once = after(a_state(), SCHEDULED, impact=impact)
    assert once.impact == impact
    twice = after(once, SCHEDULED, impact=impact)
    assert twice.impact == Impact(seconds=3.0, total=8.0)


def test_impact_is_scaled_to_the_service_s_clock() -> None:
    impact = Impact(boots=1, seconds=2.0, total=3.0)
    assert impact.scaled(60.0) == Impact(boots=1, seconds=120.0, total=180.0)
    assert impact.scaled(0.0) == impact


def test_the_earliest_possible_not_before_is_in_the_past() -> None:
    event = an_event(not_before=datetime.min.replace(tzinfo=UTC))
    assert not after(a_state(event=event), STARTED).approved_elsewhere


def test_an_event_found_to_list_this_vm_is_decided_again() -> None:
    (other,) = observe({}, a_document(SCHEDULED), an_observation(name="host")).states
    assert not other.is_mine
    observed = observe(known(other), a_document(SCHEDULED), an_observation())
    assert observed.states[0].is_mine
    assert entry_kinds(observed) == ["seen", "decided"]


def test_an_event_with_hook_runs_is_not_decided_again() -> None:
    (other,) = observe({}, a_document(SCHEDULED), an_observation(name="host")).states
    touched = replace(other, runs=(a_run(),))
    assert (
        observe(known(touched), a_document(SCHEDULED), an_observation())
        == ObservedEvents()
    )


# --- limits ------------------------------------------------------------------


def many(number: int, resource: str = "web-9") -> list[ScheduledEvent]:
    return [an_event(f"X{n:04}", resources=(resource,)) for n in range(number)]


def test_a_limited_number_of_events_is_tracked_this_vm_s_nearest_first() -> None:
    far = an_event("FAR", not_before=NOON + 60 * MINUTE)
    document = a_document(*many(1200), far, an_event("NEAR"))
    observed = observe({}, document, an_observation())
    ids = {state.id for state in observed.states}
    assert len(ids) == MOST_EVENTS
    assert {"FAR", "NEAR"} < ids
    assert observed.ignored == 1202 - MOST_EVENTS


def test_a_nearer_event_of_this_vm_displaces_one_of_others() -> None:
    crowd = a_document(*many(MOST_EVENTS))
    states = {state.id: state for state in observe({}, crowd, an_observation()).states}
    more = a_document(*crowd.events, SCHEDULED)
    observed = observe(states, more, an_observation())
    assert [state.id for state in observed.states] == ["E1"]
    assert observed.evicted == (f"X{MOST_EVENTS - 1:04}",)
    assert observed.ignored == 1


def test_an_event_that_is_prepared_is_never_displaced() -> None:
    states = {
        event.id: replace(a_state(event=event, runs=(a_run(),)), is_mine=False)
        for event in many(MOST_EVENTS)
    }
    observed = observe(
        states, a_document(*many(MOST_EVENTS), SCHEDULED), an_observation()
    )
    assert observed == ObservedEvents(ignored=1)


def test_an_event_that_is_too_large_is_ignored() -> None:
    large = replace(
        SCHEDULED, raw={"EventId": "E1", "Description": "x" * LARGEST_EVENT}
    )
    assert observe({}, a_document(large), an_observation()) == ObservedEvents(ignored=1)


def test_a_known_event_that_becomes_too_large_keeps_its_details() -> None:
    large = replace(STARTED, description="x" * 9, raw={"x": "x" * LARGEST_EVENT})
    changed = after(a_state(), large)
    assert changed.seen is LastStatus.STARTED
    assert changed.event == STARTED
