"""State machine of one event in the agent: decides the next actions.

1. Nothing here reads a clock, runs anything or writes anything. The input is an
   `EventState`. The output is the state to save and the orders to carry out
   afterward.
2. The next action depends only on the saved state and on the hooks that this process is
   running. An agent that died therefore resumes where it stopped.
3. A hook that has ended is never started again. A hook that has not ended and is not
   running here was running when the agent died, so it is started again.
4. Nothing is approved before every `prepare` hook has succeeded, unless the rule has
   `at-once`.
5. Steps do not overlap: the hooks of an outdated step are canceled, and the next step
   begins when they have ended.
6. A hook without a free slot waits, and nothing is saved about it. If the event moves
   on in the meantime, the hook never starts.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.agent.audit import entries as e
from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events.state import (
    EventState,
    HookOutcome,
    HookRun,
    LastStatus,
    ResponsePlan,
)

#: Why hooks of the previous step are canceled.
CANCEL_REASONS: Mapping[LastStatus, str] = {
    LastStatus.SCHEDULED: "the event was announced again",
    LastStatus.STARTED: "the event has started",
    LastStatus.GONE: "the event is gone",
}

_RESERVE_SHARE = 0.2  # maximum share of the remaining time kept in reserve
_NEAR = timedelta(minutes=20)  # an event may start early if another VM approves it
_LONGEST_HOOK = timedelta(hours=1)  # for a hook without any other limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginHook:
    """An order to run a hook."""

    run: HookRun
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelHook:
    """An order to end a running hook."""

    token: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReady:
    """An order to run the hook that checks whether all VMs in the event are ready."""

    hook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostApproval:
    """An order to approve the event."""


Order = BeginHook | CancelHook | CheckReady | PostApproval


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """The context of a decision, in addition to the event's own state."""

    now: datetime  # service time
    running: frozenset[str] = frozenset()  # tokens of this event's running hooks
    token: Callable[[], str]  # creates a unique name for a run
    reserve: float = 5.0  # seconds before NotBefore in which no hook may run
    slots: int = sys.maxsize  # number of hooks that may start now
    is_dry: bool = False  # dry run: run and approve nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStep:
    """The state to save and the orders to carry out afterward."""

    state: EventState
    orders: tuple[Order, ...] = ()
    entries: tuple[e.AuditEntry, ...] = ()
    waiting: int = 0  # hooks that are due but have no free slot


def advance(state: EventState, context: EventContext) -> EventStep:
    """Decide the next actions for one event."""
    plan = state.course
    if state.over_at is not None:
        return EventStep(state=state)
    if plan is None or context.is_dry:
        return _finish(state, context, ())
    state, closed = _close_lost_runs(state, context)
    if cancellations := tuple(_cancellations(state, context)):
        return EventStep(state=state, orders=cancellations, entries=closed)
    due = tuple(_due_hooks(state, plan, context))
    state, starts, entries = _start_hooks(state, due[: context.slots], context)
    waiting = len(due) - len(starts)
    if due or is_scheduled(state):
        return EventStep(
            state=state,
            orders=(*starts, *_approval_orders(state)),
            entries=(*closed, *entries),
            waiting=waiting,
        )
    return _finish(state, context, closed)


def end_hook(state: EventState, run: HookRun, now: datetime) -> EventStep:
    """Store the result of a finished hook."""
    runs = tuple(
        run if earlier.token == run.token else earlier for earlier in state.runs
    )
    changed = replace(state, runs=runs)
    return EventStep(state=changed, entries=(_ended_entry(changed, run, now),))


def mark_posted(state: EventState, now: datetime) -> EventStep:
    """Record that an approval is about to be sent; repeated calls change nothing."""
    if state.posted_at is not None:
        return EventStep(state=state)
    entry = e.ApprovalSentEntry(at=now, event=state.id)
    return EventStep(state=replace(state, posted_at=now), entries=(entry,))


def mark_approved(state: EventState, now: datetime) -> EventStep:
    """Record that the service accepted the approval; repeated calls change nothing."""
    if state.approved_at is not None:
        return EventStep(state=state)
    approved = replace(state, approved_at=now)
    entry = e.ApprovedEntry(
        at=now,
        event=state.id,
        answer="200",
        notice_seconds_given=state.notice,
        notice_seconds_used=round((now - state.first_at).total_seconds(), 3),
    )
    return EventStep(state=approved, entries=(entry,))


def ready_check(state: EventState, hook: str, context: EventContext) -> BeginHook:
    """Return an order to run the readiness hook; its result is not saved."""
    run = HookRun(
        step=HookPoint.PREPARE, hook=hook, token=context.token(), begun_at=context.now
    )
    return BeginHook(run=run, deadline=_deadline(state, context))


def is_scheduled(state: EventState) -> bool:
    """Return whether the event has not started and can be approved."""
    return state.seen is LastStatus.SCHEDULED


def urgency(state: EventState) -> tuple[bool, bool, float, str]:
    """Return a sort key that puts the most urgent events first.

    This VM's events go before other VMs' events, and events in the document before
    events that are gone. Otherwise, the nearest NotBefore goes first.
    """
    due = state.event.not_before
    is_gone = state.seen is LastStatus.GONE
    at = -math.inf if due is None else due.timestamp()
    return not state.is_mine, is_gone, at, state.id


def is_near(state: EventState, now: datetime) -> bool:
    """Return whether the event affects this VM now or may do so soon."""
    if state.seen is not LastStatus.SCHEDULED or state.posted_at is not None:
        return state.seen is not LastStatus.GONE
    due = state.event.not_before
    return due is not None and due - now < _NEAR


def why_not_approved(state: EventState) -> str | None:
    """Explain why a Scheduled event is not approved; None if it should be approved."""
    plan = state.course
    if plan is None:
        return "no rule matches"
    if plan.approve is ApprovalPolicy.NEVER:
        return f'rule "{plan.rule}" has approve = "never"'
    if plan.approve is ApprovalPolicy.AFTER_HOOKS and (why := _unprepared(state, plan)):
        return why
    if plan.together is SharedApproval.LEADER and not state.is_leader:
        first = state.event.resources[0] if state.event.resources else "another VM"
        return (
            f"{first} is the first VM in the event and is responsible for approving it"
        )
    return None


# --- hooks -------------------------------------------------------------------


def _current_step(state: EventState) -> HookPoint:
    if state.seen is LastStatus.SCHEDULED:
        return HookPoint.PREPARE
    if state.seen is LastStatus.GONE:
        return HookPoint.UNDO if state.started_at is None else HookPoint.RECOVER
    return HookPoint.WITHOUT_NOTICE if state.is_sudden else HookPoint.STARTED


def _close_lost_runs(
    state: EventState, context: EventContext
) -> tuple[EventState, tuple[e.AuditEntry, ...]]:
    """Mark hooks of earlier steps as `CUT` if they were running when the agent died."""
    reason = "the agent was not running when the event's status changed"
    closed = {
        run: replace(run, outcome=HookOutcome.CUT, ended_at=context.now, reason=reason)
        for run in state.runs
        if _is_lost(run, context) and run.step is not _current_step(state)
    }
    if not closed:
        return state, ()
    state = replace(state, runs=tuple(closed.get(run, run) for run in state.runs))
    return state, tuple(
        _ended_entry(state, run, context.now) for run in closed.values()
    )


def _cancellations(state: EventState, context: EventContext) -> Iterator[CancelHook]:
    """Yield orders to end hooks from another step or an earlier event state."""
    current = {run.token for run in state.runs if run.step is _current_step(state)}
    for token in sorted(context.running - current):
        yield CancelHook(token=token, reason=CANCEL_REASONS[state.seen])


def _due_hooks(
    state: EventState, plan: ResponsePlan, context: EventContext
) -> Iterator[HookRun]:
    """Yield the due hooks in this step."""
    step = _current_step(state)
    if step is HookPoint.UNDO and _is_untouched(state, plan):
        return
    runs = {run.hook: run for run in state.runs if run.step is step}
    for hook in plan.hooks.get(step, ()):
        run = runs.get(hook)
        if run is None or _is_lost(run, context):
            yield HookRun(
                step=step,
                hook=hook,
                token=context.token(),
                begun_at=context.now,
                times=1 if run is None else run.times + 1,
            )
            if not plan.parallel:
                return
        elif not plan.parallel and not _lets_next_start(run):
            return


def _is_untouched(state: EventState, plan: ResponsePlan) -> bool:
    """Return whether the plan has `prepare` hooks and none of them has begun."""
    return HookPoint.PREPARE in plan.hooks and not any(
        run.step is HookPoint.PREPARE for run in state.runs
    )


def _is_lost(run: HookRun, context: EventContext) -> bool:
    """Return whether the hook was running when the agent died."""
    return run.outcome is HookOutcome.RUNNING and run.token not in context.running


def _lets_next_start(run: HookRun) -> bool:
    """Return whether the next hook may start; a failed `prepare` hook stops it."""
    if run.step is HookPoint.PREPARE:
        return run.outcome is HookOutcome.DONE
    return run.outcome is not HookOutcome.RUNNING


def _start_hooks(
    state: EventState, due: Sequence[HookRun], context: EventContext
) -> tuple[EventState, tuple[BeginHook, ...], tuple[e.AuditEntry, ...]]:
    names = {(run.step, run.hook) for run in due}
    kept = tuple(run for run in state.runs if (run.step, run.hook) not in names)
    state = replace(state, runs=(*kept, *due))
    orders = tuple(
        BeginHook(run=run, deadline=_deadline(state, context)) for run in due
    )
    return state, orders, tuple(_began_entry(state, order) for order in orders)


def _began_entry(state: EventState, order: BeginHook) -> e.AuditEntry:
    run = order.run
    return e.HookBeganEntry(
        at=run.begun_at,
        event=state.id,
        step=run.step,
        hook=run.hook,
        times=run.times,
        seconds_left=round((order.deadline - run.begun_at).total_seconds(), 3),
    )


def _ended_entry(state: EventState, run: HookRun, at: datetime) -> e.AuditEntry:
    seconds = None
    if run.ended_at is not None:
        seconds = round((run.ended_at - run.begun_at).total_seconds(), 3)
    return e.HookEndedEntry(
        at=at,
        event=state.id,
        step=run.step,
        hook=run.hook,
        times=run.times,
        tries=run.tries,
        outcome=run.outcome,
        code=run.code,
        seconds=seconds,
        output=run.output,
        reason=run.reason,
    )


def _deadline(state: EventState, context: EventContext) -> datetime:
    due = state.event.not_before
    if state.seen is not LastStatus.SCHEDULED or due is None:
        return context.now + _LONGEST_HOOK
    left = max((due - context.now).total_seconds(), 0.0)
    return due - timedelta(seconds=min(context.reserve, left * _RESERVE_SHARE))


# --- approval ----------------------------------------------------------------


def _approval_orders(state: EventState) -> Iterator[Order]:
    if not is_scheduled(state) or state.approved_at is not None:
        return
    if why_not_approved(state) is not None:
        return
    plan = state.course
    if plan is not None and plan.together is SharedApproval.WHEN_READY and plan.ready:
        yield CheckReady(hook=plan.ready)
    else:
        yield PostApproval()


def _unprepared(state: EventState, plan: ResponsePlan) -> str | None:
    """Return which hook has not succeeded and why, or None if all have succeeded."""
    runs = {run.hook: run for run in state.runs if run.step is HookPoint.PREPARE}
    for hook in plan.hooks.get(HookPoint.PREPARE, ()):
        run = runs.get(hook)
        if run is None:
            return f"hook {hook} has not run yet"
        if run.outcome is HookOutcome.RUNNING:
            return f"hook {hook} is still running"
        if run.outcome is not HookOutcome.DONE:
            return f"hook {hook} did not succeed: {run.reason or run.outcome}"
    return None


# --- end ---------------------------------------------------------------------


def _finish(
    state: EventState, context: EventContext, closed: tuple[e.AuditEntry, ...]
) -> EventStep:
    """Complete the state if the event is gone and no work remains."""
    if state.seen is not LastStatus.GONE:
        return EventStep(state=state, entries=closed)
    if any(run.outcome is HookOutcome.RUNNING for run in state.runs):
        return EventStep(state=state, entries=closed)
    over = replace(state, over_at=context.now)
    entry = e.OverEntry(at=context.now, event=over.id, outcome=_outcome(over))
    return EventStep(state=over, entries=(*closed, entry))


def _outcome(state: EventState) -> str:
    failed = sorted(
        {run.hook for run in state.runs if run.outcome is not HookOutcome.DONE}
    )
    end = "was canceled" if state.started_at is None else "took place"
    hooks = f"; unsuccessful hooks: {', '.join(failed)}" if failed else ""
    return f"the event {end}{hooks}"
