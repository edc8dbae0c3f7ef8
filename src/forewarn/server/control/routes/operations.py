"""Operations on one VM or one host."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter
from fastapi.responses import Response

from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.operations import VmOperation, order_for, order_for_host
from forewarn.engine.operations import HostResult
from forewarn.errors import Forbidden, InvalidInput
from forewarn.ports import Snapshot
from forewarn.protocol.types import EventSource, EventType
from forewarn.server.control.auth.permissions import shown_to
from forewarn.server.control.context import Service, Write, WriteRequest
from forewarn.server.control.models import (
    Degraded,
    HostMaintenance,
    Json,
    Reason,
    Reimaging,
    Timed,
    Told,
    announced_view,
    moment,
    source_of,
    with_details,
    with_times,
    word,
    written,
)

router = APIRouter(tags=["causes"])

_FOR_HOSTS = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)

# --- VMs ---------------------------------------------------------------------


@router.post("/v1/vms/{name}/restart", status_code=201)
def restart(
    service: Service, asked: Write, name: str, body: Timed | None = None
) -> Json:
    """Restart a VM, as a user asks for it; at once if its group is silent."""
    return _operate(service, asked, VmOperation.RESTART, name, body)


@router.post("/v1/vms/{name}/redeploy", status_code=201)
def redeploy(
    service: Service, asked: Write, name: str, body: Timed | None = None
) -> Json:
    """Move a VM to another host, as a user asks for it; at once if its group is
    silent.
    """
    return _operate(service, asked, VmOperation.REDEPLOY, name, body)


@router.post("/v1/vms/{name}/reimage", status_code=201)
def reimage(
    service: Service, asked: Write, name: str, body: Reimaging | None = None
) -> Json:
    """Give a VM a new image; it reboots."""
    source = None if body is None else source_of(body.source)
    if source is EventSource.PLATFORM and asked.holder.group is not None:
        raise Forbidden("source: a group's token asks as a user; leave it out")
    order = order_for(VmOperation.REIMAGE, name)
    order = replace(order, source=source or order.source)
    return _ordered(service, asked, VmOperation.REIMAGE, with_times(order, body))


@router.post("/v1/vms/{name}/evict", status_code=201)
def evict(service: Service, asked: Write, name: str, body: Timed | None = None) -> Json:
    """Take a spot VM back."""
    return _operate(service, asked, VmOperation.EVICT, name, body)


@router.post("/v1/vms/{name}/delete", status_code=201)
def delete(
    service: Service, asked: Write, name: str, body: Timed | None = None
) -> Json:
    """Delete a VM, with notice where its scale set gives it; it leaves the fleet when
    that is done.
    """
    return _operate(service, asked, VmOperation.DELETE, name, body)


def _operate(
    service: Service,
    asked: WriteRequest,
    operation: VmOperation,
    name: str,
    body: Timed | None,
) -> Json:
    order = with_times(order_for(operation, name), body)
    return _ordered(service, asked, operation, order)


def _ordered(
    service: Service, asked: WriteRequest, operation: VmOperation, order: Order
) -> Json:
    holder = asked.holder

    def view(made: Sequence[Maintenance]) -> Json:
        return announced_view([shown_to(holder, maintenance) for maintenance in made])

    def render(made: Sequence[Maintenance], snapshot: Snapshot) -> str:
        del snapshot
        return written(view(made))

    once = asked.once(201, render)
    announced = service.causes.operate(
        operation, order, by=asked.by, group=holder.group, once=once
    )
    return view(announced)


# --- hosts -------------------------------------------------------------------


@router.post("/v1/hosts/{name}/maintain", status_code=201)
def maintain(
    service: Service,
    asked: Write,
    response: Response,
    name: str,
    body: HostMaintenance | None = None,
) -> Json:
    """Announce planned maintenance of a host: one act on all its VMs."""
    kind = EventType.FREEZE
    if body is not None and body.type is not None:
        kind = word(EventType, body.type, "type")
    if kind not in _FOR_HOSTS:
        raise InvalidInput(f"type: a host is maintained by {_listed()}, not {kind}")
    order = replace(
        with_times(order_for_host(name, kind), body),
        emergency=bool(body and body.emergency),
        ignore_gates=bool(body and body.ignore_gates),
    )
    once = asked.once(_status, _render)
    outcome = service.causes.maintain(order, by=asked.by, once=once)
    return _shown(outcome, response)


@router.post("/v1/hosts/{name}/degraded", status_code=201)
def degraded(
    service: Service,
    asked: Write,
    response: Response,
    name: str,
    body: Degraded | None = None,
) -> Json:
    """Let VMs leave hardware that is predicted to fail: within seven days, or
    `fails_by`.
    """
    text = None if body is None else body.fails_by
    outcome = service.causes.degrade(
        with_details(order_for_host(name), body),
        fails_by=None if text is None else moment(text, "fails_by"),
        by=asked.by,
        once=asked.once(_status, _render),
    )
    return _shown(outcome, response)


@router.post("/v1/hosts/{name}/failed", status_code=201)
def failed(
    service: Service,
    asked: Write,
    response: Response,
    name: str,
    body: Told | None = None,
) -> Json:
    """Tell that a host has failed: what was planned for it is off, its VMs are told."""
    order = with_details(order_for_host(name), body)
    once = asked.once(_status, _render)
    return _shown(service.causes.fail(order, by=asked.by, once=once), response)


@router.post("/v1/hosts/{name}/recovered")
def recovered(
    service: Service,
    asked: Write,
    response: Response,
    name: str,
    body: Reason | None = None,
) -> Json:
    """Tell that a host is well: not degraded any more, its failure over."""
    order = replace(order_for_host(name), reason=None if body is None else body.reason)
    once = asked.once(_status, _render)
    return _shown(service.causes.recover(order, by=asked.by, once=once), response)


def _listed() -> str:
    return ", ".join(kind.value for kind in _FOR_HOSTS)


def _status(outcome: HostResult) -> int:
    return 201 if outcome.announced else 200


def _view(outcome: HostResult) -> Json:
    return announced_view(outcome.announced or outcome.concerned)


def _render(outcome: HostResult, snapshot: Snapshot) -> str:
    del snapshot
    return written(_view(outcome))


def _shown(outcome: HostResult, response: Response) -> Json:
    response.status_code = _status(outcome)
    return _view(outcome)
