"""Instance metadata that depends on a VM's group and network."""

import json
from typing import Any

import pytest
from tests.server.support.handlers import a_harness

from forewarn.core.fleet import VM, Group, GroupKind

# --- values that depend on the group -----------------------------------------

RESOURCES = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute"
DEPENDS = (
    "name",
    "computerName",
    "resourceId",
    "vmScaleSetName",
    "virtualMachineScaleSet",
    "placementGroupId",
)
#: Kind and name of a VM, then the other values that depend on the group "g".
MEMBERS = [
    # a standalone VM, and one of an availability set
    ("standalone", "g", "g", "/virtualMachines/g", "", "", ""),
    ("availability-set", "web-0", "web-0", "/virtualMachines/web-0", "", "", ""),
    # the name alone does not make it a scale-set VM
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
    """Return the compute branch of `vm` in the group "g" of that kind."""
    plane = a_harness(vms=(vm,), groups=(Group(name="g", kind=GroupKind(kind)),))
    path = "/metadata/instance/compute?api-version=2021-03-01"
    return json.loads(plane.request(path, address=vm.addresses[0]).body)


def depends(kind: str, vm: VM) -> tuple[str, ...]:
    branch = compute(kind, vm)
    branch["computerName"] = branch["osProfile"]["computerName"]
    branch["virtualMachineScaleSet"] = branch["virtualMachineScaleSet"]["id"]
    return tuple(branch[key] for key in DEPENDS)


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
def test_group_determines_what_a_vm_belongs_to(member: tuple[str, ...]) -> None:
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
def test_resource_id_needs_subscription_and_resource_group(name: str) -> None:
    for vm in (a_vm(name, subscription=None), a_vm(name, resource_group=None)):
        branch = compute("scale-set", vm)
        assert branch["resourceId"] == branch["virtualMachineScaleSet"]["id"] == ""


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
def test_standalone_vm_is_in_domain_zero(
    kind: str, domain: int | None, told: str
) -> None:
    branch = compute(kind, a_vm(domain=domain))
    assert branch["platformUpdateDomain"] == branch["platformFaultDomain"] == told


# --- network -----------------------------------------------------------------


def interfaces(*addresses: str) -> Any:
    """Return the interfaces of a VM on an open plane, where it needs no address."""
    vm = VM(name="a", group="a", addresses=addresses)
    plane = a_harness(vms=(vm,), groups=(Group(name="a"),), is_open=True)
    response = plane.request(
        "/metadata/instance/network/interface?api-version=2017-04-02"
    )
    return json.loads(response.body)


def test_addresses_are_listed_by_family() -> None:
    (interface,) = interfaces("10.0.0.1", "fd00::1", "10.0.0.2")
    ipv4 = interface["ipv4"]["ipAddress"]
    assert [entry["privateIpAddress"] for entry in ipv4] == ["10.0.0.1", "10.0.0.2"]
    (ipv6,) = interface["ipv6"]["ipAddress"]
    assert ipv6 == {"privateIpAddress": "fd00::1", "publicIpAddress": ""}


def test_subnet_of_an_interface_is_empty() -> None:
    (interface,) = interfaces("10.0.0.1")
    assert interface["ipv4"]["subnet"] == [{"address": "", "prefix": ""}]


def test_interface_without_ipv4_has_no_subnet() -> None:
    (interface,) = interfaces("fd00::1")
    assert interface["ipv4"] == {"ipAddress": [], "subnet": []}


def test_vm_without_an_address_has_no_interface() -> None:
    assert interfaces() == []
