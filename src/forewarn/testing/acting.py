"""Actions of a scenario: every step except expectations."""

import time
from collections.abc import Callable, Sequence

from forewarn.core.announcing import Order
from forewarn.core.causes import order_for
from forewarn.core.maintenance import Maintenance
from forewarn.engine.causes import Outcome
from forewarn.protocol.types import EventType
from forewarn.server.faults import Fault, FaultKind
from forewarn.testing import scenario as s
from forewarn.testing.announced import events_of
from forewarn.testing.events import BY
from forewarn.testing.stage import Stage


def act(stage: Stage, step: s.Step, pause: Callable[[float], None]) -> None:
    """Carry out `step`; `pause` waits a number of real seconds."""
    stage.settle()
    stage.acted = time.monotonic()
    rehearsal = stage.rehearsal
    match step:
        case s.Announce() | s.Operate() | s.Maintain() | s.Degrade() | s.Fail():
            maintenances = _announce(stage, step)
            events = events_of(rehearsal.system, rehearsal.watching, maintenances)
            stage.call(step.called, events)
        case s.Recover():
            order = Order(type=EventType.REBOOT, host=step.host)
            rehearsal.system.causes.recover(order, by=BY)
        case s.Cancel():
            stage.event(step.event).cancel()
        case s.Complete():
            stage.event(step.event).complete()
        case s.Approve():
            stage.approve(step.event, step.by)
        case s.Advance() | s.AdvanceTo():
            _advance(stage, step)
        case _:
            _disturb(stage, step, pause)


def _announce(
    stage: Stage, step: s.Announce | s.Operate | s.Maintain | s.Degrade | s.Fail
) -> Sequence[Maintenance]:
    system = stage.rehearsal.system
    outcome: Outcome
    match step:
        case s.Announce():
            return system.engine.announce(step.order, by=BY)
        case s.Operate():
            order = order_for(step.operation, step.vm)
            return system.causes.operate(step.operation, order, by=BY)
        case s.Maintain():
            order = Order(type=step.type, host=step.host)
            outcome = system.causes.maintain(order, by=BY)
        case s.Degrade():
            order = Order(type=EventType.REDEPLOY, host=step.host)
            fails_by = None
            if step.fails_by is not None:
                fails_by = stage.rehearsal.now + step.fails_by
            outcome = system.causes.degrade(order, fails_by=fails_by, by=BY)
        case s.Fail():
            order = Order(type=EventType.REBOOT, host=step.host)
            outcome = system.causes.fail(order, by=BY)
    return outcome.made


def _advance(stage: Stage, step: s.Advance | s.AdvanceTo) -> None:
    rehearsal = stage.rehearsal
    if isinstance(step, s.Advance):
        rehearsal.advance(step.by)
    elif step.is_end:
        rehearsal.advance_to_end(stage.event(step.event))
    else:
        rehearsal.advance_to_start(stage.event(step.event))


def _disturb(stage: Stage, step: s.Step, pause: Callable[[float], None]) -> None:
    rehearsal = stage.rehearsal
    match step:
        case s.Outage():
            began = time.monotonic()
            refused = rehearsal.set_fault(Fault(kind=FaultKind.REFUSED))
            pause(step.seconds)
            rehearsal.outage(step.lasts)
            rehearsal.clear_faults(refused)
            stage.away.append((began, time.monotonic()))
        case s.SetFault():
            rehearsal.set_fault(step.fault)
        case s.ClearFaults():
            rehearsal.clear_faults()
        case s.Wait():
            pause(step.seconds)
        case _:
            raise TypeError(f"{type(step).__name__} cannot be carried out")
