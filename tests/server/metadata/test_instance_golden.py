"""Recorded responses of a real /metadata/instance, compared with ours for the same VM.

The recordings are complete except for personal data: ids, keys and MAC addresses are
blanked, and only three tags are kept.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.support.handlers import a_harness

from forewarn.core.fleet import VM, Group, GroupKind, OperatingSystem

GOLDEN = Path(__file__).parents[2] / "golden"
VERSIONS = ("2017-08-01", "2021-02-01", "2021-12-13")


def recorded(version: str) -> Any:
    return json.loads((GOLDEN / f"instance_{version}_scale_set.json").read_text())


def ours(version: str) -> Any:
    """Return our response for the recorded VM, as a fleet file would describe it."""
    compute, network = recorded(version)["compute"], recorded(version)["network"]
    tags = [tag.split(":", 1) for tag in compute["tags"].split(";")]
    ipv4 = network["interface"][0]["ipv4"]["ipAddress"]
    vm = VM(
        name=compute["name"],
        group=compute["placementGroupId"],
        update_domain=int(compute["platformUpdateDomain"]),
        fault_domain=int(compute["platformFaultDomain"]),
        zone=compute.get("zone"),
        addresses=(ipv4[0]["privateIpAddress"],),
        os=OperatingSystem(compute["osType"].lower()),
        tags=dict(reversed(tags)),
        size=compute["vmSize"],
        location=compute["location"],
        resource_group=compute["resourceGroupName"],
        subscription=compute["subscriptionId"],
        vm_id=compute["vmId"],
    )
    group = Group(name=vm.group, kind=GroupKind.SCALE_SET)
    response = a_harness(vms=(vm,), groups=(group,)).request(
        f"/metadata/instance?api-version={version}", address=vm.addresses[0]
    )
    return json.loads(response.body)


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of every leaf in document order."""
    if not node or isinstance(node, str):
        yield path, node
        return
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for name, child in inner:
        yield from leaves(child, f"{path}/{name}")


#: Values that a fleet file cannot define.
ABSENT = (
    "/compute/additionalCapabilities/",
    "/compute/isHostCompatibilityLayerVm",
    "/compute/osProfile/adminUsername",
    "/compute/osProfile/disablePasswordAuthentication",
    "/compute/securityProfile/",
    "/compute/storageProfile/",
    "/compute/version",
    "/network/interface/0/ipv4/subnet/",
    "/network/interface/0/macAddress",
)


#: The exception, below one of them.
PRESENT = "/compute/storageProfile/osDisk/osType"


def is_absent_in_fleet(path: str) -> bool:
    return path.startswith(ABSENT) and path != PRESENT


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_match_a_real_response_in_order(version: str) -> None:
    real = [path for path, _ in leaves(recorded(version))]
    assert [path for path, _ in leaves(ours(version))] == real


@pytest.mark.parametrize("version", VERSIONS)
def test_values_from_the_fleet_file_match_a_real_response(version: str) -> None:
    real = {p: v for p, v in leaves(recorded(version)) if not is_absent_in_fleet(p)}
    answered = {p: v for p, v in leaves(ours(version)) if not is_absent_in_fleet(p)}
    assert answered == real


@pytest.mark.parametrize("version", VERSIONS)
def test_values_missing_in_the_fleet_file_are_empty(version: str) -> None:
    values = {v or "" for p, v in leaves(ours(version)) if is_absent_in_fleet(p)}
    assert values == {""}
