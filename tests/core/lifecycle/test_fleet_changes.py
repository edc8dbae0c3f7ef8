"""Fleet changes: differences, and what a live event forbids."""

from dataclasses import replace

import pytest
from tests.core.support.builders import (
    NOON,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
)

from forewarn.core.fleet import VM, Enabling, Fleet, Group, GroupKind, Host
from forewarn.core.lifecycle import fleet_changes
from forewarn.core.lifecycle.facts import FleetChanged, Published
from forewarn.core.lifecycle.fleet_changes import Difference, difference
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import Conflict, InUse

LIVE = (Phase.SCHEDULED, Phase.STARTED)
OVER = (Phase.COMPLETED, Phase.CANCELED, Phase.FAILED)


def a_fleet(
    vms: tuple[VM, ...] = (),
    groups: tuple[Group, ...] = (),
    hosts: tuple[Host, ...] = (),
) -> Fleet:
    return Fleet(
        hosts={host.name: host for host in hosts},
        groups={group.name: group for group in groups},
        vms={vm.name: vm for vm in vms},
    )


def change(slice_: Slice, found: Difference) -> Step:
    return fleet_changes.change(slice_, a_context(new_id=lambda: "epoch1"), found)


def change_vm(slice_: Slice, old: VM, new: VM | None) -> Step:
    return change(slice_, Difference(vms=((old, new),)))


# --- differences -------------------------------------------------------------


def test_equal_fleets_do_not_differ() -> None:
    fleet = a_fleet((a_vm(),), (a_group(),), (Host(name="host0"),))
    assert difference(fleet, fleet) == Difference()


def test_added_changed_and_removed_vms_are_found() -> None:
    stays, leaves, comes = a_vm("vm0"), a_vm("vm1"), a_vm("vm2")
    changed = replace(stays, spot=True)
    diff = difference(a_fleet((stays, leaves)), a_fleet((changed, comes)))
    assert diff.vms == ((leaves, None), (stays, changed), (None, comes))


def test_groups_and_hosts_are_compared() -> None:
    host, old, new = Host(name="host0"), a_group("old"), a_group("new")
    diff = difference(a_fleet(groups=(old,)), a_fleet(groups=(new,), hosts=(host,)))
    assert diff.groups == ((old, None), (None, new))
    assert diff.hosts == ((None, host),)


def test_a_fleet_file_does_not_change_the_enabled_state() -> None:
    written = a_group(enabled=Enabling.ON_DEMAND)
    listens = replace(written, enabled_since=NOON, last_request=NOON)
    assert difference(a_fleet(groups=(listens,)), a_fleet(groups=(written,))) == (
        Difference()
    )
    isolated = replace(written, isolated=True)
    diff = difference(a_fleet(groups=(listens,)), a_fleet(groups=(isolated,)))
    assert diff.groups == ((listens, replace(listens, isolated=True)),)


def test_touched_groups_include_those_of_changed_vms() -> None:
    diff = Difference(
        groups=((a_group("group0"), None),),
        vms=((a_vm("vm0", group="group1"), a_vm("vm0", group="group2")),),
    )
    assert diff.groups_touched == {"group0", "group1", "group2"}


@pytest.mark.parametrize(("fleet", "removed"), [(10, 1), (20, 2), (5, 0)])
def test_up_to_a_tenth_of_the_vms_may_be_removed(fleet: int, removed: int) -> None:
    vms = tuple(a_vm(f"vm{number}") for number in range(fleet))
    current = a_fleet(vms)
    fleet_changes.refuse_large_removal(
        current, difference(current, a_fleet(vms[removed:]))
    )


@pytest.mark.parametrize(("fleet", "removed"), [(10, 2), (19, 2), (5, 1), (1, 1)])
def test_removing_more_than_a_tenth_is_refused(fleet: int, removed: int) -> None:
    vms = tuple(a_vm(f"vm{number}") for number in range(fleet))
    current = a_fleet(vms)
    with pytest.raises(Conflict, match=f"{removed} of {fleet}"):
        fleet_changes.refuse_large_removal(
            current, difference(current, a_fleet(vms[removed:]))
        )


# --- additions and removals --------------------------------------------------


def test_an_empty_difference_changes_nothing() -> None:
    slice_ = a_slice()
    assert change(slice_, Difference()) == Step(slice_)


def test_a_new_group_starts_with_an_empty_document() -> None:
    step = change(
        Slice(),
        Difference(groups=((None, a_group()),), vms=((None, a_vm()),)),
    )
    audience = step.slice.audiences["group0"]
    assert (audience.epoch, audience.incarnation, audience.vm) == ("epoch1", 0, None)
    assert not any(isinstance(fact, Published) for fact in step.facts)


def test_a_new_vm_joins_the_document_of_its_group() -> None:
    slice_ = a_slice(maintenances=[a_maintenance()])
    step = change(slice_, Difference(vms=((None, a_vm("vm1")),)))
    assert step.slice.audiences == slice_.audiences
    assert step.slice.vms["vm1"] == a_vm("vm1")


def test_a_new_vm_of_an_isolated_group_has_its_own_document() -> None:
    slice_ = a_slice(groups=[a_group(isolated=True)], vms=[a_vm("vm0")])
    step = change(slice_, Difference(vms=((None, a_vm("vm1")),)))
    assert step.slice.audiences["group0/vm0"] == slice_.audiences["group0/vm0"]
    assert step.slice.audiences["group0/vm1"].epoch == "epoch1"


def test_a_vm_that_leaves_an_isolated_group_takes_its_audience_along() -> None:
    slice_ = a_slice(groups=[a_group(isolated=True)], vms=[a_vm("vm0"), a_vm("vm1")])
    step = change_vm(slice_, a_vm("vm1"), None)
    assert list(step.slice.audiences) == ["group0/vm0"]


def test_a_vm_that_changes_keeps_its_audience_and_incarnation() -> None:
    slice_ = a_slice(
        groups=[a_group(isolated=True)], maintenances=[a_maintenance(not_before=NOON)]
    )
    step = change_vm(slice_, a_vm("vm0"), replace(a_vm("vm0"), size="large"))
    again = change_vm(step.slice, step.slice.vms["vm0"], a_vm("vm0"))
    assert again.slice.audiences == step.slice.audiences


def test_everything_can_be_removed() -> None:
    slice_ = a_slice(vms=[a_vm(host="host0")])
    step = change(
        slice_,
        Difference(
            hosts=((Host(name="host0"), None),),
            groups=((slice_.groups["group0"], None),),
            vms=((a_vm(host="host0"), None),),
        ),
    )
    assert step.slice == Slice()


def test_a_standalone_vm_may_join_a_group() -> None:
    alone = a_vm("vm0", group="vm0", update_domain=None)
    own = a_group("vm0", kind=GroupKind.STANDALONE)
    slice_ = a_slice(groups=[own, a_group()], vms=[alone])
    joined = replace(alone, group="group0")
    step = change(slice_, Difference(groups=((own, None),), vms=((alone, joined),)))
    assert list(step.slice.groups) == list(step.slice.audiences) == ["group0"]


def test_a_large_change_is_split_into_several_facts() -> None:
    vms = tuple((None, a_vm(f"vm{number}")) for number in range(2500))
    step = change(Slice(), Difference(groups=((None, a_group()),), vms=vms))
    sizes = [len(fact.vms) for fact in step.facts if isinstance(fact, FleetChanged)]
    assert sizes == [0, 1000, 1000, 500]


# --- while an event is live --------------------------------------------------


@pytest.mark.parametrize("phase", LIVE)
@pytest.mark.parametrize(
    "new", [replace(a_vm(), update_domain=1), replace(a_vm(), group="group1")]
)
def test_group_and_update_domain_cannot_change_during_a_live_event(
    phase: Phase, new: VM
) -> None:
    slice_ = a_slice(
        groups=[a_group(), a_group("group1")],
        maintenances=[a_maintenance("m0", phase=phase)],
    )
    with pytest.raises(InUse, match="m0"):
        change_vm(slice_, a_vm(), new)


@pytest.mark.parametrize("phase", OVER)
@pytest.mark.parametrize("new", [replace(a_vm(), update_domain=1), None])
def test_a_finished_event_forbids_nothing(phase: Phase, new: VM | None) -> None:
    slice_ = a_slice(maintenances=[a_maintenance("m0", phase=phase)])
    assert change_vm(slice_, a_vm(), new).slice.vms.get("vm0") == new


def test_an_event_that_does_not_list_the_vm_forbids_nothing() -> None:
    slice_ = a_slice(vms=[a_vm("vm1")], maintenances=[a_maintenance("m0")])
    new = replace(a_vm("vm1"), update_domain=1)
    assert change_vm(slice_, a_vm("vm1"), new).slice.vms["vm1"] == new


@pytest.mark.parametrize("phase", LIVE)
def test_a_host_cannot_be_removed_during_its_maintenance(
    phase: Phase,
) -> None:
    slice_ = a_slice(
        hosts=[Host(name="host0")],
        maintenances=[a_maintenance("m0", host="host0", phase=phase)],
    )
    with pytest.raises(InUse, match="m0"):
        change(slice_, Difference(hosts=((Host(name="host0"), None),)))


@pytest.mark.parametrize("phase", LIVE)
@pytest.mark.parametrize("new", [replace(a_vm(), group="group1"), None])
def test_a_group_cannot_be_removed_during_a_live_event(
    phase: Phase, new: VM | None
) -> None:
    group, other = a_group(), a_group("group1")
    slice_ = a_slice(
        groups=[group, other], maintenances=[a_maintenance("m0", phase=phase)]
    )
    with pytest.raises(InUse, match="m0"):
        change(slice_, Difference(groups=((group, None),), vms=((a_vm(), new),)))


@pytest.mark.parametrize(
    "new",
    [
        replace(a_vm(), tags={"role": "db"}),
        replace(a_vm(), addresses=("10.0.0.1",)),
        replace(a_vm(), spot=True, size="large", zone="1"),
    ],
)
def test_other_properties_of_a_vm_may_change(new: VM) -> None:
    slice_ = a_slice(maintenances=[a_maintenance("m0")])
    step = change_vm(slice_, a_vm(), new)
    assert step.slice.vms["vm0"] == new
    assert [type(fact) for fact in step.facts] == [FleetChanged]


@pytest.mark.parametrize(
    ("here", "there"), [("host0", "host1"), ("host0", None), (None, "host1")]
)
def test_a_move_does_not_affect_maintenance_of_vms_or_groups(
    here: str | None, there: str | None
) -> None:
    slice_ = a_slice(vms=[a_vm(host=here)], maintenances=[a_maintenance("m0")])
    step = change_vm(slice_, a_vm(host=here), a_vm(host=there))
    assert step.slice.vms["vm0"].host == there
    assert step.slice.maintenance("m0") == slice_.maintenance("m0")


# --- isolation ---------------------------------------------------------------


def isolate(slice_: Slice, isolated: bool) -> Step:
    group = slice_.groups["group0"]
    return change(
        slice_, Difference(groups=((group, replace(group, isolated=isolated)),))
    )


def test_isolation_takes_effect_immediately_and_starts_an_epoch_per_vm() -> None:
    slice_ = a_slice(vms=[a_vm("vm0"), a_vm("vm1")], maintenances=[a_maintenance("m0")])
    audiences = isolate(slice_, True).slice.audiences
    assert {name: audience.incarnation for name, audience in audiences.items()} == {
        "group0/vm0": 1,
        "group0/vm1": 0,
    }
    assert {audience.epoch for audience in audiences.values()} == {"epoch1"}


@pytest.mark.parametrize("live", [True, False])
def test_ending_isolation_starts_an_epoch_for_the_group(live: bool) -> None:
    slice_ = a_slice(
        groups=[a_group(isolated=True)],
        vms=[a_vm("vm0"), a_vm("vm1")],
        maintenances=[a_maintenance("m0")] if live else [],
    )
    (audience,) = isolate(slice_, False).slice.audiences.values()
    assert (audience.name, audience.epoch) == ("group0", "epoch1")
    assert audience.incarnation == int(live)
