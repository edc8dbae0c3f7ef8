"""Long-running operations: each consists of one or several maintenances.

Its id is made of theirs, and nothing else is stored, so clients can keep waiting even
across a restart of the service.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response

from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.facts import Canceled, Closed
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.outages import Outage
from forewarn.core.queries.views import Json, rfc3339
from forewarn.ports import Clock, Snapshot
from forewarn.server.arm.errors import ArmError
from forewarn.server.arm.lookup import JOINT, find_operation
from forewarn.server.arm.request import ArmRequest
from forewarn.server.control.auth.permissions import shown_to
from forewarn.server.error_responses import arm_error_view

#: Status by phase. Of several maintenances, the one whose phase comes first here
#: determines the status of the operation.
_STATUS: Mapping[Phase, str] = {
    Phase.SCHEDULED: "InProgress",
    Phase.STARTED: "InProgress",
    Phase.FAILED: "Failed",
    Phase.CANCELED: "Canceled",
    Phase.COMPLETED: "Succeeded",
}
#: For operations without success: an error code, and the outcome.
_UNSUCCESSFUL: Mapping[Phase, tuple[str, str]] = {
    Phase.FAILED: ("OperationFailed", "was given up"),
    Phase.CANCELED: ("OperationCanceled", "was called off before it started"),
}
_SOONEST, _LATEST = 1, 15  # seconds until the next poll
_WORKING = timedelta(seconds=5)  # between polls of overdue work


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The progress of an operation."""

    status: str
    error: tuple[str, str] | None  # None if it has not failed so far
    wait: Mapping[str, str]

    @property
    def is_live(self) -> bool:
        return self.status == "InProgress"


def accepted(
    request: ArmRequest, made: Sequence[Maintenance], location: str
) -> Response:
    """Return a 202 with the addresses at which the operation can be polled."""
    with request.services.engine.store.snapshot() as snapshot:
        wait = _retry_after(request, snapshot, made)
    operation = JOINT.join(maintenance.id for maintenance in made)
    return Response(
        status_code=202,
        headers={
            "Azure-AsyncOperation": _address(request, location, operation),
            "Location": _address(request, location, operation, monitor="true"),
            "Retry-After": wait,
        },
    )


def get_operation(request: ArmRequest) -> Response:
    """Return the progress of an operation: as JSON, or as a status if `monitor`."""
    with request.services.engine.store.snapshot() as snapshot:
        maintenances = find_operation(request, snapshot)
        state = _State(
            status=_STATUS[_slowest(maintenances).phase],
            error=_error(request, snapshot, _slowest(maintenances)),
            wait={"Retry-After": _retry_after(request, snapshot, maintenances)},
        )
    if request.query.get("monitor", "").lower() == "true":
        return _monitored(request, state)
    view = _view(request, maintenances, state)
    return JSONResponse(view, headers=state.wait if state.is_live else {})


def seconds_to_wait(clock: Clock, until: datetime | None, now: datetime) -> int:
    """Return the seconds until the next poll; `until` is None if unknown."""
    if clock.name != "system":
        return _SOONEST  # hours may pass in a second
    if until is None:
        return _LATEST
    return min(max(ceil((until - now).total_seconds()), _SOONEST), _LATEST)


def next_poll_at(
    found: Maintenance, now: datetime, rules: Rules, outages: Sequence[Outage] = ()
) -> datetime | None:
    """Return when `found` may have progressed; None if that is up to others."""
    alone = policy.next_moment(found, now, rules, outages)
    if alone is not None or found.phase is not Phase.STARTED:
        return alone
    end = policy.ends_at(found, rules)  # if the work is done by then
    return end if end is None or end > now else now + _WORKING


def _slowest(found: Sequence[Maintenance]) -> Maintenance:
    """Return the maintenance that determines the status of all."""
    order = [*_STATUS]
    return min(found, key=lambda maintenance: order.index(maintenance.phase))


def _retry_after(
    request: ArmRequest, snapshot: Snapshot, found: Sequence[Maintenance]
) -> str:
    engine = request.services.engine
    now = engine.now(snapshot)
    outages = snapshot.outages(min(item.announced_at for item in found))
    moments = [next_poll_at(item, now, engine.rules, outages) for item in found]
    until = min((item for item in moments if item is not None), default=None)
    return str(seconds_to_wait(engine.clock, until, now))


def _address(request: ArmRequest, location: str, operation: str, **more: str) -> str:
    query = urlencode({**more, "api-version": request.version})
    return f"{request.origin}{quote(_path(request, location, operation))}?{query}"


def _path(request: ArmRequest, location: str, operation: str) -> str:
    return (
        f"/subscriptions/{request.path.subscription}/providers/Microsoft.Compute"
        f"/locations/{location}/operations/{operation}"
    )


def _monitored(request: ArmRequest, state: _State) -> Response:
    if state.is_live:
        path = request.path
        here = _address(request, path.location, path.operation, monitor="true")
        return Response(status_code=202, headers={"Location": here, **state.wait})
    if state.error is not None:
        code, message = state.error
        raise ArmError(409, message, code)
    return Response(status_code=200)


def _view(request: ArmRequest, found: Sequence[Maintenance], state: _State) -> Json:
    path = request.path
    view: Json = {
        "id": _path(request, path.location, path.operation),
        "name": path.operation,
        "startTime": rfc3339(found[0].announced_at),
        "status": state.status,
    }
    ends = [
        maintenance.ended_at
        for maintenance in found
        if maintenance.ended_at is not None
    ]
    if not state.is_live and ends:
        view["endTime"] = rfc3339(max(ends))
    if state.error is not None:
        view["error"] = arm_error_view(*state.error)
    return view


def _error(
    request: ArmRequest, snapshot: Snapshot, found: Maintenance
) -> tuple[str, str] | None:
    if found.phase not in _UNSUCCESSFUL:
        return None
    code, what = _UNSUCCESSFUL[found.phase]
    share = shown_to(request.holder, found)
    reasons = [
        entry.fact.reason
        for entry in snapshot.facts_of(found.id)
        if isinstance(entry.fact, Canceled | Closed) and entry.fact.reason
    ]
    is_whole = share.events == found.events  # otherwise only operators see the reason
    summary = f"the {found.type} of {', '.join(share.vms)} {what}"
    return code, ": ".join([summary, *(reasons if is_whole else ())])
