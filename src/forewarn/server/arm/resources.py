"""VMs and sets of VMs as Azure resources, with what the fleet knows about them."""

from collections.abc import Iterable

from forewarn.core.fleet import VM, AutoApproval, Group, GroupKind
from forewarn.core.maintenance import Maintenance
from forewarn.server.arm.doing import SUCCEEDED, instance_view, provisioning_of
from forewarn.server.arm.finding import TYPES, Machine, Set, instance_id
from forewarn.server.arm.paths import Path
from forewarn.server.control.views import Json

#: Location of a VM without a known one; paths may name any other.
ANYWHERE = "global"
_ANY_RESOURCE_GROUP = "default"


# --- VMs ---------------------------------------------------------------------


def vm_view(
    machine: Machine, path: Path, doing: Maintenance | None, *, expand: bool = False
) -> Json:
    """Return a VM as JSON; `expand` adds its instance view."""
    vm, group = machine.vm, machine.group
    properties: Json = {
        **_properties(vm, doing),
        **_membership(vm, group, path),
        "priority": "Spot" if vm.spot else "Regular",
        **({"evictionPolicy": "Delete"} if vm.spot else {}),
        **_profile(group),
        **(_policy(group) if group.kind is GroupKind.STANDALONE else {}),
    }
    if expand:
        properties["instanceView"] = instance_view(vm, doing)
    kind = "virtualMachines"
    own_id = _id(vm, path, f"{kind}/{vm.name}")
    return {**_resource(vm, own_id, vm.name, kind), "properties": properties}


def member_view(
    machine: Machine, path: Path, doing: Maintenance | None, *, expand: bool = False
) -> Json:
    """Return a VM of a scale set as JSON; `expand` adds its instance view."""
    vm, number = machine.vm, instance_id(machine.vm)
    kind = "virtualMachineScaleSets/virtualMachines"
    own_id = _id(
        vm,
        path,
        f"virtualMachineScaleSets/{machine.group.name}/virtualMachines/{number}",
    )
    properties: Json = {**_properties(vm, doing), "latestModelApplied": True}
    if expand:
        properties["instanceView"] = instance_view(vm, doing)
    return {
        **_resource(vm, own_id, vm.name, kind),
        "instanceId": number,
        **({} if vm.size is None else {"sku": {"name": vm.size}}),
        "properties": properties,
    }


def _properties(vm: VM, doing: Maintenance | None) -> Json:
    return {
        **({} if vm.vm_id is None else {"vmId": vm.vm_id}),
        **({} if vm.size is None else {"hardwareProfile": {"vmSize": vm.size}}),
        "provisioningState": provisioning_of(doing),
    }


def _membership(vm: VM, group: Group, path: Path) -> Json:
    names = {
        GroupKind.SCALE_SET: "virtualMachineScaleSet",
        GroupKind.AVAILABILITY_SET: "availabilitySet",
    }
    if group.kind not in names:
        return {}
    of_group = _id(vm, path, f"{TYPES[group.kind]}/{group.name}")
    return {names[group.kind]: {"id": of_group}}


# --- sets --------------------------------------------------------------------


def scale_set_view(found: Set, path: Path) -> Json:
    """Return a scale set as JSON."""
    group, vms = found.group, [machine.vm for machine in found.machines]
    some = vms[0] if vms else VM(name=group.name, group=group.name)
    zones = sorted({vm.zone for vm in vms if vm.zone is not None})
    is_spot = any(vm.spot for vm in vms)
    sku: Json = {} if some.size is None else {"name": some.size}
    return {
        **_set(found, some, path),
        "sku": {**sku, "capacity": len(vms)},
        **({"zones": zones} if zones else {}),
        "properties": {
            "provisioningState": SUCCEEDED,
            "singlePlacementGroup": True,
            "virtualMachineProfile": {
                "priority": "Spot" if is_spot else "Regular",
                **_profile(group),
            },
            **_policy(group),
        },
    }


def availability_set_view(found: Set, path: Path) -> Json:
    """Return an availability set as JSON."""
    group, vms = found.group, [machine.vm for machine in found.machines]
    some = vms[0] if vms else VM(name=group.name, group=group.name)
    return {
        **_set(found, some, path),
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


def _set(found: Set, some: VM, path: Path) -> Json:
    group = found.group
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
    """Return how long before its deletion a VM is notified."""
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


def _id(vm: VM, path: Path, rest: str) -> str:
    """Return a resource id: its place in the fleet, or else where the path looks."""
    subscription = vm.subscription or path.subscription
    group = vm.resource_group or path.resource_group or _ANY_RESOURCE_GROUP
    return (
        f"/subscriptions/{subscription}/resourceGroups/{group}"
        f"/providers/Microsoft.Compute/{rest}"
    )
