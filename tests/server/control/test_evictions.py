"""Evictions over the control API: VMs that leave, are deallocated, and start again."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService

SPOT = {"group": "web", "host": "host-a", "spot": True}


def evict(service: RunningService, **settings: object) -> None:
    """Add the spot VM `web-9`, and evict it."""
    body = {**SPOT, **settings}
    assert service.request("PUT", "/v1/vms/web-9", body).status == 200
    assert service.request("POST", "/v1/vms/web-9/evict").status == 201
    service.advance(60)


def fleet_of(service: RunningService) -> dict[str, list[Any]]:
    return {
        noun: service.get(f"/v1/{noun}?limit=100")["items"]
        for noun in ("hosts", "groups", "vms")
    }


@pytest.fixture
def deallocated(service: RunningService) -> RunningService:
    """Return a service in which `web-9` is deallocated."""
    evict(service, eviction_policy="deallocate")
    assert service.get("/v1/vms/web-9")["deallocated"]
    return service


def test_evicted_vm_leaves_the_fleet(service: RunningService) -> None:
    evict(service)
    assert service.request("GET", "/v1/vms/web-9").status == 404
    assert service.facts("FleetChanged")[-1]["removed_vms"] == ["web-9"]


def test_policy_of_the_group_applies(service: RunningService) -> None:
    settings = {"kind": "availability-set", "eviction_policy": "deallocate"}
    assert service.request("PUT", "/v1/groups/web", settings).status == 200
    assert service.get("/v1/groups/web")["eviction_policy"] == "deallocate"
    evict(service)
    assert service.get("/v1/vms/web-9")["deallocated"]


def test_deallocated_vm_is_marked_in_journal_and_map(
    deallocated: RunningService,
) -> None:
    entry = deallocated.facts("FleetChanged")[-1]
    assert entry["by"] is None
    assert entry["text"].endswith("VM web-9 (deallocated)")
    columns = deallocated.get("/v1/fleet/map")["vms"]
    assert dict(zip(columns["name"], columns["deallocated"], strict=True)) == {
        vm["name"]: vm["name"] == "web-9" for vm in fleet_of(deallocated)["vms"]
    }


@pytest.mark.parametrize("keys", [{"deallocated"}, set()])
def test_fleet_that_is_applied_again_does_not_start_a_vm(
    deallocated: RunningService, keys: set[str]
) -> None:
    fleet = fleet_of(deallocated)
    fleet["vms"] = [
        {key: vm[key] for key in vm if key not in keys} for vm in fleet["vms"]
    ]
    answer = deallocated.request("PUT", "/v1/fleet", fleet)
    assert (answer.status, answer.json["changed"]["vms"]) == (200, [])
    assert deallocated.get("/v1/vms/web-9")["deallocated"]


def test_deallocated_vm_survives_a_change_of_its_settings(
    deallocated: RunningService,
) -> None:
    changed = deallocated.request("PUT", "/v1/vms/web-9", {**SPOT, "size": "large"})
    assert (changed.json["size"], changed.json["deallocated"]) == ("large", True)


@pytest.mark.parametrize("operation", ["restart", "redeploy", "reimage", "evict"])
def test_operation_on_a_deallocated_vm_gets_409(
    deallocated: RunningService, operation: str
) -> None:
    refused = deallocated.request("POST", f"/v1/vms/web-9/{operation}")
    assert refused.status == 409
    assert "web-9 is deallocated; start it first" in refused.detail


def test_maintenance_of_its_host_does_not_list_a_deallocated_vm(
    deallocated: RunningService,
) -> None:
    made = deallocated.announce(host="host-a")
    assert made["vms"]
    assert "web-9" not in made["vms"]


def test_group_without_a_running_vm_gets_422(service: RunningService) -> None:
    service.request("PUT", "/v1/groups/batch", {"kind": "scale-set"})
    evict(service, group="batch", eviction_policy="deallocate")
    body = {"type": "Reboot", "group": "batch"}
    refused = service.request("POST", "/v1/maintenances", body)
    assert refused.status == 422
    assert "group batch has no running VMs" in refused.detail


def test_start_is_recorded_once(deallocated: RunningService) -> None:
    before = len(deallocated.facts())
    for _ in range(2):
        started = deallocated.request("POST", "/v1/vms/WEB-9/start")
        assert (started.status, started.json["deallocated"]) == (200, False)
    (fact,) = deallocated.facts()[before:]
    assert (fact["fact"], fact["by"]) == ("FleetChanged", "admin")
    assert deallocated.request("POST", "/v1/vms/web-9/restart").status == 201


def test_repeated_start_with_one_key_gets_the_same_response(
    deallocated: RunningService,
) -> None:
    key: Mapping[str, Any] = {"Idempotency-Key": "k"}
    first = deallocated.request("POST", "/v1/vms/web-9/start", **key)
    deallocated.request("POST", "/v1/vms/web-9/evict")
    deallocated.advance(60)
    second = deallocated.request("POST", "/v1/vms/web-9/start", **key)
    assert first.json == second.json
    assert deallocated.get("/v1/vms/web-9")["deallocated"]


def test_group_token_starts_only_its_own_vms(deallocated: RunningService) -> None:
    other = client_with_token(deallocated, "db", "group", group="db")
    assert other.request("POST", "/v1/vms/web-9/start").status == 404
    own = client_with_token(deallocated, "web", "group", group="web")
    started = own.request("POST", "/v1/vms/web-9/start")
    assert started.status == 200
    assert (started.json["deallocated"], started.json["host"]) == (False, None)


def test_deallocated_vm_still_sees_the_document_of_its_group(
    deallocated: RunningService,
) -> None:
    deallocated.announce(vms=["web-0"])
    (event,) = deallocated.document("web-9")["Events"]
    assert event["Resources"] == ["web-0"]
