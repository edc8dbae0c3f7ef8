"""Instance metadata: /metadata/instance and /metadata/versions."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.server.support.handlers import HandlerHarness, a_harness

from forewarn.core.fleet import (
    VM,
    Enabling,
    EvictionPolicy,
    Group,
    GroupKind,
    OperatingSystem,
)
from forewarn.protocol.versions import INSTANCE_VERSIONS

FULL = VM(
    name="set_0",
    group="set",
    host="host-a",
    update_domain=2,
    fault_domain=1,
    zone="3",
    addresses=("10.0.0.1", "10.0.0.2", "fd00::1"),
    spot=True,
    os=OperatingSystem.WINDOWS,
    tags={"role": "web", "tier": "1"},
    size="Standard_D2s_v5",
    location="westeurope",
    resource_group="demo",
    subscription="1234",
    vm_id="5678",
)
BARE = VM(name="bare", group="bare", addresses=("10.0.0.9",))
SET = Group(name="set", kind=GroupKind.SCALE_SET, enabled=Enabling.ALWAYS)
LONE = Group(name="bare")


def the_plane() -> HandlerHarness:
    return a_harness(vms=(FULL, BARE), groups=(SET, LONE))


def tree(address: str = "10.0.0.1", version: str = "2021-02-01") -> Any:
    response = the_plane().request(
        f"/metadata/instance?api-version={version}", address=address
    )
    assert response.status == 200
    assert response.header(b"content-type") == b"application/json; charset=utf-8"
    return json.loads(response.body)


def text(path: str, address: str = "10.0.0.1") -> str:
    target = f"/metadata/instance{path}?api-version=2021-02-01&format=text"
    response = the_plane().request(target, address=address)
    assert response.status == 200, response
    return response.body.decode()


def status(path: str, *parameters: str) -> int:
    query = "&".join(["api-version=2021-02-01", *parameters])
    return the_plane().request(f"/metadata/instance{path}?{query}").status


# --- the tree ----------------------------------------------------------------

TOLD = {
    "name": "set_0",
    "platformUpdateDomain": "2",
    "platformFaultDomain": "1",
    "zone": "3",
    "priority": "Spot",
    "evictionPolicy": "Delete",
    "vmSize": "Standard_D2s_v5",
    "location": "westeurope",
    "resourceGroupName": "demo",
    "subscriptionId": "1234",
    "vmId": "5678",
    "tags": "role:web;tier:1",
    "tagsList": [{"name": "role", "value": "web"}, {"name": "tier", "value": "1"}],
    "azEnvironment": "AzurePublicCloud",
    "osType": "Windows",
    "provider": "Microsoft.Compute",
}


@pytest.mark.parametrize("key", TOLD)
def test_instance_shows_what_the_fleet_defines(key: str) -> None:
    assert tree()["compute"][key] == TOLD[key]


SAID_OF_ALL = ("azEnvironment", "name", "osProfile", "osType", "provider")
SAID_OF_LONE = ("platformFaultDomain", "platformUpdateDomain")


def test_unknown_values_are_empty() -> None:
    compute = tree("10.0.0.9", "2025-04-07")["compute"]
    for name in (*SAID_OF_ALL, *SAID_OF_LONE):
        del compute[name]
    del compute["storageProfile"]["osDisk"]["osType"]
    assert set(scalars(compute)) == {""}


@pytest.mark.parametrize(
    ("address", "shown"), [("10.0.0.1", "Windows"), ("10.0.0.9", "Linux")]
)
def test_os_of_the_fleet_file_is_the_os_type_of_vm_and_disk(
    address: str, shown: str
) -> None:
    compute = tree(address)["compute"]
    disk = compute["storageProfile"]["osDisk"]
    assert (compute["osType"], disk["osType"]) == (shown, shown)


@pytest.mark.parametrize(
    ("own", "of_group", "shown"),
    [
        (None, None, "Delete"),
        (None, EvictionPolicy.DEALLOCATE, "Deallocate"),
        (EvictionPolicy.DELETE, EvictionPolicy.DEALLOCATE, "Delete"),
        (EvictionPolicy.DEALLOCATE, None, "Deallocate"),
    ],
)
def test_eviction_policy_of_a_spot_vm_is_shown(
    own: EvictionPolicy | None, of_group: EvictionPolicy | None, shown: str
) -> None:
    plane = a_harness(
        vms=(replace(FULL, eviction_policy=own),),
        groups=(replace(SET, eviction_policy=of_group),),
    )
    path = "/metadata/instance/compute/evictionPolicy"
    query = "api-version=2021-02-01&format=text"
    response = plane.request(f"{path}?{query}", address="10.0.0.1")
    assert response.body.decode() == shown


@pytest.mark.parametrize("key", ["tagsList", "publicKeys"])
def test_empty_lists_are_lists(key: str) -> None:
    assert tree("10.0.0.9")["compute"][key] == []


def scalars(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [leaf for child in node.values() for leaf in scalars(child)]
    if isinstance(node, list):
        return [leaf for child in node for leaf in scalars(child)]
    return [node]


@pytest.mark.parametrize("address", ["10.0.0.1", "10.0.0.9"])
@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_every_value_is_text(address: str, version: str) -> None:
    assert {type(leaf) for leaf in scalars(tree(address, version))} == {str}


def test_host_is_not_shown() -> None:
    assert tree(version="2025-04-07")["compute"]["host"] == {"id": ""}


def test_other_parameters_are_ignored() -> None:
    path = "/metadata/instance?api-version=2021-08-01"
    response = the_plane().request(f"{path}&extended=true&x=y")
    assert response.status == 200
    assert response.body == the_plane().request(path).body


def test_json_is_compact() -> None:
    response = the_plane().request("/metadata/instance?api-version=2021-02-01")
    assert b'":"' in response.body
    assert b'": ' not in response.body


# --- branches and leaves -----------------------------------------------------


def test_branch_can_be_read_alone() -> None:
    response = the_plane().request("/metadata/instance/compute?api-version=2021-02-01")
    assert json.loads(response.body) == tree()["compute"]


def test_leaf_is_text_without_a_line_end() -> None:
    assert text("/compute/name") == "set_0"


def test_leaf_has_content_type_text() -> None:
    target = "/metadata/instance/compute/name?api-version=2019-06-01&format=text"
    response = the_plane().request(target)
    assert response.header(b"content-type") == b"text/plain; charset=utf-8"


@pytest.mark.parametrize("parameter", ["format=json", "x=y"])
def test_leaf_as_json_gets_400(parameter: str) -> None:
    assert status("/compute/name", parameter) == 400


def test_list_elements_are_addressed_by_number() -> None:
    path = "/network/interface/0/ipv4/ipAddress/1/privateIpAddress"
    assert text(path) == "10.0.0.2"


@pytest.mark.parametrize("path", ["/Compute/NAME", "/compute/name/", "//compute//name"])
def test_paths_are_case_insensitive_and_ignore_extra_slashes(path: str) -> None:
    assert text(path) == "set_0"


NOWHERE = (
    "/nothing",
    "/compute/nothing",
    "/compute/name/more",
    "/network/interface/1",
    "/network/interface/-1",
    "/network/interface/one",
    "/network/interface/0x0",
    "/network/interface/%C2%B2",
    f"/network/interface/{'9' * 5000}",
)


@pytest.mark.parametrize("path", NOWHERE, ids=lambda path: path[:40])
@pytest.mark.parametrize("form", ["text", "json"])
def test_unknown_path_gets_404(path: str, form: str) -> None:
    assert status(path, f"format={form}") == 404


@pytest.mark.parametrize("form", ["xml", "", "text%20"])
def test_unknown_format_gets_400(form: str) -> None:
    assert status("", f"format={form}") == 400


def test_format_is_case_insensitive() -> None:
    assert status("/compute/name", "format=TEXT") == 200


# --- listings ----------------------------------------------------------------


def test_root_lists_its_branches() -> None:
    assert text("") == "compute/\nnetwork/"


def test_branch_lists_containers_with_a_slash() -> None:
    assert text("/compute/osProfile").split("\n") == [
        "adminUsername",
        "computerName",
        "disablePasswordAuthentication",
    ]
    assert text("/network/interface/0") == "ipv4/\nipv6/\nmacAddress"
    assert {"name", "osProfile/", "tagsList/"} <= set(text("/compute").split("\n"))


def test_all_leaves_are_reachable_by_listings() -> None:
    values: dict[str, str] = {}
    pending = ["/"]
    while pending:
        path = pending.pop()
        for child in text(path).split():
            if child.endswith("/"):
                pending.append(path + child)
            else:
                values[path + child] = text(path + child)
    assert len(values) == len(scalars(tree()))
    assert values["/compute/tagsList/1/name"] == "tier"
    assert (
        values["/network/interface/0/ipv4/ipAddress/1/privateIpAddress"] == "10.0.0.2"
    )


def test_list_shows_its_indexes() -> None:
    assert text("/network/interface/0/ipv4/ipAddress") == "0/\n1/"


def test_empty_list_shows_nothing() -> None:
    assert text("/compute/tagsList", "10.0.0.9") == ""


# --- versions ----------------------------------------------------------------


def test_versions_need_no_api_version() -> None:
    response = the_plane().request("/metadata/versions")
    versions = json.loads(response.body)["apiVersions"]
    assert versions == sorted(versions)
    assert (versions[0], versions[-1]) == ("2017-03-01", "2025-04-07")
    assert len(versions) == 35


def test_versions_need_the_metadata_header() -> None:
    assert the_plane().request("/metadata/versions", marked=False).status == 400


def test_versions_are_available_to_unknown_clients() -> None:
    assert the_plane().request("/metadata/versions", address="10.9.9.9").status == 200
