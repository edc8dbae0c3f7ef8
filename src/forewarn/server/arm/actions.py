"""Actions on VMs and scale sets: restart, redeploy, reimage, evict, delete, start."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.responses import Response

from forewarn.core.fleet import GroupKind
from forewarn.core.lifecycle.operations import VmOperation, order_for
from forewarn.server.arm.async_operations import accepted
from forewarn.server.arm.lookup import (
    MAX_AT_ONCE,
    ArmSet,
    ArmVm,
    choose_member,
    find_named_vm,
    find_set,
    index_members,
)
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.arm.resources import ANYWHERE

_VM_ACTIONS: Mapping[str, VmOperation] = {
    "restart": VmOperation.RESTART,
    "redeploy": VmOperation.REDEPLOY,
    "reimage": VmOperation.REIMAGE,
    "simulateEviction": VmOperation.EVICT,
}
_SET_ACTIONS: Mapping[str, VmOperation] = {
    "restart": VmOperation.RESTART,
    "redeploy": VmOperation.REDEPLOY,
    "reimage": VmOperation.REIMAGE,
    "delete": VmOperation.DELETE,
}


def act_on_vm(request: ArmRequest) -> Response:
    """Perform the action in the path on a VM."""
    operation = _operation(request, _VM_ACTIONS)
    return _operate(request, operation, [_vm(request)])


def act_on_set(request: ArmRequest) -> Response:
    """Perform the action in the path on some or all VMs in a scale set."""
    operation = _operation(request, _SET_ACTIONS)
    is_deletion = operation is VmOperation.DELETE
    machines = _chosen(
        request, is_choice_needed=is_deletion, are_stopped_included=is_deletion
    )
    _check_number(machines)
    if not machines:
        return Response(status_code=200)
    return _operate(request, operation, machines)


def start_vm(request: ArmRequest) -> Response:
    """Record that a VM is running again."""
    return _start(request, [_vm(request)])


def start_set(request: ArmRequest) -> Response:
    """Record that some or all VMs in a scale set are running again."""
    machines = _chosen(request, is_choice_needed=False, are_stopped_included=True)
    _check_number(machines)
    return _start(request, machines)


def _start(request: ArmRequest, machines: Sequence[ArmVm]) -> Response:
    names = [machine.vm.name for machine in machines]
    if names:
        request.services.operations.start(
            names, by=request.by, group=request.holder.group
        )
    return Response(status_code=200)  # already done: nothing to wait for


def delete_vm(request: ArmRequest) -> Response:
    """Delete a VM; if it does not exist, respond with 204.

    If a caller with a group's token cannot see the VM, respond with an error instead,
    because the VM may belong to another group.
    """
    try:
        machine = _vm(request)
    except ArmError:
        if request.holder.group is not None:
            raise
        return Response(status_code=204)
    return _operate(request, VmOperation.DELETE, [machine])


def delete_member(request: ArmRequest) -> Response:
    """Delete a VM in a scale set; if it does not exist, respond with 204."""
    machine = choose_member(_set(request), request.path.instance)
    if machine is None:
        return Response(status_code=204)
    return _operate(request, VmOperation.DELETE, [machine])


def _operation(request: ArmRequest, known: Mapping[str, VmOperation]) -> VmOperation:
    for name, operation in known.items():
        if name.lower() == request.path.action.lower():
            return operation
    raise ArmError(
        409,
        f"{request.path.action} is not supported; supported actions are"
        f" {', '.join([*known, 'start'])}",
    )


def _vm(request: ArmRequest) -> ArmVm:
    with request.snapshot() as snapshot:
        return find_named_vm(request, snapshot)


def _set(request: ArmRequest) -> ArmSet:
    with request.snapshot() as snapshot:
        return find_set(request, snapshot, request.path.group, GroupKind.SCALE_SET)


def _operate(
    request: ArmRequest, operation: VmOperation, machines: Sequence[ArmVm]
) -> Response:
    names = tuple(machine.vm.name for machine in machines)
    order = replace(order_for(operation, names[0]), vms=names)
    maintenances = request.services.operations.operate(
        operation, order, by=request.by, group=request.holder.group
    )
    if operation is VmOperation.EVICT:
        return Response(status_code=204)  # clients do not wait for it to end
    return accepted(request, maintenances, machines[0].vm.location or ANYWHERE)


def _chosen(
    request: ArmRequest, *, is_choice_needed: bool, are_stopped_included: bool
) -> Sequence[ArmVm]:
    """Return the VMs listed in the body, or by default all VMs in the scale set.

    Unless `are_stopped_included` is true, the default omits deallocated VMs.
    """
    body = request.read_body() if request.body else {}
    instance_ids = body.get("instanceIds")
    if instance_ids is None and is_choice_needed:
        raise ArmError(400, "instanceIds is required", "InvalidParameter")
    if not isinstance(instance_ids, list | None):
        raise ArmError(400, "instanceIds must be a list", "InvalidParameter")
    _check_number(instance_ids or ())  # before any VM is looked up
    scale_set = _set(request)
    if instance_ids is None or instance_ids == ["*"]:
        return [
            machine
            for machine in scale_set.machines
            if are_stopped_included or not machine.vm.deallocated
        ]
    find = index_members(scale_set)
    chosen: dict[str, ArmVm] = {}
    for instance in map(str, instance_ids):
        machine = find(instance)
        if machine is None:
            name = scale_set.group.name
            message = f"scale set {name} has no VM with the instanceId {instance}"
            raise ArmError(400, message, "InvalidParameter")
        chosen[machine.vm.name] = machine
    return [*chosen.values()]


def _check_number(named: Sequence[object]) -> None:
    if len(named) > MAX_AT_ONCE:
        message = f"a request can list at most {MAX_AT_ONCE} VMs"
        raise ArmError(400, message, "InvalidParameter")
