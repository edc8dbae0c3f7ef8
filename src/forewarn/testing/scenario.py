"""A scenario: what happens to a program under test, step by step, and what it must do.

Durations of the service (notice, advance, outage) are its clock's; those in which a
program must do something are real time, in seconds.
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

# --- what happens; what is announced goes by the name `called`, if it has one -


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
    """Predict that `host` fails, `fails_by` from now on; None: nobody knows when."""

    host: str
    fails_by: timedelta | None = None
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Let `host` have failed."""

    host: str
    called: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """Let `host` be well again."""

    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Call off what is called `event`."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """Say that the work of what is called `event` is done."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Let another VM approve what is called `event`."""

    event: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Move the clock on."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceTo:
    """Move the clock on until what is called `event` starts, or is over."""

    event: str
    is_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Let the service be away: `lasts` by its clock, `seconds` of real time."""

    lasts: timedelta
    seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFault:
    """Let the metadata plane misbehave."""

    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearFaults:
    """Let the metadata plane behave again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let real time pass."""

    seconds: float


# --- what the program must do ------------------------------------------------


class Demand(StrEnum):
    """What is expected of the program."""

    SEEN = "seen"  #: it reads a document that shows the event
    APPROVED = "approved"  #: the event is approved
    NOT_APPROVED = "not-approved"  #: it is not, now and for `seconds` more
    POLLED = "polled"  #: it asks `times` more from now on
    MARKED = "marked"  #: it makes the mark
    RUNNING = "running"  #: it has not ended
    ENDED = "ended"  #: it has ended, with `code` if that is given


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Wait for a demand to be met, `seconds` of real time at the most."""

    demand: Demand
    seconds: float
    event: str | None = None  # of seen, approved, not-approved
    by: str | None = None  # who must have approved; None: anybody
    after_mark: str | None = None  # that must have been made before the approval
    mark: str | None = None  # of marked
    times: int = 1  # of polled
    code: int | None = None  # of ended; None: any


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
    """What is expected all the time, and judged at the end."""

    keeps_running: bool = True
    polls_at_least_every: float | None = None  # seconds of real time; None: whatever
    never_approves: tuple[str, ...] = ()  # what is called so
    approves_nothing: bool = False  # whatever it is called
    approves_only_its_own: bool = False  # events that list the VM it speaks for


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A whole scenario."""

    name: str
    title: str
    description: str = ""
    fleet: Fleet
    vm: str  # whom the program speaks for
    steps: tuple[Step, ...]
    throughout: Throughout = Throughout()
