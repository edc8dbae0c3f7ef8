"""Client of Azure Resource Manager, at the address of the control API."""

from dataclasses import dataclass, field

from tests.conformance.control import ControlClient, ControlResponse
from tests.conformance.vm import VM

_COMPUTE = (
    "/subscriptions/5ab5c419-1b63-4bd6-b2b1-93b2f4b5f5d8/resourceGroups/rg"
    "/providers/Microsoft.Compute"
)
VERSION = "2024-07-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmClient:
    """Requests like those of the Azure SDKs."""

    control: ControlClient = field(repr=False)

    def send(
        self,
        method: str,
        resource: str,
        body: object = None,
        *,
        version: str | None = VERSION,
    ) -> ControlResponse:
        """Send a request about a resource below Microsoft.Compute."""
        query = "" if version is None else f"?api-version={version}"
        return self.control.request(method, f"{_COMPUTE}/{resource}{query}", body)

    def acknowledge(
        self, resource: str, event: str, *, version: str | None = "2025-11-01"
    ) -> ControlResponse:
        """Acknowledge one event."""
        path = f"{resource}/providers/Microsoft.Maintenance/scheduledevents/{event}"
        return self.send("POST", f"{path}/acknowledge", version=version)

    def acknowledge_all(
        self, resource: str, events: object, *, version: str = "2025-11-01"
    ) -> ControlResponse:
        """Acknowledge several events."""
        path = f"{resource}/providers/Microsoft.Maintenance/scheduledevents"
        return self.send("POST", path, {"value": events}, version=version)

    def status_of(self, accepted: ControlResponse) -> str:
        """Return the status of the operation that a 202 names."""
        address = accepted.headers["Azure-AsyncOperation"]
        path = address.partition("/subscriptions")[2]
        return str(self.control.send("GET", f"/subscriptions{path}")["status"])


def machine(vm: VM) -> str:
    """Return the path of a VM."""
    return f"virtualMachines/{vm.name}"


def scale_set(vm: VM) -> str:
    """Return the path of the scale set of a VM."""
    return f"virtualMachineScaleSets/{vm.name.rpartition('_')[0]}"


def availability_set(vm: VM) -> str:
    """Return the path of the availability set of a VM."""
    return f"availabilitySets/{vm.name.rpartition('_')[0]}"


def member(vm: VM) -> str:
    """Return the path of a VM below its scale set."""
    return f"{scale_set(vm)}/virtualMachines/{vm.name.rpartition('_')[2]}"
