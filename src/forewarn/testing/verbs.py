"""What can happen in a scenario, as a table of verbs."""

from collections.abc import Callable
from dataclasses import replace

from forewarn.core import policy
from forewarn.core.announcing import Order, check
from forewarn.core.causes import Operation
from forewarn.core.durations import written
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType
from forewarn.testing import kinds
from forewarn.testing import scenario as s
from forewarn.testing.keys import Form, Key, Row
from forewarn.testing.known import Known

AS = Key(name="as", kind=kinds.ID, help="how later steps call what is announced")

_HOST_TYPES = kinds.one_of(EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)
_VMS = kinds.several(kinds.VM, "a list of VMs")

# --- announce ----------------------------------------------------------------

ANNOUNCE = Key(
    name="announce",
    kind=kinds.one_of(*EventType),
    help="announce an event",
    is_needed=True,
)
VMS = Key(name="vms", kind=_VMS, help="the VMs that it touches")
HOST = Key(name="host", kind=kinds.HOST, help="the host that it touches")
GROUP = Key(name="group", kind=kinds.GROUP, help="the group that it touches")
NOTICE = Key(
    name="notice",
    kind=kinds.PROMISE,
    help="how long before; if absent, the least that its type promises",
)
DURATION = Key(
    name="duration",
    kind=kinds.PROMISE,
    help="how long it takes, in whole seconds; if absent, 9 s for a Freeze, else"
    " unknown",
)
DESCRIPTION = Key(
    name="description", kind=kinds.TEXT, help="what the document says of it"
)
SOURCE = Key(
    name="source",
    kind=kinds.one_of(*EventSource),
    help="whose doing it is; if absent, Platform's, but a user's for a Terminate",
)
REASON = Key(name="reason", kind=kinds.TEXT, help="why, in the journal")
EMERGENCY = Key(
    name="emergency",
    kind=kinds.FLAG,
    help="less notice than is promised, or none; needs a `reason`",
)
IGNORE_GATES = Key(
    name="ignore_gates",
    kind=kinds.FLAG,
    help="start beside other maintenance of the group; for an emergency",
)


def _announce(row: Row, known: Known) -> s.Step:
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
    check(order)
    _check_notice(order, _announced(row, known), known)
    return s.Announce(order=order, called=row.get(AS))


def _announced(row: Row, known: Known) -> frozenset[str] | None:
    host, group = row.get(HOST), row.get(GROUP)
    if host is not None:
        return known.on_host(host)
    return frozenset(row.get(VMS) or ()) if group is None else known.in_group(group)


def _check_notice(order: Order, vms: frozenset[str] | None, known: Known) -> None:
    is_free = order.emergency or order.source is EventSource.USER
    if is_free or order.notice is None or known.fleet is None or vms is None:
        return  # whether a user must wait depends on who listens by then
    groups = {known.fleet.vms[each].group for each in vms}
    least = max(
        policy.minimum_notice(order.type, known.fleet.groups[each]) for each in groups
    )
    if order.notice < least:
        raise InvalidInput(
            f"a {order.type} needs a `notice` of at least {written(least)}; give"
            " more, or write emergency = true and a reason"
        )


# --- what befalls VMs and hosts ----------------------------------------------


def _operate(operation: Operation) -> Form:
    helps = f"{operation} a VM, as its user"
    verb = Key(name=operation.value, kind=kinds.VM, help=helps, is_needed=True)

    def make(row: Row, known: Known) -> s.Step:
        vm = row.must(verb)
        if operation is Operation.EVICT and not known.is_spot(vm):
            raise InvalidInput(f"{vm} is not a spot VM; only those are evicted")
        return s.Operate(operation=operation, vm=vm, called=row.get(AS))

    return Form(
        verb=verb,
        keys=(AS,),
        touches=lambda row, _: frozenset({row.must(verb)}),
        make=make,
    )


def _of_host(verb: str, helps: str) -> Key[str]:
    return Key(name=verb, kind=kinds.HOST, help=helps, is_needed=True)


MAINTAIN = _of_host("maintain", "announce planned maintenance of a host")
TYPE = Key(name="type", kind=_HOST_TYPES, help="what it does to VMs; if absent, Freeze")
DEGRADED = _of_host("degraded", "predict that a host fails; its VMs must leave it")
FAILS_BY = Key(
    name="fails_by",
    kind=kinds.PROMISE,
    help="how long it lasts, from now; if absent, seven days",
)
FAILED = _of_host("failed", "let a host have failed, without notice")
RECOVERED = _of_host("recovered", "let a host be well again")


def _on(host: Key[str]) -> Callable[[Row, Known], frozenset[str] | None]:
    return lambda row, known: known.on_host(row.must(host))


# --- what becomes of events --------------------------------------------------


def _of_event(verb: str, helps: str) -> Key[str]:
    return Key(name=verb, kind=kinds.EVENT, help=helps, is_needed=True)


CANCEL = _of_event("cancel", "call off what has not started")
COMPLETE = _of_event("complete", "end what has started")
APPROVE = _of_event("approve", "let another VM approve")
BY = Key(name="by", kind=kinds.VM, help="the VM that approves", is_needed=True)


def _approve(row: Row, known: Known) -> s.Step:
    event, by = row.must(APPROVE), row.must(BY)
    if not known.sees(by, event):
        raise InvalidInput(f'{by} does not see "{event}", so it cannot approve it')
    return s.Approve(event=event, by=by)


# --- the clock, the service --------------------------------------------------

ADVANCE = Key(
    name="advance", kind=kinds.PROMISE, help="move the clock on", is_needed=True
)
ADVANCE_TO = Key(
    name="advance_to",
    kind=kinds.word("start", "end"),
    help="move the clock on until an event starts, or is over",
    is_needed=True,
)
OF = _of_event("of", "the event that starts or ends")
OUTAGE = Key(
    name="outage",
    kind=kinds.PROMISE,
    help="let the service be away, for so long by its clock",
    is_needed=True,
)
REAL = Key(
    name="real",
    kind=kinds.REAL,
    help="how long connections are refused; if absent, 1s",
)
WAIT = Key(name="wait", kind=kinds.REAL, help="let real time pass", is_needed=True)


def _outage(row: Row, _: Known) -> s.Step:
    real, outage = row.get(REAL), s.Outage(lasts=row.must(OUTAGE))
    return outage if real is None else replace(outage, seconds=real)


VERBS: tuple[Form, ...] = (
    Form(
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
    ),
    *(_operate(each) for each in Operation),
    Form(
        verb=MAINTAIN,
        keys=(TYPE, AS),
        touches=_on(MAINTAIN),
        make=lambda row, _: s.Maintain(
            host=row.must(MAINTAIN),
            type=row.get(TYPE) or EventType.FREEZE,
            called=row.get(AS),
        ),
    ),
    Form(
        verb=DEGRADED,
        keys=(FAILS_BY, AS),
        touches=_on(DEGRADED),
        make=lambda row, _: s.Degrade(
            host=row.must(DEGRADED), fails_by=row.get(FAILS_BY), called=row.get(AS)
        ),
    ),
    Form(
        verb=FAILED,
        keys=(AS,),
        touches=_on(FAILED),
        make=lambda row, _: s.Fail(host=row.must(FAILED), called=row.get(AS)),
    ),
    Form(verb=RECOVERED, make=lambda row, _: s.Recover(host=row.must(RECOVERED))),
    Form(verb=CANCEL, make=lambda row, _: s.Cancel(event=row.must(CANCEL))),
    Form(verb=COMPLETE, make=lambda row, _: s.Complete(event=row.must(COMPLETE))),
    Form(verb=APPROVE, keys=(BY,), make=_approve),
    Form(verb=ADVANCE, make=lambda row, _: s.Advance(by=row.must(ADVANCE))),
    Form(
        verb=ADVANCE_TO,
        keys=(OF,),
        make=lambda row, _: s.AdvanceTo(
            event=row.must(OF), is_end=row.must(ADVANCE_TO) == "end"
        ),
    ),
    Form(verb=OUTAGE, keys=(REAL,), make=_outage),
    Form(verb=WAIT, make=lambda row, _: s.Wait(seconds=row.must(WAIT))),
)
