"""State machine of one event in the agent: decides what to do next.

1. Nothing here reads a clock, runs anything or writes anything. The state of an event
   (`Life`) comes in. The state to save comes out, with the orders to carry out after
   that.
2. The next action depends only on the saved state and on which hooks this process is
   running. So an agent that died continues where it was.
3. A hook that has ended is never started again. One that has not ended and is not
   running here was running when the agent died: it is started again.
4. Nothing is approved before every hook of `prepare` has succeeded, unless the rule has
   `at-once`.
5. One step at a time: the hooks of an outdated step are cut, and the next step begins
   when they have ended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.agent.audit.entries import AuditEntry, event_entry, hook_ended_entry
from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events.state import (
    EventState,
    HookOutcome,
    HookRun,
    LastStatus,
    ResponsePlan,
)

_SHARE = 0.2  # maximum share of the remaining time that is kept in reserve
#: Why the hooks of the previous step are cut.
NEWS: Mapping[LastStatus, str] = {
    LastStatus.SCHEDULED: "the event was announced anew",
    LastStatus.STARTED: "the event has started",
    LastStatus.GONE: "the event is gone",
}
_NEAR = timedelta(minutes=20)  # it may start early: another VM can approve it
_PATIENCE = timedelta(hours=1)  # for a hook without any other limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginHook:
    """Run a hook."""

    run: HookRun
    deadline: datetime | None  # None if only its own timeout limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelHook:
    """End a running hook."""

    token: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReady:
    """Run the hook that checks whether all VMs of the event are ready."""

    hook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostApproval:
    """Approve the event."""


Order = BeginHook | CancelHook | CheckReady | PostApproval


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """Context of a decision, besides the event's own state."""

    now: datetime  # the service's time
    running: frozenset[str] = frozenset()  # tokens of this event's running hooks
    token: Callable[[], str]  # creates a unique name for a run
    reserve: float = 5.0  # seconds before NotBefore in which no hook may run
    is_dry: bool = False  # dry run: run and approve nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStep:
    """The state to save, and the orders to carry out after that."""

    life: EventState
    orders: tuple[Order, ...] = ()
    notes: tuple[AuditEntry, ...] = ()


def advance(life: EventState, about: EventContext) -> EventStep:
    """Decide what to do next about one event."""
    course = life.course
    if life.over_at is not None:
        return EventStep(life=life)
    if course is None or about.is_dry:
        return _finish(life, about, ())
    life, closed = _close(life, about)
    if cuts := tuple(_cuts(life, about)):
        return EventStep(life=life, orders=cuts, notes=closed)
    begun = tuple(_begun(life, course, about))
    life, begins, notes = _begin(life, begun, about)
    if begins or life.seen is LastStatus.SCHEDULED:
        orders = (*begins, *_approvals(life))
        return EventStep(life=life, orders=orders, notes=(*closed, *notes))
    return _finish(life, about, closed)


def end(life: EventState, run: HookRun, now: datetime) -> EventStep:
    """Store the result of a hook that has ended."""
    runs = tuple(
        run if earlier.token == run.token else earlier for earlier in life.runs
    )
    changed = replace(life, runs=runs)
    return EventStep(life=changed, notes=(hook_ended_entry(changed, run, now),))


def post(life: EventState, now: datetime) -> EventStep:
    """Record that an approval is about to be sent; repeating it changes nothing."""
    if life.posted_at is not None:
        return EventStep(life=life)
    posted = replace(life, posted_at=now)
    return EventStep(life=posted, notes=(event_entry("approval-sent", posted, now),))


def approve(life: EventState, answer: str, now: datetime) -> EventStep:
    """Record that the service accepted the approval; repeating it changes nothing."""
    if life.approved_at is not None:
        return EventStep(life=life)
    approved = replace(life, approved_at=now)
    entry = event_entry(
        "approved",
        approved,
        now,
        answer=answer,
        notice_seconds_given=life.notice,
        notice_seconds_used=round((now - life.first_at).total_seconds(), 3),
    )
    return EventStep(life=approved, notes=(entry,))


def question(life: EventState, hook: str, about: EventContext) -> BeginHook:
    """Return the order for the readiness hook; its result is not saved."""
    run = HookRun(
        step=HookPoint.PREPARE, hook=hook, token=about.token(), begun_at=about.now
    )
    return BeginHook(run=run, deadline=_deadline(life, about))


def is_awaited(life: EventState) -> bool:
    """Return whether the event has not started yet, so that it can be approved."""
    return life.seen is LastStatus.SCHEDULED


def is_near(life: EventState, now: datetime) -> bool:
    """Return whether the event affects this VM now or may do so soon."""
    if life.seen is not LastStatus.SCHEDULED or life.posted_at is not None:
        return life.seen is not LastStatus.GONE
    due = life.event.not_before
    return due is not None and due - now < _NEAR


def not_approved(life: EventState) -> str | None:
    """Explain why a Scheduled event is not approved; None if it should be."""
    course = life.course
    if course is None:
        return "no rule matches"
    if course.approve is ApprovalPolicy.NEVER:
        return f'rule "{course.rule}" says never'
    if course.approve is ApprovalPolicy.AFTER_HOOKS and (
        why := _unprepared(life, course)
    ):
        return why
    if course.together is SharedApproval.LEADER and not life.is_leader:
        first = life.event.resources[0] if life.event.resources else "nobody"
        return f"{first} is named first and is the one to approve"
    return None


# --- decisions ------------------------------------------------------------------------


def _step(life: EventState) -> HookPoint:
    if life.seen is LastStatus.SCHEDULED:
        return HookPoint.PREPARE
    if life.seen is LastStatus.GONE:
        return HookPoint.UNDO if life.started_at is None else HookPoint.RECOVER
    return HookPoint.WITHOUT_NOTICE if life.is_sudden else HookPoint.STARTED


def _close(
    life: EventState, about: EventContext
) -> tuple[EventState, tuple[AuditEntry, ...]]:
    """Mark hooks of earlier steps as cut if they were running when the agent died."""
    reason = "the agent was not running, and the event went on without it"
    closed = {
        run: replace(run, outcome=HookOutcome.CUT, ended_at=about.now, reason=reason)
        for run in life.runs
        if _is_lost(run, about) and run.step is not _step(life)
    }
    if not closed:
        return life, ()
    life = replace(life, runs=tuple(closed.get(run, run) for run in life.runs))
    return life, tuple(
        hook_ended_entry(life, run, about.now) for run in closed.values()
    )


def _cuts(life: EventState, about: EventContext) -> Iterator[CancelHook]:
    """Yield cuts for running hooks of another step, or of an earlier event state."""
    current = {run.token for run in life.runs if run.step is _step(life)}
    for token in sorted(about.running - current):
        yield CancelHook(token=token, reason=NEWS[life.seen])


def _begun(
    life: EventState, course: ResponsePlan, about: EventContext
) -> Iterator[HookRun]:
    """Yield the hooks of this step that start now."""
    step = _step(life)
    runs = {run.hook: run for run in life.runs if run.step is step}
    for hook in course.hooks.get(step, ()):
        run = runs.get(hook)
        if run is None or _is_lost(run, about):
            yield HookRun(
                step=step,
                hook=hook,
                token=about.token(),
                begun_at=about.now,
                times=1 if run is None else run.times + 1,
            )
            if not course.parallel:
                return
        elif not course.parallel and not _may_pass(run):
            return


def _is_lost(run: HookRun, about: EventContext) -> bool:
    """Return whether it was running when the agent died."""
    return run.outcome is HookOutcome.RUNNING and run.token not in about.running


def _may_pass(run: HookRun) -> bool:
    """Return whether the next hook may start: not after a failed preparation."""
    if run.step is HookPoint.PREPARE:
        return run.outcome is HookOutcome.DONE
    return run.outcome is not HookOutcome.RUNNING


def _begin(
    life: EventState, begun: Sequence[HookRun], about: EventContext
) -> tuple[EventState, tuple[BeginHook, ...], tuple[AuditEntry, ...]]:
    names = {(run.step, run.hook) for run in begun}
    kept = tuple(run for run in life.runs if (run.step, run.hook) not in names)
    life = replace(life, runs=(*kept, *begun))
    orders = tuple(BeginHook(run=run, deadline=_deadline(life, about)) for run in begun)
    return life, orders, tuple(_began(life, order) for order in orders)


def _began(life: EventState, order: BeginHook) -> AuditEntry:
    run, left = order.run, None
    if order.deadline is not None:
        left = round((order.deadline - run.begun_at).total_seconds(), 3)
    details = {"step": run.step, "hook": run.hook, "times": run.times}
    return event_entry("hook-began", life, run.begun_at, **details, seconds_left=left)


def _deadline(life: EventState, about: EventContext) -> datetime:
    due = life.event.not_before
    if life.seen is not LastStatus.SCHEDULED or due is None:
        return about.now + _PATIENCE
    left = max((due - about.now).total_seconds(), 0.0)
    return due - timedelta(seconds=min(about.reserve, left * _SHARE))


def _approvals(life: EventState) -> Iterator[Order]:
    if not is_awaited(life) or life.approved_at is not None:
        return
    if not_approved(life) is not None:
        return
    course = life.course
    if (
        course is not None
        and course.together is SharedApproval.WHEN_READY
        and course.ready
    ):
        yield CheckReady(hook=course.ready)
    else:
        yield PostApproval()


def _unprepared(life: EventState, course: ResponsePlan) -> str | None:
    """Name the hook that has not succeeded; None if all have."""
    runs = {run.hook: run for run in life.runs if run.step is HookPoint.PREPARE}
    for hook in course.hooks.get(HookPoint.PREPARE, ()):
        run = runs.get(hook)
        if run is None:
            return f"{hook} has not run"
        if run.outcome is not HookOutcome.DONE:
            return f"{hook}: {run.reason or run.outcome}"
    return None


def _finish(
    life: EventState, about: EventContext, closed: tuple[AuditEntry, ...]
) -> EventStep:
    """Complete the state if the event is gone and nothing is left to do."""
    if life.seen is not LastStatus.GONE:
        return EventStep(life=life, notes=closed)
    if any(run.outcome is HookOutcome.RUNNING for run in life.runs):
        return EventStep(life=life, notes=closed)
    over = replace(life, over_at=about.now)
    entry = event_entry("over", over, about.now, outcome=_in_a_word(over))
    return EventStep(life=over, notes=(*closed, entry))


def _in_a_word(life: EventState) -> str:
    failed = sorted(
        {run.hook for run in life.runs if run.outcome is not HookOutcome.DONE}
    )
    course = "was called off" if life.started_at is None else "took place"
    hooks = f", {', '.join(failed)} without success" if failed else ""
    return f"it {course}{hooks}"
