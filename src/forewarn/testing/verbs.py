"""Actions of a scenario file, as a table of verbs."""

from collections.abc import Callable
from dataclasses import replace

from forewarn.core.causes import Operation
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventType
from forewarn.testing import kinds
from forewarn.testing import scenario as s
from forewarn.testing.announcement import ANNOUNCING, AS
from forewarn.testing.keys import Form, Key, Row
from forewarn.testing.known import Known

_HOST_TYPES = kinds.one_of(EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)

# --- VMs and hosts -----------------------------------------------------------


_OPERATIONS = {
    Operation.RESTART: "restart a VM, as its user may",
    Operation.REDEPLOY: "move a VM to another host, as its user may",
    Operation.REIMAGE: "give a VM a new system disk, as its user may",
    Operation.EVICT: "take a spot VM away",
    Operation.DELETE: "delete a VM; a scale set with terminate notice is told before",
}


def _operate(operation: Operation) -> Form:
    helps = _OPERATIONS[operation]
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


# --- events ------------------------------------------------------------------


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


# --- clock and service -------------------------------------------------------

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
    ANNOUNCING,
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
