"""Helpers that announce maintenance, simulate an outage and move time on."""

from datetime import datetime, timedelta

from tests.core.support.builders import (
    NOON,
    a_context,
    a_slice,
    an_order,
    an_outage,
)

from forewarn.core.lifecycle import announcements, commands
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Maintenance, Slice, Via
from forewarn.core.lifecycle.transitions import apply

MICROSECOND = timedelta(microseconds=1)


def announced(
    order: Order | None = None,
    *,
    slice_: Slice | None = None,
    at: datetime = NOON,
) -> Slice:
    """Return a slice in which `order` was announced: by default a Reboot of vm0, at
    noon.
    """
    before = slice_ or a_slice()
    effective_order = order or an_order()
    vms = [
        vm
        for vm in before.vms.values()
        if vm.name in effective_order.vms
        or (vm.host == effective_order.host and vm.host is not None)
    ]
    step = announcements.announce(before, a_context(at), effective_order, vms)
    return step.slice


def apply_outage(slice_: Slice, since: int, until: int) -> Slice:
    """Apply an outage from `since` to `until`, in minutes after noon."""
    outage = an_outage(since, until)
    return apply(slice_, f.OutageEnded(at=outage.until, outage=outage))


def only(slice_: Slice) -> Maintenance:
    (maintenance,) = slice_.maintenances.values()
    return maintenance


def approve(slice_: Slice, *events: str, at: datetime) -> Slice:
    step = commands.approve(slice_, a_context(at, by="vm0"), events, via=Via.METADATA)
    return step.slice


def started(slice_: Slice, at: datetime) -> list[str]:
    """Return the ids of the maintenance operations that a tick at `at` starts."""
    step = commands.tick(slice_, a_context(at))
    return [fact.maintenance for fact in step.facts if isinstance(fact, f.Started)]


def starts_at(slice_: Slice, moment: datetime) -> bool:
    """Return whether everything starts exactly at `moment` and nothing before it."""
    return not started(slice_, moment - MICROSECOND) and set(
        started(slice_, moment)
    ) == set(slice_.maintenances)
