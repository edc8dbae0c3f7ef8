"""The course of one event in the agent: what is to be done next.

Rules of this file:

1. Nothing here reads a clock, runs anything or writes anything. A life comes in; the
   life to be saved comes out, with the orders to be carried out when it is.
2. What is to be done follows from the life alone, and from which hooks this process
   has running: so an agent that died goes on where it was.
3. A hook that has ended is never begun again. One that has not, and is not running
   here, was running when the agent died: it is begun again.
4. Nothing is approved before every hook of `prepare` has succeeded, unless the rule
   says `at-once`.
5. One step at a time: the hooks of a step that is over are cut, and the next step
   begins when they have ended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.agent.lives import Course, Life, Outcome, Run, Seen
from forewarn.agent.notes import Note, ended, note
from forewarn.agent.plan import Approve, Step, Together

_SHARE = 0.2  # of the time left that is kept in reserve at most
#: What ends the hooks of the step before.
NEWS: Mapping[Seen, str] = {
    Seen.SCHEDULED: "the event was announced anew",
    Seen.STARTED: "the event has started",
    Seen.GONE: "the event is gone",
}
_NEAR = timedelta(minutes=20)  # somebody else may approve it, so it may begin before
_PATIENCE = timedelta(hours=1)  # for a hook that nothing else ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Run a hook."""

    run: Run
    deadline: datetime | None  # None: only its own timeout ends it


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """End a hook that is running."""

    token: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReady:
    """Find out whether all VMs of the event are ready."""

    hook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Approve the event."""


Order = Begin | Cut | AskReady | Post


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What matters besides the life itself."""

    now: datetime  # the service's time
    running: frozenset[str] = frozenset()  # the tokens of what runs for this event
    token: Callable[[], str]  # makes a name for a run
    reserve: float = 5.0  # seconds before NotBefore that no hook gets
    is_dry: bool = False  # nothing is run, nothing is approved


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The life as it is to be saved, and what is to be done then."""

    life: Life
    orders: tuple[Order, ...] = ()
    notes: tuple[Note, ...] = ()


def advance(life: Life, about: Circumstances) -> Advance:
    """Say what is to be done next about one event."""
    course = life.course
    if life.over_at is not None:
        return Advance(life=life)
    if course is None or about.is_dry:
        return _finish(life, about, ())
    life, closed = _close(life, about)
    if cuts := tuple(_cuts(life, about)):
        return Advance(life=life, orders=cuts, notes=closed)
    begun = tuple(_begun(life, course, about))
    life, begins, said = _begin(life, begun, about)
    if begins or life.seen is Seen.SCHEDULED:
        orders = (*begins, *_approvals(life))
        return Advance(life=life, orders=orders, notes=(*closed, *said))
    return _finish(life, about, closed)


def end(life: Life, run: Run, now: datetime) -> Advance:
    """Take in that a hook has ended; `run` tells how."""
    runs = tuple(run if each.token == run.token else each for each in life.runs)
    changed = replace(life, runs=runs)
    return Advance(life=changed, notes=(ended(changed, run, now),))


def post(life: Life, now: datetime) -> Advance:
    """Take in that an approval is about to be sent, for the first time or again."""
    if life.posted_at is not None:
        return Advance(life=life)
    posted = replace(life, posted_at=now)
    return Advance(life=posted, notes=(note("approval-sent", posted, now),))


def approve(life: Life, answer: str, now: datetime) -> Advance:
    """Take in that the service has taken the approval."""
    if life.approved_at is not None:
        return Advance(life=life)
    approved = replace(life, approved_at=now)
    said = note(
        "approved",
        approved,
        now,
        answer=answer,
        notice_seconds_given=life.notice,
        notice_seconds_used=round((now - life.first_at).total_seconds(), 3),
    )
    return Advance(life=approved, notes=(said,))


def question(life: Life, hook: str, about: Circumstances) -> Begin:
    """Ask by a hook whether all are ready; of this, nothing is kept."""
    run = Run(step=Step.PREPARE, hook=hook, token=about.token(), begun_at=about.now)
    return Begin(run=run, deadline=_deadline(life, about))


def is_awaited(life: Life) -> bool:
    """Say whether the event has yet to begin: until then it can be approved."""
    return life.seen is Seen.SCHEDULED


def is_near(life: Life, now: datetime) -> bool:
    """Say whether the event may touch this VM soon, or does so now."""
    if life.seen is not Seen.SCHEDULED or life.posted_at is not None:
        return life.seen is not Seen.GONE
    due = life.event.not_before
    return due is not None and due - now < _NEAR


def not_approved(life: Life) -> str | None:
    """Say why an event that is Scheduled is not approved; None if it is to be."""
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


# --- what is to be done ---------------------------------------------------------------


def _step(life: Life) -> Step:
    """The step that the event is in."""
    if life.seen is Seen.SCHEDULED:
        return Step.PREPARE
    if life.seen is Seen.GONE:
        return Step.UNDO if life.started_at is None else Step.RECOVER
    return Step.WITHOUT_NOTICE if life.is_sudden else Step.STARTED


def _close(life: Life, about: Circumstances) -> tuple[Life, tuple[Note, ...]]:
    """Close what was running when the agent died, in a step that is over."""
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
    """What runs and is not of this step, or of a life that this one follows."""
    wanted = {run.token for run in life.runs if run.step is _step(life)}
    for token in sorted(about.running - wanted):
        yield Cut(token=token, reason=NEWS[life.seen])


def _begun(life: Life, course: Course, about: Circumstances) -> Iterator[Run]:
    """The hooks of this step that are to begin now."""
    step = _step(life)
    known = {run.hook: run for run in life.runs if run.step is step}
    for hook in course.hooks.get(step, ()):
        run = known.get(hook)
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
    """Whether it was running when the agent died."""
    return run.outcome is Outcome.RUNNING and run.token not in about.running


def _may_pass(run: Run) -> bool:
    """Whether the next hook may begin: after a failed preparation it may not."""
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
    said = {"step": run.step, "hook": run.hook, "times": run.times}
    return note("hook-began", life, run.begun_at, **said, seconds_left=left)


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
    """Say which hook has not succeeded; None if all have."""
    known = {run.hook: run for run in life.runs if run.step is Step.PREPARE}
    for hook in course.hooks.get(Step.PREPARE, ()):
        run = known.get(hook)
        if run is None:
            return f"{hook} has not run"
        if run.outcome is not Outcome.DONE:
            return f"{hook}: {run.reason or run.outcome}"
    return None


def _finish(life: Life, about: Circumstances, closed: tuple[Note, ...]) -> Advance:
    """Close the life if the event is gone and nothing is left to be done."""
    if life.seen is not Seen.GONE:
        return Advance(life=life, notes=closed)
    if any(run.outcome is Outcome.RUNNING for run in life.runs):
        return Advance(life=life, notes=closed)
    over = replace(life, over_at=about.now)
    said = note("over", over, about.now, outcome=_in_a_word(over))
    return Advance(life=over, notes=(*closed, said))


def _in_a_word(life: Life) -> str:
    failed = sorted({run.hook for run in life.runs if run.outcome is not Outcome.DONE})
    course = "was called off" if life.started_at is None else "took place"
    hooks = f", {', '.join(failed)} without success" if failed else ""
    return f"it {course}{hooks}"
