"""What is to be done with VMs: restart, redeploy, reimage, evict, delete."""

from collections.abc import Callable, Mapping

from starlette.responses import Response

from forewarn.core.causes import Operation, order_for
from forewarn.server.arm.asked import Asked
from forewarn.server.arm.errors import Refusal
from forewarn.server.arm.finding import Machine, find_machine, find_member
from forewarn.server.arm.operations import accepted
from forewarn.server.arm.resources import ANYWHERE

_ACTIONS: Mapping[str, Operation] = {
    "restart": Operation.RESTART,
    "redeploy": Operation.REDEPLOY,
    "reimage": Operation.REIMAGE,
    "simulateEviction": Operation.EVICT,
}
_OPERATIONS = {name.lower(): each for name, each in _ACTIONS.items()}


def act_on_vm(asked: Asked) -> Response:
    """Do with a VM what the path says."""
    operation = _operation(asked)
    return _operate(asked, operation, _vm(asked))


def act_on_member(asked: Asked) -> Response:
    """Do with a VM of a scale set what the path says."""
    operation = _operation(asked)
    return _operate(asked, operation, _member(asked))


def delete_vm(asked: Asked) -> Response:
    """Delete a VM; one that is not there need not be deleted."""
    return _delete(asked, _vm)


def delete_member(asked: Asked) -> Response:
    """Delete a VM of a scale set."""
    return _delete(asked, _member)


def _delete(asked: Asked, find: Callable[[Asked], Machine]) -> Response:
    try:
        machine = find(asked)
    except Refusal:
        return Response(status_code=204)
    return _operate(asked, Operation.DELETE, machine)


def _operation(asked: Asked) -> Operation:
    wanted = asked.path.action.lower()
    if wanted not in _OPERATIONS:
        raise Refusal(
            409,
            f"{asked.path.action} is not among what can be done here:"
            f" {', '.join(_ACTIONS)}, delete",
        )
    return _OPERATIONS[wanted]


def _vm(asked: Asked) -> Machine:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_machine(asked, snapshot, asked.path.vm)


def _member(asked: Asked) -> Machine:
    with asked.parts.engine.store.snapshot() as snapshot:
        return find_member(asked, snapshot, asked.path.instance)


def _operate(asked: Asked, operation: Operation, machine: Machine) -> Response:
    order = order_for(operation, machine.vm.name)
    (made,) = asked.parts.causes.operate(operation, order, by=asked.by)
    if operation is Operation.EVICT:
        return Response(status_code=204)  # nobody waits for the end of it
    return accepted(asked, made, machine.vm.location or ANYWHERE)
