"""Operations on VMs: restart, redeploy, reimage, evict, delete."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.responses import Response

from forewarn.core.fleet import GroupKind
from forewarn.core.lifecycle.operations import VmOperation, order_for
from forewarn.server.arm.async_operations import accepted
from forewarn.server.arm.errors import ArmError
from forewarn.server.arm.lookup import (
    MOST_AT_ONCE,
    ArmSet,
    ArmVm,
    choose_member,
    find_machine,
    find_member,
    find_set,
)
from forewarn.server.arm.request import ArmRequest
from forewarn.server.arm.resources import ANYWHERE

_ACTIONS: Mapping[str, VmOperation] = {
    "restart": VmOperation.RESTART,
    "redeploy": VmOperation.REDEPLOY,
    "reimage": VmOperation.REIMAGE,
    "simulateEviction": VmOperation.EVICT,
}
_ON_SETS: Mapping[str, VmOperation] = {
    "restart": VmOperation.RESTART,
    "redeploy": VmOperation.REDEPLOY,
    "reimage": VmOperation.REIMAGE,
    "delete": VmOperation.DELETE,
}


def act_on_vm(asked: ArmRequest) -> Response:
    """Perform the action in the path on a VM."""
    operation = _operation(asked, _ACTIONS)
    return _operate(asked, operation, [_vm(asked)])


def act_on_member(asked: ArmRequest) -> Response:
    """Perform the action in the path on a VM of a scale set."""
    operation = _operation(asked, _ACTIONS)
    return _operate(asked, operation, [_member(asked)])


def act_on_set(asked: ArmRequest) -> Response:
    """Perform the action in the path on some or all VMs of a scale set."""
    operation = _operation(asked, _ON_SETS)
    machines = _chosen(asked, is_choice_needed=operation is VmOperation.DELETE)
    if len(machines) > MOST_AT_ONCE:
        message = f"no more than {MOST_AT_ONCE} VMs may be named in one request"
        raise ArmError(400, message, "InvalidParameter")
    if not machines:
        return Response(status_code=200)
    return _operate(asked, operation, machines)


def delete_vm(asked: ArmRequest) -> Response:
    """Delete a VM; if it does not exist, respond with 204.

    A group's token gets an error instead, because the VM may belong to another group.
    """
    try:
        machine = _vm(asked)
    except ArmError:
        if asked.holder.group is not None:
            raise
        return Response(status_code=204)
    return _operate(asked, VmOperation.DELETE, [machine])


def delete_member(asked: ArmRequest) -> Response:
    """Delete a VM of a scale set; if it does not exist, respond with 204."""
    machine = choose_member(_set(asked), asked.path.instance)
    if machine is None:
        return Response(status_code=204)
    return _operate(asked, VmOperation.DELETE, [machine])


def _operation(asked: ArmRequest, known: Mapping[str, VmOperation]) -> VmOperation:
    for name, operation in known.items():
        if name.lower() == asked.path.action.lower():
            return operation
    raise ArmError(
        409,
        f"{asked.path.action} is not among what can be done here: {', '.join(known)}",
    )


def _vm(asked: ArmRequest) -> ArmVm:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_machine(asked, snapshot, asked.path.vm)


def _member(asked: ArmRequest) -> ArmVm:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_member(asked, snapshot, asked.path.instance)


def _set(asked: ArmRequest) -> ArmSet:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_set(asked, snapshot, asked.path.group, GroupKind.SCALE_SET)


def _operate(
    asked: ArmRequest, operation: VmOperation, machines: Sequence[ArmVm]
) -> Response:
    names = tuple(machine.vm.name for machine in machines)
    order = replace(order_for(operation, names[0]), vms=names)
    maintenances = asked.parts.causes.operate(
        operation, order, by=asked.by, group=asked.holder.group
    )
    if operation is VmOperation.EVICT:
        return Response(status_code=204)  # clients do not wait for its end
    return accepted(asked, maintenances, machines[0].vm.location or ANYWHERE)


def _chosen(asked: ArmRequest, *, is_choice_needed: bool) -> Sequence[ArmVm]:
    """Return the VMs that the body names; if it names none, the whole scale set."""
    body = asked.read_body() if asked.body else {}
    instance_ids = body.get("instanceIds")
    if instance_ids is None and is_choice_needed:
        raise ArmError(400, "instanceIds must be given", "InvalidParameter")
    scale_set = _set(asked)
    if instance_ids is None or instance_ids == ["*"]:
        return scale_set.machines
    if not isinstance(instance_ids, list):
        raise ArmError(400, "instanceIds must be a list", "InvalidParameter")
    chosen = [_one_of(scale_set, str(item)) for item in instance_ids]
    return [*{item.vm.name: item for item in chosen}.values()]


def _one_of(found: ArmSet, instance: str) -> ArmVm:
    machine = choose_member(found, instance)
    if machine is None:
        message = f"{instance} is not the instanceId of a VM of {found.group.name}"
        raise ArmError(400, message, "InvalidParameter")
    return machine
