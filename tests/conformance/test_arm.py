"""Azure Resource Manager: approvals, operations, and resources (11)."""

from collections.abc import Callable

import pytest
from tests.conformance.arm_client import (
    ArmClient,
    availability_set,
    machine,
    member,
    scale_set,
)
from tests.conformance.control import Clock, ControlClient
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VM

APPROVED = {"value": "Successfully Approved"}
MIXED = (
    "The operation returned different statuses for the Scheduled Events. Review each"
    " event's result for details."
)


def a_restarted_vm(fleet: TemporaryFleet, arm: ArmClient) -> tuple[VM, str]:
    """Restart a VM of an enabled group; return the VM and the event."""
    vm = fleet.add_standalone_vm()
    vm.document()  # enables Scheduled Events
    assert arm.send("POST", f"{machine(vm)}/restart").status == 202
    fleet.adopt(vm)
    return vm, vm.event()["EventId"]


def power_state(arm: ArmClient, vm: VM) -> str:
    """Return the power state in the instance view of a VM."""
    shown = arm.send("GET", f"{machine(vm)}/instanceView").json["statuses"]
    return next(
        str(status["code"])
        for status in shown
        if status["code"].startswith("PowerState/")
    )


# --- approvals ---------------------------------------------------------------


@fact("11.1")
@pytest.mark.parametrize(
    "version", ["2023-10-01-preview", "2025-10-01-preview", "2025-11-01"]
)
def test_arm_acknowledges_one_event(
    fleet: TemporaryFleet, arm: ArmClient, version: str
) -> None:
    vm = fleet.add_standalone_vm()
    event = fleet.announce("Reboot", vm).event
    response = arm.acknowledge(machine(vm), event, version=version)
    assert (response.status, response.json) == (200, APPROVED)
    assert vm.statuses == ["Started"]


@fact("11.2a")
@pytest.mark.parametrize("version", ["2025-10-01-preview", "2025-11-01"])
def test_arm_acknowledges_several_events(
    fleet: TemporaryFleet, arm: ArmClient, version: str
) -> None:
    vm = fleet.add_standalone_vm()
    events = [fleet.announce(kind, vm).event for kind in ("Preempt", "Terminate")]
    response = arm.acknowledge_all(machine(vm), events, version=version)
    assert (response.status, response.json) == (200, APPROVED)
    assert vm.statuses == ["Started", "Started"]


@fact("11.2b")
def test_acknowledging_events_with_different_results_returns_207(
    fleet: TemporaryFleet, arm: ArmClient, unknown: str
) -> None:
    vm = fleet.add_standalone_vm()
    canceled = fleet.announce("Freeze", vm)
    event = fleet.announce("Reboot", vm).event
    fleet.cancel(canceled)
    response = arm.acknowledge_all(machine(vm), [canceled.event, unknown, event])
    assert response.error == (207, "MultiStatusResponse")
    error = response.json["error"]
    assert error["message"] == MIXED
    results = [(detail["target"], detail["code"]) for detail in error["details"]]
    assert results == [(canceled.event, "Conflict"), (unknown, "NotFound")]
    assert vm.statuses == ["Started"]


@fact("11.2b")
def test_a_rejected_acknowledgment_has_a_documented_code(
    fleet: TemporaryFleet, arm: ArmClient, unknown: str
) -> None:
    vm = fleet.add_standalone_vm()
    canceled = fleet.announce("Freeze", vm)
    fleet.cancel(canceled)
    assert arm.acknowledge(machine(vm), canceled.event).error == (409, "Conflict")
    missing = arm.acknowledge(machine(vm), unknown)
    assert missing.error == (404, "InvalidScheduledEventId")
    assert arm.acknowledge_all(machine(vm), []).error == (400, "BadRequest")


@fact("11.3")
@pytest.mark.parametrize(
    ("kind", "resource"),
    [("scale-set", scale_set), ("availability-set", availability_set)],
)
def test_an_event_can_be_acknowledged_through_its_set(
    fleet: TemporaryFleet,
    arm: ArmClient,
    kind: str,
    resource: Callable[[VM], str],
) -> None:
    vm, _ = fleet.group(kind=kind)
    event = fleet.announce("Reboot", vm).event
    response = arm.acknowledge(resource(vm).upper(), event.lower())
    assert (response.status, response.json) == (200, APPROVED)
    assert vm.statuses == ["Started"]


@fact("11.3")
def test_an_event_that_a_vm_has_approved_can_be_acknowledged_again(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm = fleet.add_standalone_vm()
    event = fleet.announce("Reboot", vm).event
    assert vm.approve(event).status == 200
    assert arm.acknowledge(machine(vm), event).status == 200


@fact("11.8b")
def test_an_event_in_a_set_can_be_acknowledged_through_any_vm_that_sees_it(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm, other = fleet.group()
    outside = fleet.add_standalone_vm()
    event = fleet.announce("Reboot", vm).event
    refused = arm.acknowledge(machine(outside), event)
    assert refused.error == (404, "InvalidScheduledEventId")
    assert arm.acknowledge(machine(other), event).status == 200


@fact("11.8c")
def test_more_than_a_hundred_ids_are_rejected(
    fleet: TemporaryFleet, arm: ArmClient, unknown: str
) -> None:
    vm = fleet.add_standalone_vm()
    refused = arm.acknowledge_all(machine(vm), [unknown] * 101)
    assert refused.error == (400, "BadRequest")


# --- operations --------------------------------------------------------------


@fact("11.4")
@pytest.mark.parametrize(
    ("action", "kind"),
    [("restart", "Reboot"), ("redeploy", "Redeploy"), ("reimage", "Reboot")],
)
def test_an_operation_creates_an_event_and_ends_with_it(
    fleet: TemporaryFleet, arm: ArmClient, clock: Clock, action: str, kind: str
) -> None:
    vm = fleet.group(kind="scale-set")[0]
    vm.document()  # enables Scheduled Events
    accepted = arm.send("POST", f"{member(vm)}/{action}")
    fleet.adopt(vm)
    event = vm.event()
    seen = (event["EventType"], event["EventStatus"], event["EventSource"])
    assert (accepted.status, seen) == (202, (kind, "Scheduled", "User"))
    assert arm.status_of(accepted) == "InProgress"
    vm.approve(event["EventId"])
    assert arm.status_of(accepted) == "InProgress"
    clock.advance(15)
    assert (arm.status_of(accepted), vm.events()) == ("Succeeded", [])


@fact("11.4")
def test_simulate_eviction_is_for_spot_vms_and_returns_204(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    spot, regular = fleet.add_standalone_vm(spot=True), fleet.add_standalone_vm()
    refused = arm.send("POST", f"{machine(regular)}/simulateEviction")
    assert refused.error == (409, "OperationNotAllowed")
    response = arm.send("POST", f"{machine(spot)}/simulateEviction")
    fleet.adopt(spot)
    assert (response.status, response.body) == (204, b"")
    assert spot.event()["EventType"] == "Preempt"


@fact("11.4")
def test_deleting_a_vm_in_a_scale_set_creates_a_terminate(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm, _ = fleet.group(kind="scale-set", terminate_notice_seconds=300)
    assert arm.send("DELETE", member(vm)).status == 202
    fleet.adopt(vm)
    event = vm.event()
    assert (event["EventType"], event["EventStatus"]) == ("Terminate", "Scheduled")


@fact("11.8h")
def test_start_marks_a_deallocated_vm_as_running_and_creates_no_event(
    fleet: TemporaryFleet, arm: ArmClient, clock: Clock
) -> None:
    vm = fleet.add_standalone_vm(spot=True, eviction_policy="deallocate")
    event = fleet.operate(vm, "evict").event
    vm.approve(event)
    clock.advance(15)
    assert power_state(arm, vm) == "PowerState/deallocated"
    assert arm.send("POST", f"{machine(vm)}/start").status == 200
    assert power_state(arm, vm) == "PowerState/running"
    assert vm.events() == []


@fact("11.8f")
@fact("6.12d")
@pytest.mark.parametrize("action", ["powerOff", "deallocate", "performMaintenance"])
def test_any_other_operation_is_rejected_and_creates_no_event(
    fleet: TemporaryFleet, arm: ArmClient, action: str
) -> None:
    vm = fleet.add_standalone_vm()
    vm.document()  # enables Scheduled Events
    refused = arm.send("POST", f"{machine(vm)}/{action}")
    assert refused.error == (409, "OperationNotAllowed")
    assert vm.events() == []


# --- resources ---------------------------------------------------------------


@fact("11.5")
def test_a_resource_shows_its_terminate_notice(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm, _ = fleet.group(kind="scale-set", terminate_notice_seconds=300)
    notice = {"notBeforeTimeout": "PT5M", "enable": True}
    shown = {"terminateNotificationProfile": notice}
    properties = arm.send("GET", scale_set(vm)).json["properties"]
    assert properties["virtualMachineProfile"]["scheduledEventsProfile"] == shown
    properties = arm.send("GET", machine(vm)).json["properties"]
    assert properties["scheduledEventsProfile"] == shown


@fact("11.6")
@pytest.mark.parametrize(
    ("kind", "resource"),
    [("scale-set", scale_set), ("availability-set", availability_set)],
)
def test_a_set_shows_its_policy(
    fleet: TemporaryFleet,
    arm: ArmClient,
    kind: str,
    resource: Callable[[VM], str],
) -> None:
    (vm,) = fleet.group(1, kind=kind, auto_approve=["user-redeploy"])
    policy = arm.send("GET", resource(vm)).json["properties"]["scheduledEventsPolicy"]
    assert policy == {
        "userInitiatedRedeploy": {"automaticallyApprove": True},
        "userInitiatedReboot": {"automaticallyApprove": False},
    }


@fact("11.6")
def test_a_vm_outside_any_set_shows_its_own_policy(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm = fleet.add_standalone_vm()
    properties = arm.send("GET", machine(vm)).json["properties"]
    assert properties["scheduledEventsPolicy"] == {
        "userInitiatedRedeploy": {"automaticallyApprove": False},
        "userInitiatedReboot": {"automaticallyApprove": False},
    }


@fact("11.8g")
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_resources_are_read_only(
    fleet: TemporaryFleet, arm: ArmClient, method: str
) -> None:
    vm = fleet.add_standalone_vm()
    refused = arm.send(method, machine(vm), {})
    assert refused.error == (405, "MethodNotAllowed")


# --- versions and tokens -----------------------------------------------------


@fact("11.8a")
def test_arm_accepts_any_version_but_requires_one(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm = fleet.add_standalone_vm()
    assert arm.send("GET", machine(vm), version="2016-03-30").status == 200
    refused = arm.send("GET", machine(vm), version=None)
    assert refused.error == (400, "MissingApiVersionParameter")


@fact("11.8d")
def test_arm_requires_a_token_with_a_sufficient_role(
    fleet: TemporaryFleet, arm: ArmClient
) -> None:
    vm = fleet.add_standalone_vm()
    event, url = fleet.announce("Reboot", vm).event, fleet.control.url
    stranger = ArmClient(control=ControlClient(url=url, token="wrong"))
    assert stranger.send("GET", machine(vm)).error == (401, "AuthenticationFailed")
    made = {"name": fleet.prefix, "role": "viewer"}
    token = fleet.control.send("POST", "/v1/tokens", made)["token"]
    viewer = ArmClient(control=ControlClient(url=url, token=token))
    refused = viewer.acknowledge(machine(vm), event)
    fleet.control.send("DELETE", f"/v1/tokens/{fleet.prefix}")
    assert refused.error == (403, "AuthorizationFailed")
    assert vm.statuses == ["Scheduled"]


@fact("11.8e")
def test_acknowledging_a_started_event_succeeds_and_a_finished_one_conflicts(
    fleet: TemporaryFleet, arm: ArmClient, clock: Clock
) -> None:
    vm, event = a_restarted_vm(fleet, arm)
    for _ in range(2):
        assert arm.acknowledge(machine(vm), event).status == 200
    assert vm.statuses == ["Started"]
    clock.advance(15)
    assert arm.acknowledge(machine(vm), event).error == (409, "Conflict")
