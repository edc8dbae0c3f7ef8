"""Splitting of orders into maintenance operations, and of these into events."""

from collections.abc import Iterable

import pytest
from tests.core.support.builders import (
    a_context,
    a_group,
    a_slice,
    a_vm,
    an_order,
)

from forewarn.core.fleet import VM, Group
from forewarn.core.lifecycle import announcements
from forewarn.core.lifecycle.facts import Announced, Published
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.settlement import Step
from forewarn.protocol.types import EventSource, EventType


def announce(
    order: announcements.Order, vms: Iterable[VM], *, groups: Iterable[Group] = ()
) -> Step:
    machines = list(vms)
    return announcements.announce(
        a_slice(groups=groups, vms=machines), a_context(), order, machines
    )


def acts(step: Step) -> list[Maintenance]:
    """Return the announced maintenance operations, in order of announcement."""
    return [fact.announced for fact in step.facts if isinstance(fact, Announced)]


def resources(step: Step) -> list[list[tuple[str, ...]]]:
    """Return the resources of each event of each announced maintenance."""
    return [[event.resources for event in act.events] for act in acts(step)]


# --- one maintenance per host ------------------------------------------------


def test_a_host_gets_one_maintenance_with_one_event_per_group() -> None:
    vms = [
        a_vm("web0", group="web", host="host0"),
        a_vm("db0", group="db", host="host0"),
        a_vm("web1", group="web", host="host0"),
    ]
    step = announce(an_order(host="host0"), vms)
    assert resources(step) == [[("db0",), ("web0", "web1")]]
    (act,) = acts(step)
    assert act.host == "host0"
    assert [event.group for event in act.events] == ["db", "web"]
    assert act.vms == ("db0", "web0", "web1")


def test_a_host_without_vms_announces_nothing() -> None:
    step = announce(an_order(host="host-a"), [])
    assert step.facts == ()


def test_on_a_host_each_update_domain_of_a_group_has_its_own_event() -> None:
    vms = [
        a_vm("vm0", host="host0", update_domain=1),
        a_vm("vm1", host="host0", update_domain=0),
        a_vm("vm2", host="host0", update_domain=1),
        a_vm("vm3", host="host0", update_domain=None),
    ]
    step = announce(an_order(host="host0"), vms)
    assert resources(step) == [[("vm1",), ("vm0", "vm2"), ("vm3",)]]
    assert [event.update_domain for event in acts(step)[0].events] == [0, 1, None]


def test_all_events_of_a_host_start_together() -> None:
    vms = [a_vm("vm0", host="host0"), a_vm("vm1", host="host0", update_domain=1)]
    order = an_order(host="host0", emergency=True, reason="smoke")
    step = announce(order, vms)
    (act,) = acts(step)
    assert step.slice.maintenance(act.id).phase is Phase.STARTED


def test_on_a_host_each_vm_of_an_isolated_group_has_its_own_event() -> None:
    vms = [a_vm(name, host="host0") for name in ("vm0", "vm1")]
    vms += [a_vm(name, group="web", host="host0") for name in ("web0", "web1")]
    groups = [a_group(isolated=True), a_group("web")]
    step = announce(an_order(host="host0"), vms, groups=groups)
    assert resources(step) == [[("vm0",), ("vm1",), ("web0", "web1")]]


# --- VMs and groups are split ------------------------------------------------


@pytest.mark.parametrize(
    "order", [an_order(vms=("vm0", "vm1", "vm2")), an_order(group="group0")]
)
def test_vms_and_groups_are_split_by_update_domain(order: announcements.Order) -> None:
    vms = [
        a_vm("vm0", update_domain=1, host="host0"),
        a_vm("vm1", update_domain=0, host="host0"),
        a_vm("vm2", update_domain=1, host="host1"),
    ]
    step = announce(order, vms)
    assert resources(step) == [[("vm1",)], [("vm0", "vm2")]]
    assert [act.host for act in acts(step)] == [None, None]


def test_vms_are_split_by_group() -> None:
    vms = [a_vm("vm0", group="web"), a_vm("vm1", group="db"), a_vm("vm2", group="web")]
    step = announce(an_order(vms=("vm0", "vm1", "vm2")), vms)
    assert resources(step) == [[("vm1",)], [("vm0", "vm2")]]
    assert [act.groups for act in acts(step)] == [("db",), ("web",)]


def test_vms_without_update_domain_stay_together_if_they_share_a_host() -> None:
    vms = [
        a_vm("vm0", update_domain=None, host="host0"),
        a_vm("vm1", update_domain=None, host="host1"),
        a_vm("vm2", update_domain=None, host="host0"),
        a_vm("vm3", update_domain=None),
        a_vm("vm4", update_domain=None),
    ]
    step = announce(an_order(group="group0"), vms)
    assert resources(step) == [[("vm0", "vm2")], [("vm1",)], [("vm3",)], [("vm4",)]]


def test_vms_without_update_domain_come_after_those_with_one() -> None:
    vms = [a_vm("vm0", update_domain=None), a_vm("vm1", update_domain=3)]
    assert resources(announce(an_order(group="group0"), vms)) == [
        [("vm1",)],
        [("vm0",)],
    ]


def test_groups_whose_names_differ_only_in_leading_zeros_are_two_groups() -> None:
    vms = [a_vm("vm0", group="rack1"), a_vm("vm1", group="rack01")]
    step = announce(an_order(vms=("vm0", "vm1")), vms)
    groups = {
        event.resources: event.group for act in acts(step) for event in act.events
    }
    assert groups == {("vm0",): "rack1", ("vm1",): "rack01"}


def test_groups_with_leading_zeros_stay_separate_on_a_host() -> None:
    vms = [
        a_vm("vm0", group="rack1", host="host0"),
        a_vm("vm1", group="rack01", host="host0"),
    ]
    (act,) = acts(announce(an_order(host="host0"), vms))
    groups = {event.resources: event.group for event in act.events}
    assert groups == {("vm0",): "rack1", ("vm1",): "rack01"}


# --- one maintenance per VM --------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "source"),
    [
        (EventType.REBOOT, EventSource.USER),
        (EventType.REDEPLOY, EventSource.USER),
        (EventType.PREEMPT, None),
        (EventType.TERMINATE, None),
        (EventType.TERMINATE, EventSource.PLATFORM),
    ],
)
@pytest.mark.parametrize("target", ["vms", "host", "group"])
def test_user_operations_preempt_and_terminate_make_one_maintenance_per_vm(
    type_: EventType, source: EventSource | None, target: str
) -> None:
    vms = [a_vm("vm0", host="host0"), a_vm("vm1", host="host0")]
    order = {
        "vms": an_order(type_, source=source, vms=("vm0", "vm1")),
        "host": an_order(type_, source=source, host="host0"),
        "group": an_order(type_, source=source, group="group0"),
    }[target]
    assert resources(announce(order, vms)) == [[("vm0",)], [("vm1",)]]


# --- resources and documents -------------------------------------------------


def test_resources_are_in_natural_order() -> None:
    vms = [a_vm("vm10"), a_vm("vm9"), a_vm("VM1")]
    step = announce(an_order(group="group0"), vms)
    assert resources(step) == [[("VM1", "vm9", "vm10")]]


def test_the_order_of_the_vms_given_does_not_matter() -> None:
    vms = [
        a_vm("vm0", update_domain=1),
        a_vm("vm1", update_domain=None, host="host0"),
        a_vm("vm2", group="web"),
        a_vm("vm3", update_domain=1),
    ]
    order = an_order(vms=("vm0", "vm1", "vm2", "vm3"))
    assert resources(announce(order, vms)) == resources(announce(order, vms[::-1]))


def test_the_event_remembers_which_resources_are_paas() -> None:
    vms = [a_vm("vm0"), a_vm("FrontEnd_IN_0", paas=True)]
    (act,) = acts(announce(an_order(group="group0"), vms))
    assert act.events[0].paas == ("FrontEnd_IN_0",)


def test_maintenance_announced_together_publishes_one_document() -> None:
    vms = [a_vm("vm0"), a_vm("vm1", update_domain=1)]
    step = announce(an_order(group="group0"), vms)
    published = [
        candidate for candidate in step.facts if isinstance(candidate, Published)
    ]
    assert len(acts(step)) == 2
    assert [(fact.audience, fact.incarnation) for fact in published] == [("group0", 1)]


def test_in_an_isolated_group_only_listed_vms_get_a_new_document() -> None:
    vms = [a_vm("vm0"), a_vm("vm1"), a_vm("vm2", update_domain=1)]
    step = announcements.announce(
        a_slice(groups=[a_group(isolated=True)], vms=vms),
        a_context(),
        an_order(vms=("vm0", "vm1")),
        vms[:2],
    )
    published = [
        candidate for candidate in step.facts if isinstance(candidate, Published)
    ]
    assert [fact.audience for fact in published] == ["group0/vm0", "group0/vm1"]
