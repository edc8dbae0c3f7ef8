"""Course of one event: the next orders for its hooks and its approval."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.agent.support.events import (
    MINUTE,
    NOON,
    SECOND,
    a_response_plan,
    a_run,
    a_state,
    an_event,
    context,
)

from forewarn.agent.audit.entries import ApprovedEntry, OverEntry
from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events import progress
from forewarn.agent.events.progress import (
    BeginHook,
    CancelHook,
    CheckReady,
    EventStep,
    PostApproval,
    advance,
)
from forewarn.agent.events.state import HookOutcome, LastStatus


def begun(step: EventStep) -> list[tuple[str, str, int]]:
    orders = [order for order in step.orders if isinstance(order, BeginHook)]
    return [(order.run.step, order.run.hook, order.run.times) for order in orders]


def deadline_of(step: EventStep) -> datetime:
    order = step.orders[0]
    assert isinstance(order, BeginHook)
    return order.deadline


def entry_kinds(step: EventStep) -> list[str]:
    return [entry.what for entry in step.entries]


TWO = {HookPoint.PREPARE: ("drain", "flush"), HookPoint.RECOVER: ("fill", "tell")}


def test_a_scheduled_event_is_prepared_and_not_approved_yet() -> None:
    step = advance(a_state(), context())
    assert begun(step) == [("prepare", "drain", 1)]
    assert PostApproval() not in step.orders
    assert step.state.runs[0].outcome is HookOutcome.RUNNING
    assert entry_kinds(step) == ["hook-began"]


def test_a_prepared_event_is_approved() -> None:
    assert advance(a_state(runs=(a_run(),)), context()).orders == (PostApproval(),)


@pytest.mark.parametrize("outcome", [HookOutcome.FAILED, HookOutcome.CUT])
def test_a_failed_preparation_is_neither_approved_nor_retried(
    outcome: HookOutcome,
) -> None:
    state = a_state(runs=(a_run(outcome=outcome),))
    step = advance(state, context())
    assert step.orders == ()
    why = f"hook drain did not succeed: {outcome}"
    assert progress.why_not_approved(state) == why


def test_nothing_is_ordered_while_a_hook_runs() -> None:
    state = a_state(runs=(a_run(outcome=HookOutcome.RUNNING),))
    assert advance(state, context(running=["run-0"])).orders == ()


def test_a_hook_interrupted_by_the_agent_s_death_is_started_again() -> None:
    state = a_state(runs=(a_run(outcome=HookOutcome.RUNNING),))
    step = advance(state, context())
    assert begun(step) == [("prepare", "drain", 2)]
    assert len(step.state.runs) == 1


def test_hooks_run_one_after_another() -> None:
    state = a_state(course=a_response_plan(hooks=TWO))
    first = advance(state, context())
    assert begun(first) == [("prepare", "drain", 1)]
    state = replace(state, runs=(a_run(),))
    assert begun(advance(state, context())) == [("prepare", "flush", 1)]
    state = replace(state, runs=(a_run(), a_run("flush", token="run-9")))
    assert advance(state, context()).orders == (PostApproval(),)


def test_after_a_failed_preparation_no_other_hook_starts() -> None:
    state = a_state(
        course=a_response_plan(hooks=TWO), runs=(a_run(outcome=HookOutcome.FAILED),)
    )
    assert advance(state, context()).orders == ()


def test_after_a_failed_recovery_the_next_hook_starts() -> None:
    failed = a_run("fill", step=HookPoint.RECOVER, outcome=HookOutcome.FAILED)
    state = a_state(
        seen=LastStatus.GONE,
        started_at=NOON,
        course=a_response_plan(hooks=TWO),
        runs=(failed,),
    )
    assert begun(advance(state, context())) == [("recover", "tell", 1)]


def test_parallel_hooks_start_together_and_all_must_succeed() -> None:
    state = a_state(course=a_response_plan(hooks=TWO, parallel=True))
    step = advance(state, context())
    assert begun(step) == [("prepare", "drain", 1), ("prepare", "flush", 1)]
    half = replace(
        state, runs=(a_run(outcome=HookOutcome.FAILED), a_run("flush", token="run-9"))
    )
    assert advance(half, context()).orders == ()


def test_approve_at_once_does_not_wait_for_the_hooks() -> None:
    state = a_state(course=a_response_plan(approve=ApprovalPolicy.AT_ONCE))
    step = advance(state, context())
    assert begun(step) == [("prepare", "drain", 1)]
    assert step.orders[-1] == PostApproval()


def test_approve_never_sends_no_approval() -> None:
    state = a_state(
        course=a_response_plan(approve=ApprovalPolicy.NEVER), runs=(a_run(),)
    )
    assert advance(state, context()).orders == ()
    assert progress.why_not_approved(state) == 'rule "all" has approve = "never"'


def test_only_the_first_listed_vm_approves() -> None:
    event = an_event(resources=["web-1", "web-0"])
    state = a_state(event=event, is_leader=False, runs=(a_run(),))
    assert advance(state, context()).orders == ()
    assert (
        progress.why_not_approved(state)
        == "web-1 is the first VM in the event and is responsible for approving it"
    )
    every_vm = replace(state, course=a_response_plan(together=SharedApproval.EACH))
    assert advance(every_vm, context()).orders == (PostApproval(),)


def test_readiness_of_all_is_checked_once_this_vm_is_ready() -> None:
    asking = a_response_plan(together=SharedApproval.WHEN_READY, ready="all-drained")
    state = a_state(course=asking, is_leader=False)
    assert begun(advance(state, context())) == [("prepare", "drain", 1)]
    state = replace(state, runs=(a_run(),))
    assert advance(state, context()).orders == (CheckReady(hook="all-drained"),)


def test_a_prepared_event_that_is_gone_is_not_approved() -> None:
    step = advance(a_state(seen=LastStatus.GONE, runs=(a_run(),)), context())
    assert begun(step) == [("undo", "resume", 1)]
    assert PostApproval() not in step.orders


def test_an_approved_event_is_not_approved_again() -> None:
    state = a_state(runs=(a_run(),), approved_at=NOON)
    assert advance(state, context()).orders == ()
    assert progress.mark_approved(state, NOON).entries == ()


def test_the_time_of_the_first_approval_request_is_recorded() -> None:
    sent = progress.mark_posted(a_state(), NOON)
    posted = sent.state
    assert entry_kinds(sent) == ["approval-sent"]
    assert posted.posted_at == NOON
    assert progress.mark_posted(posted, NOON + MINUTE) == EventStep(state=posted)


def test_an_approval_records_how_much_notice_was_used() -> None:
    step = progress.mark_approved(a_state(runs=(a_run(),)), NOON + 42 * SECOND)
    assert step.state.approved_at == NOON + 42 * SECOND
    assert step.entries == (
        ApprovedEntry(
            at=NOON + 42 * SECOND,
            event="E1",
            answer="200",
            notice_seconds_given=900.0,
            notice_seconds_used=42.0,
        ),
    )


def test_hooks_have_until_not_before_minus_the_reserve() -> None:
    step = advance(a_state(), context(reserve=30))
    assert deadline_of(step) == NOON + 15 * MINUTE - timedelta(seconds=30)
    assert step.entries[0].line()["seconds_left"] == 870.0


def test_the_reserve_is_at_most_a_fifth_of_the_time() -> None:
    state = a_state(event=an_event(not_before=NOON + 10 * SECOND))
    assert deadline_of(advance(state, context(reserve=30))) == NOON + 8 * SECOND


def test_with_no_time_left_the_deadline_is_not_before() -> None:
    late = context(now=NOON + 20 * MINUTE, reserve=30)
    assert deadline_of(advance(a_state(), late)) == NOON + 15 * MINUTE


def test_a_hook_without_not_before_has_an_hour() -> None:
    untold = a_state(event=an_event(not_before=None))
    started = a_state(seen=LastStatus.STARTED, started_at=NOON)
    for state in (untold, started):
        assert deadline_of(advance(state, context())) == NOON + timedelta(hours=1)


def test_a_start_cuts_the_preparation_before_it_continues() -> None:
    running = a_run(outcome=HookOutcome.RUNNING)
    state = a_state(seen=LastStatus.STARTED, started_at=NOON + MINUTE, runs=(running,))
    step = advance(state, context(running=["run-0"]))
    assert step.orders == (CancelHook(token="run-0", reason="the event has started"),)
    state = replace(state, runs=(a_run(outcome=HookOutcome.CUT),))
    assert begun(advance(state, context())) == [("started", "tell", 1)]


def test_an_event_without_notice_has_its_own_hooks() -> None:
    state = a_state(seen=LastStatus.STARTED, is_sudden=True, started_at=NOON)
    assert begun(advance(state, context())) == [("started-without-notice", "alarm", 1)]


def test_recovery_follows_a_started_event_that_is_gone() -> None:
    state = a_state(seen=LastStatus.GONE, started_at=NOON, runs=(a_run(),))
    assert begun(advance(state, context())) == [("recover", "fill", 1)]


def test_an_interrupted_hook_of_an_earlier_step_is_not_started_again() -> None:
    lost = a_run(outcome=HookOutcome.RUNNING)
    state = a_state(seen=LastStatus.GONE, started_at=NOON, runs=(lost,))
    step = advance(state, context())
    assert step.state.runs[0].outcome is HookOutcome.CUT
    assert begun(step) == [("recover", "fill", 1)]
    assert entry_kinds(step) == ["hook-ended", "hook-began"]


def test_an_event_is_over_when_it_is_gone_and_its_hooks_have_ended() -> None:
    undone = a_run("resume", step=HookPoint.UNDO, token="run-9")
    state = a_state(seen=LastStatus.GONE, runs=(a_run(), undone))
    step = advance(state, context(now=NOON + MINUTE))
    assert step.state.over_at == NOON + MINUTE
    assert step.entries == (
        OverEntry(at=NOON + MINUTE, event="E1", outcome="the event was canceled"),
    )
    assert advance(step.state, context()) == EventStep(state=step.state)


def test_an_event_is_not_over_while_a_hook_runs() -> None:
    running = a_run("resume", step=HookPoint.UNDO, outcome=HookOutcome.RUNNING)
    state = a_state(seen=LastStatus.GONE, runs=(running,))
    assert advance(state, context(running=["run-0"])).state.over_at is None


def test_running_hooks_of_an_earlier_announcement_are_cut_first() -> None:
    step = advance(a_state(), context(running=["run-of-before"]))
    reason = "the event was announced again"
    assert step.orders == (CancelHook(token="run-of-before", reason=reason),)


def test_the_end_of_an_outdated_run_is_only_recorded() -> None:
    state = a_state(runs=(a_run(outcome=HookOutcome.RUNNING),))
    step = progress.end_hook(state, a_run(token="run-of-before"), NOON)
    assert step.state == state
    assert entry_kinds(step) == ["hook-ended"]


def test_a_dry_run_orders_nothing() -> None:
    assert advance(a_state(), context(is_dry=True)).orders == ()
    at_once = a_state(course=a_response_plan(approve=ApprovalPolicy.AT_ONCE))
    assert advance(at_once, context(is_dry=True)).orders == ()
    gone = a_state(seen=LastStatus.GONE)
    assert advance(gone, context(is_dry=True)).state.over_at == NOON


def test_an_event_is_near_in_its_last_twenty_minutes_and_until_it_is_gone() -> None:
    far = a_state(event=an_event(not_before=NOON + 60 * MINUTE))
    assert not progress.is_near(far, NOON)
    assert progress.is_near(far, NOON + 45 * MINUTE)
    assert progress.is_near(replace(far, posted_at=NOON), NOON)
    assert progress.is_near(replace(far, seen=LastStatus.STARTED), NOON)
    assert not progress.is_near(
        replace(far, seen=LastStatus.GONE, posted_at=NOON), NOON
    )
    assert not progress.is_near(a_state(event=an_event(not_before=None)), NOON)


# --- limited number of hooks -------------------------------------------------


def test_hooks_without_a_free_slot_wait_and_are_not_recorded() -> None:
    plan = a_response_plan(hooks=TWO, parallel=True)
    step = advance(a_state(course=plan), context(slots=1))
    assert (begun(step), step.waiting) == ([("prepare", "drain", 1)], 1)
    assert [run.hook for run in step.state.runs] == ["drain"]
    none = advance(a_state(), context(slots=0))
    assert (none.state, none.orders, none.waiting) == (a_state(), (), 1)


def test_an_event_is_not_over_while_its_undo_waits() -> None:
    state = a_state(seen=LastStatus.GONE, runs=(a_run(),))
    step = advance(state, context(slots=0))
    assert (step.state, step.waiting) == (state, 1)
    assert begun(advance(state, context(slots=1))) == [("undo", "resume", 1)]


def test_an_event_that_ends_before_its_preparation_began_is_not_undone() -> None:
    step = advance(a_state(seen=LastStatus.GONE), context())
    assert begun(step) == []
    assert step.state.over_at == NOON
    plan = a_response_plan(hooks={HookPoint.UNDO: ("resume",)})
    alone = advance(a_state(seen=LastStatus.GONE, course=plan), context())
    assert begun(alone) == [("undo", "resume", 1)]


def test_a_preparation_that_waited_beyond_not_before_is_not_started_late() -> None:
    started = an_event(status="Started")
    state = a_state(event=started, seen=LastStatus.STARTED, started_at=NOON)
    assert begun(advance(state, context())) == [("started", "tell", 1)]


def test_the_nearest_event_of_this_vm_is_the_most_urgent() -> None:
    later = a_state(event=an_event("LATER", not_before=NOON + 20 * MINUTE))
    soon = a_state(event=an_event("SOON"))
    now = a_state(event=an_event("NOW", status="Started"), seen=LastStatus.STARTED)
    gone = a_state(event=an_event("GONE"), seen=LastStatus.GONE)
    others = replace(a_state(event=an_event("OTHER", not_before=NOON)), is_mine=False)
    states = [others, gone, later, soon, now]
    order = [state.id for state in sorted(states, key=progress.urgency)]
    assert order == ["NOW", "SOON", "LATER", "GONE", "OTHER"]
