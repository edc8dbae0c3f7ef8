"""Clock control of a rehearsal: advance to a start or end, or across an outage."""

from datetime import datetime, timedelta

from forewarn.clocks import ManualClock
from forewarn.compose import System
from forewarn.core.maintenance import Phase
from forewarn.engine.timers import LONGEST_ADVANCE
from forewarn.errors import Conflict, InvalidInput
from forewarn.testing.events import Event

_MOST_STEPS = 10_000  # clock steps, after which something must have started


def move_to_start(system: System, event: Event) -> datetime:
    """Advance the clock until the maintenance operation of `event` starts."""
    if event.phase is Phase.SCHEDULED:
        system.advance.to(max(system.engine.clock.now(), event.not_before))
    return _move_while(system, event, Phase.SCHEDULED)


def move_to_end(system: System, event: Event) -> datetime:
    """Advance the clock until the maintenance operation of `event` is over."""
    move_to_start(system, event)
    system.advance.to(system.engine.clock.now())  # runs the driver if it just started
    return _move_while(system, event, Phase.STARTED)


def _move_while(system: System, event: Event, phase: Phase) -> datetime:
    clock = system.engine.clock
    for _ in range(_MOST_STEPS):
        if event.maintenance.phase is not phase:
            break
        moment = system.engine.next_moment()
        if moment is None:
            raise Conflict(f"time alone does not move {event.id} on: {event.explain()}")
        system.advance.to(max(moment, clock.now()))
    return clock.now()


def be_away(system: System, lasts: timedelta) -> datetime:
    """Simulate an outage of the service that lasted so long on its clock."""
    if lasts > LONGEST_ADVANCE:
        raise InvalidInput(f"an outage lasts {LONGEST_ADVANCE.days} days at most")
    clock = system.engine.clock
    if not isinstance(clock, ManualClock):
        raise TypeError("a rehearsal has a manual clock")
    system.engine.beat()
    clock.leap_to(clock.now() + lasts)
    system.engine.beat()
    system.advance.to(clock.now())
    return clock.now()
