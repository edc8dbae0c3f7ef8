"""Restart, redeploy, reimage, delete and eviction requests of the ARM API."""

from pathlib import Path

import pytest
from tests.server.conftest import Serve
from tests.server.support.arm_client import (
    SETS,
    VMS,
    arm,
    error_of,
    read_resource,
)
from tests.server.support.service import RunningService

MEMBER = f"{SETS}/pool/virtualMachines"


def announced(service: RunningService) -> list[tuple[str, str, list[str]]]:
    """Return type, cause and VMs of every maintenance operation announced so far."""
    items = service.get("/v1/maintenances?limit=1000")["items"]
    return [
        (maintenance["type"], maintenance["cause"], maintenance["vms"])
        for maintenance in items
    ]


@pytest.mark.parametrize(
    ("method", "path", "made"),
    [
        ("POST", f"{VMS}/web-0/restart", ("Reboot", "user-restart", "web-0")),
        ("POST", f"{VMS}/web-0/redeploy", ("Redeploy", "user-redeploy", "web-0")),
        ("POST", f"{VMS}/web-0/reimage", ("Reboot", "reimage", "web-0")),
        ("DELETE", f"{VMS}/web-0", ("Terminate", "scale-in", "web-0")),
        ("POST", f"{VMS}/pool_1/restart", ("Reboot", "user-restart", "pool_1")),
        ("POST", f"{VMS}/WEB-1/RESTART", ("Reboot", "user-restart", "web-1")),
        ("POST", f"{MEMBER}/0/restart", ("Reboot", "user-restart", "pool_0")),
        ("POST", f"{MEMBER}/0/redeploy", ("Redeploy", "user-redeploy", "pool_0")),
        ("POST", f"{MEMBER}/0/reimage", ("Reboot", "reimage", "pool_0")),
        ("DELETE", f"{MEMBER}/pool_0", ("Terminate", "scale-in", "pool_0")),
    ],
)
def test_operation_is_accepted_and_announced(
    service: RunningService, method: str, path: str, made: tuple[str, str, str]
) -> None:
    before = announced(service)
    assert arm(service, method, path).status == 202
    kind, cause, vm = made
    assert announced(service) == [*before, (kind, cause, [vm])]


@pytest.mark.parametrize("path", [f"{VMS}/pool_1", f"{MEMBER}/1"])
def test_eviction_is_announced_and_returns_204_without_operation(
    service: RunningService, path: str
) -> None:
    answer = arm(service, "POST", f"{path}/simulateEviction")
    assert (answer.status, answer.body) == (204, b"")
    assert "Azure-AsyncOperation" not in answer.headers
    assert announced(service)[-1:] == [("Preempt", "eviction", ["pool_1"])]


def power_of(service: RunningService, vm: str) -> tuple[str, str]:
    """Return the codes of the provisioning state and the power state."""
    statuses = read_resource(service, f"{VMS}/{vm}/instanceView")["statuses"]
    provisioning, power = (status["code"] for status in statuses)
    return provisioning, power


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{VMS}/pool_1/start", None),
        (f"{MEMBER}/1/start", None),
        (f"{SETS}/pool/start", {"instanceIds": ["1"]}),
        (f"{SETS}/pool/START", None),
    ],
)
def test_deallocated_vm_is_shown_as_such_until_it_is_started(
    service: RunningService, path: str, body: object
) -> None:
    put = {"group": "pool", "spot": True, "eviction_policy": "deallocate"}
    service.request("PUT", "/v1/vms/pool_1", put)
    vm = read_resource(service, f"{VMS}/pool_1")
    assert vm["properties"]["evictionPolicy"] == "Deallocate"
    arm(service, "POST", f"{VMS}/pool_1/simulateEviction")
    service.advance(30)
    assert power_of(service, "pool_1") == (
        "ProvisioningState/updating",
        "PowerState/deallocated",
    )
    service.advance(5)
    assert power_of(service, "pool_1") == (
        "ProvisioningState/succeeded",
        "PowerState/deallocated",
    )
    refused = arm(service, "POST", f"{VMS}/pool_1/restart")
    assert error_of(refused) == (409, "OperationNotAllowed")
    assert "pool_1 is deallocated" in refused.json["error"]["message"]
    started = arm(service, "POST", path, body)
    assert (started.status, started.body) == (200, b"")
    assert power_of(service, "pool_1")[1] == "PowerState/running"


@pytest.mark.parametrize("body", [None, {"instanceIds": ["*"]}])
def test_action_on_a_whole_scale_set_omits_deallocated_vms(
    service: RunningService, body: object
) -> None:
    settings = {"spot": True, "eviction_policy": "deallocate", "host": "host-a"}
    service.request("PUT", "/v1/vms/pool_1", {"group": "pool", **settings})
    shown = read_resource(service, f"{VMS}/pool_1/instanceView")
    assert shown["assignedHost"] == "host-a"
    arm(service, "POST", f"{VMS}/pool_1/simulateEviction")
    service.advance(60)
    assert "assignedHost" not in read_resource(service, f"{VMS}/pool_1/instanceView")
    assert arm(service, "POST", f"{SETS}/pool/restart", body).status == 202
    assert announced(service)[-1][-1] == ["pool_0"]
    named = arm(service, "POST", f"{SETS}/pool/restart", {"instanceIds": ["1"]})
    assert error_of(named) == (409, "OperationNotAllowed")
    everything = {"instanceIds": ["*"]}
    assert arm(service, "POST", f"{SETS}/pool/delete", everything).status == 202
    service.advance(360)
    assert read_resource(service, f"{SETS}/pool/virtualMachines") == {"value": []}


def test_scale_set_shows_its_eviction_policy(service: RunningService) -> None:
    settings = {"kind": "scale-set", "eviction_policy": "deallocate"}
    service.request("PUT", "/v1/groups/pool", settings)
    profile = read_resource(service, f"{SETS}/pool")["properties"]
    assert profile["virtualMachineProfile"]["evictionPolicy"] == "Deallocate"


def test_second_restart_of_a_vm_gets_409_and_names_the_first(
    service: RunningService,
) -> None:
    arm(service, "POST", f"{VMS}/web-1/restart")
    before = announced(service)
    first = service.facts("Announced")[-1]["maintenance"]
    for path in (f"{VMS}/web-1/restart", f"{VMS}/web-1/redeploy"):
        answer = arm(service, "POST", path)
        assert error_of(answer) == (409, "OperationNotAllowed")
        assert first in answer.json["error"]["message"]
    assert announced(service) == before


def test_announcement_records_the_token_name(service: RunningService) -> None:
    arm(service, "POST", f"{VMS}/web-0/restart")
    assert [fact["by"] for fact in service.facts("Announced")] == ["admin"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{VMS}/web-0/simulateEviction"),
        ("POST", f"{VMS}/web-0/deallocate"),
        ("POST", f"{VMS}/web-0/delete"),
        ("POST", f"{MEMBER}/0/simulateEviction"),
        ("POST", f"{MEMBER}/0/powerOff"),
        ("POST", f"{SETS}/pool/simulateEviction"),
    ],
)
def test_unsupported_operation_gets_409(
    arm_service: RunningService, method: str, path: str
) -> None:
    before = announced(arm_service)
    assert error_of(arm(arm_service, method, path)) == (409, "OperationNotAllowed")
    assert announced(arm_service) == before


@pytest.mark.parametrize("path", [f"{VMS}/nobody", f"{MEMBER}/7"])
def test_restart_of_unknown_vm_gets_404_and_delete_204(
    arm_service: RunningService, path: str
) -> None:
    restart = arm(arm_service, "POST", f"{path}/restart")
    assert error_of(restart) == (404, "ResourceNotFound")
    assert arm(arm_service, "DELETE", path).status == 204  # as on Azure


@pytest.mark.parametrize("method", ["DELETE", "GET"])
def test_unknown_scale_set_gets_404(arm_service: RunningService, method: str) -> None:
    answer = arm(arm_service, method, f"{SETS}/none/virtualMachines/0")
    assert error_of(answer) == (404, "ResourceNotFound")


def test_vm_is_not_found_in_another_resource_group(service: RunningService) -> None:
    other = VMS.replace("/rg/", "/other/")
    restart = arm(service, "POST", f"{other}/web-0/restart")
    assert error_of(restart) == (404, "ResourceNotFound")
    assert arm(service, "DELETE", f"{other}/web-0").status == 204
    assert announced(service) == []


def test_reimage_ignores_its_body(service: RunningService) -> None:
    answer = arm(service, "POST", f"{VMS}/web-0/reimage", {"tempDisk": False})
    assert answer.status == 202


# --- several VMs of a scale set ----------------------------------------------


@pytest.mark.parametrize(
    ("action", "body", "vms"),
    [
        ("restart", None, ["pool_0", "pool_1"]),
        ("redeploy", {}, ["pool_0", "pool_1"]),
        ("reimage", {"instanceIds": ["*"]}, ["pool_0", "pool_1"]),
        ("restart", {"instanceIds": ["1"]}, ["pool_1"]),
        ("reimage", {"instanceIds": ["1", "pool_0", "1"]}, ["pool_1", "pool_0"]),
    ],
)
def test_scale_set_action_announces_one_maintenance_per_vm(
    service: RunningService, action: str, body: object, vms: list[str]
) -> None:
    before = announced(service)
    assert arm(service, "POST", f"{SETS}/pool/{action}", body).status == 202
    maintenances = announced(service)[len(before) :]
    assert [announced_vms for _, _, announced_vms in maintenances] == [
        [vm] for vm in vms
    ]


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("restart", {"instanceIds": ["0", "7"]}),
        ("restart", {"instanceIds": "0"}),
        ("restart", {"instanceIds": [0, None]}),
        ("delete", None),
        ("delete", {}),
    ],
)
def test_invalid_instance_ids_get_400_and_change_nothing(
    arm_service: RunningService, action: str, body: object
) -> None:
    before = announced(arm_service)
    answer = arm(arm_service, "POST", f"{SETS}/pool/{action}", body)
    assert error_of(answer) == (400, "InvalidParameter")
    assert announced(arm_service) == before


def test_several_vms_of_a_scale_set_are_deleted_together(
    service: RunningService,
) -> None:
    body = {"instanceIds": ["0", "1"]}
    assert arm(service, "POST", f"{SETS}/pool/delete", body).status == 202
    service.advance(360)
    assert read_resource(service, f"{SETS}/pool/virtualMachines") == {"value": []}


def test_action_on_an_empty_scale_set_gets_200(
    arm_service: RunningService,
) -> None:
    assert arm(arm_service, "POST", f"{SETS}/empty/restart").status == 200


@pytest.mark.parametrize("instance", ["0", "nothere"])
def test_more_than_100_instance_ids_get_400_before_they_are_looked_up(
    service: RunningService, instance: str
) -> None:
    body = {"instanceIds": [instance] * 101}
    answer = arm(service, "POST", f"{SETS}/pool/restart", body)
    assert error_of(answer) == (400, "InvalidParameter")
    assert "at most 100 VMs" in answer.json["error"]["message"]
    assert announced(service) == []


def test_action_on_more_than_100_vms_gets_400(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    vms = (f'[[vms]]\nname = "pool_{i}"\ngroup = "pool"\n' for i in range(101))
    file.write_text('[[groups]]\nname = "pool"\nkind = "scale-set"\n' + "".join(vms))
    service = serve(fleet=str(file))
    many = arm(service, "POST", f"{SETS}/pool/restart")
    assert error_of(many) == (400, "InvalidParameter")


def test_ambiguous_instance_id_gets_409(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "alike.toml"
    names = ("pool_1", "old_1", "old_2", "new_2")
    vms = (f'[[vms]]\nname = "{name}"\ngroup = "pool"\n' for name in names)
    file.write_text('[[groups]]\nname = "pool"\nkind = "scale-set"\n' + "".join(vms))
    service = serve(fleet=str(file))
    assert read_resource(service, f"{MEMBER}/1")["name"] == "pool_1"
    assert read_resource(service, f"{MEMBER}/old_2")["name"] == "old_2"
    for method, path in (("POST", f"{MEMBER}/2/restart"), ("DELETE", f"{MEMBER}/2")):
        unclear = arm(service, method, path)
        assert error_of(unclear) == (409, "OperationNotAllowed")
