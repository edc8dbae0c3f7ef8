"""Unknown names, filters by name, and the status of one VM or host."""

import pytest
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        (
            "POST",
            "/v1/vms/wbe-0/restart",
            None,
            "VM wbe-0 not found; did you mean web-0?",
        ),
        ("GET", "/v1/vms/LONR", None, "VM LONR not found; did you mean lone?"),
        ("GET", "/v1/vms/zzzzzz", None, "VM zzzzzz not found"),
        (
            "POST",
            "/v1/hosts/hots-a/failed",
            None,
            "host hots-a not found; did you mean host-a?",
        ),
        (
            "POST",
            "/v1/maintenances",
            {"type": "Reboot", "group": "wbe"},
            "group wbe not found",
        ),
        (
            "POST",
            "/v1/maintenances",
            {"type": "Reboot", "group": "emty"},
            "group emty not found; did you mean empty?",
        ),
        ("GET", "/v1/vms?host=hst-a", None, "did you mean host-a?"),
    ],
)
def test_unknown_name_gets_a_suggestion(
    shared: RunningService, method: str, path: str, body: object, detail: str
) -> None:
    answer = shared.request(method, path, body)
    assert answer.status == 404
    assert detail in answer.detail
    assert answer.detail.endswith(detail[-5:])


def test_group_token_gets_only_its_own_names(shared: RunningService) -> None:
    web = client_with_token(shared, "web-team", "group", group="web")
    own = web.request("POST", "/v1/vms/web-9/restart").detail
    assert own.startswith("VM web-9 not found; did you mean web-")
    assert web.request("GET", "/v1/vms/db-1").detail == "VM db-1 not found"
    assert web.request("GET", "/v1/vms?group=db").detail == "group db not found"
    assert web.request("GET", "/v1/vms?host=host-a").detail == "host host-a not found"


def test_suggestion_looks_at_few_names_of_a_large_fleet(
    service: RunningService,
) -> None:
    vms = [{"name": f"node-{number:05}"} for number in range(3000)]
    assert service.request("PUT", "/v1/fleet?remove=true", {"vms": vms}).status == 200
    detail = service.request("GET", "/v1/vms/node-02999x").detail
    assert "did you mean node-02999" in detail
    assert service.request("GET", "/v1/vms/x-02999").detail == "VM x-02999 not found"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("group=WEB", ["web-0", "web-1", "web-2"]),
        ("host=host-a", ["db-0", "web-0"]),
        ("group=web&host=host-a", ["web-0"]),
        ("group=web&limit=1&after=web-0", ["web-1"]),
    ],
)
def test_vms_are_listed_by_group_and_host(
    shared: RunningService, query: str, names: list[str]
) -> None:
    items = shared.get(f"/v1/vms?{query}")["items"]
    assert [vm["name"] for vm in items] == names


def test_status_of_a_vm_has_its_current_maintenance(service: RunningService) -> None:
    on_host = service.announce(host="host-a")
    service.announce(vms=["web-1"])
    service.document("web-0")
    status = service.get("/v1/vms/web-0/status")
    assert [item["vms"] for item in status["maintenances"]] == [on_host["vms"]]
    assert (status["vm"]["host"], status["limits"]) == ("host-a", None)
    assert status["last_request"] == status["group_last_request"] is not None
    web = client_with_token(service, "web-team", "group", group="web")
    own = web.get("/v1/vms/web-0/status")
    assert own["vm"]["host"] is own["maintenances"][0]["host"] is None
    assert own["maintenances"][0]["vms"] == ["web-0"]
    assert web.request("GET", "/v1/hosts/host-a/status").status == 403


def test_status_of_a_host_has_the_maintenance_of_its_vms(
    service: RunningService,
) -> None:
    service.announce(host="host-a")
    service.announce(vms=["web-0"])
    service.announce(vms=["web-1"])
    status = service.get("/v1/hosts/HOST-A/status")
    assert status["host"] == {"name": "host-a"}
    assert [vm["name"] for vm in status["vms"]] == ["db-0", "web-0"]
    assert [item["host"] for item in status["maintenances"]] == ["host-a", None]
