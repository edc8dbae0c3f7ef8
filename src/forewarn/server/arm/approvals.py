"""Endpoints that approve events by ID, one or several at a time."""

from collections.abc import Callable, Mapping, Sequence

from starlette.responses import JSONResponse, Response

from forewarn.core.fleet import NAME, audience_of, fold_name
from forewarn.core.lifecycle.document import is_shown
from forewarn.core.lifecycle.model import Event, Via
from forewarn.engine.operations import approve_each
from forewarn.errors import ForewarnError, NotFound, TooLate
from forewarn.server.arm.lookup import TYPES, find_machine, find_set
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.error_responses import arm_error_view

_APPROVED = {"value": "Successfully Approved"}
_MIXED = (
    "The operation returned different statuses for the Scheduled Events. Review each"
    " event's result for details."
)
_NOT_AN_EVENT = NotFound("not a valid event ID")
_MAX_IDS = 100  # IDs per request

_KINDS = {fold_name(name): kind for kind, name in TYPES.items()}
#: Approval errors: the status, its code, and the code for a single ID in a list.
_ERRORS: Mapping[type[ForewarnError], tuple[int, str, str]] = {
    NotFound: (404, "InvalidScheduledEventId", "NotFound"),
    TooLate: (409, "Conflict", "Conflict"),
}


def acknowledge(request: ArmRequest) -> Response:
    """Approve one event."""
    (error,) = _approve(request, [request.path.event]).values()
    if error is None:
        return JSONResponse(_APPROVED)
    status, code, _ = _ERRORS[type(error)]
    raise ArmError(status, str(error), code)


def acknowledge_list(request: ArmRequest) -> Response:
    """Approve several events, each independently of the others."""
    results = _approve(request, _read_ids(request))
    errors = {event: error for event, error in results.items() if error is not None}
    if not errors:
        return JSONResponse(_APPROVED)
    details = [
        {"target": event, **arm_error_view(_ERRORS[type(error)][2], str(error))}
        for event, error in errors.items()
    ]
    status, code, message = 207, "MultiStatusResponse", _MIXED
    if len({type(result) for result in results.values()}) == 1:
        first = next(iter(errors.values()))
        status, code, _ = _ERRORS[type(first)]
        message = str(first)
    return JSONResponse(
        {"error": {**arm_error_view(code, message), "details": details}}, status
    )


def _approve(
    request: ArmRequest, ids: Sequence[str]
) -> Mapping[str, ForewarnError | None]:
    results = approve_each(
        request.services.engine,
        [event_id for event_id in ids if NAME.fullmatch(event_id)],
        by=request.by,
        via=Via.ARM,
        is_seen=_visible_to(request),
        group=request.holder.group,
    )
    return {event_id: results.get(event_id, _NOT_AN_EVENT) for event_id in ids}


def _read_ids(request: ArmRequest) -> Sequence[str]:
    value = request.read_body().get("value")
    listed = value if isinstance(value, list) else []
    ids = [item for item in listed if isinstance(item, str)]
    if not ids or len(ids) != len(listed):
        raise ArmError(400, 'the body must be {"value": [...]} with event IDs')
    if len(ids) > _MAX_IDS:
        raise ArmError(400, f"a request can approve at most {_MAX_IDS} events")
    return ids


def _visible_to(request: ArmRequest) -> Callable[[Event], bool]:
    """Return a predicate for the events visible to the resource in the path."""
    resource_type, name = fold_name(request.path.type), request.path.resource
    with request.snapshot() as snapshot:
        if resource_type in _KINDS:
            group = find_set(request, snapshot, name, _KINDS[resource_type]).group
            return lambda event: event.group == group.name
        if resource_type != "virtualmachines":
            types = ", ".join(["virtualMachines", *TYPES.values()])
            raise ArmError(
                400, f"unknown type {request.path.type}; expected one of: {types}"
            )
        machine = find_machine(request, snapshot, name)
    audience = audience_of(machine.group, machine.vm.name)
    return lambda event: is_shown(event, audience)
