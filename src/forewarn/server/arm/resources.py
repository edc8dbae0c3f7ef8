"""JSON views of ARM resources: VMs, scale sets and availability sets.

A VM's status is derived from the maintenance in progress on it.
"""

from collections.abc import Iterable, Mapping

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    EvictionPolicy,
    Group,
    GroupKind,
    eviction_policy_of,
)
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase
from forewarn.core.queries.views import Json, rfc3339
from forewarn.protocol.types import EventType
from forewarn.server.arm.lookup import TYPES, ArmSet, ArmVm, instance_id
from forewarn.server.arm.paths import ArmPath

_SUCCEEDED = "Succeeded"
_PROVISIONING: Mapping[EventType, str] = {
    EventType.FREEZE: "Updating",
    EventType.REBOOT: "Updating",
    EventType.REDEPLOY: "Updating",
    EventType.PREEMPT: "Deleting",
    EventType.TERMINATE: "Deleting",
}
#: A VM's power states: during the driver's action, and then until the event ends.
_ACTED_ON: Mapping[EventType, tuple[str, str]] = {
    EventType.FREEZE: ("running", "running"),
    EventType.REBOOT: ("starting", "running"),
    EventType.REDEPLOY: ("starting", "running"),
    EventType.PREEMPT: ("stopping", "stopped"),
    EventType.TERMINATE: ("stopping", "stopped"),
}
#: The same two states for a Preempt event that deallocates the VM.
_DEALLOCATED = ("deallocating", "deallocated")
_DISPLAY_STATUS: Mapping[str, str] = {
    "Succeeded": "Provisioning succeeded",
    "Updating": "Updating",
    "Deleting": "Deleting",
    "running": "VM running",
    "starting": "VM starting",
    "stopping": "VM stopping",
    "stopped": "VM stopped",
    "deallocating": "VM deallocating",
    "deallocated": "VM deallocated",
    "unknown": "VM status unknown",
}


#: Shown for a VM without a known location, whose path may name any location.
ANYWHERE = "global"
_ANY_RESOURCE_GROUP = "default"


def under_way(vm: VM, live: Iterable[Maintenance]) -> Maintenance | None:
    """Return the maintenance in progress on `vm`, or None.

    If several maintenance operations are in progress, return the last one announced.
    """
    started = [
        maintenance
        for maintenance in live
        if maintenance.phase is Phase.STARTED
        and vm.name in maintenance.vms
        and vm.name not in maintenance.left
    ]
    return started[-1] if started else None


def instance_view(vm: VM, in_progress: Maintenance | None) -> Json:
    """Return the instance view of `vm` as JSON."""
    provisioning, power = _provisioning(in_progress), _power(vm, in_progress)
    domains = {
        "platformUpdateDomain": vm.update_domain,
        "platformFaultDomain": vm.fault_domain,
        "assignedHost": None if vm.deallocated else vm.host,
    }
    since = None if in_progress is None else rfc3339(in_progress.started_at)
    return {
        **{name: value for name, value in domains.items() if value is not None},
        "statuses": [
            {
                **_status("ProvisioningState", provisioning),
                **({} if since is None else {"time": since}),
            },
            _status("PowerState", power),
        ],
    }


def _provisioning(in_progress: Maintenance | None) -> str:
    if in_progress is None:
        return _SUCCEEDED
    return "Updating" if in_progress.deallocates else _PROVISIONING[in_progress.type]


def _power(vm: VM, in_progress: Maintenance | None) -> str:
    if in_progress is None:
        return "deallocated" if vm.deallocated else "running"
    if in_progress.cause is Cause.HOST_FAILURE:
        return "unknown"
    acting, acted = (
        _DEALLOCATED if in_progress.deallocates else _ACTED_ON[in_progress.type]
    )
    return acting if vm.name in in_progress.to_do else acted


def _status(what: str, value: str) -> Json:
    code = f"{what}/{value.lower()}"
    return {"code": code, "level": "Info", "displayStatus": _DISPLAY_STATUS[value]}


# --- VMs ---------------------------------------------------------------------


def vm_view(
    machine: ArmVm,
    path: ArmPath,
    in_progress: Maintenance | None,
    *,
    expand: bool = False,
) -> Json:
    """Return a VM as JSON; `expand` adds the instance view."""
    vm, group = machine.vm, machine.group
    properties: Json = {
        **_properties(vm, in_progress),
        **_membership(vm, group, path),
        "priority": "Spot" if vm.spot else "Regular",
        **_eviction(eviction_policy_of(vm, group)),
        **_profile(group),
        **(_policy(group) if group.kind is GroupKind.STANDALONE else {}),
    }
    if expand:
        properties["instanceView"] = instance_view(vm, in_progress)
    kind = "virtualMachines"
    own_id = _id(vm, path, f"{kind}/{vm.name}")
    return {**_resource(vm, own_id, vm.name, kind), "properties": properties}


def member_view(
    machine: ArmVm,
    path: ArmPath,
    in_progress: Maintenance | None,
    *,
    expand: bool = False,
) -> Json:
    """Return a VM in a scale set as JSON; `expand` adds the instance view."""
    vm, number = machine.vm, instance_id(machine.vm)
    kind = "virtualMachineScaleSets/virtualMachines"
    own_id = _id(
        vm,
        path,
        f"virtualMachineScaleSets/{machine.group.name}/virtualMachines/{number}",
    )
    properties: Json = {**_properties(vm, in_progress), "latestModelApplied": True}
    if expand:
        properties["instanceView"] = instance_view(vm, in_progress)
    return {
        **_resource(vm, own_id, vm.name, kind),
        "instanceId": number,
        **({} if vm.size is None else {"sku": {"name": vm.size}}),
        "properties": properties,
    }


def _properties(vm: VM, in_progress: Maintenance | None) -> Json:
    return {
        **({} if vm.vm_id is None else {"vmId": vm.vm_id}),
        **({} if vm.size is None else {"hardwareProfile": {"vmSize": vm.size}}),
        "storageProfile": {"osDisk": {"osType": vm.os.azure_name}},
        "provisioningState": _provisioning(in_progress),
    }


def _eviction(policy: EvictionPolicy | None) -> Json:
    return {} if policy is None else {"evictionPolicy": policy.azure_name}


def _membership(vm: VM, group: Group, path: ArmPath) -> Json:
    names = {
        GroupKind.SCALE_SET: "virtualMachineScaleSet",
        GroupKind.AVAILABILITY_SET: "availabilitySet",
    }
    if group.kind not in names:
        return {}
    of_group = _id(vm, path, f"{TYPES[group.kind]}/{group.name}")
    return {names[group.kind]: {"id": of_group}}


# --- sets --------------------------------------------------------------------


def scale_set_view(arm_set: ArmSet, path: ArmPath) -> Json:
    """Return a scale set as JSON."""
    group, vms = arm_set.group, [machine.vm for machine in arm_set.machines]
    some = vms[0] if vms else VM(name=group.name, group=group.name)
    zones = sorted({vm.zone for vm in vms if vm.zone is not None})
    is_spot = any(vm.spot for vm in vms)
    sku: Json = {} if some.size is None else {"name": some.size}
    return {
        **_set(arm_set, some, path),
        "sku": {**sku, "capacity": len(vms)},
        **({"zones": zones} if zones else {}),
        "properties": {
            "provisioningState": _SUCCEEDED,
            "singlePlacementGroup": True,
            "virtualMachineProfile": {
                "priority": "Spot" if is_spot else "Regular",
                **_eviction(_set_policy(group) if is_spot else None),
                **_profile(group),
            },
            **_policy(group),
        },
    }


def availability_set_view(arm_set: ArmSet, path: ArmPath) -> Json:
    """Return an availability set as JSON."""
    group, vms = arm_set.group, [machine.vm for machine in arm_set.machines]
    some = vms[0] if vms else VM(name=group.name, group=group.name)
    return {
        **_set(arm_set, some, path),
        "sku": {"name": "Aligned"},
        "properties": {
            "platformUpdateDomainCount": _count(vm.update_domain for vm in vms),
            "platformFaultDomainCount": _count(vm.fault_domain for vm in vms),
            "virtualMachines": [
                {"id": _id(vm, path, f"virtualMachines/{vm.name}")} for vm in vms
            ],
            **_policy(group),
        },
    }


def _set_policy(group: Group) -> EvictionPolicy:
    return group.eviction_policy or EvictionPolicy.DELETE


def _set(arm_set: ArmSet, some: VM, path: ArmPath) -> Json:
    group = arm_set.group
    kind = TYPES[group.kind]
    shown = _resource(some, _id(some, path, f"{kind}/{group.name}"), group.name, kind)
    return {name: shown[name] for name in ("id", "name", "type", "location")}


def _count(domains: Iterable[int | None]) -> int:
    return len({domain for domain in domains if domain is not None}) or 1


def _policy(group: Group) -> Json:
    """Return which user operations are approved automatically."""
    names = {
        "userInitiatedRedeploy": AutoApproval.USER_REDEPLOY,
        "userInitiatedReboot": AutoApproval.USER_REBOOT,
    }
    return {
        "scheduledEventsPolicy": {
            name: {"automaticallyApprove": approval in group.auto_approve}
            for name, approval in names.items()
        }
    }


def _profile(group: Group) -> Json:
    """Return how long before deletion a VM is notified."""
    if group.terminate_notice is None:
        return {}
    notice = {"notBeforeTimeout": _iso8601(group.terminate_notice), "enable": True}
    return {"scheduledEventsProfile": {"terminateNotificationProfile": notice}}


def _iso8601(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"PT{minutes}M{rest}S" if rest else f"PT{minutes}M"


# --- common parts ------------------------------------------------------------


def _resource(vm: VM, own_id: str, name: str, kind: str) -> Json:
    return {
        "id": own_id,
        "name": name,
        "type": f"Microsoft.Compute/{kind}",
        "location": vm.location or ANYWHERE,
        "tags": dict(vm.tags),
        **({} if vm.zone is None else {"zones": [vm.zone]}),
    }


def _id(vm: VM, path: ArmPath, rest: str) -> str:
    """Return a resource ID; use the path's location if the fleet has none for `vm`."""
    subscription = vm.subscription or path.subscription
    group = vm.resource_group or path.resource_group or _ANY_RESOURCE_GROUP
    return (
        f"/subscriptions/{subscription}/resourceGroups/{group}"
        f"/providers/Microsoft.Compute/{rest}"
    )
