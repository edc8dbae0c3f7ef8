"""Tables of the verbs of scenario steps and of the keys that each verb accepts."""

from collections.abc import Callable

from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.announcements import Order, check_order
from forewarn.core.lifecycle.operations import HOST_TYPES, VmOperation
from forewarn.errors import InvalidInput
from forewarn.formats import exact_duration
from forewarn.protocol.types import EventSource, EventType
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario import values
from forewarn.testing.scenario.names import StepNames
from forewarn.testing.scenario.values import StepForm, StepKey, StepTable, making

AS = StepKey(
    name="as",
    kind=values.ID,
    help="name by which later steps can refer to this announcement",
    field="name",
)


# --- announcements -----------------------------------------------------------


ANNOUNCE = StepKey(
    name="announce",
    kind=values.one_of(*EventType),
    help="announce an event of this type",
    field="type",
)
VMS = StepKey(name="vms", kind=values.VMS, help="the affected VMs")
HOST = StepKey(name="host", kind=values.HOST, help="the host whose VMs are affected")
GROUP = StepKey(
    name="group", kind=values.GROUP, help="the group whose VMs are affected"
)
DURATION = StepKey(
    name="duration",
    kind=values.SERVICE_DURATION,
    help="expected length of the interruption, in whole seconds; default: 9 s for a"
    " Freeze, otherwise unknown",
)


def _announce(row: StepTable, names: StepNames) -> s.Step:
    fields = {**row.fields}
    name, duration = fields.pop("name", None), row.get(DURATION)
    if duration is not None:
        if duration.microseconds:
            raise InvalidInput("`duration` must be a whole number of seconds")
        fields["duration"] = int(duration.total_seconds())
    order = Order(**fields)
    check_order(order)
    _check_notice(order, _announced(row, names), names)
    return s.AnnounceStep(order=order, name=name)


def _announced(row: StepTable, names: StepNames) -> frozenset[str] | None:
    host, group = row.get(HOST), row.get(GROUP)
    if host is not None:
        return names.on_host(host)
    return frozenset(row.get(VMS) or ()) if group is None else names.in_group(group)


def _check_notice(order: Order, vms: frozenset[str] | None, names: StepNames) -> None:
    is_free = order.emergency or order.short_notice
    is_free = is_free or order.source is EventSource.USER
    if is_free or order.notice is None or names.fleet is None or vms is None:
        return  # a user operation gets notice only if its group is enabled by then
    groups = {names.fleet.vms[name].group for name in vms}
    least = max(
        policy.minimum_notice(order.type, names.fleet.groups[name]) for name in groups
    )
    if order.notice < least:
        raise InvalidInput(
            f"`notice` for a {order.type} must be at least {exact_duration(least)};"
            " increase it, or set short_notice = true"
        )


#: The form of `announce` steps.
ANNOUNCING = StepForm(
    verb=ANNOUNCE,
    one_of=(VMS, HOST, GROUP),
    keys=(
        StepKey(
            name="notice",
            kind=values.SERVICE_DURATION,
            help="time until NotBefore; default: the minimum for the event type",
        ),
        DURATION,
        StepKey(name="description", kind=values.TEXT, help="the event's Description"),
        StepKey(
            name="live_migration",
            kind=values.FLAG,
            help="for a Freeze only: marks it as a live migration to another host, with"
            " Azure's description and a `duration` of 5 s",
        ),
        StepKey(
            name="source",
            kind=values.one_of(*EventSource),
            help="EventSource of the event; default: User for a Terminate, otherwise"
            " Platform",
        ),
        StepKey(
            name="short_notice",
            kind=values.FLAG,
            help="allow a `notice` below the minimum for the event type, which is only"
            " possible in a rehearsal",
        ),
        StepKey(name="reason", kind=values.TEXT, help="reason shown in the journal"),
        StepKey(
            name="emergency",
            kind=values.FLAG,
            help=(
                "allow less than the minimum notice, or no notice; requires a `reason`"
            ),
        ),
        StepKey(
            name="ignore_blockers",
            kind=values.FLAG,
            help="with `emergency`: start even if other maintenance blocks the event",
        ),
        AS,
    ),
    touches=_announced,
    make=_announce,
)


# --- VMs and hosts -----------------------------------------------------------


_OPERATIONS = {
    VmOperation.RESTART: "restart a VM, as if its user had requested it",
    VmOperation.REDEPLOY: "move a VM to another host, as if its user had requested it",
    VmOperation.REIMAGE: "replace a VM's system disk, as if its user had requested it",
    VmOperation.EVICT: "evict a spot VM",
    VmOperation.DELETE: "delete a VM, with notice if its scale set uses terminate"
    " notifications",
}


def _operate(operation: VmOperation, help_text: str) -> StepForm:
    verb = StepKey(name=operation, kind=values.VM, help=help_text, field="vm")

    def make(row: StepTable, names: StepNames) -> s.Step:
        vm = row.must(verb)
        if operation is VmOperation.EVICT and not names.is_spot(vm):
            raise InvalidInput(f"{vm} is not a spot VM; only spot VMs can be evicted")
        return s.OperateStep(operation=operation, **row.fields)

    return StepForm(
        verb=verb,
        keys=(AS,),
        touches=lambda row, _: frozenset({row.must(verb)}),
        make=make,
    )


def _of_host(
    verb: str, help_text: str, step: Callable[..., s.Step], *keys: StepKey[object]
) -> StepForm:
    host = StepKey(name=verb, kind=values.HOST, help=help_text, field="host")
    return StepForm(
        verb=host,
        keys=keys,
        touches=lambda row, names: names.on_host(row.must(host)),
        make=making(step),
    )


_TYPE = StepKey(
    name="type",
    kind=values.one_of(*HOST_TYPES),
    help="event type; default: Freeze",
)
_FAILS_BY = StepKey(
    name="fails_by",
    kind=values.SERVICE_DURATION,
    help="time until the predicted failure; default: seven days",
)


# --- events ------------------------------------------------------------------


def _of_event(verb: str, help_text: str) -> StepKey[str]:
    return StepKey(
        name=verb, kind=values.EVENT, help=help_text, is_needed=True, field="event"
    )


_APPROVE = _of_event("approve", "approve the event as another VM")
_BY = StepKey(
    name="by", kind=values.VM, help="the VM that approves the event", is_needed=True
)


def _approve(row: StepTable, names: StepNames) -> s.Step:
    event, by = row.must(_APPROVE), row.must(_BY)
    if not names.sees(by, event):
        raise InvalidInput(
            f'{by} cannot approve "{event}" because the event is not visible to it'
        )
    return s.ApproveStep(event=event, by=by)


# --- clock and service -------------------------------------------------------


_ADVANCE = StepKey(
    name="advance",
    kind=values.SERVICE_DURATION,
    help="advance the clock by this duration",
    field="by",
)
_ADVANCE_TO = StepKey(
    name="advance_to",
    kind=values.one_of("start", "end"),
    help="advance the clock until an event starts or ends",
)
_OF = _of_event("of", "the event that starts or ends")
_OUTAGE = StepKey(
    name="outage",
    kind=values.SERVICE_DURATION,
    help="simulate a service outage of this duration on the service's clock",
    field="duration",
)
_REAL = StepKey(
    name="real",
    kind=values.REAL_DURATION,
    help="real time during which connections are refused; default: 1s",
    field="seconds",
)
_WAIT = StepKey(
    name="wait",
    kind=values.REAL_DURATION,
    help="wait in real time",
    field="seconds",
)


# --- all verbs ---------------------------------------------------------------


VERBS: tuple[StepForm, ...] = (
    ANNOUNCING,
    *(_operate(operation, _OPERATIONS[operation]) for operation in VmOperation),
    _of_host(
        "maintain", "announce planned maintenance on a host", s.MaintainStep, _TYPE, AS
    ),
    _of_host(
        "degraded",
        "report that a host is predicted to fail; its VMs are redeployed",
        s.DegradeStep,
        _FAILS_BY,
        AS,
    ),
    _of_host("failed", "report that a host has failed without notice", s.FailStep, AS),
    _of_host("recovered", "report that a host has recovered", s.RecoverStep),
    StepForm(
        verb=_of_event("cancel", "cancel a maintenance operation that has not started"),
        make=making(s.CancelStep),
    ),
    StepForm(
        verb=_of_event(
            "complete",
            "report that the work of a started maintenance operation is done",
        ),
        make=making(s.CompleteStep),
    ),
    StepForm(verb=_APPROVE, keys=(_BY,), make=_approve),
    StepForm(verb=_ADVANCE, make=making(s.AdvanceStep)),
    StepForm(
        verb=_ADVANCE_TO,
        keys=(_OF,),
        make=lambda row, _: s.AdvanceToStep(
            event=row.must(_OF), is_end=row.must(_ADVANCE_TO) == "end"
        ),
    ),
    StepForm(verb=_OUTAGE, keys=(_REAL,), make=making(s.OutageStep)),
    StepForm(verb=_WAIT, make=making(s.WaitStep)),
)
