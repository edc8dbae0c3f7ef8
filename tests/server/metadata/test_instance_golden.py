"""Answers of a real /metadata/instance, against ours for the same VM.

The recordings are whole but for what tells people: ids, keys and addresses of cards are
blanked, and of the tags three are left.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.support.handlers import a_reception

from forewarn.core.fleet import VM, Group, GroupKind

GOLDEN = Path(__file__).parents[2] / "golden"
VERSIONS = ("2017-08-01", "2021-02-01", "2021-12-13")


def recorded(version: str) -> Any:
    return json.loads((GOLDEN / f"instance_{version}_scale_set.json").read_text())


def ours(version: str) -> Any:
    """Ask for the VM that was recorded, as a fleet file would describe it."""
    compute, network = recorded(version)["compute"], recorded(version)["network"]
    tags = [tag.split(":", 1) for tag in compute["tags"].split(";")]
    four = network["interface"][0]["ipv4"]["ipAddress"]
    vm = VM(
        name=compute["name"],
        group=compute["placementGroupId"],
        update_domain=int(compute["platformUpdateDomain"]),
        fault_domain=int(compute["platformFaultDomain"]),
        zone=compute.get("zone"),
        addresses=(four[0]["privateIpAddress"],),
        tags=dict(reversed(tags)),
        size=compute["vmSize"],
        location=compute["location"],
        resource_group=compute["resourceGroupName"],
        subscription=compute["subscriptionId"],
        vm_id=compute["vmId"],
    )
    group = Group(name=vm.group, kind=GroupKind.SCALE_SET)
    said = a_reception(vms=(vm,), groups=(group,)).ask(
        f"/metadata/instance?api-version={version}", address=vm.addresses[0]
    )
    return json.loads(said.body)


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Name everything that holds nothing more, in the order in which it is written."""
    if not node or isinstance(node, str):
        yield path, node
        return
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for name, each in inner:
        yield from leaves(each, f"{path}/{name}")


#: What a fleet file cannot say.
UNSAID = (
    "/compute/additionalCapabilities/",
    "/compute/isHostCompatibilityLayerVm",
    "/compute/osProfile/adminUsername",
    "/compute/osProfile/disablePasswordAuthentication",
    "/compute/osType",
    "/compute/securityProfile/",
    "/compute/storageProfile/",
    "/compute/version",
    "/network/interface/0/ipv4/subnet/",
    "/network/interface/0/macAddress",
)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_has_the_keys_of_a_real_one_in_their_order(version: str) -> None:
    real = [path for path, _ in leaves(recorded(version))]
    assert [path for path, _ in leaves(ours(version))] == real


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_fleet_file_can_say_is_told_as_a_real_one_does(version: str) -> None:
    real = {p: v for p, v in leaves(recorded(version)) if not p.startswith(UNSAID)}
    told = {p: v for p, v in leaves(ours(version)) if not p.startswith(UNSAID)}
    assert told == real


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_fleet_file_cannot_say_is_not_made_up(version: str) -> None:
    told = {v or "" for p, v in leaves(ours(version)) if p.startswith(UNSAID)}
    assert told == {""}
