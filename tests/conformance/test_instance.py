"""Instance metadata and versions (13.1, 13.2)."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import ReceivedResponse
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VM

NEW = "2021-02-01"
FIELDS = (
    "name",
    "vmScaleSetName",
    "placementGroupId",
    "platformUpdateDomain",
    "platformFaultDomain",
    "zone",
    "priority",
    "evictionPolicy",
    "resourceId",
)


def read(
    vm: VM, path: str = "", query: str = "", version: str = NEW
) -> ReceivedResponse:
    """Read instance metadata at `path`."""
    return vm.send(f"/metadata/instance{path}?api-version={version}{query}")


def text(vm: VM, path: str) -> str:
    """Read instance metadata as text."""
    response = read(vm, path, "&format=text")
    assert response.status == 200
    return response.body.decode()


def leaves(node: Any) -> Iterator[object]:
    """Yield all single values below `node`."""
    if isinstance(node, dict):
        node = [*node.values()]
    if isinstance(node, list):
        for item in node:
            yield from leaves(item)
    else:
        yield node


@fact("13.1a")
def test_a_vm_can_read_its_instance_metadata(vm: VM) -> None:
    response = read(vm)
    assert response.status == 200
    assert response.header("Content-Type") == "application/json; charset=utf-8"
    assert response.json.keys() >= {"compute", "network"}


@fact("13.1b")
def test_a_longer_path_returns_a_part_of_the_tree(vm: VM) -> None:
    whole = read(vm).json
    assert read(vm, "/compute").json == whole["compute"]
    assert read(vm, "/network/interface").json == whole["network"]["interface"]
    assert text(vm, "/compute/name") == whole["compute"]["name"]


@fact("13.1c")
def test_a_number_selects_an_array_item(fleet: TemporaryFleet) -> None:
    vm = fleet.add_standalone_vm(addresses=["192.0.2.77"])
    first = read(vm)["network"]["interface"][0]
    assert read(vm, "/network/interface/0").json == first
    path = "/network/interface/0/ipv4/ipAddress/0/privateIpAddress"
    assert text(vm, path) == "192.0.2.77"


@fact("13.1c")
@pytest.mark.parametrize("index", ["1", "-1", "x", "00"])
def test_an_index_beyond_the_array_returns_404(
    fleet: TemporaryFleet, index: str
) -> None:
    vm = fleet.add_standalone_vm(addresses=["192.0.2.78"])
    assert read(vm, f"/network/interface/{index}").status == 404


@fact("13.1d")
def test_json_is_the_default_format(vm: VM) -> None:
    plain, named = read(vm), read(vm, query="&format=json")
    assert (named.status, named.body) == (200, plain.body)


@fact("13.1d")
def test_the_text_format_returns_plain_text(vm: VM) -> None:
    response = read(vm, "/compute/name", "&format=text")
    assert (response.header("Content-Type") or "").startswith("text/plain")
    assert not response.body.endswith(b"\n")


@fact("13.1e")
@pytest.mark.parametrize("query", ["", "&format=json"])
def test_a_single_value_is_available_as_text_only(vm: VM, query: str) -> None:
    response = read(vm, "/compute/name", query)
    assert response.status == 400
    assert response.error


@fact("13.1f")
def test_listing_versions_needs_no_version(vm: VM) -> None:
    response = vm.send("/metadata/versions")
    assert response.status == 200
    listed = response["apiVersions"]
    assert [*response.json] == ["apiVersions"]
    assert listed[0] == "2017-03-01"
    assert listed == sorted(listed)
    assert response.body.startswith(b'{"apiVersions":["2017-03-01","')


@fact("13.1g")
def test_all_values_are_strings(vm: VM) -> None:
    odd = [leaf for leaf in leaves(read(vm).json) if not isinstance(leaf, str)]
    assert odd == [], f"expected only text, seen {odd}"


@fact("13.1g")
def test_unknown_values_are_empty(fleet: TemporaryFleet) -> None:
    compute = read(fleet.add_standalone_vm())["compute"]
    assert (compute["zone"], compute["vmScaleSetName"], compute["tags"]) == ("", "", "")


@fact("13.1h")
def test_an_object_as_text_lists_its_children(fleet: TemporaryFleet) -> None:
    vm = fleet.add_standalone_vm(addresses=["192.0.2.79"])
    assert {"compute/", "network/"} <= {*text(vm, "").split("\n")}
    assert text(vm, "/network") == "interface/"
    assert text(vm, "/network/interface") == "0/"
    listed = text(vm, "/compute").split("\n")
    assert {"name", "osProfile/", "tagsList/"} <= {*listed}


@fact("13.2a")
def test_tags_are_a_single_string(fleet: TemporaryFleet) -> None:
    vm = fleet.add_standalone_vm(tags={"role": "web", "tier": "1"})
    assert read(vm)["compute"]["tags"] == "role:web;tier:1"


@fact("13.2b")
@pytest.mark.parametrize(
    ("version", "known"),
    [("2019-06-01", False), ("2019-06-04", True), ("2025-04-07", True)],
)
def test_tags_are_listed_from_2019_06_04_on(
    fleet: TemporaryFleet, version: str, known: bool
) -> None:
    vm = fleet.add_standalone_vm(tags={"role": "web"})
    compute = read(vm, version=version)["compute"]
    assert ("tagsList" in compute) == known
    if known:
        assert compute["tagsList"] == [{"name": "role", "value": "web"}]


@fact("13.2c")
def test_the_fields_that_clients_use_are_present(vm: VM) -> None:
    compute = read(vm)["compute"]
    missing = [field for field in FIELDS if not isinstance(compute.get(field), str)]
    assert missing == [], f"expected text for each, missing {missing}"
    assert isinstance(compute["osProfile"]["computerName"], str)


@fact("13.2c")
def test_a_spot_vm_is_marked_as_such(fleet: TemporaryFleet) -> None:
    compute = read(fleet.add_standalone_vm(spot=True))["compute"]
    assert (compute["priority"], compute["evictionPolicy"]) == ("Spot", "Delete")
