"""Instance metadata as real programs in VMs request it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.server.support.dialogs import ParsedResponse
from tests.server.support.handlers import a_harness

from forewarn.core.fleet import VM, Group, GroupKind

NODE = VM(
    name="pool_10",
    group="pool",
    addresses=("10.0.0.1",),
    fault_domain=1,
    tags={"role": "web"},
    size="Standard_B2ms",
    location="westeurope",
    resource_group="demo",
    subscription="1234",
    vm_id="5678",
)


def read_metadata(path: str) -> ParsedResponse:
    group = Group(name="pool", kind=GroupKind.SCALE_SET)
    return a_harness(vms=(NODE,), groups=(group,)).request(f"/metadata/{path}")


TEXTS = {
    # agents that drain a node, machines that configure their own names
    "instance/compute/name?api-version=2019-06-01&format=text": "pool_10",
    "instance/compute/name?api-version=2021-05-01&format=text": "pool_10",
    "instance/compute/subscriptionId?api-version=2021-02-01&format=text": "1234",
    "instance/compute/resourceGroupName?api-version=2021-05-01&format=text": "demo",
    # programs that run at boot
    "instance/compute/osProfile/computerName?api-version=2025-04-07&format=text": (
        "pool00000A"
    ),
    "instance/compute/physicalZone?api-version=2025-04-07&format=text": "",
    "instance/compute/userData?api-version=2025-04-07&format=text": "",
    "instance/network/interface/0/ipv4/ipAddress/0/publicIpAddress"
    "?api-version=2025-04-07&format=text": "",
    # monitoring
    "instance/compute/vmSize?api-version=2018-10-01&format=text": "Standard_B2ms",
    "instance/compute/tags?api-version=2017-08-01&format=text": "role:web",
    "instance/compute/vmId?format=text&api-version=2017-08-01": "5678",
    "instance/network/interface/0/ipv4/subnet/0/prefix"
    "?api-version=2017-08-01&format=text": "",
}


@pytest.mark.parametrize("path", TEXTS)
def test_value_is_read_as_text(path: str) -> None:
    response = read_metadata(path)
    assert (response.status, response.body.decode()) == (200, TEXTS[path])


TREES: dict[str, tuple[Callable[[Any], str], str]] = {
    # resource agents of a cluster
    "instance?api-version=2019-08-01": (
        lambda all_: all_["compute"]["name"],
        "pool_10",
    ),
    "instance?api-version=2021-12-13": (
        lambda all_: all_["compute"]["name"],
        "pool_10",
    ),
    # first-boot provisioning: the current version and its fallback
    "instance?api-version=2021-08-01&extended=true": (
        lambda all_: all_["compute"]["osProfile"]["computerName"],
        "pool00000A",
    ),
    "instance?api-version=2019-06-01": (
        lambda all_: all_["network"]["interface"][0]["macAddress"],
        "",
    ),
    # a cloud provider, and monitoring
    "instance/compute?api-version=2021-10-01&format=json": (
        lambda compute: compute["platformFaultDomain"],
        "1",
    ),
    "instance/compute/tagsList?api-version=2021-02-01": (
        lambda tags: tags[0]["value"],
        "web",
    ),
    "instance/network?api-version=2017-04-02": (
        lambda network: network["interface"][0]["ipv4"]["subnet"][0]["address"],
        "",
    ),
    "instance/network/interface?api-version=2017-08-01": (
        lambda all_: all_[0]["ipv4"]["ipAddress"][0]["privateIpAddress"],
        "10.0.0.1",
    ),
}


@pytest.mark.parametrize("path", TREES)
def test_tree_is_read_as_json(path: str) -> None:
    look, expected = TREES[path]
    response = read_metadata(path)
    assert response.status == 200
    assert look(json.loads(response.body)) == expected
