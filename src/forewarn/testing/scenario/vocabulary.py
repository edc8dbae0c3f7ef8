"""Verbs of scenario steps, as tables: announcements, VMs, hosts, events, the clock."""

from collections.abc import Callable
from dataclasses import replace

from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.announcements import Order, check_order
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.errors import InvalidInput
from forewarn.formats import exact_duration
from forewarn.protocol.types import EventSource, EventType
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario import values
from forewarn.testing.scenario.names import StepNames
from forewarn.testing.scenario.values import StepForm, StepKey, StepTable

AS = StepKey(name="as", kind=values.ID, help="how later steps call what is announced")


# --- announcements -----------------------------------------------------------


ANNOUNCE = StepKey(
    name="announce",
    kind=values.one_of(*EventType),
    help="announce an event",
    is_needed=True,
)
VMS = StepKey(name="vms", kind=values.VMS, help="the VMs that it touches")
HOST = StepKey(name="host", kind=values.HOST, help="the host that it touches")
GROUP = StepKey(name="group", kind=values.GROUP, help="the group that it touches")
NOTICE = StepKey(
    name="notice",
    kind=values.SERVICE_DURATION,
    help="how long before; if absent, the least that its type promises",
)
DURATION = StepKey(
    name="duration",
    kind=values.SERVICE_DURATION,
    help="how long it takes, in whole seconds; if absent, 9 s for a Freeze, else"
    " unknown",
)
DESCRIPTION = StepKey(
    name="description", kind=values.TEXT, help="what the document says of it"
)
SOURCE = StepKey(
    name="source",
    kind=values.one_of(*EventSource),
    help="whose doing it is; if absent, Platform's, but a user's for a Terminate",
)
REASON = StepKey(name="reason", kind=values.TEXT, help="why, in the journal")
EMERGENCY = StepKey(
    name="emergency",
    kind=values.FLAG,
    help="less notice than is promised, or none; needs a `reason`",
)
IGNORE_GATES = StepKey(
    name="ignore_gates",
    kind=values.FLAG,
    help="start beside other maintenance of the group; for an emergency",
)


def _announce(row: StepTable, names: StepNames) -> s.Step:
    duration = row.get(DURATION)
    if duration is not None and duration.microseconds:
        raise InvalidInput("`duration` is told in whole seconds")
    order = Order(
        type=row.must(ANNOUNCE),
        vms=row.get(VMS) or (),
        host=row.get(HOST),
        group=row.get(GROUP),
        notice=row.get(NOTICE),
        duration=None if duration is None else int(duration.total_seconds()),
        description=row.get(DESCRIPTION),
        source=row.get(SOURCE),
        reason=row.get(REASON),
        emergency=row.get(EMERGENCY) or False,
        ignore_gates=row.get(IGNORE_GATES) or False,
    )
    check_order(order)
    _check_notice(order, _announced(row, names), names)
    return s.AnnounceStep(order=order, name=row.get(AS))


def _announced(row: StepTable, names: StepNames) -> frozenset[str] | None:
    host, group = row.get(HOST), row.get(GROUP)
    if host is not None:
        return names.on_host(host)
    return frozenset(row.get(VMS) or ()) if group is None else names.in_group(group)


def _check_notice(order: Order, vms: frozenset[str] | None, names: StepNames) -> None:
    is_free = order.emergency or order.source is EventSource.USER
    if is_free or order.notice is None or names.fleet is None or vms is None:
        return  # a user only waits if the group is enabled by then
    groups = {names.fleet.vms[name].group for name in vms}
    least = max(
        policy.minimum_notice(order.type, names.fleet.groups[name]) for name in groups
    )
    if order.notice < least:
        raise InvalidInput(
            f"a {order.type} needs a `notice` of at least {exact_duration(least)}; give"
            " more, or write emergency = true and a reason"
        )


#: The form of an `announce` step.
ANNOUNCING = StepForm(
    verb=ANNOUNCE,
    one_of=(VMS, HOST, GROUP),
    keys=(
        NOTICE,
        DURATION,
        DESCRIPTION,
        SOURCE,
        REASON,
        EMERGENCY,
        IGNORE_GATES,
        AS,
    ),
    touches=_announced,
    make=_announce,
)


# --- VMs and hosts -----------------------------------------------------------


_OPERATIONS = {
    VmOperation.RESTART: "restart a VM, as its user may",
    VmOperation.REDEPLOY: "move a VM to another host, as its user may",
    VmOperation.REIMAGE: "give a VM a new system disk, as its user may",
    VmOperation.EVICT: "take a spot VM away",
    VmOperation.DELETE: "delete a VM; a scale set with terminate notice is told before",
}


def _operate(operation: VmOperation) -> StepForm:
    help_text = _OPERATIONS[operation]
    verb = StepKey(name=operation.value, kind=values.VM, help=help_text, is_needed=True)

    def make(row: StepTable, names: StepNames) -> s.Step:
        vm = row.must(verb)
        if operation is VmOperation.EVICT and not names.is_spot(vm):
            raise InvalidInput(f"{vm} is not a spot VM; only those are evicted")
        return s.OperateStep(operation=operation, vm=vm, name=row.get(AS))

    return StepForm(
        verb=verb,
        keys=(AS,),
        touches=lambda row, _: frozenset({row.must(verb)}),
        make=make,
    )


def _of_host(verb: str, help_text: str) -> StepKey[str]:
    return StepKey(name=verb, kind=values.HOST, help=help_text, is_needed=True)


_HOST_TYPES = values.one_of(EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)

MAINTAIN = _of_host("maintain", "announce planned maintenance of a host")
TYPE = StepKey(
    name="type", kind=_HOST_TYPES, help="what it does to VMs; if absent, Freeze"
)
DEGRADED = _of_host("degraded", "predict that a host fails; its VMs must leave it")
FAILS_BY = StepKey(
    name="fails_by",
    kind=values.SERVICE_DURATION,
    help="how long it lasts, from now; if absent, seven days",
)
FAILED = _of_host("failed", "let a host have failed, without notice")
RECOVERED = _of_host("recovered", "let a host be well again")


def _on(host: StepKey[str]) -> Callable[[StepTable, StepNames], frozenset[str] | None]:
    return lambda row, names: names.on_host(row.must(host))


# --- events ------------------------------------------------------------------


def _of_event(verb: str, help_text: str) -> StepKey[str]:
    return StepKey(name=verb, kind=values.EVENT, help=help_text, is_needed=True)


CANCEL = _of_event("cancel", "call off what has not started")
COMPLETE = _of_event("complete", "end what has started")
APPROVE = _of_event("approve", "let another VM approve")
BY = StepKey(name="by", kind=values.VM, help="the VM that approves", is_needed=True)


def _approve(row: StepTable, names: StepNames) -> s.Step:
    event, by = row.must(APPROVE), row.must(BY)
    if not names.sees(by, event):
        raise InvalidInput(f'{by} does not see "{event}", so it cannot approve it')
    return s.ApproveStep(event=event, by=by)


# --- clock and service -------------------------------------------------------


ADVANCE = StepKey(
    name="advance",
    kind=values.SERVICE_DURATION,
    help="move the clock on",
    is_needed=True,
)
ADVANCE_TO = StepKey(
    name="advance_to",
    kind=values.one_of("start", "end"),
    help="move the clock on until an event starts, or is over",
    is_needed=True,
)
OF = _of_event("of", "the event that starts or ends")
OUTAGE = StepKey(
    name="outage",
    kind=values.SERVICE_DURATION,
    help="let the service be away, for so long by its clock",
    is_needed=True,
)
REAL = StepKey(
    name="real",
    kind=values.REAL_DURATION,
    help="how long connections are refused; if absent, 1s",
)
WAIT = StepKey(
    name="wait", kind=values.REAL_DURATION, help="let real time pass", is_needed=True
)


def _outage(row: StepTable, _: StepNames) -> s.Step:
    real, outage = row.get(REAL), s.OutageStep(lasts=row.must(OUTAGE))
    return outage if real is None else replace(outage, seconds=real)


# --- all verbs ---------------------------------------------------------------


VERBS: tuple[StepForm, ...] = (
    ANNOUNCING,
    *(_operate(operation) for operation in VmOperation),
    StepForm(
        verb=MAINTAIN,
        keys=(TYPE, AS),
        touches=_on(MAINTAIN),
        make=lambda row, _: s.MaintainStep(
            host=row.must(MAINTAIN),
            type=row.get(TYPE) or EventType.FREEZE,
            name=row.get(AS),
        ),
    ),
    StepForm(
        verb=DEGRADED,
        keys=(FAILS_BY, AS),
        touches=_on(DEGRADED),
        make=lambda row, _: s.DegradeStep(
            host=row.must(DEGRADED), fails_by=row.get(FAILS_BY), name=row.get(AS)
        ),
    ),
    StepForm(
        verb=FAILED,
        keys=(AS,),
        touches=_on(FAILED),
        make=lambda row, _: s.FailStep(host=row.must(FAILED), name=row.get(AS)),
    ),
    StepForm(
        verb=RECOVERED, make=lambda row, _: s.RecoverStep(host=row.must(RECOVERED))
    ),
    StepForm(verb=CANCEL, make=lambda row, _: s.CancelStep(event=row.must(CANCEL))),
    StepForm(
        verb=COMPLETE, make=lambda row, _: s.CompleteStep(event=row.must(COMPLETE))
    ),
    StepForm(verb=APPROVE, keys=(BY,), make=_approve),
    StepForm(verb=ADVANCE, make=lambda row, _: s.AdvanceStep(by=row.must(ADVANCE))),
    StepForm(
        verb=ADVANCE_TO,
        keys=(OF,),
        make=lambda row, _: s.AdvanceToStep(
            event=row.must(OF), is_end=row.must(ADVANCE_TO) == "end"
        ),
    ),
    StepForm(verb=OUTAGE, keys=(REAL,), make=_outage),
    StepForm(verb=WAIT, make=lambda row, _: s.WaitStep(seconds=row.must(WAIT))),
)
