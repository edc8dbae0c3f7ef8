"""Hypothesis strategies: a varied fleet, and any valid order for it."""

from hypothesis import strategies as st
from tests.core.support.builders import SECOND

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Fleet,
    Group,
    GroupKind,
    Host,
)
from forewarn.core.lifecycle.announcements import Order
from forewarn.protocol.types import EventSource, EventType

VMS = (
    VM(name="web-0", group="web", host="host-a", update_domain=0),
    VM(name="web-1", group="web", host="host-b", update_domain=1),
    VM(name="web-2", group="web", host="host-a", update_domain=1),
    VM(name="web-3", group="web", host="host-b"),
    VM(name="db-0", group="db", host="host-a", update_domain=0),
    VM(name="db-1", group="db", host="host-b", update_domain=1),
    VM(name="spot-0", group="spot", host="host-a", spot=True),
    VM(name="spot-1", group="spot", host="host-a", update_domain=0, spot=True),
    VM(
        name="spot-2",
        group="spot",
        host="host-b",
        spot=True,
        eviction_policy=EvictionPolicy.DEALLOCATE,
    ),
    VM(name="lone", group="lone", host="host-b"),
)

GROUPS = (
    Group(name="web", kind=GroupKind.AVAILABILITY_SET, enabled=Enabling.ALWAYS),
    Group(
        name="db",
        kind=GroupKind.AVAILABILITY_SET,
        auto_approve=(AutoApproval.USER_REBOOT,),
    ),
    Group(name="spot", kind=GroupKind.SCALE_SET, terminate_notice=600, isolated=True),
    Group(name="lone", declared=False),
)

FLEET = Fleet(
    hosts={name: Host(name=name) for name in ("host-a", "host-b")},
    groups={group.name: group for group in GROUPS},
    vms={vm.name: vm for vm in VMS},
)

vm_names = st.sampled_from([vm.name for vm in VMS])
group_names = st.sampled_from([group.name for group in GROUPS])
host_names = st.sampled_from(sorted(FLEET.hosts))
numbers = st.integers(0, 30)


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """Draw a valid order."""
    vms, host, group = draw(
        st.one_of(
            host_names.map(lambda name: ((), name, None)),
            group_names.map(lambda name: ((), None, name)),
            st.lists(vm_names, min_size=1, max_size=4, unique=True).map(
                lambda names: (tuple(names), None, None)
            ),
        )
    )
    kind = draw(st.sampled_from([*EventType, EventType.TERMINATE]))  # Terminates couple
    sources = [None, EventSource.PLATFORM, EventSource.USER]
    emergency = draw(st.integers(0, 3)) == 3
    return Order(
        type=kind,
        vms=vms,
        host=host,
        group=group,
        source=draw(st.sampled_from(sources[: 2 if kind is EventType.FREEZE else 3])),
        notice=draw(st.none() | st.integers(900, 1200).map(lambda n: n * SECOND)),
        duration=draw(st.sampled_from([None, -1, 0, 9, 600])),
        reason="because",
        emergency=emergency,
        ignore_blockers=emergency and draw(st.booleans()),
    )
