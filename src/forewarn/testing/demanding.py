"""Expectations: wait until the program does what a step expects."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from forewarn.testing import judging
from forewarn.testing.approvals import too_early
from forewarn.testing.scenario import Demand, Expect
from forewarn.testing.stage import Stage

#: Waits until a condition holds, for at most so many seconds of real time.
Wait: TypeAlias = Callable[[Callable[[], bool], float], bool]


def demand(stage: Stage, step: Expect, wait: Wait) -> str | None:
    """Wait for what `step` expects; return why it failed, or None if it is met."""
    return _DEMANDS[step.demand](stage, step, wait)


def _until(stage: Stage, is_so: Callable[[], bool]) -> Callable[[], bool]:
    """Stop waiting when the program has ended: nothing more will come."""
    return lambda: is_so() or not stage.program.is_running


def _seen(stage: Stage, step: Expect, wait: Wait) -> str | None:
    event = stage.event(step.event or "")
    since = stage.acted

    def is_so() -> bool:
        return stage.vm in event.seen_by

    wait(_until(stage, is_so), step.seconds)
    return None if is_so() else judging.unseen(stage.conduct(), since)


def _approved(stage: Stage, step: Expect, wait: Wait) -> str | None:
    event = stage.event(step.event or "")
    since = stage.acted
    wait(_until(stage, lambda: event.is_approved), step.seconds)
    if not event.is_approved:
        is_seen = stage.vm in event.seen_by
        return judging.unapproved(
            stage.conduct(), step.event or "", is_seen=is_seen, since=since
        )
    by = event.approved_by
    if step.by is not None and (by or "").lower() != step.by.lower():
        return f"{step.event} was approved by {by or 'nobody'}, not by {step.by}"
    if step.after_mark is None:
        return None
    return too_early(
        step.event or "",
        stage.watching.marks,
        step.after_mark,
        event.announced_at(),
        event.approved_at(),
    )


def _not_approved(stage: Stage, step: Expect, wait: Wait) -> str | None:
    event = stage.event(step.event or "")
    if wait(lambda: event.is_approved, step.seconds):
        return f"{step.event} was approved by {event.approved_by or 'a rule'}"
    return None


def _polled(stage: Stage, step: Expect, wait: Wait) -> str | None:
    since = stage.acted

    def is_so() -> bool:
        came = sum(at > since for at in stage.watching.came_at(stage.vm))
        return came >= step.times and stage.is_shown_the_present()

    wait(_until(stage, is_so), step.seconds)
    return None if is_so() else judging.unseen(stage.conduct(), since)


def _marked(stage: Stage, step: Expect, wait: Wait) -> str | None:
    def is_so() -> bool:
        return any(mark.name == step.mark for mark in stage.watching.marks)

    wait(_until(stage, is_so), step.seconds)
    if is_so():
        return None
    names = ", ".join(repr(mark.name) for mark in stage.watching.marks)
    return (
        f"the program has marked {names}" if names else "the program has made no mark"
    )


def _running(stage: Stage, step: Expect, wait: Wait) -> str | None:
    del step, wait
    if stage.program.is_running:
        return None
    return f"the program {judging.ending(stage.program.code)}"


def _ended(stage: Stage, step: Expect, wait: Wait) -> str | None:
    if not wait(lambda: not stage.program.is_running, step.seconds):
        return "the program is still running"
    if step.code is None or stage.program.code == step.code:
        return None
    return f"the program {judging.ending(stage.program.code)}, not with {step.code}"


_DEMANDS: Mapping[Demand, Callable[[Stage, Expect, Wait], str | None]] = {
    Demand.SEEN: _seen,
    Demand.APPROVED: _approved,
    Demand.NOT_APPROVED: _not_approved,
    Demand.POLLED: _polled,
    Demand.MARKED: _marked,
    Demand.RUNNING: _running,
    Demand.ENDED: _ended,
}
