"""Visibility of events, and names of resources (7)."""

from typing import Any

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM


def compute(vm: VM) -> Any:
    """Read `compute` of the instance metadata."""
    return vm.send("/metadata/instance?api-version=2021-02-01")["compute"]


def assert_shared(fleet: TemporaryFleet, kind: str) -> None:
    """Check that all VMs of a group see an event of one, and that others do not."""
    vms = fleet.group(3, kind=kind)
    outside = fleet.group(1, kind=kind)[0]
    event = fleet.announce("Reboot", vms[1]).event
    assert [vm.event()["EventId"] for vm in vms] == [event] * 3
    assert outside.events() == []


@fact("7.1a")
def test_a_standalone_vm_sees_only_its_own_events(fleet: TemporaryFleet) -> None:
    first, second = fleet.add_standalone_vm(), fleet.add_standalone_vm()
    fleet.announce("Reboot", first)
    assert first.event()["Resources"] == [first.name]
    assert second.events() == []


@fact("7.1b")
def test_vms_in_an_availability_set_share_their_events(fleet: TemporaryFleet) -> None:
    assert_shared(fleet, "availability-set")


@fact("7.1c")
def test_vms_in_a_placement_group_share_their_events(
    fleet: TemporaryFleet,
) -> None:
    assert_shared(fleet, "scale-set")


@fact("7.1d")
def test_vms_in_a_cloud_service_share_their_events(fleet: TemporaryFleet) -> None:
    assert_shared(fleet, "cloud-service")


@fact("7.1e")
def test_vms_that_share_only_a_zone_share_no_events(fleet: TemporaryFleet) -> None:
    first, second = fleet.add_standalone_vm(zone="1"), fleet.add_standalone_vm(zone="1")
    fleet.announce("Reboot", first)
    assert second.events() == []


@fact("7.1e")
def test_zones_do_not_divide_a_group(fleet: TemporaryFleet) -> None:
    name = f"{fleet.prefix}-zonal"
    (vm,) = fleet.group(1)
    group = vm.name.rpartition("_")[0]
    other = fleet.add(name, {"group": group, "zone": "2"})
    fleet.announce("Reboot", vm)
    assert other.event()["Resources"] == [vm.name]


@fact("7.1f")
def test_in_an_isolated_group_each_vm_sees_only_its_own_events(
    fleet: TemporaryFleet,
) -> None:
    first, second = fleet.group(kind="scale-set", isolated=True)
    fleet.announce("Reboot", first)
    assert first.event()["Resources"] == [first.name]
    assert second.events() == []


@fact("7.1f")
def test_in_an_isolated_group_an_event_names_only_the_vm_that_sees_it(
    fleet: TemporaryFleet,
) -> None:
    vms = fleet.group(kind="scale-set", isolated=True, vms={"update_domain": 0})
    fleet.announce("Reboot", *vms)
    assert [vm.event()["Resources"] for vm in vms] == [[vm.name] for vm in vms]


@fact("7.2")
def test_a_request_from_one_vm_counts_for_its_group(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    first, second = fleet.group()
    assert first.incarnation == 0
    fleet.cancel(fleet.announce("Reboot", first))
    assert first.incarnation == 2
    clock.advance(hours=23)
    assert second.incarnation == 2
    clock.advance(hours=23)
    assert first.incarnation == 2


# --- names -------------------------------------------------------------------


@fact("7.3a")
def test_a_resource_has_the_name_from_instance_metadata(fleet: TemporaryFleet) -> None:
    vm = fleet.add(f"{fleet.prefix}-MiXed.Case", {})
    fleet.announce("Reboot", vm)
    assert vm.event()["Resources"] == [compute(vm)["name"]] == [vm.name]


@fact("7.3b")
def test_a_scale_set_instance_is_named_by_its_index(
    fleet: TemporaryFleet,
) -> None:
    vm = fleet.group(2, kind="scale-set")[1]
    fleet.announce("Reboot", vm)
    (name,) = vm.event()["Resources"]
    assert name == f"{compute(vm)['vmScaleSetName']}_1"


@fact("7.3d")
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_role_instance_keeps_its_name(fleet: TemporaryFleet, version: str) -> None:
    vm = fleet.add(f"{fleet.prefix}-FrontEnd_IN_0", {"paas": True})
    fleet.announce("Reboot", vm)
    assert vm.event(version)["Resources"] == [vm.name]


@fact("7.3e")
@pytest.mark.parametrize("version", VERSIONS)
def test_with_2017_03_01_names_begin_with_an_underscore(
    fleet: TemporaryFleet, version: str
) -> None:
    host = fleet.host()
    vms = fleet.group(3, vms={"host": host, "update_domain": 0})
    fleet.announce("Freeze", host=host)
    sign = "_" if version == "2017-03-01" else ""
    assert vms[0].event(version)["Resources"] == [f"{sign}{vm.name}" for vm in vms]


@fact("7.3f")
def test_role_instance_names_have_no_underscore(fleet: TemporaryFleet) -> None:
    (vm,) = fleet.group(1, kind="cloud-service", vms={"paas": True})
    fleet.announce("Reboot", vm)
    assert vm.event("2017-03-01")["Resources"] == [vm.name]


@fact("7.4")
def test_instance_metadata_shows_domains_and_the_placement_group(
    fleet: TemporaryFleet,
) -> None:
    (vm,) = fleet.group(1, vms={"update_domain": 3, "fault_domain": 1})
    metadata = compute(vm)
    assert metadata["platformUpdateDomain"] == "3"
    assert metadata["platformFaultDomain"] == "1"
    assert isinstance(metadata["placementGroupId"], str)
