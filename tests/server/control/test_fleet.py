"""Fleet over the control API: single resources and the whole fleet."""

import tomllib
from typing import Any

import pytest
from tests.server.support.service import FLEET, RunningService, send_request

THINGS = ("/v1/vms/lone", "/v1/vms/web-0", "/v1/groups/web", "/v1/hosts/host-a")


def the_fleet() -> dict[str, Any]:
    """Return the whole fleet as a body of PUT /v1/fleet."""
    return tomllib.loads(FLEET)


# --- reading -----------------------------------------------------------------


def test_vm_has_the_keys_of_the_fleet_file(shared: RunningService) -> None:
    vm = shared.get("/v1/vms/lone")
    assert (vm["addresses"], vm["tags"]) == (["10.0.0.9"], {"role": "spare"})
    assert (vm["group"], vm["host"], vm["spot"]) == ("lone", None, False)


def test_host_has_a_name(shared: RunningService) -> None:
    assert shared.get("/v1/hosts/HOST-A") == {"name": "host-a"}


def test_names_are_case_insensitive(shared: RunningService) -> None:
    assert shared.get("/v1/vms/WEB-0")["name"] == "web-0"
    assert shared.get("/v1/groups/Web")["name"] == "web"


def test_group_is_enabled_by_its_first_poll(service: RunningService) -> None:
    service.document("lone")
    now = service.get("/v1/clock")["now"]
    group = service.get("/v1/groups/lone")
    assert (group["enabled_since"], group["last_request"]) == (now, now)


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


def test_group_settings_can_be_changed(service: RunningService) -> None:
    body = {"kind": "availability-set", "auto_approve": ["user-reboot"]}
    assert service.request("PUT", "/v1/groups/web", body).status == 200
    assert service.get("/v1/groups/web")["auto_approve"] == ["user-reboot"]
    assert service.get("/v1/groups/web")["enabled"] == "on-demand"


@pytest.mark.parametrize(
    "path", ["/v1/vms/web-2", "/v1/hosts/host-c", "/v1/groups/empty"]
)
def test_deleted_resource_gets_404(service: RunningService, path: str) -> None:
    service.request("PUT", "/v1/hosts/host-c", {})
    answer = service.request("DELETE", path)
    assert (answer.status, answer.headers["Content-Type"]) == (204, None)
    assert service.request("GET", path).status == 404
    assert service.request("DELETE", path).status == 404


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/v1/vms/a", {"name": "b"}, "'b'"),
        ("/v1/vms/a%20b", {}, "name"),
        ("/v1/vms/a", {"update_domain": "1"}, "update_domain"),
        ("/v1/vms/a", {"zone": "\ud800"}, "character"),
        ("/v1/vms/a", {"tags": {"\ud800": "b"}}, "character"),
        ("/v1/groups/a", {}, "kind"),
        ("/v1/hosts/a", {"size": "big"}, "size"),
    ],
)
def test_invalid_resource_gets_422_with_a_reason(
    shared: RunningService, path: str, body: object, word: str
) -> None:
    answer = shared.request("PUT", path, body)
    assert answer.status == 422
    assert word in answer.detail


@pytest.mark.parametrize(
    ("path", "member"), [("/v1/groups/web", "web-0"), ("/v1/hosts/host-a", "db-0")]
)
def test_group_or_host_with_vms_cannot_be_deleted(
    service: RunningService, path: str, member: str
) -> None:
    answer = service.request("DELETE", path)
    assert answer.status == 409
    assert member in answer.detail


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


# --- the whole fleet ---------------------------------------------------------


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


def test_removing_more_than_a_tenth_needs_confirmation(
    service: RunningService,
) -> None:
    fleet = {"vms": [{"name": f"vm-{number}"} for number in range(10)]}
    assert service.request("PUT", "/v1/fleet?remove=true", fleet).status == 200
    del fleet["vms"][:2]
    answer = service.request("PUT", "/v1/fleet", fleet)
    assert answer.status == 409
    assert "2 of 10" in answer.detail
    assert len(service.get("/v1/vms")["items"]) == 10
    assert service.request("PUT", "/v1/fleet?remove=true", fleet).status == 200
    assert len(service.get("/v1/vms")["items"]) == 8


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
