"""Descriptions of scenario steps, one line each."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from forewarn.core.announcing import Order
from forewarn.core.durations import written
from forewarn.testing import scenario as s


def tell(step: s.Step, vm: str) -> str:
    """Describe `step`; an expectation is about the program of `vm`."""
    match step:
        case s.Announce():
            return f"announce {_order(step.order)}{_called(step.called)}"
        case s.Operate():
            return f"{step.operation} {step.vm}{_called(step.called)}"
        case s.Maintain():
            return f"maintain {step.host}: {step.type}{_called(step.called)}"
        case s.Degrade():
            by = "" if step.fails_by is None else f", fails in {written(step.fails_by)}"
            return f"{step.host} is degraded{by}{_called(step.called)}"
        case s.Fail():
            return f"{step.host} fails{_called(step.called)}"
        case s.Expect():
            return _DEMANDS[step.demand](step, vm) + _within(step)
        case _:
            return _tell_other(step)


def _tell_other(step: s.Step) -> str:
    match step:
        case s.Recover():
            return f"{step.host} is well again"
        case s.Cancel() | s.Complete():
            return f"{type(step).__name__.lower()} {step.event}"
        case s.Approve():
            return f"{step.by} approves {step.event}"
        case s.Advance():
            return f"advance the clock by {written(step.by)}"
        case s.AdvanceTo():
            moment = "end" if step.is_end else "start"
            return f"advance the clock to the {moment} of {step.event}"
        case _:
            return _tell_disturbance(step)


def _tell_disturbance(step: s.Step) -> str:
    match step:
        case s.Outage():
            return f"the service is away for {written(step.lasts)} of its time"
        case s.SetFault():
            return f"fault: {_fault(step)}"
        case s.ClearFaults():
            return "no faults any more"
        case s.Wait():
            return f"wait {_seconds(step.seconds)}"
        case _:
            raise TypeError(f"{type(step).__name__} is no step")


def _order(order: Order) -> str:
    target = order.host or order.group or ", ".join(order.vms)
    notice = "" if order.notice is None else f" in {written(order.notice)}"
    return f"{order.type} of {target}{notice}"


def _called(name: str | None) -> str:
    return "" if name is None else f" ({name})"


def _fault(step: s.SetFault) -> str:
    fault = step.fault
    parts = [
        str(fault.kind),
        "" if fault.count is None else f"{fault.count} times",
        "" if fault.probability == 1 else f"with probability {fault.probability:g}",
        "" if fault.seconds is None else f"for {_seconds(fault.seconds)}",
        f"for {', '.join(fault.vms)}" if fault.vms else "",
    ]
    return " ".join(part for part in parts if part)


_DEMANDS: Mapping[s.Demand, Callable[[s.Expect, str], str]] = {
    s.Demand.SEEN: lambda step, vm: f"{vm} sees {step.event}",
    s.Demand.APPROVED: lambda step, vm: (
        f"{step.event} is approved"
        + ("" if step.by is None else f" by {step.by}")
        + ("" if step.after_mark is None else f", after {step.after_mark!r}")
    ),
    s.Demand.NOT_APPROVED: lambda step, vm: f"{step.event} is not approved",
    s.Demand.POLLED: lambda step, vm: (
        f"{vm} asks again" + ("" if step.times == 1 else f" {step.times} times")
    ),
    s.Demand.MARKED: lambda step, vm: f"the program marks {step.mark!r}",
    s.Demand.RUNNING: lambda step, vm: "the program is running",
    s.Demand.ENDED: lambda step, vm: (
        "the program ends" + ("" if step.code is None else f" with {step.code}")
    ),
}

_INSTANT = (s.Demand.RUNNING,)


def _within(step: s.Expect) -> str:
    if step.demand in _INSTANT or not step.seconds:
        return ""
    word = "for" if step.demand is s.Demand.NOT_APPROVED else "within"
    return f" {word} {_seconds(step.seconds)}"


def _seconds(seconds: float) -> str:
    return written(timedelta(seconds=seconds))
