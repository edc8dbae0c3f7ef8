"""Operations on VMs: restart, redeploy, reimage, evict, delete."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.responses import Response

from forewarn.core.causes import Operation, order_for
from forewarn.core.fleet import GroupKind
from forewarn.server.arm.asked import Asked
from forewarn.server.arm.errors import Refusal
from forewarn.server.arm.finding import (
    MOST_AT_ONCE,
    Machine,
    Set,
    choose,
    find_machine,
    find_member,
    find_set,
)
from forewarn.server.arm.operations import accepted
from forewarn.server.arm.resources import ANYWHERE

_ACTIONS: Mapping[str, Operation] = {
    "restart": Operation.RESTART,
    "redeploy": Operation.REDEPLOY,
    "reimage": Operation.REIMAGE,
    "simulateEviction": Operation.EVICT,
}
_ON_SETS: Mapping[str, Operation] = {
    "restart": Operation.RESTART,
    "redeploy": Operation.REDEPLOY,
    "reimage": Operation.REIMAGE,
    "delete": Operation.DELETE,
}


def act_on_vm(asked: Asked) -> Response:
    """Perform the action in the path on a VM."""
    operation = _operation(asked, _ACTIONS)
    return _operate(asked, operation, [_vm(asked)])


def act_on_member(asked: Asked) -> Response:
    """Perform the action in the path on a VM of a scale set."""
    operation = _operation(asked, _ACTIONS)
    return _operate(asked, operation, [_member(asked)])


def act_on_set(asked: Asked) -> Response:
    """Perform the action in the path on some or all VMs of a scale set."""
    operation = _operation(asked, _ON_SETS)
    machines = _chosen(asked, is_choice_needed=operation is Operation.DELETE)
    if len(machines) > MOST_AT_ONCE:
        message = f"no more than {MOST_AT_ONCE} VMs may be named in one request"
        raise Refusal(400, message, "InvalidParameter")
    if not machines:
        return Response(status_code=200)
    return _operate(asked, operation, machines)


def delete_vm(asked: Asked) -> Response:
    """Delete a VM; if it does not exist, respond with 204.

    A group's token gets an error instead, because the VM may belong to another group.
    """
    try:
        machine = _vm(asked)
    except Refusal:
        if asked.holder.group is not None:
            raise
        return Response(status_code=204)
    return _operate(asked, Operation.DELETE, [machine])


def delete_member(asked: Asked) -> Response:
    """Delete a VM of a scale set; if it does not exist, respond with 204."""
    machine = choose(_set(asked), asked.path.instance)
    if machine is None:
        return Response(status_code=204)
    return _operate(asked, Operation.DELETE, [machine])


def _operation(asked: Asked, known: Mapping[str, Operation]) -> Operation:
    for name, operation in known.items():
        if name.lower() == asked.path.action.lower():
            return operation
    raise Refusal(
        409,
        f"{asked.path.action} is not among what can be done here: {', '.join(known)}",
    )


def _vm(asked: Asked) -> Machine:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_machine(asked, snapshot, asked.path.vm)


def _member(asked: Asked) -> Machine:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_member(asked, snapshot, asked.path.instance)


def _set(asked: Asked) -> Set:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_set(asked, snapshot, asked.path.group, GroupKind.SCALE_SET)


def _operate(
    asked: Asked, operation: Operation, machines: Sequence[Machine]
) -> Response:
    names = tuple(machine.vm.name for machine in machines)
    order = replace(order_for(operation, names[0]), vms=names)
    maintenances = asked.parts.causes.operate(
        operation, order, by=asked.by, only=asked.holder.group
    )
    if operation is Operation.EVICT:
        return Response(status_code=204)  # clients do not wait for its end
    return accepted(asked, maintenances, machines[0].vm.location or ANYWHERE)


def _chosen(asked: Asked, *, is_choice_needed: bool) -> Sequence[Machine]:
    """Return the VMs that the body names; if it names none, the whole scale set."""
    body = asked.read_body() if asked.body else {}
    instance_ids = body.get("instanceIds")
    if instance_ids is None and is_choice_needed:
        raise Refusal(400, "instanceIds must be given", "InvalidParameter")
    scale_set = _set(asked)
    if instance_ids is None or instance_ids == ["*"]:
        return scale_set.machines
    if not isinstance(instance_ids, list):
        raise Refusal(400, "instanceIds must be a list", "InvalidParameter")
    chosen = [_one_of(scale_set, str(item)) for item in instance_ids]
    return [*{item.vm.name: item for item in chosen}.values()]


def _one_of(found: Set, instance: str) -> Machine:
    machine = choose(found, instance)
    if machine is None:
        message = f"{instance} is not the instanceId of a VM of {found.group.name}"
        raise Refusal(400, message, "InvalidParameter")
    return machine
