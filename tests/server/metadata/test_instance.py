"""/metadata/instance and /metadata/versions: what a VM may ask about itself."""

import json
from typing import Any

import pytest
from tests.server.support.handlers import Reception, a_reception

from forewarn.core.fleet import VM, Group, GroupKind, Listening
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
    tags={"role": "web", "tier": "1"},
    size="Standard_D2s_v5",
    location="westeurope",
    resource_group="demo",
    subscription="1234",
    vm_id="5678",
)
BARE = VM(name="bare", group="bare", addresses=("10.0.0.9",))
SET = Group(name="set", kind=GroupKind.SCALE_SET, listening=Listening.ALWAYS)
LONE = Group(name="bare")


def the_plane() -> Reception:
    return a_reception(vms=(FULL, BARE), groups=(SET, LONE))


def tree(address: str = "10.0.0.1", version: str = "2021-02-01") -> Any:
    said = the_plane().ask(f"/metadata/instance?api-version={version}", address=address)
    assert said.status == 200
    assert said.header(b"content-type") == b"application/json; charset=utf-8"
    return json.loads(said.body)


def text(path: str, address: str = "10.0.0.1") -> str:
    target = f"/metadata/instance{path}?api-version=2021-02-01&format=text"
    said = the_plane().ask(target, address=address)
    assert said.status == 200, said
    return said.body.decode()


def status(path: str, *parameters: str) -> int:
    query = "&".join(["api-version=2021-02-01", *parameters])
    return the_plane().ask(f"/metadata/instance{path}?{query}").status


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
    "provider": "Microsoft.Compute",
}


@pytest.mark.parametrize("key", TOLD)
def test_a_vm_is_told_what_the_fleet_says(key: str) -> None:
    assert tree()["compute"][key] == TOLD[key]


SAID_OF_ALL = ("azEnvironment", "name", "osProfile", "provider")
SAID_OF_LONE = ("platformFaultDomain", "platformUpdateDomain")


def test_what_the_fleet_does_not_say_is_empty() -> None:
    compute = tree("10.0.0.9", "2025-04-07")["compute"]
    for name in (*SAID_OF_ALL, *SAID_OF_LONE):
        del compute[name]
    assert set(scalars(compute)) == {""}


@pytest.mark.parametrize("key", ["tagsList", "publicKeys"])
def test_lists_that_are_empty_are_lists(key: str) -> None:
    assert tree("10.0.0.9")["compute"][key] == []


def scalars(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [leaf for each in node.values() for leaf in scalars(each)]
    if isinstance(node, list):
        return [leaf for each in node for leaf in scalars(each)]
    return [node]


@pytest.mark.parametrize("address", ["10.0.0.1", "10.0.0.9"])
@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_every_single_value_is_text(address: str, version: str) -> None:
    assert {type(leaf) for leaf in scalars(tree(address, version))} == {str}


def test_the_host_is_not_told() -> None:
    assert tree(version="2025-04-07")["compute"]["host"] == {"id": ""}


def test_more_parameters_change_nothing() -> None:
    path = "/metadata/instance?api-version=2021-08-01"
    said = the_plane().ask(f"{path}&extended=true&x=y")
    assert said.status == 200
    assert said.body == the_plane().ask(path).body


def test_the_answer_is_compact() -> None:
    said = the_plane().ask("/metadata/instance?api-version=2021-02-01")
    assert b'":"' in said.body
    assert b'": ' not in said.body


# --- down to the leaves ------------------------------------------------------


def test_a_branch_can_be_read_alone() -> None:
    said = the_plane().ask("/metadata/instance/compute?api-version=2021-02-01")
    assert json.loads(said.body) == tree()["compute"]


def test_a_leaf_is_read_as_text_without_a_line_end() -> None:
    assert text("/compute/name") == "set_0"


def test_a_leaf_says_that_it_is_text() -> None:
    target = "/metadata/instance/compute/name?api-version=2019-06-01&format=text"
    said = the_plane().ask(target)
    assert said.header(b"content-type") == b"text/plain; charset=utf-8"


@pytest.mark.parametrize("parameter", ["format=json", "x=y"])
def test_a_leaf_as_json_is_refused(parameter: str) -> None:
    assert status("/compute/name", parameter) == 400


def test_a_list_is_entered_by_number() -> None:
    path = "/network/interface/0/ipv4/ipAddress/1/privateIpAddress"
    assert text(path) == "10.0.0.2"


@pytest.mark.parametrize("path", ["/Compute/NAME", "/compute/name/", "//compute//name"])
def test_paths_are_found_in_any_case_and_with_more_slashes(path: str) -> None:
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
def test_what_is_not_there_is_not_found(path: str, form: str) -> None:
    assert status(path, f"format={form}") == 404


@pytest.mark.parametrize("form", ["xml", "", "text%20"])
def test_another_format_is_refused(form: str) -> None:
    assert status("", f"format={form}") == 400


def test_the_format_is_read_in_any_case() -> None:
    assert status("/compute/name", "format=TEXT") == 200


# --- listings ----------------------------------------------------------------


def test_the_root_lists_its_branches() -> None:
    assert text("") == "compute/\nnetwork/"


def test_a_branch_lists_its_children_containers_with_a_slash() -> None:
    assert text("/compute/osProfile").split("\n") == [
        "adminUsername",
        "computerName",
        "disablePasswordAuthentication",
    ]
    assert text("/network/interface/0") == "ipv4/\nipv6/\nmacAddress"
    assert {"name", "osProfile/", "tagsList/"} <= set(text("/compute").split("\n"))


def test_everything_can_be_found_by_its_listings() -> None:
    found: dict[str, str] = {}
    ahead = ["/"]
    while ahead:
        path = ahead.pop()
        for child in text(path).split():
            if child.endswith("/"):
                ahead.append(path + child)
            else:
                found[path + child] = text(path + child)
    assert len(found) == len(scalars(tree()))
    assert found["/compute/tagsList/1/name"] == "tier"
    assert found["/network/interface/0/ipv4/ipAddress/1/privateIpAddress"] == "10.0.0.2"


def test_a_list_lists_its_numbers() -> None:
    assert text("/network/interface/0/ipv4/ipAddress") == "0/\n1/"


def test_an_empty_list_lists_nothing() -> None:
    assert text("/compute/tagsList", "10.0.0.9") == ""


# --- versions ----------------------------------------------------------------


def test_the_versions_are_listed_without_asking_for_one() -> None:
    said = the_plane().ask("/metadata/versions")
    versions = json.loads(said.body)["apiVersions"]
    assert versions == sorted(versions)
    assert (versions[0], versions[-1]) == ("2017-03-01", "2025-04-07")
    assert len(versions) == 35


def test_the_versions_need_the_header_as_everything() -> None:
    assert the_plane().ask("/metadata/versions", marked=False).status == 400


def test_the_versions_do_not_depend_on_who_asks() -> None:
    assert the_plane().ask("/metadata/versions", address="10.9.9.9").status == 200
