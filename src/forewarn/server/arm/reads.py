"""Endpoints that return the properties and status of VMs and sets."""

from collections.abc import Callable, Sequence
from itertools import islice
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response

from forewarn.core.fleet import NAME, GroupKind
from forewarn.core.lifecycle.model import Maintenance
from forewarn.ports import Snapshot
from forewarn.server.arm.lookup import (
    ArmVm,
    every_machine,
    find_named_vm,
    find_set,
)
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.arm.resources import (
    availability_set_view,
    instance_view,
    member_view,
    scale_set_view,
    under_way,
    vm_view,
)
from forewarn.server.control.auth.permissions import vms_for

_PAGE = 500


def get_vm(request: ArmRequest) -> Response:
    """Return a VM, either as a standalone resource or as part of its scale set."""
    machine, in_progress = _find(request)
    view = member_view if request.path.instance else vm_view
    return JSONResponse(
        view(machine, request.path, in_progress, expand=_is_expanded(request))
    )


def get_vm_view(request: ArmRequest) -> Response:
    """Return a VM's status."""
    machine, in_progress = _find(request)
    return JSONResponse(instance_view(machine.vm, in_progress))


def list_vms(request: ArmRequest) -> Response:
    """Return a page of the VMs in a subscription or resource group."""
    after = request.query.get("$skiptoken", "")
    if after and not NAME.fullmatch(after):
        raise ArmError(
            400,
            "$skiptoken is invalid; use the nextLink of the previous page",
            "InvalidParameter",
        )
    with request.snapshot() as snapshot:
        machines = [*islice(every_machine(request, snapshot, after), _PAGE + 1)]
        if not machines and vms_for(request.holder, snapshot, after="", limit=1):
            raise _no_such_place(request)
        in_progress = _maintenance_lookup(snapshot, machines)
    views = [
        vm_view(machine, request.path, in_progress(machine))
        for machine in machines[:_PAGE]
    ]
    if len(machines) <= _PAGE:
        return JSONResponse({"value": views})
    return JSONResponse(
        {"value": views, "nextLink": _next_link(request, machines[_PAGE - 1])}
    )


def list_members(request: ArmRequest) -> Response:
    """Return the VMs in a scale set."""
    with request.snapshot() as snapshot:
        scale_set = find_set(request, snapshot, request.path.group, GroupKind.SCALE_SET)
        in_progress = _maintenance_lookup(snapshot, scale_set.machines)
    is_expanded = _is_expanded(request)
    views = [
        member_view(machine, request.path, in_progress(machine), expand=is_expanded)
        for machine in scale_set.machines
    ]
    return JSONResponse({"value": views})


def get_scale_set(request: ArmRequest) -> Response:
    """Return a scale set."""
    with request.snapshot() as snapshot:
        scale_set = find_set(request, snapshot, request.path.group, GroupKind.SCALE_SET)
    return JSONResponse(scale_set_view(scale_set, request.path))


def get_availability_set(request: ArmRequest) -> Response:
    """Return an availability set."""
    with request.snapshot() as snapshot:
        availability_set = find_set(
            request, snapshot, request.path.group, GroupKind.AVAILABILITY_SET
        )
    return JSONResponse(availability_set_view(availability_set, request.path))


def _find(request: ArmRequest) -> tuple[ArmVm, Maintenance | None]:
    """Return the VM that the path names, and the maintenance in progress on it."""
    with request.snapshot() as snapshot:
        machine = find_named_vm(request, snapshot)
        return machine, _maintenance_lookup(snapshot, [machine])(machine)


def _maintenance_lookup(
    snapshot: Snapshot, machines: Sequence[ArmVm]
) -> Callable[[ArmVm], Maintenance | None]:
    groups = {member.group.name for member in machines}
    slice_ = snapshot.slice(groups)
    live = {name: slice_.live_in(name) for name in groups}
    return lambda machine: under_way(machine.vm, live[machine.group.name])


def _is_expanded(request: ArmRequest) -> bool:
    return "instanceview" in request.query.get("$expand", "").lower()


def _no_such_place(request: ArmRequest) -> ArmError:
    """Return the error for a location that no VM in the fleet can have."""
    path = request.path
    if path.resource_group:
        message = f"Resource group '{path.resource_group}' could not be found."
        return ArmError(404, message, "ResourceGroupNotFound")
    message = f"The subscription '{path.subscription}' could not be found."
    return ArmError(404, message, "SubscriptionNotFound")


def _next_link(request: ArmRequest, last: ArmVm) -> str:
    subscription, group = map(
        quote, (request.path.subscription, request.path.resource_group)
    )
    within = f"/resourceGroups/{group}" if group else ""
    query = urlencode({"api-version": request.version, "$skiptoken": last.vm.name})
    return (
        f"{request.origin}/subscriptions/{subscription}{within}"
        f"/providers/Microsoft.Compute/virtualMachines?{query}"
    )
