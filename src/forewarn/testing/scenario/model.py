"""The scenario model: the steps that a program under test goes through.

Durations of the service (notice, advance, outage) are on its clock. Time limits for the
program are in seconds of real time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from forewarn.core.faults import Fault
from forewarn.core.fleet import Fleet
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.formats import count, exact_duration
from forewarn.protocol.types import EventType

# --- actions; `name` lets later steps refer to the announcement --------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnounceStep:
    """Announce `order`."""

    order: Order
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperateStep:
    """Restart, redeploy, reimage, evict or delete `vm`."""

    operation: VmOperation
    vm: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainStep:
    """Announce planned maintenance of `host`."""

    host: str
    type: EventType = EventType.FREEZE
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DegradeStep:
    """Predict that `host` will fail. If `fails_by` is None, the default applies."""

    host: str
    fails_by: timedelta | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailStep:
    """Report `host` as failed."""

    host: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverStep:
    """Report `host` as recovered."""

    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelStep:
    """Cancel the maintenance operation named `event`."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteStep:
    """Report the work of `event` as done."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveStep:
    """Approve `event` as another VM."""

    event: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceStep:
    """Advance the clock."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceToStep:
    """Advance the clock until `event` starts or ends."""

    event: str
    is_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageStep:
    """Simulate an outage.

    Its length is `duration` on the service's clock and `seconds` in real time.
    """

    duration: timedelta
    seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFaultStep:
    """Inject a fault into the metadata plane."""

    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearFaultsStep:
    """Remove all faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStep:
    """Wait for a period of real time."""

    seconds: float


# --- expectations ------------------------------------------------------------


class Expectation(StrEnum):
    """What can be expected of the program."""

    SEEN = "seen"  #: it receives a document with the event
    APPROVED = "approved"  #: the event is approved
    NOT_APPROVED = "not-approved"  #: it is not approved now or within `seconds`
    POLLED = "polled"  #: it sends `times` more polls
    MARKED = "marked"  #: it makes the mark
    RUNNING = "running"  #: it has not ended
    ENDED = "ended"  #: it has ended, with `code` if that is set


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectStep:
    """Wait for an expectation to be met, for at most `seconds` of real time."""

    expectation: Expectation
    seconds: float
    event: str | None = None  # for seen, approved, not-approved
    by: str | None = None  # the VM that must approve; None for any
    after_mark: str | None = None  # a mark that must precede the approval
    mark: str | None = None  # for marked
    times: int = 1  # for polled
    code: int | None = None  # for ended; None for any


Step: TypeAlias = (
    AnnounceStep
    | OperateStep
    | MaintainStep
    | DegradeStep
    | FailStep
    | RecoverStep
    | CancelStep
    | CompleteStep
    | ApproveStep
    | AdvanceStep
    | AdvanceToStep
    | OutageStep
    | SetFaultStep
    | ClearFaultsStep
    | WaitStep
    | ExpectStep
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughout:
    """Expectations for the whole scenario, checked at the end."""

    keeps_running: bool = True
    polls_at_least_every: float | None = None  # seconds of real time; None for no limit
    never_approves: tuple[str, ...] = ()  # names of events
    approves_nothing: bool = False
    approves_only_its_own: bool = False  # events that list the program's VM


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A complete scenario."""

    name: str
    title: str
    description: str = ""
    fleet: Fleet
    vm: str  # the VM in which the program runs
    steps: tuple[Step, ...]
    throughout: Throughout = Throughout()


# --- descriptions ------------------------------------------------------------


def describe_step(step: Step, vm: str) -> str:
    """Describe `step`, referring to the program as `vm`."""
    match step:
        case AnnounceStep():
            return f"announce {_order(step.order)}{_in_brackets(step.name)}"
        case OperateStep():
            return f"{step.operation} {step.vm}{_in_brackets(step.name)}"
        case MaintainStep():
            return f"maintain {step.host}: {step.type}{_in_brackets(step.name)}"
        case DegradeStep():
            by = (
                ""
                if step.fails_by is None
                else f", predicted to fail in {exact_duration(step.fails_by)}"
            )
            return f"{step.host} is degraded{by}{_in_brackets(step.name)}"
        case FailStep():
            return f"{step.host} fails{_in_brackets(step.name)}"
        case ExpectStep():
            return _EXPECTATIONS[step.expectation](step, vm) + _within(step)
        case _:
            return _describe_other(step)


def _describe_other(step: Step) -> str:
    match step:
        case RecoverStep():
            return f"{step.host} recovers"
        case CancelStep():
            return f"cancel {step.event}"
        case CompleteStep():
            return f"complete {step.event}"
        case ApproveStep():
            return f"{step.by} approves {step.event}"
        case AdvanceStep():
            return f"advance the clock by {exact_duration(step.by)}"
        case AdvanceToStep():
            moment = "end" if step.is_end else "start"
            return f"advance the clock to the {moment} of {step.event}"
        case _:
            return _describe_disturbance(step)


def _describe_disturbance(step: Step) -> str:
    match step:
        case OutageStep():
            return f"service outage of {exact_duration(step.duration)}"
        case SetFaultStep():
            return f"inject fault {_fault(step)}"
        case ClearFaultsStep():
            return "clear all faults"
        case WaitStep():
            return f"wait {_seconds(step.seconds)}"
        case _:
            raise TypeError(f"{type(step).__name__} is not a step")


def _order(order: Order) -> str:
    target = order.host or order.group or ", ".join(order.vms)
    notice = "" if order.notice is None else f" in {exact_duration(order.notice)}"
    return f"{order.type} of {target}{notice}"


def _in_brackets(name: str | None) -> str:
    return "" if name is None else f" ({name})"


def _fault(step: SetFaultStep) -> str:
    fault = step.fault
    parts = [
        "" if fault.count is None else count(fault.count, "request"),
        "" if fault.probability == 1 else f"probability {fault.probability:g}",
        "" if fault.duration is None else f"for {_seconds(fault.duration)}",
        ", ".join(fault.vms),
    ]
    limits = ", ".join(part for part in parts if part)
    return f"{fault.kind} ({limits})" if limits else str(fault.kind)


_EXPECTATIONS: Mapping[Expectation, Callable[[ExpectStep, str], str]] = {
    Expectation.SEEN: lambda step, vm: f"{vm} sees {step.event}",
    Expectation.APPROVED: lambda step, vm: (
        f"{step.event} is approved"
        + ("" if step.by is None else f" by {step.by}")
        + ("" if step.after_mark is None else f" after mark {step.after_mark!r}")
    ),
    Expectation.NOT_APPROVED: lambda step, vm: f"{step.event} is not approved",
    Expectation.POLLED: lambda step, vm: (
        f"{vm} polls again" + ("" if step.times == 1 else f" {step.times} times")
    ),
    Expectation.MARKED: lambda step, vm: f"the program makes mark {step.mark!r}",
    Expectation.RUNNING: lambda step, vm: "the program is running",
    Expectation.ENDED: lambda step, vm: (
        "the program exits" + ("" if step.code is None else f" with code {step.code}")
    ),
}

_INSTANT = (Expectation.RUNNING,)


def _within(step: ExpectStep) -> str:
    if step.expectation in _INSTANT or not step.seconds:
        return ""
    word = "for" if step.expectation is Expectation.NOT_APPROVED else "within"
    return f" {word} {_seconds(step.seconds)}"


def _seconds(seconds: float) -> str:
    return exact_duration(timedelta(seconds=seconds))
