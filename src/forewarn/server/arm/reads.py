"""Read endpoints for VMs and sets: their properties and status."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response

from forewarn.core.fleet import NAME, GroupKind
from forewarn.core.lifecycle.model import Maintenance
from forewarn.ports import Snapshot
from forewarn.server.arm.errors import ArmError
from forewarn.server.arm.lookup import (
    ArmVm,
    every_machine,
    find_machine,
    find_member,
    find_set,
)
from forewarn.server.arm.request import ArmRequest
from forewarn.server.arm.resources import (
    availability_set_view,
    instance_view,
    member_view,
    scale_set_view,
    under_way,
    vm_view,
)
from forewarn.server.control.auth.permissions import vms_for
from forewarn.server.control.models import Json

_PAGE = 500


def get_vm(asked: ArmRequest) -> Response:
    """Return a VM."""
    machine, doing = _look(asked, find_machine, asked.path.vm)
    return _shown(vm_view(machine, asked.path, doing, expand=_is_expanded(asked)))


def get_vm_view(asked: ArmRequest) -> Response:
    """Return the status of a VM."""
    machine, doing = _look(asked, find_machine, asked.path.vm)
    return _shown(instance_view(machine.vm, doing))


def list_vms(asked: ArmRequest) -> Response:
    """Return a page of the VMs of a subscription or resource group."""
    after = asked.query.get("$skiptoken", "")
    if after and not NAME.fullmatch(after):
        raise ArmError(400, "$skiptoken is none that was given", "InvalidParameter")
    with _snapshot(asked) as snapshot:
        machines = [*islice(every_machine(asked, snapshot, after), _PAGE + 1)]
        if not machines and vms_for(asked.holder, snapshot, after="", limit=1):
            raise _nowhere(asked)
        doing = _doing(snapshot, machines)
    shown = [
        vm_view(machine, asked.path, doing(machine)) for machine in machines[:_PAGE]
    ]
    if len(machines) <= _PAGE:
        return _shown({"value": shown})
    return _shown({"value": shown, "nextLink": _next(asked, machines[_PAGE - 1])})


def get_member(asked: ArmRequest) -> Response:
    """Return a VM of a scale set."""
    machine, doing = _look(asked, find_member, asked.path.instance)
    return _shown(member_view(machine, asked.path, doing, expand=_is_expanded(asked)))


def get_member_view(asked: ArmRequest) -> Response:
    """Return the status of a VM of a scale set."""
    machine, doing = _look(asked, find_member, asked.path.instance)
    return _shown(instance_view(machine.vm, doing))


def list_members(asked: ArmRequest) -> Response:
    """Return the VMs of a scale set."""
    with _snapshot(asked) as snapshot:
        scale_set = find_set(asked, snapshot, asked.path.group, GroupKind.SCALE_SET)
        doing = _doing(snapshot, scale_set.machines)
    is_expanded = _is_expanded(asked)
    shown = [
        member_view(machine, asked.path, doing(machine), expand=is_expanded)
        for machine in scale_set.machines
    ]
    return _shown({"value": shown})


def get_scale_set(asked: ArmRequest) -> Response:
    """Return a scale set."""
    with _snapshot(asked) as snapshot:
        scale_set = find_set(asked, snapshot, asked.path.group, GroupKind.SCALE_SET)
    return _shown(scale_set_view(scale_set, asked.path))


def get_availability_set(asked: ArmRequest) -> Response:
    """Return an availability set."""
    with _snapshot(asked) as snapshot:
        availability_set = find_set(
            asked, snapshot, asked.path.group, GroupKind.AVAILABILITY_SET
        )
    return _shown(availability_set_view(availability_set, asked.path))


def _snapshot(asked: ArmRequest) -> AbstractContextManager[Snapshot]:
    return asked.parts.engine.store.snapshot()


def _shown(view: Json) -> Response:
    return JSONResponse(view)


def _look(
    asked: ArmRequest, find: Callable[[ArmRequest, Snapshot, str], ArmVm], name: str
) -> tuple[ArmVm, Maintenance | None]:
    """Return a VM and the maintenance in progress on it, if any."""
    with _snapshot(asked) as snapshot:
        machine = find(asked, snapshot, name)
        return machine, _doing(snapshot, [machine])(machine)


def _doing(
    snapshot: Snapshot, machines: Sequence[ArmVm]
) -> Callable[[ArmVm], Maintenance | None]:
    groups = {member.group.name for member in machines}
    slice_ = snapshot.slice(groups)
    live = {name: slice_.live_in(name) for name in groups}
    return lambda machine: under_way(machine.vm, live[machine.group.name])


def _is_expanded(asked: ArmRequest) -> bool:
    return "instanceview" in asked.query.get("$expand", "").lower()


def _nowhere(asked: ArmRequest) -> ArmError:
    """Return the refusal to list a place where no VM of the fleet can be."""
    path = asked.path
    if path.resource_group:
        message = f"Resource group '{path.resource_group}' could not be found."
        return ArmError(404, message, "ResourceGroupNotFound")
    message = f"The subscription '{path.subscription}' could not be found."
    return ArmError(404, message, "SubscriptionNotFound")


def _next(asked: ArmRequest, last: ArmVm) -> str:
    subscription, group = map(
        quote, (asked.path.subscription, asked.path.resource_group)
    )
    within = f"/resourceGroups/{group}" if group else ""
    query = urlencode({"api-version": asked.version, "$skiptoken": last.vm.name})
    return (
        f"{asked.origin}/subscriptions/{subscription}{within}"
        f"/providers/Microsoft.Compute/virtualMachines?{query}"
    )
