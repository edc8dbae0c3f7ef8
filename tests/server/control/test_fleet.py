"""Fleet over the control API: single resources and the whole fleet."""

import tomllib
from typing import Any

import pytest
from tests.server.support.service import FLEET, RunningService, send_request

THINGS = ("/v1/vms/lone", "/v1/vms/web-0", "/v1/groups/web", "/v1/hosts/host-a")


def the_fleet() -> dict[str, Any]:
    """Return the whole fleet as a body of PUT /v1/fleet."""
    return tomllib.loads(FLEET)


def whole_fleet(service: RunningService) -> list[Any]:
    """Return all hosts, groups and VMs as the API shows them."""
    return [service.get(f"/v1/{name}")["items"] for name in ("hosts", "groups", "vms")]


# --- reading -----------------------------------------------------------------


def test_vm_has_the_keys_of_the_fleet_file(shared: RunningService) -> None:
    vm = shared.get("/v1/vms/lone")
    assert (vm["addresses"], vm["tags"]) == (["10.0.0.9"], {"role": "spare"})
    assert (vm["group"], vm["host"], vm["spot"]) == ("lone", None, False)


def test_group_has_a_kind(shared: RunningService) -> None:
    assert shared.get("/v1/groups/web")["kind"] == "availability-set"


def test_host_has_a_name(shared: RunningService) -> None:
    assert shared.get("/v1/hosts/HOST-A") == {"name": "host-a"}


def test_vm_without_a_group_gets_a_group_of_its_own(shared: RunningService) -> None:
    assert shared.get("/v1/groups/lone")["kind"] == "standalone"


def test_names_are_case_insensitive(shared: RunningService) -> None:
    assert shared.get("/v1/vms/WEB-0")["name"] == "web-0"
    assert shared.get("/v1/groups/Web")["name"] == "web"


def test_group_is_enabled_by_its_first_poll(service: RunningService) -> None:
    service.document("lone")
    now = service.get("/v1/clock")["now"]
    group = service.get("/v1/groups/lone")
    assert (group["listening_since"], group["last_request"]) == (now, now)


# --- single resources --------------------------------------------------------


@pytest.mark.parametrize("path", THINGS)
def test_resource_can_be_written_back_unchanged(
    service: RunningService, path: str
) -> None:
    service.document("lone")
    before = service.get(path)
    answer = service.request("PUT", path, before)
    assert (answer.status, answer.json) == (200, before)
    assert [
        fact for fact in service.facts("FleetChanged") if fact["by"] == "admin"
    ] == []


def test_vm_can_be_added(service: RunningService) -> None:
    body = {"group": "web", "host": "host-b", "update_domain": 3}
    answer = service.request("PUT", "/v1/vms/web-3", body)
    assert answer.status == 200
    assert service.get("/v1/vms/web-3") == answer.json
    assert (answer.json["name"], answer.json["host"]) == ("web-3", "host-b")


def test_new_vm_is_served_immediately(service: RunningService) -> None:
    assert service.as_vm("new").status == 404
    service.request("PUT", "/v1/vms/new", {})
    assert service.document("new") == {"DocumentIncarnation": 0, "Events": []}


def test_new_vm_sees_the_events_of_its_group(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    service.request("PUT", "/v1/vms/web-3", {"group": "web", "update_domain": 3})
    assert service.document("web-3") == service.document("web-0")


def test_group_and_host_can_be_added_and_used(service: RunningService) -> None:
    service.request("PUT", "/v1/groups/mail", {"kind": "availability-set"})
    service.request("PUT", "/v1/hosts/host-c", {})
    body = {"group": "mail", "host": "host-c"}
    assert service.request("PUT", "/v1/vms/mail-0", body).status == 200


def test_group_settings_can_be_changed(service: RunningService) -> None:
    body = {"kind": "availability-set", "auto_approve": ["user-reboot"]}
    assert service.request("PUT", "/v1/groups/web", body).status == 200
    assert service.get("/v1/groups/web")["auto_approve"] == ["user-reboot"]
    assert service.get("/v1/groups/web")["listening"] == "on-demand"


def test_null_means_absent(service: RunningService) -> None:
    keys = service.get("/v1/vms/lone")
    body = {**dict.fromkeys(keys), "tags": {"a": "b"}}
    answer = service.request("PUT", "/v1/vms/lone", body)
    assert answer.status == 200
    assert (answer.json["addresses"], answer.json["tags"]) == ([], {"a": "b"})


@pytest.mark.parametrize("path", ["/v1/vms/web-2", "/v1/hosts/host-c"])
def test_deleted_resource_gets_404(service: RunningService, path: str) -> None:
    service.request("PUT", "/v1/hosts/host-c", {})
    answer = service.request("DELETE", path)
    assert (answer.status, answer.headers["Content-Type"]) == (204, None)
    assert service.request("GET", path).status == 404
    assert service.request("DELETE", path).status == 404


def test_deleted_vm_is_unknown_immediately(service: RunningService) -> None:
    service.request("DELETE", "/v1/vms/lone")
    assert service.as_vm("lone").status == 404
    assert service.request("GET", "/v1/groups/lone").status == 404


def test_empty_group_can_be_deleted(service: RunningService) -> None:
    assert service.request("DELETE", "/v1/groups/empty").status == 204


@pytest.mark.parametrize(
    ("path", "member"), [("/v1/groups/web", "web-0"), ("/v1/hosts/host-a", "db-0")]
)
def test_group_or_host_with_vms_cannot_be_deleted(
    service: RunningService, path: str, member: str
) -> None:
    answer = service.request("DELETE", path)
    assert answer.status == 409
    assert member in answer.detail


WRONG: dict[str, tuple[str, object, str]] = {
    "another name": ("/v1/vms/a", {"name": "b"}, "'b'"),
    "a name that is none": ("/v1/vms/a%20b", {}, "name"),
    "an endless name": (f"/v1/vms/{'a' * 81}", {}, "name"),
    "an unknown key": ("/v1/vms/a", {"colour": "red"}, "colour"),
    "an unknown group": ("/v1/vms/a", {"group": "nobody"}, "nobody"),
    "an unknown host": ("/v1/vms/a", {"host": "nobody"}, "nobody"),
    "an address that is none": ("/v1/vms/a", {"addresses": ["x"]}, "address"),
    "an address of another": ("/v1/vms/a", {"addresses": ["10.0.0.9"]}, "lone"),
    "its address in disguise": (
        "/v1/vms/a",
        {"addresses": ["::ffff:10.0.0.9"]},
        "lone",
    ),
    "a domain as text": ("/v1/vms/a", {"update_domain": "1"}, "update_domain"),
    "a negative domain": ("/v1/vms/a", {"update_domain": -1}, "update_domain"),
    "a switch as text": ("/v1/vms/a", {"spot": "yes"}, "spot"),
    "tags that are no text": ("/v1/vms/a", {"tags": {"a": 1}}, "tags"),
    "a group of its own of another kind": ("/v1/vms/web", {}, "web"),
    "a group without kind": ("/v1/groups/a", {}, "kind"),
    "an unknown kind": ("/v1/groups/a", {"kind": "heap"}, "scale-set"),
    "too short a notice": (
        "/v1/groups/empty",
        {"kind": "scale-set", "terminate_notice_seconds": 299},
        "300",
    ),
    "an unknown approval": (
        "/v1/groups/empty",
        {"kind": "scale-set", "auto_approve": ["all"]},
        "auto_approve",
    ),
    "a host with a size": ("/v1/hosts/a", {"size": "big"}, "size"),
    "text that is no unicode": ("/v1/vms/a", {"zone": "\ud800"}, "character"),
    "a tag that is no unicode": ("/v1/vms/a", {"tags": {"\ud800": "b"}}, "character"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_invalid_resource_gets_422_with_a_reason(
    shared: RunningService, wrong: str
) -> None:
    path, body, word = WRONG[wrong]
    answer = shared.request("PUT", path, body)
    assert answer.status == 422
    assert word in answer.detail


# --- live events -------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"group": "db", "host": "host-a", "update_domain": 0},
        {"group": "web", "host": "host-a", "update_domain": 7},
        {"group": "web", "host": "host-a"},
    ],
)
def test_vm_with_an_event_keeps_its_group_and_update_domain(
    service: RunningService, body: dict[str, object]
) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = service.request("PUT", "/v1/vms/web-0", body)
    assert answer.status == 409
    assert maintenance["id"] in answer.detail


def test_vm_with_an_event_may_change_in_other_ways(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    body = {"group": "web", "update_domain": 0, "host": "host-b", "size": "big"}
    assert service.request("PUT", "/v1/vms/web-0", body).status == 200


def test_host_with_an_event_cannot_be_removed(service: RunningService) -> None:
    maintenance = service.announce(host="host-b")
    fleet = the_fleet()
    fleet["hosts"] = [{"name": "host-a"}]
    for vm in fleet["vms"]:
        if vm.get("host") == "host-b":
            del vm["host"]
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert answer.status == 409
    assert maintenance["id"] in answer.detail


def test_vm_with_an_event_can_be_deleted(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    assert service.request("DELETE", "/v1/vms/web-0").status == 204
    assert service.get(f"/v1/maintenances/{maintenance['id']}")["phase"] == "CANCELED"


def test_vm_of_an_isolated_group_sees_only_its_own_events(
    service: RunningService,
) -> None:
    service.announce(vms=["web-0"])
    before = service.as_vm("web-0").headers["ETag"]
    settings = {**service.get("/v1/groups/web"), "isolated": True}
    assert service.request("PUT", "/v1/groups/web", settings).status == 200
    assert service.document("web-0")["DocumentIncarnation"] == 1
    assert service.document("web-1") == {"DocumentIncarnation": 0, "Events": []}
    assert service.as_vm("web-0").headers["ETag"] != before


# --- the whole fleet ---------------------------------------------------------


def test_applying_the_same_fleet_changes_nothing(service: RunningService) -> None:
    before = service.facts()
    nothing: dict[str, list[str]] = {"hosts": [], "groups": [], "vms": []}
    answer = service.request("PUT", "/v1/fleet", the_fleet())
    assert answer.status == 200
    assert [answer.json[change] for change in ("added", "changed", "removed")] == [
        nothing,
        nothing,
        nothing,
    ]
    assert service.facts() == before


def test_response_lists_what_was_added_changed_and_removed(
    service: RunningService,
) -> None:
    fleet = the_fleet()
    fleet["hosts"].append({"name": "host-c"})
    fleet["vms"][0]["size"] = "big"
    fleet["groups"] = [group for group in fleet["groups"] if group["name"] != "empty"]
    answer = service.request("PUT", "/v1/fleet", fleet).json
    assert answer["added"] == {"hosts": ["host-c"], "groups": [], "vms": []}
    assert answer["changed"] == {"hosts": [], "groups": [], "vms": ["web-0"]}
    assert answer["removed"] == {"hosts": [], "groups": ["empty"], "vms": []}


def test_placement_that_defeats_update_domains_gets_a_warning(
    service: RunningService,
) -> None:
    fleet = the_fleet()
    for vm in fleet["vms"]:
        vm["host"] = "host-a"
    (warning,) = service.request("PUT", "/v1/fleet", fleet).json["warnings"]
    assert "host-a" in warning
    assert "web" in warning


def ten_vms(service: RunningService) -> dict[str, Any]:
    fleet = {"vms": [{"name": f"vm-{number}"} for number in range(10)]}
    assert service.request("PUT", "/v1/fleet?remove=true", fleet).status == 200
    return fleet


def test_up_to_a_tenth_of_the_vms_may_be_removed(service: RunningService) -> None:
    fleet = ten_vms(service)
    del fleet["vms"][0]
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert (answer.status, answer.json["removed"]["vms"]) == (200, ["vm-0"])


def test_removing_more_than_a_tenth_needs_confirmation(
    service: RunningService,
) -> None:
    fleet = ten_vms(service)
    del fleet["vms"][:2]
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert answer.status == 409
    assert "2 of 10" in answer.detail
    assert len(service.get("/v1/vms")["items"]) == 10
    assert service.request("PUT", "/v1/fleet?remove=true", fleet).status == 200
    assert len(service.get("/v1/vms")["items"]) == 8


def test_fleet_with_one_mistake_changes_nothing(service: RunningService) -> None:
    before = whole_fleet(service)
    fleet = the_fleet()
    fleet["vms"][0]["size"] = "big"
    fleet["vms"][-1]["group"] = "nobody"
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert answer.status == 422
    assert "nobody" in answer.detail
    assert whole_fleet(service) == before


def test_fleet_that_conflicts_with_a_live_event_gets_409(
    service: RunningService,
) -> None:
    maintenance = service.announce(vms=["web-0"])
    fleet = the_fleet()
    for vm in fleet["vms"]:
        vm.pop("update_domain", None)
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert answer.status == 409
    assert maintenance["id"] in answer.detail


@pytest.mark.parametrize(
    "body", [{"vm": []}, {"vms": {}}, {"vms": [1]}, {"vms": [{}]}, {"hosts": ["a"]}]
)
def test_invalid_fleet_gets_422(
    shared: RunningService, body: dict[str, object]
) -> None:
    answer = shared.request("PUT", "/v1/fleet?remove=true", body)
    assert answer.status == 422
    assert answer.detail


def test_unknown_client_is_treated_as_the_first_vm_of_the_new_fleet(
    service: RunningService,
) -> None:
    fleet = the_fleet()
    fleet["vms"].insert(0, {"name": "first"})
    service.request("PUT", "/v1/fleet", fleet)
    path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
    assert (
        send_request("GET", service.metadata + path, Metadata="true").body == b"first"
    )
