"""VMs, availability sets and scale sets in ARM responses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.support.builders import a_maintenance, a_vm
from tests.server.conftest import Serve
from tests.server.support.arm_client import (
    COMPUTE,
    SETS,
    SUBSCRIPTION,
    VERSION,
    VMS,
    a_fleet,
    arm,
    error_of,
    event_of,
    read_resource,
)
from tests.server.support.service import RunningService

from forewarn.core.lifecycle.model import Phase
from forewarn.server.arm.resources import under_way

ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/RG/providers/Microsoft.Compute"


def codes(view: Any) -> list[str]:
    return [status["code"] for status in view["statuses"]]


# --- VMs ---------------------------------------------------------------------


def test_vm_has_all_properties_of_the_fleet_file(arm_service: RunningService) -> None:
    assert read_resource(arm_service, f"{VMS}/web-0") == {
        "id": f"{ID}/virtualMachines/web-0",
        "name": "web-0",
        "type": "Microsoft.Compute/virtualMachines",
        "location": "westeurope",
        "tags": {"role": "web"},
        "zones": ["2"],
        "properties": {
            "vmId": "8d1c0ba2-5d16-4a20-b2d3-6f1c2b6f1e11",
            "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
            "storageProfile": {"osDisk": {"osType": "Windows"}},
            "provisioningState": "Succeeded",
            "availabilitySet": {"id": f"{ID}/availabilitySets/web"},
            "priority": "Regular",
        },
    }


def test_vm_without_a_resource_group_takes_it_from_the_path(
    arm_service: RunningService,
) -> None:
    path = "/subscriptions/any/resourceGroups/other/providers/Microsoft.Compute"
    view = read_resource(arm_service, f"{path}/virtualMachines/lone")
    assert view["id"] == f"{path}/virtualMachines/lone"
    assert view["location"] == "global"
    assert view["properties"] == {
        "storageProfile": {"osDisk": {"osType": "Linux"}},
        "provisioningState": "Succeeded",
        "priority": "Regular",
        "scheduledEventsPolicy": {
            "userInitiatedRedeploy": {"automaticallyApprove": False},
            "userInitiatedReboot": {"automaticallyApprove": False},
        },
    }


def test_scale_set_vm_is_also_a_vm(arm_service: RunningService) -> None:
    properties = read_resource(arm_service, f"{VMS}/pool_1")["properties"]
    assert properties == {
        "storageProfile": {"osDisk": {"osType": "Linux"}},
        "provisioningState": "Succeeded",
        "virtualMachineScaleSet": {"id": f"{ID}/virtualMachineScaleSets/pool"},
        "priority": "Spot",
        "evictionPolicy": "Delete",
        "scheduledEventsProfile": {
            "terminateNotificationProfile": {
                "notBeforeTimeout": "PT5M30S",
                "enable": True,
            }
        },
    }


@pytest.mark.parametrize(
    "path",
    [
        f"{VMS}/nobody",
        f"{VMS}/no%00body",
        f"{VMS}/n%C3%B6",
        VMS.replace("/rg/", "/other/") + "/web-0",
        VMS.replace(SUBSCRIPTION, "other") + "/web-0",
        f"{VMS}/nobody/instanceView",
        f"{SETS}/nothing",
        f"{SETS}/web",
        SETS.replace("/rg/", "/other/") + "/pool",
        f"{SETS}/nothing/virtualMachines",
        f"{SETS}/pool/virtualMachines/7",
        f"{SETS}/pool/virtualMachines/apart_0",
        f"{SETS}/pool/virtualMachines/_1",
        f"{COMPUTE}/availabilitySets/pool",
        f"{COMPUTE}/availabilitySets/lone",
    ],
)
def test_unknown_resource_gets_404(arm_service: RunningService, path: str) -> None:
    assert error_of(arm(arm_service, "GET", path)) == (404, "ResourceNotFound")


# --- lists -------------------------------------------------------------------


def names(view: Any) -> list[str]:
    return [resource["name"] for resource in view["value"]]


def test_subscription_lists_its_vms_and_vms_without_one(
    arm_service: RunningService,
) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/virtualMachines"
    view = read_resource(arm_service, path)
    assert names(view) == [
        "apart_0",
        "apart_1",
        "lone",
        "pool_0",
        "pool_1",
        "web-0",
        "web-1",
    ]
    assert "/resourceGroups/default/" in view["value"][0]["id"]


def test_resource_group_lists_its_vms_and_vms_without_one(
    arm_service: RunningService,
) -> None:
    other = read_resource(arm_service, VMS.replace("/rg/", "/other/"))
    assert names(other) == ["apart_0", "apart_1", "lone"]


def test_resource_group_or_subscription_without_vms_gets_404(
    service: RunningService,
) -> None:
    for name in ("apart_0", "apart_1", "lone"):
        assert service.request("DELETE", f"/v1/vms/{name}").status == 204
    other = arm(service, "GET", VMS.replace("/rg/", "/other/"))
    assert error_of(other) == (404, "ResourceGroupNotFound")
    path = "/subscriptions/other/providers/Microsoft.Compute/virtualMachines"
    assert error_of(arm(service, "GET", path)) == (404, "SubscriptionNotFound")


def test_fleet_without_vms_is_an_empty_list(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "empty.toml"
    file.write_text("")
    assert read_resource(serve(fleet=str(file)), VMS) == {"value": []}


def test_long_list_is_paged(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text("".join(f'[[vms]]\nname = "v-{i:04}"\n' for i in range(1001)))
    service = serve(fleet=str(file))
    listed, path = [], f"{VMS.replace('/rg/', '/r%20g/')}?{VERSION}"
    for size in (500, 500, 1):
        view = read_resource(service, path)
        assert len(view["value"]) == size
        listed += names(view)
        path = view.get("nextLink", "").removeprefix(service.control)
    assert listed == [f"v-{i:04}" for i in range(1001)]
    assert not path


# --- sets --------------------------------------------------------------------


def test_availability_set_has_domains_vms_and_a_policy(
    arm_service: RunningService,
) -> None:
    assert read_resource(arm_service, f"{COMPUTE}/availabilitySets/WEB") == {
        "id": f"{ID}/availabilitySets/web",
        "name": "web",
        "type": "Microsoft.Compute/availabilitySets",
        "location": "westeurope",
        "sku": {"name": "Aligned"},
        "properties": {
            "platformUpdateDomainCount": 2,
            "platformFaultDomainCount": 1,
            "virtualMachines": [
                {"id": f"{ID}/virtualMachines/web-0"},
                {"id": f"{ID}/virtualMachines/web-1"},
            ],
            "scheduledEventsPolicy": {
                "userInitiatedRedeploy": {"automaticallyApprove": True},
                "userInitiatedReboot": {"automaticallyApprove": False},
            },
        },
    }


def test_scale_set_has_a_capacity_a_profile_and_a_policy(
    arm_service: RunningService,
) -> None:
    assert read_resource(arm_service, f"{SETS}/pool") == {
        "id": f"{ID}/virtualMachineScaleSets/pool",
        "name": "pool",
        "type": "Microsoft.Compute/virtualMachineScaleSets",
        "location": "global",
        "sku": {"name": "Standard_F4s_v2", "capacity": 2},
        "zones": ["1"],
        "properties": {
            "provisioningState": "Succeeded",
            "singlePlacementGroup": True,
            "virtualMachineProfile": {
                "priority": "Spot",
                "evictionPolicy": "Delete",
                "scheduledEventsProfile": {
                    "terminateNotificationProfile": {
                        "notBeforeTimeout": "PT5M30S",
                        "enable": True,
                    }
                },
            },
            "scheduledEventsPolicy": {
                "userInitiatedRedeploy": {"automaticallyApprove": False},
                "userInitiatedReboot": {"automaticallyApprove": False},
            },
        },
    }


def test_scale_set_without_vms_exists(arm_service: RunningService) -> None:
    assert read_resource(arm_service, f"{SETS}/empty")["sku"] == {"capacity": 0}
    assert read_resource(arm_service, f"{SETS}/empty/virtualMachines") == {"value": []}


@pytest.mark.parametrize("instance", ["1", "pool_1", "POOL_1"])
def test_scale_set_vm_is_found_by_instance_id_or_name(
    arm_service: RunningService, instance: str
) -> None:
    vm = read_resource(arm_service, f"{SETS}/pool/virtualMachines/{instance}")
    own = f"{ID}/virtualMachineScaleSets/pool/virtualMachines/1"
    assert (vm["id"], vm["instanceId"]) == (own, "1")
    assert vm["type"] == "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"


def test_vms_of_a_scale_set_are_listed(arm_service: RunningService) -> None:
    view = read_resource(arm_service, f"{SETS}/pool/virtualMachines")
    assert [vm["instanceId"] for vm in view["value"]] == ["0", "1"]


# --- instance view -----------------------------------------------------------


def test_vm_without_maintenance_is_running(arm_service: RunningService) -> None:
    view = read_resource(arm_service, f"{VMS}/web-0/instanceView")
    assert codes(view) == ["ProvisioningState/succeeded", "PowerState/running"]
    assert (view["platformUpdateDomain"], view["platformFaultDomain"]) == (0, 1)
    assert view["assignedHost"] == "host-a"


@pytest.mark.parametrize("path", [f"{VMS}/web-0", f"{SETS}/pool/virtualMachines/0"])
def test_instance_view_is_included_on_request(
    arm_service: RunningService, path: str
) -> None:
    whole = read_resource(arm_service, f"{path}?{VERSION}&$expand=instanceView")
    assert whole["properties"]["instanceView"] == read_resource(
        arm_service, f"{path}/instanceView"
    )
    assert "instanceView" not in read_resource(arm_service, path)["properties"]


@pytest.mark.parametrize(
    ("kind", "acted_on", "done"),
    [
        ("Freeze", "updating running", "updating running"),
        ("Reboot", "updating starting", "updating running"),
        ("Redeploy", "updating starting", "updating running"),
        ("Preempt", "deleting stopping", "deleting stopped"),
        ("Terminate", "deleting stopping", "deleting stopped"),
    ],
)
def test_instance_view_shows_a_running_maintenance(
    serve: Serve, tmp_path: Path, kind: str, acted_on: str, done: str
) -> None:
    service = serve(fleet=a_fleet(tmp_path), driver="operator", lead=0)

    def doing() -> str:
        view = read_resource(service, f"{VMS}/lone/instanceView")
        return " ".join(code.partition("/")[2] for code in codes(view))

    maintenance = service.announce(type=kind, vms=["lone"], duration_seconds=60)
    assert doing() == "succeeded running"
    event = event_of(service, "lone")
    assert service.request("POST", f"/v1/events/{event}/approve").status == 200
    assert doing() == acted_on
    assert (
        service.request("POST", f"/v1/maintenances/{maintenance['id']}/complete").status
        == 200
    )
    assert doing() == done
    service.advance(60)
    assert doing() == "succeeded running"


def test_maintenance_of_another_vm_is_not_shown(service: RunningService) -> None:
    service.announce(vms=["web-1"])
    event = event_of(service, "web-0")
    assert service.request("POST", f"/v1/events/{event}/approve").status == 200
    assert (
        read_resource(service, f"{VMS}/web-1")["properties"]["provisioningState"]
        == "Updating"
    )
    assert (
        read_resource(service, f"{VMS}/web-0")["properties"]["provisioningState"]
        == "Succeeded"
    )


def test_vm_that_left_the_maintenance_is_shown_as_running() -> None:
    started = a_maintenance(phase=Phase.STARTED)
    assert under_way(a_vm("vm0"), [started]) is started
    assert under_way(a_vm("vm0"), [replace(started, left=("vm0",))]) is None


def test_power_state_is_unknown_on_a_failed_host(service: RunningService) -> None:
    assert service.request("POST", "/v1/hosts/host-a/failed").status == 201
    view = read_resource(service, f"{VMS}/web-0/instanceView")
    assert codes(view) == ["ProvisioningState/updating", "PowerState/unknown"]
    assert view["statuses"][0]["time"]
