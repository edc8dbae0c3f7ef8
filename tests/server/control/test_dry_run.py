"""Dry runs over the control API: what they return, refuse and leave alone."""

import json
from typing import Any

import pytest
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import FLEET, RunningService

from forewarn.configfile import toml
from forewarn.errors import InvalidInput
from forewarn.server.control.models import MOST_CHANGES


def dry_run(
    service: RunningService, path: str, body: object = None, method: str = "POST"
) -> Any:
    answer = service.request(method, f"{path}?dry_run=true", body)
    assert answer.status == 200, answer.body
    return answer.json


def state_of(service: RunningService) -> object:
    return service.get("/v1/clock"), service.facts(), service.get("/v1/vms")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/maintenances", {"type": "Reboot", "host": "host-a"}),
        ("/v1/vms/web-0/restart", None),
        ("/v1/vms/web-0/redeploy", {"notice_seconds": 900}),
        ("/v1/vms/web-0/reimage", None),
        ("/v1/vms/lone/delete", None),
        ("/v1/vms/lone/start", None),
        ("/v1/hosts/host-a/maintain", {"type": "Reboot"}),
        ("/v1/hosts/host-a/degraded", None),
        ("/v1/hosts/host-a/failed", {"reason": "power"}),
        ("/v1/hosts/host-a/recovered", None),
        ("/v1/maintenances/{id}/cancel", {"reason": "no"}),
        ("/v1/events/{event}/approve", None),
    ],
)
def test_dry_run_changes_nothing_and_uses_no_key(
    service: RunningService, path: str, body: object
) -> None:
    existing = service.announce(vms=["web-1"])
    path = path.format(id=existing["id"], event=existing["events"][0]["id"])
    before = state_of(service)
    answer = service.request("POST", f"{path}?dry_run=true", body, Idempotency_Key="k")
    assert answer.status == 200
    assert answer.json.keys() == {"maintenances", "explained", "effects"}
    assert state_of(service) == before
    assert service.request("POST", path, body, Idempotency_Key="k").status in (200, 201)


def test_dry_run_of_an_operation_shows_what_it_would_announce(
    service: RunningService,
) -> None:
    seen = dry_run(service, "/v1/vms/web-0/restart")
    (shown,) = seen["maintenances"]
    (announced,) = service.request("POST", "/v1/vms/web-0/restart").json["maintenances"]
    for name in ("type", "vms", "not_before", "phase", "cause"):
        assert shown[name] == announced[name]
    assert (shown["id"], seen["effects"]) == (None, [])


def test_dry_run_names_what_would_be_canceled(service: RunningService) -> None:
    service.announce(host="host-a")
    (effect,) = dry_run(service, "/v1/hosts/host-a/failed")["effects"]
    assert effect["fact"] == "Canceled"
    assert effect["text"] == "would cancel the reboot of host-a (db-0, web-0) (m-1)"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/maintenances", {"type": "Reboot", "vms": ["web-0"], "notice_seconds": 1}),
        ("/v1/vms/nobody/restart", None),
        ("/v1/vms/web-0/evict", None),
        ("/v1/hosts/nobody/failed", None),
        ("/v1/maintenances/nobody/cancel", None),
    ],
)
def test_dry_run_is_refused_like_the_request(
    service: RunningService, path: str, body: object
) -> None:
    tried = service.request("POST", f"{path}?dry_run=true", body)
    refused = service.request("POST", path, body)
    assert tried.status == refused.status >= 400
    assert tried.detail == refused.detail


def test_group_token_allows_dry_runs_of_its_own_commands(
    service: RunningService,
) -> None:
    service.announce(host="host-a")
    web = client_with_token(service, "web-team", "group", group="web")
    seen = json.dumps(dry_run(web, "/v1/vms/web-0/restart"))
    assert "host-a" not in seen
    assert "db-0" not in seen
    path = "/v1/hosts/host-a/failed?dry_run=true"
    assert web.request("POST", path).status == 403
    assert web.request("POST", "/v1/vms/db-0/restart?dry_run=true").status == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/tokens", {"name": "ci", "role": "viewer"}),
        ("POST", "/v1/clock/advance", {"seconds": 60}),
        ("POST", "/v1/faults", {"kind": "503"}),
        ("DELETE", "/v1/vms/lone", None),
        ("PUT", "/v1/hosts/host-c", None),
    ],
)
def test_request_without_a_dry_run_is_refused_instead_of_carried_out(
    service: RunningService, method: str, path: str, body: object
) -> None:
    before = state_of(service)
    answer = service.request(method, f"{path}?dry_run=true", body)
    assert answer.status == 422
    assert "has no dry run" in answer.detail
    assert state_of(service) == before


# --- the fleet ---------------------------------------------------------------


def a_fleet(**moved: str) -> dict[str, Any]:
    fleet: Any = toml.parse(FLEET, "fleet.toml", InvalidInput)
    for vm in fleet["vms"]:
        if vm["name"] in moved:
            vm["host"] = moved[vm["name"]]
    return {**fleet}


def test_dry_run_of_a_fleet_shows_changed_fields(service: RunningService) -> None:
    fleet = a_fleet(lone="host-b")
    fleet["vms"].append({"name": "extra"})
    before = state_of(service)
    seen = dry_run(service, "/v1/fleet", fleet, "PUT")
    assert seen["added"]["vms"] == ["extra"]
    assert seen["changes"] == [
        {
            "kind": "vm",
            "name": "lone",
            "fields": [{"field": "host", "old": None, "new": "host-b"}],
        }
    ]
    assert state_of(service) == before
    assert service.request("PUT", "/v1/fleet", fleet).json == seen


def test_dry_run_of_a_large_removal_is_refused(service: RunningService) -> None:
    tried = service.request("PUT", "/v1/fleet?dry_run=true", {"vms": []})
    assert tried.status == 409
    assert tried.detail == service.request("PUT", "/v1/fleet", {"vms": []}).detail


def test_number_of_shown_changes_is_bounded(service: RunningService) -> None:
    fleet = a_fleet()
    names = [f"vm-{number}" for number in range(MOST_CHANGES + 1)]
    fleet["vms"] += [{"name": name} for name in names]
    assert service.request("PUT", "/v1/fleet", fleet).status == 200
    for vm in fleet["vms"][-len(names) :]:
        vm["host"] = "host-b"
    seen = dry_run(service, "/v1/fleet", fleet, "PUT")
    assert len(seen["changed"]["vms"]) == MOST_CHANGES + 1
    assert len(seen["changes"]) == MOST_CHANGES
