"""Something is announced, the service is away for a while, and time goes on."""

from datetime import datetime, timedelta

from tests.core.builders import NOON, RULES, a_slice, an_order, an_outage, counting

from forewarn.core import announcing, commands
from forewarn.core import facts as f
from forewarn.core.announcing import Order
from forewarn.core.maintenance import Maintenance, Slice, Via

MICROSECOND = timedelta(microseconds=1)


def announced(
    order: Order | None = None,
    *,
    slice_: Slice | None = None,
    at: datetime = NOON,
) -> Slice:
    """A slice in which `order` was announced: by default a Reboot of vm0, at noon."""
    before = slice_ or a_slice()
    wanted = order or an_order()
    vms = [
        vm
        for vm in before.vms.values()
        if vm.name in wanted.vms or (vm.host == wanted.host and vm.host is not None)
    ]
    made = announcing.announce(
        before, wanted, vms, by="ops", new_id=counting(), now=at, rules=RULES
    )
    return made.slice


def away(slice_: Slice, since: int, until: int) -> Slice:
    """Let the service be away, from a minute after noon to another."""
    outage = an_outage(since, until)
    return commands.end_outage(slice_, outage, outage.until).slice


def only(slice_: Slice) -> Maintenance:
    (maintenance,) = slice_.maintenances.values()
    return maintenance


def approve(slice_: Slice, *events: str, at: datetime) -> Slice:
    step = commands.approve(
        slice_, events, by="vm0", via=Via.METADATA, now=at, rules=RULES
    )
    return step.slice


def started(slice_: Slice, at: datetime) -> list[str]:
    """What starts at a time, if nothing has happened until then."""
    step = commands.tick(slice_, at, RULES)
    return [fact.maintenance for fact in step.facts if isinstance(fact, f.Started)]


def starts_at(slice_: Slice, moment: datetime) -> bool:
    """Whether everything starts at `moment`, and nothing a microsecond before."""
    return not started(slice_, moment - MICROSECOND) and set(
        started(slice_, moment)
    ) == set(slice_.maintenances)
