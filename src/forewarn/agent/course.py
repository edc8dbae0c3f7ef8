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

from forewarn.agent.lives import Course, Life, Outcome, Run, Seen
from forewarn.agent.notes import Note, ended, note
from forewarn.agent.plan import Approve, Step, Together

_SHARE = 0.2  # maximum share of the remaining time that is kept in reserve
#: Why the hooks of the previous step are cut.
NEWS: Mapping[Seen, str] = {
    Seen.SCHEDULED: "the event was announced anew",
    Seen.STARTED: "the event has started",
    Seen.GONE: "the event is gone",
}
_NEAR = timedelta(minutes=20)  # it may start early: another VM can approve it
_PATIENCE = timedelta(hours=1)  # for a hook without any other limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Run a hook."""

    run: Run
    deadline: datetime | None  # None if only its own timeout limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """End a running hook."""

    token: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReady:
    """Run the hook that checks whether all VMs of the event are ready."""

    hook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Approve the event."""


Order = Begin | Cut | AskReady | Post


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Context of a decision, besides the event's own state."""

    now: datetime  # the service's time
    running: frozenset[str] = frozenset()  # tokens of this event's running hooks
    token: Callable[[], str]  # creates a unique name for a run
    reserve: float = 5.0  # seconds before NotBefore in which no hook may run
    is_dry: bool = False  # dry run: run and approve nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The state to save, and the orders to carry out after that."""

    life: Life
    orders: tuple[Order, ...] = ()
    notes: tuple[Note, ...] = ()


def advance(life: Life, about: Circumstances) -> Advance:
    """Decide what to do next about one event."""
    course = life.course
    if life.over_at is not None:
        return Advance(life=life)
    if course is None or about.is_dry:
        return _finish(life, about, ())
    life, closed = _close(life, about)
    if cuts := tuple(_cuts(life, about)):
        return Advance(life=life, orders=cuts, notes=closed)
    begun = tuple(_begun(life, course, about))
    life, begins, notes = _begin(life, begun, about)
    if begins or life.seen is Seen.SCHEDULED:
        orders = (*begins, *_approvals(life))
        return Advance(life=life, orders=orders, notes=(*closed, *notes))
    return _finish(life, about, closed)


def end(life: Life, run: Run, now: datetime) -> Advance:
    """Store the result of a hook that has ended."""
    runs = tuple(
        run if earlier.token == run.token else earlier for earlier in life.runs
    )
    changed = replace(life, runs=runs)
    return Advance(life=changed, notes=(ended(changed, run, now),))


def post(life: Life, now: datetime) -> Advance:
    """Record that an approval is about to be sent; repeating it changes nothing."""
    if life.posted_at is not None:
        return Advance(life=life)
    posted = replace(life, posted_at=now)
    return Advance(life=posted, notes=(note("approval-sent", posted, now),))


def approve(life: Life, answer: str, now: datetime) -> Advance:
    """Record that the service accepted the approval; repeating it changes nothing."""
    if life.approved_at is not None:
        return Advance(life=life)
    approved = replace(life, approved_at=now)
    entry = note(
        "approved",
        approved,
        now,
        answer=answer,
        notice_seconds_given=life.notice,
        notice_seconds_used=round((now - life.first_at).total_seconds(), 3),
    )
    return Advance(life=approved, notes=(entry,))


def question(life: Life, hook: str, about: Circumstances) -> Begin:
    """Return the order for the readiness hook; its result is not saved."""
    run = Run(step=Step.PREPARE, hook=hook, token=about.token(), begun_at=about.now)
    return Begin(run=run, deadline=_deadline(life, about))


def is_awaited(life: Life) -> bool:
    """Return whether the event has not started yet, so that it can be approved."""
    return life.seen is Seen.SCHEDULED


def is_near(life: Life, now: datetime) -> bool:
    """Return whether the event affects this VM now or may do so soon."""
    if life.seen is not Seen.SCHEDULED or life.posted_at is not None:
        return life.seen is not Seen.GONE
    due = life.event.not_before
    return due is not None and due - now < _NEAR


def not_approved(life: Life) -> str | None:
    """Explain why a Scheduled event is not approved; None if it should be."""
    course = life.course
    if course is None:
        return "no rule matches"
    if course.approve is Approve.NEVER:
        return f'rule "{course.rule}" says never'
    if course.approve is Approve.AFTER_HOOKS and (why := _unprepared(life, course)):
        return why
    if course.together is Together.LEADER and not life.is_leader:
        first = life.event.resources[0] if life.event.resources else "nobody"
        return f"{first} is named first and is the one to approve"
    return None


# --- decisions ------------------------------------------------------------------------


def _step(life: Life) -> Step:
    if life.seen is Seen.SCHEDULED:
        return Step.PREPARE
    if life.seen is Seen.GONE:
        return Step.UNDO if life.started_at is None else Step.RECOVER
    return Step.WITHOUT_NOTICE if life.is_sudden else Step.STARTED


def _close(life: Life, about: Circumstances) -> tuple[Life, tuple[Note, ...]]:
    """Mark hooks of earlier steps as cut if they were running when the agent died."""
    reason = "the agent was not running, and the event went on without it"
    closed = {
        run: replace(run, outcome=Outcome.CUT, ended_at=about.now, reason=reason)
        for run in life.runs
        if _is_lost(run, about) and run.step is not _step(life)
    }
    if not closed:
        return life, ()
    life = replace(life, runs=tuple(closed.get(run, run) for run in life.runs))
    return life, tuple(ended(life, run, about.now) for run in closed.values())


def _cuts(life: Life, about: Circumstances) -> Iterator[Cut]:
    """Yield cuts for running hooks of another step, or of an earlier event state."""
    current = {run.token for run in life.runs if run.step is _step(life)}
    for token in sorted(about.running - current):
        yield Cut(token=token, reason=NEWS[life.seen])


def _begun(life: Life, course: Course, about: Circumstances) -> Iterator[Run]:
    """Yield the hooks of this step that start now."""
    step = _step(life)
    runs = {run.hook: run for run in life.runs if run.step is step}
    for hook in course.hooks.get(step, ()):
        run = runs.get(hook)
        if run is None or _is_lost(run, about):
            yield Run(
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


def _is_lost(run: Run, about: Circumstances) -> bool:
    """Return whether it was running when the agent died."""
    return run.outcome is Outcome.RUNNING and run.token not in about.running


def _may_pass(run: Run) -> bool:
    """Return whether the next hook may start: not after a failed preparation."""
    if run.step is Step.PREPARE:
        return run.outcome is Outcome.DONE
    return run.outcome is not Outcome.RUNNING


def _begin(
    life: Life, begun: Sequence[Run], about: Circumstances
) -> tuple[Life, tuple[Begin, ...], tuple[Note, ...]]:
    names = {(run.step, run.hook) for run in begun}
    kept = tuple(run for run in life.runs if (run.step, run.hook) not in names)
    life = replace(life, runs=(*kept, *begun))
    orders = tuple(Begin(run=run, deadline=_deadline(life, about)) for run in begun)
    return life, orders, tuple(_began(life, order) for order in orders)


def _began(life: Life, order: Begin) -> Note:
    run, left = order.run, None
    if order.deadline is not None:
        left = round((order.deadline - run.begun_at).total_seconds(), 3)
    details = {"step": run.step, "hook": run.hook, "times": run.times}
    return note("hook-began", life, run.begun_at, **details, seconds_left=left)


def _deadline(life: Life, about: Circumstances) -> datetime:
    due = life.event.not_before
    if life.seen is not Seen.SCHEDULED or due is None:
        return about.now + _PATIENCE
    left = max((due - about.now).total_seconds(), 0.0)
    return due - timedelta(seconds=min(about.reserve, left * _SHARE))


def _approvals(life: Life) -> Iterator[Order]:
    if not is_awaited(life) or life.approved_at is not None:
        return
    if not_approved(life) is not None:
        return
    course = life.course
    if course is not None and course.together is Together.WHEN_READY and course.ready:
        yield AskReady(hook=course.ready)
    else:
        yield Post()


def _unprepared(life: Life, course: Course) -> str | None:
    """Name the hook that has not succeeded; None if all have."""
    runs = {run.hook: run for run in life.runs if run.step is Step.PREPARE}
    for hook in course.hooks.get(Step.PREPARE, ()):
        run = runs.get(hook)
        if run is None:
            return f"{hook} has not run"
        if run.outcome is not Outcome.DONE:
            return f"{hook}: {run.reason or run.outcome}"
    return None


def _finish(life: Life, about: Circumstances, closed: tuple[Note, ...]) -> Advance:
    """Complete the state if the event is gone and nothing is left to do."""
    if life.seen is not Seen.GONE:
        return Advance(life=life, notes=closed)
    if any(run.outcome is Outcome.RUNNING for run in life.runs):
        return Advance(life=life, notes=closed)
    over = replace(life, over_at=about.now)
    entry = note("over", over, about.now, outcome=_in_a_word(over))
    return Advance(life=over, notes=(*closed, entry))


def _in_a_word(life: Life) -> str:
    failed = sorted({run.hook for run in life.runs if run.outcome is not Outcome.DONE})
    course = "was called off" if life.started_at is None else "took place"
    hooks = f", {', '.join(failed)} without success" if failed else ""
    return f"it {course}{hooks}"
