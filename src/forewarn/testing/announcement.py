"""The `announce` step of a scenario: its keys and the order built from them."""

from forewarn.core import policy
from forewarn.core.announcing import Order, check
from forewarn.core.durations import written
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType
from forewarn.testing import kinds
from forewarn.testing.keys import Form, Key, Row
from forewarn.testing.known import Known
from forewarn.testing.scenario import Announce, Step

AS = Key(name="as", kind=kinds.ID, help="how later steps call what is announced")

ANNOUNCE = Key(
    name="announce",
    kind=kinds.one_of(*EventType),
    help="announce an event",
    is_needed=True,
)
VMS = Key(name="vms", kind=kinds.VMS, help="the VMs that it touches")
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


def _announce(row: Row, known: Known) -> Step:
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
    return Announce(order=order, called=row.get(AS))


def _announced(row: Row, known: Known) -> frozenset[str] | None:
    host, group = row.get(HOST), row.get(GROUP)
    if host is not None:
        return known.on_host(host)
    return frozenset(row.get(VMS) or ()) if group is None else known.in_group(group)


def _check_notice(order: Order, vms: frozenset[str] | None, known: Known) -> None:
    is_free = order.emergency or order.source is EventSource.USER
    if is_free or order.notice is None or known.fleet is None or vms is None:
        return  # a user only waits if the group is enabled by then
    groups = {known.fleet.vms[name].group for name in vms}
    least = max(
        policy.minimum_notice(order.type, known.fleet.groups[name]) for name in groups
    )
    if order.notice < least:
        raise InvalidInput(
            f"a {order.type} needs a `notice` of at least {written(least)}; give"
            " more, or write emergency = true and a reason"
        )


#: The form of an `announce` step.
ANNOUNCING = Form(
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
