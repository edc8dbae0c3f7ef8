"""What /metadata/instance tells of a VM's group and its network."""

import json
from typing import Any

import pytest
from tests.server.support.handlers import a_reception

from forewarn.core.fleet import VM, Group, GroupKind

# --- what depends on the group -----------------------------------------------

RESOURCES = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute"
DEPENDS = (
    "name",
    "computerName",
    "resourceId",
    "vmScaleSetName",
    "virtualMachineScaleSet",
    "placementGroupId",
)
#: Kind and name of a VM, then the rest of what depends on the group "g".
MEMBERS = [
    # a VM alone, and one of an availability set
    ("standalone", "g", "g", "/virtualMachines/g", "", "", ""),
    ("availability-set", "web-0", "web-0", "/virtualMachines/web-0", "", "", ""),
    # such a name alone makes no scale set
    ("availability-set", "web_0", "web_0", "/virtualMachines/web_0", "", "", ""),
    # a role instance
    ("cloud-service", "Web_IN_0", "Web_IN_0", "", "", "", ""),
    # uniform orchestration
    *(
        (
            "scale-set",
            f"{name}_{number}",
            name + digits,
            f"/virtualMachineScaleSets/{name}/virtualMachines/{number}",
            name,
            "",
            "g",
        )
        for name, number, digits in (
            ("g", "0", "000000"),
            ("g", "18", "00000I"),
            ("nsgvmss", "85", "00002D"),
            ("a_b", "9999999", "05YC1R"),
        )
    ),
    # flexible orchestration; eight digits are part of a GUID
    *(
        (
            "scale-set",
            f"a_b_{guid}",
            f"a_b_{guid}",
            f"/virtualMachines/a_b_{guid}",
            "a_b",
            "/virtualMachineScaleSets/a_b",
            "g",
        )
        for guid in ("1a2b3c4d", "1A2B3C4D", "12345678", "00000000")
    ),
    # a name of neither form
    *(
        (
            "scale-set",
            name,
            name,
            f"/virtualMachines/{name}",
            "g",
            "/virtualMachineScaleSets/g",
            "g",
        )
        for name in ("web0", "a_007", "a_", "_0", "a_1b")
    ),
]


def compute(kind: str, vm: VM) -> Any:
    """Ask for `vm` of the group "g" of that kind."""
    plane = a_reception(vms=(vm,), groups=(Group(name="g", kind=GroupKind(kind)),))
    path = "/metadata/instance/compute?api-version=2021-03-01"
    return json.loads(plane.ask(path, address=vm.addresses[0]).body)


def depends(kind: str, vm: VM) -> tuple[str, ...]:
    told = compute(kind, vm)
    told["computerName"] = told["osProfile"]["computerName"]
    told["virtualMachineScaleSet"] = told["virtualMachineScaleSet"]["id"]
    return tuple(told[key] for key in DEPENDS)


def a_vm(
    name: str = "g",
    *,
    subscription: str | None = "s",
    resource_group: str | None = "r",
    domain: int | None = None,
) -> VM:
    return VM(
        name=name,
        group="g",
        addresses=("10.0.0.1",),
        subscription=subscription,
        resource_group=resource_group,
        update_domain=domain,
        fault_domain=domain,
    )


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: "-".join(member[:2]))
def test_the_group_tells_what_a_vm_belongs_to(member: tuple[str, ...]) -> None:
    kind, name, computer, own, scale_set, set_id, placement = member
    assert depends(kind, a_vm(name)) == (
        name,
        computer,
        own and RESOURCES + own,
        scale_set,
        set_id and RESOURCES + set_id,
        placement,
    )


@pytest.mark.parametrize("name", ["g_0", "g_1a2b3c4d"])
def test_there_is_no_resource_id_without_both_its_parts(name: str) -> None:
    for vm in (a_vm(name, subscription=None), a_vm(name, resource_group=None)):
        told = compute("scale-set", vm)
        assert told["resourceId"] == told["virtualMachineScaleSet"]["id"] == ""


@pytest.mark.parametrize(
    ("kind", "domain", "told"),
    [
        ("standalone", None, "0"),
        ("standalone", 3, "3"),
        ("availability-set", None, ""),
        ("scale-set", None, ""),
        ("cloud-service", None, ""),
        ("availability-set", 0, "0"),
    ],
)
def test_a_vm_in_no_set_is_in_the_first_domain(
    kind: str, domain: int | None, told: str
) -> None:
    found = compute(kind, a_vm(domain=domain))
    assert found["platformUpdateDomain"] == found["platformFaultDomain"] == told


# --- the network -------------------------------------------------------------


def interfaces(*addresses: str) -> Any:
    """Ask in an open plane, where a VM needs no address."""
    vm = VM(name="a", group="a", addresses=addresses)
    plane = a_reception(vms=(vm,), groups=(Group(name="a"),), is_open=True)
    said = plane.ask("/metadata/instance/network/interface?api-version=2017-04-02")
    return json.loads(said.body)


def test_addresses_are_listed_by_family() -> None:
    (interface,) = interfaces("10.0.0.1", "fd00::1", "10.0.0.2")
    four = interface["ipv4"]["ipAddress"]
    assert [each["privateIpAddress"] for each in four] == ["10.0.0.1", "10.0.0.2"]
    (six,) = interface["ipv6"]["ipAddress"]
    assert six == {"privateIpAddress": "fd00::1", "publicIpAddress": ""}


def test_an_interface_has_a_subnet_that_is_not_said() -> None:
    (interface,) = interfaces("10.0.0.1")
    assert interface["ipv4"]["subnet"] == [{"address": "", "prefix": ""}]


def test_without_an_address_of_version_4_there_is_no_subnet() -> None:
    (interface,) = interfaces("fd00::1")
    assert interface["ipv4"] == {"ipAddress": [], "subnet": []}


def test_without_any_address_there_is_no_interface() -> None:
    assert interfaces() == []
