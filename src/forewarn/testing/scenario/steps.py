"""The execution of scenario steps, which are actions and expectations."""

import time
from collections.abc import Callable, Mapping, Sequence

from forewarn.core.faults import FaultKind
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.operations import order_for
from forewarn.engine.operations import HostResult
from forewarn.protocol.types import EventType
from forewarn.testing.rehearsal.event import BY
from forewarn.testing.rehearsal.program import describe_exit
from forewarn.testing.rehearsal.rehearsal import events_of
from forewarn.testing.scenario import conduct
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario.model import Expectation, ExpectStep
from forewarn.testing.scenario.stage import ScenarioStage

# --- actions -----------------------------------------------------------------


def carry_out(stage: ScenarioStage, step: s.Step) -> None:
    """Carry out `step`."""
    stage.settle()
    stage.last_action_at = time.monotonic()
    rehearsal = stage.rehearsal
    match step:
        case (
            s.AnnounceStep()
            | s.OperateStep()
            | s.MaintainStep()
            | s.DegradeStep()
            | s.FailStep()
        ):
            maintenances = _announce(stage, step)
            stage.name_events(step.name, events_of(rehearsal, maintenances))
        case s.RecoverStep():
            order = Order(type=EventType.REBOOT, host=step.host)
            rehearsal.service.operations.recover(order, by=BY)
        case s.CancelStep():
            stage.event(step.event).cancel()
        case s.CompleteStep():
            stage.event(step.event).complete()
        case s.ApproveStep():
            stage.approve(step.event, step.by)
        case s.AdvanceStep() | s.AdvanceToStep():
            _advance(stage, step)
        case _:
            _disturb(stage, step)


def _announce(
    stage: ScenarioStage,
    step: s.AnnounceStep | s.OperateStep | s.MaintainStep | s.DegradeStep | s.FailStep,
) -> Sequence[Maintenance]:
    service = stage.rehearsal.service
    outcome: HostResult
    match step:
        case s.AnnounceStep():
            return service.engine.announce(step.order, by=BY)
        case s.OperateStep():
            order = order_for(step.operation, step.vm)
            return service.operations.operate(step.operation, order, by=BY)
        case s.MaintainStep():
            order = Order(type=step.type, host=step.host)
            outcome = service.operations.maintain(order, by=BY)
        case s.DegradeStep():
            order = Order(type=EventType.REDEPLOY, host=step.host)
            fails_by = None
            if step.fails_by is not None:
                fails_by = stage.rehearsal.now + step.fails_by
            outcome = service.operations.degrade(order, fails_by=fails_by, by=BY)
        case s.FailStep():
            order = Order(type=EventType.REBOOT, host=step.host)
            outcome = service.operations.fail(order, by=BY)
    return outcome.announced


def _advance(stage: ScenarioStage, step: s.AdvanceStep | s.AdvanceToStep) -> None:
    rehearsal = stage.rehearsal
    if isinstance(step, s.AdvanceStep):
        rehearsal.advance(step.by)
    elif step.is_end:
        rehearsal.advance_to_end(stage.event(step.event))
    else:
        rehearsal.advance_to_start(stage.event(step.event))


def _disturb(stage: ScenarioStage, step: s.Step) -> None:
    rehearsal = stage.rehearsal
    match step:
        case s.OutageStep():
            began = time.monotonic()
            refused = rehearsal.fault(FaultKind.REFUSED)
            stage.wait_for_program(lambda: False, step.seconds)
            rehearsal.outage(step.duration)
            rehearsal.clear_faults(refused)
            stage.outages.append((began, time.monotonic()))
        case s.SetFaultStep():
            rehearsal.service.plane.add_fault(step.fault, by=BY)
        case s.ClearFaultsStep():
            rehearsal.clear_faults()
        case s.WaitStep():
            stage.wait_for_program(lambda: False, step.seconds)
        case _:
            raise TypeError(f"{type(step).__name__} is not an action")


# --- expectations ------------------------------------------------------------


def await_expectation(stage: ScenarioStage, step: ExpectStep) -> str | None:
    """Wait until the expectation of `step` is met; return the reason on failure."""
    return _EXPECTATIONS[step.expectation](stage, step)


def _seen(stage: ScenarioStage, step: ExpectStep) -> str | None:
    event, since = stage.event(step.event or ""), stage.last_action_at
    if stage.wait_for_program(lambda: stage.vm in event.seen_by, step.seconds):
        return None
    return conduct.why_unseen(stage.conduct(), since)


def _approved(stage: ScenarioStage, step: ExpectStep) -> str | None:
    event, since = stage.event(step.event or ""), stage.last_action_at
    if not stage.wait_for_program(lambda: event.is_approved, step.seconds):
        is_seen = stage.vm in event.seen_by
        return conduct.why_unapproved(
            stage.conduct(), step.event or "", is_seen=is_seen, since=since
        )
    by = event.approved_by
    if step.by is not None and (by or "").lower() != step.by.lower():
        return f"{step.event} was approved by {by or 'an unknown VM'}, not by {step.by}"
    if step.after_mark is None:
        return None
    return event.too_early(step.after_mark, step.event or "")


def _not_approved(stage: ScenarioStage, step: ExpectStep) -> str | None:
    event = stage.event(step.event or "")
    if stage.wait(lambda: event.is_approved, step.seconds):
        return (
            f"{step.event} was approved by {event.approved_by or 'the group settings'}"
        )
    return None


def _polled(stage: ScenarioStage, step: ExpectStep) -> str | None:
    since = stage.last_action_at

    def has_polled() -> bool:
        came = sum(at > since for at in stage.observer.arrivals_of(stage.vm))
        return came >= step.times and stage.has_current_document()

    if stage.wait_for_program(has_polled, step.seconds):
        return None
    return conduct.why_unseen(stage.conduct(), since)


def _marked(stage: ScenarioStage, step: ExpectStep) -> str | None:
    def is_marked() -> bool:
        return any(mark.name == step.mark for mark in stage.observer.marks)

    if stage.wait_for_program(is_marked, step.seconds):
        return None
    names = ", ".join(repr(mark.name) for mark in stage.observer.marks)
    return f"the program made only {names}" if names else "the program made no marks"


def _running(stage: ScenarioStage, step: ExpectStep) -> str | None:
    del step
    if stage.program.is_running:
        return None
    return f"the program {describe_exit(stage.program.code)}"


def _ended(stage: ScenarioStage, step: ExpectStep) -> str | None:
    if not stage.wait(lambda: not stage.program.is_running, step.seconds):
        return "the program is still running"
    if step.code is None or stage.program.code == step.code:
        return None
    return (
        f"the program {describe_exit(stage.program.code)}; expected exit code"
        f" {step.code}"
    )


_EXPECTATIONS: Mapping[
    Expectation, Callable[[ScenarioStage, ExpectStep], str | None]
] = {
    Expectation.SEEN: _seen,
    Expectation.APPROVED: _approved,
    Expectation.NOT_APPROVED: _not_approved,
    Expectation.POLLED: _polled,
    Expectation.MARKED: _marked,
    Expectation.RUNNING: _running,
    Expectation.ENDED: _ended,
}
