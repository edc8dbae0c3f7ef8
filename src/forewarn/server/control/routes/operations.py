"""Endpoints for operations on one VM or one host: restart, evict, maintain, ..."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from forewarn.configfile.values import read_choice
from forewarn.core.fleet import VM
from forewarn.core.fleet_file import vm_table
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.operations import (
    HOST_TYPES,
    VmOperation,
    order_for,
    order_for_host,
)
from forewarn.core.queries.views import Json
from forewarn.engine.operations import HostResult
from forewarn.errors import Forbidden
from forewarn.protocol.types import EventSource, EventType
from forewarn.server.control import models as m
from forewarn.server.control.auth.permissions import shown_to, vm_for
from forewarn.server.control.context import (
    Result,
    ServicesDep,
    ViewRoute,
    Write,
    WriteRequest,
    json_response,
)

router = APIRouter(tags=["causes"], route_class=ViewRoute)

_VM: Mapping[str, Any] = {
    "response_model": m.AnnouncedView,
    "status_code": 201,
    "responses": m.OR_DRY_RUN,
}
#: Operations on a host return new maintenance operations or existing ones.
_HOST: Mapping[str, Any] = {
    "status_code": 201,
    "responses": {
        200: {"model": m.or_dry_run(m.AnnouncedView)},
        201: {"model": m.AnnouncedView},
    },
}

# --- VMs ---------------------------------------------------------------------


@router.post("/v1/vms/{name}/restart", **_VM)
def restart(
    services: ServicesDep, write: Write, name: str, body: m.EventOptions | None = None
) -> Result:
    """Restart a VM on behalf of its user. The restart begins immediately if Scheduled
    Events is disabled for its group.
    """
    return _operate(services, write, VmOperation.RESTART, name, body)


@router.post("/v1/vms/{name}/redeploy", **_VM)
def redeploy(
    services: ServicesDep, write: Write, name: str, body: m.EventOptions | None = None
) -> Result:
    """Move a VM to another host on behalf of its user. The move begins immediately if
    Scheduled Events is disabled for its group.
    """
    return _operate(services, write, VmOperation.REDEPLOY, name, body)


@router.post("/v1/vms/{name}/reimage", **_VM)
def reimage(
    services: ServicesDep, write: Write, name: str, body: m.Reimaging | None = None
) -> Result:
    """Give a VM a new image, which reboots it."""
    source = None if body is None else m.source_of(body.source)
    if source is EventSource.PLATFORM and write.holder.group is not None:
        raise Forbidden("source: must be User with a group's token; omit it")
    return _operate(services, write, VmOperation.REIMAGE, name, body, source)


@router.post("/v1/vms/{name}/evict", **_VM)
def evict(
    services: ServicesDep, write: Write, name: str, body: m.EventOptions | None = None
) -> Result:
    """Evict a spot VM. Depending on its eviction policy, it then leaves the fleet or
    stays deallocated.
    """
    return _operate(services, write, VmOperation.EVICT, name, body)


@router.post("/v1/vms/{name}/delete", **_VM)
def delete(
    services: ServicesDep, write: Write, name: str, body: m.EventOptions | None = None
) -> Result:
    """Delete a VM, with notice if its scale set has a terminate notice. The VM leaves
    the fleet when the deletion completes.
    """
    return _operate(services, write, VmOperation.DELETE, name, body)


@router.post("/v1/vms/{name}/start", response_model=m.or_dry_run(m.VmView))
def start(services: ServicesDep, write: Write, name: str) -> Result:
    """Record that a deallocated VM is running again. Has no effect on other VMs."""
    holder = write.holder

    def view(vms: Sequence[VM]) -> Json:
        (vm,) = vms
        return vm_table(vm_for(holder, vm) or vm)

    command = partial(services.operations.start, [name], group=holder.group)
    return write.run(command, view)


def _operate(
    services: ServicesDep,
    write: WriteRequest,
    operation: VmOperation,
    name: str,
    body: m.EventOptions | None,
    source: EventSource | None = None,  # None for the default
) -> Result:
    holder, order = write.holder, m.with_times(order_for(operation, name), body)
    order = replace(order, source=source or order.source)

    def view(announced: Sequence[Maintenance]) -> Json:
        return m.announced_view(
            [shown_to(holder, maintenance) for maintenance in announced]
        )

    operate = partial(services.operations.operate, operation, order, group=holder.group)
    return write.run(operate, view, 201)


# --- hosts -------------------------------------------------------------------


@router.post("/v1/hosts/{name}/maintain", **_HOST)
def maintain(
    services: ServicesDep,
    write: Write,
    name: str,
    body: m.HostMaintenance | None = None,
) -> Response:
    """Announce planned maintenance on a host, as one operation on all its VMs."""
    kind = EventType.FREEZE
    if body is not None and body.type is not None:
        kind = read_choice(HOST_TYPES, body.type, "type")
    order = replace(
        m.with_times(order_for_host(name, kind), body),
        live_migration=bool(body and body.live_migration),
        emergency=bool(body and body.emergency),
        ignore_blockers=bool(body and body.ignore_blockers),
    )
    return _respond(write, partial(services.operations.maintain, order))


@router.post("/v1/hosts/{name}/degraded", **_HOST)
def degraded(
    services: ServicesDep,
    write: Write,
    name: str,
    body: m.Degraded | None = None,
) -> Response:
    """Announce that VMs must leave a host that is predicted to fail, within seven days
    or by `fails_by`. Each group and update domain gets its own maintenance
    operation.
    """
    text = None if body is None else body.fails_by
    order = m.with_details(order_for_host(name), body)
    fails_by = None if text is None else m.parse_time(text, "fails_by")
    degrade = partial(services.operations.degrade, order, fails_by=fails_by)
    return _respond(write, degrade)


@router.post("/v1/hosts/{name}/failed", **_HOST)
def failed(
    services: ServicesDep,
    write: Write,
    name: str,
    body: m.EventDetails | None = None,
) -> Response:
    """Report that a host has failed. This cancels the maintenance scheduled for the
    host and notifies its VMs.
    """
    order = m.with_details(order_for_host(name), body)
    return _respond(write, partial(services.operations.fail, order))


@router.post("/v1/hosts/{name}/recovered", **_HOST)
def recovered(
    services: ServicesDep,
    write: Write,
    name: str,
    body: m.Reason | None = None,
) -> Response:
    """Report that a host has recovered: it is no longer degraded or failed."""
    order = replace(order_for_host(name), reason=None if body is None else body.reason)
    return _respond(write, partial(services.operations.recover, order))


def _respond(write: WriteRequest, command: Callable[..., HostResult]) -> Response:
    """Run an engine command for the caller; return the response."""
    if write.is_dry_run:
        return write.dry_run(command)
    once = write.idempotency_key(_status, lambda result, snapshot: _view(result))
    result = command(by=write.by, once=once)
    return json_response(_view(result), _status(result))


def _status(result: HostResult) -> int:
    return 201 if result.announced else 200


def _view(result: HostResult) -> Json:
    return m.announced_view(result.announced or result.concerned)
