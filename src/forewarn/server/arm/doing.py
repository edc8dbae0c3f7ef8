"""Status of a VM, derived from the maintenance in progress."""

from collections.abc import Iterable, Mapping

from forewarn.core.fleet import VM
from forewarn.core.maintenance import Cause, Maintenance, Phase
from forewarn.protocol.types import EventType
from forewarn.server.control.views import Json, rfc3339

SUCCEEDED = "Succeeded"
_PROVISIONING: Mapping[EventType, str] = {
    EventType.FREEZE: "Updating",
    EventType.REBOOT: "Updating",
    EventType.REDEPLOY: "Updating",
    EventType.PREEMPT: "Deleting",
    EventType.TERMINATE: "Deleting",
}
#: Power state while the driver acts on a VM, and then until the event is over.
_ACTED_ON: Mapping[EventType, tuple[str, str]] = {
    EventType.FREEZE: ("running", "running"),
    EventType.REBOOT: ("starting", "running"),
    EventType.REDEPLOY: ("starting", "running"),
    EventType.PREEMPT: ("stopping", "stopped"),
    EventType.TERMINATE: ("stopping", "stopped"),
}
_SAID: Mapping[str, str] = {
    "Succeeded": "Provisioning succeeded",
    "Updating": "Updating",
    "Deleting": "Deleting",
    "running": "VM running",
    "starting": "VM starting",
    "stopping": "VM stopping",
    "stopped": "VM stopped",
    "unknown": "VM status unknown",
}


def under_way(vm: VM, live: Iterable[Maintenance]) -> Maintenance | None:
    """Return the maintenance in progress on `vm`; of several, the last announced."""
    started = [
        maintenance
        for maintenance in live
        if maintenance.phase is Phase.STARTED
        and vm.name in maintenance.vms
        and vm.name not in maintenance.left
    ]
    return started[-1] if started else None


def instance_view(vm: VM, doing: Maintenance | None) -> Json:
    """Return the instance view of `vm` as JSON."""
    provisioning, power = provisioning_of(doing), _power(vm, doing)
    domains = {
        "platformUpdateDomain": vm.update_domain,
        "platformFaultDomain": vm.fault_domain,
        "assignedHost": vm.host,
    }
    since = None if doing is None else rfc3339(doing.started_at)
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


def provisioning_of(doing: Maintenance | None) -> str:
    """Return the provisioning state of a VM."""
    return SUCCEEDED if doing is None else _PROVISIONING[doing.type]


def _power(vm: VM, doing: Maintenance | None) -> str:
    if doing is None:
        return "running"
    if doing.cause is Cause.HOST_FAILURE:
        return "unknown"
    acting, acted = _ACTED_ON[doing.type]
    return acting if vm.name in doing.to_do else acted


def _status(what: str, value: str) -> Json:
    code = f"{what}/{value.lower()}"
    return {"code": code, "level": "Info", "displayStatus": _SAID[value]}
