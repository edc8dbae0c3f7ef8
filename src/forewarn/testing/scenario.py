"""Scenario model: the steps that a program under test goes through.

Durations of the service (notice, advance, outage) run on its clock. Those in which a
program must do something are seconds of real time.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from forewarn.core.announcing import Order
from forewarn.core.causes import Operation
from forewarn.core.fleet import Fleet
from forewarn.protocol.types import EventType
from forewarn.server.faults import Fault

# --- actions; `called` is the name for later steps, None if there is none ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Announce `order`."""

    order: Order
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operate:
    """Restart, redeploy, reimage, evict or delete `vm`."""

    operation: Operation
    vm: str
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """Announce planned maintenance of `host`."""

    host: str
    type: EventType = EventType.FREEZE
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrade:
    """Predict that `host` fails within `fails_by`; None for the service's default."""

    host: str
    fails_by: timedelta | None = None
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Report `host` as failed."""

    host: str
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """Report `host` as recovered."""

    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Cancel the maintenance operation named `event`."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """Report the work of `event` as done."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Approve `event` as another VM."""

    event: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Advance the clock."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceTo:
    """Advance the clock until `event` starts or is over."""

    event: str
    is_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Simulate an outage: `lasts` on the service's clock, `seconds` of real time."""

    lasts: timedelta
    seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFault:
    """Inject a fault into the metadata plane."""

    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearFaults:
    """Remove all faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait in real time."""

    seconds: float


# --- expectations ------------------------------------------------------------


class Demand(StrEnum):
    """What is expected of the program."""

    SEEN = "seen"  #: it receives a document with the event
    APPROVED = "approved"  #: the event is approved
    NOT_APPROVED = "not-approved"  #: it is not approved now, nor within `seconds`
    POLLED = "polled"  #: it polls `times` more times
    MARKED = "marked"  #: it makes the mark
    RUNNING = "running"  #: it has not ended
    ENDED = "ended"  #: it has ended, with `code` if that is set


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Wait until an expectation is met, for at most `seconds` of real time."""

    demand: Demand
    seconds: float
    event: str | None = None  # for seen, approved, not-approved
    by: str | None = None  # the VM that must approve; None for any
    after_mark: str | None = None  # must precede the approval; None for no such mark
    mark: str | None = None  # for marked
    times: int = 1  # for polled
    code: int | None = None  # for ended; None for any


Step: TypeAlias = (
    Announce
    | Operate
    | Maintain
    | Degrade
    | Fail
    | Recover
    | Cancel
    | Complete
    | Approve
    | Advance
    | AdvanceTo
    | Outage
    | SetFault
    | ClearFaults
    | Wait
    | Expect
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughout:
    """Permanent expectations, judged at the end."""

    keeps_running: bool = True
    polls_at_least_every: float | None = None  # seconds of real time; None for no limit
    never_approves: tuple[str, ...] = ()  # names of events
    approves_nothing: bool = False  # whatever its name
    approves_only_its_own: bool = False  # only events that list the program's VM


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A complete scenario."""

    name: str
    title: str
    description: str = ""
    fleet: Fleet
    vm: str  # the VM whose requests the program sends
    steps: tuple[Step, ...]
    throughout: Throughout = Throughout()
