"""Long-running operations, each consisting of one or more maintenance operations.

A long-running operation's ID is composed of the IDs of its maintenance operations, and
nothing else is stored. Clients can therefore keep waiting across a service restart.
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
from forewarn.server.arm.lookup import ID_SEPARATOR, find_operation
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.control.auth.permissions import shown_to
from forewarn.server.error_responses import arm_error_view

#: Status by phase. If there are several maintenance operations, the operation whose
#: phase comes first here determines the status.
_STATUS: Mapping[Phase, str] = {
    Phase.SCHEDULED: "InProgress",
    Phase.STARTED: "InProgress",
    Phase.FAILED: "Failed",
    Phase.CANCELED: "Canceled",
    Phase.COMPLETED: "Succeeded",
}
#: For unsuccessful operations: an error code and the outcome.
_UNSUCCESSFUL: Mapping[Phase, tuple[str, str]] = {
    Phase.FAILED: ("OperationFailed", "was closed as failed"),
    Phase.CANCELED: ("OperationCanceled", "was canceled before it started"),
}
_MIN_WAIT, _MAX_WAIT = 1, 15  # seconds until the next poll
_OVERDUE_WAIT = timedelta(seconds=5)  # until the next poll for overdue work


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The progress of an operation."""

    status: str
    error: tuple[str, str] | None  # None unless it has failed
    wait: Mapping[str, str]

    @property
    def is_live(self) -> bool:
        return self.status == "InProgress"


def accepted(
    request: ArmRequest, maintenances: Sequence[Maintenance], location: str
) -> Response:
    """Return a 202 response with the URLs for polling the operation."""
    with request.snapshot() as snapshot:
        wait = _retry_after(request, snapshot, maintenances)
    operation = ID_SEPARATOR.join(maintenance.id for maintenance in maintenances)
    return Response(
        status_code=202,
        headers={
            "Azure-AsyncOperation": _address(request, location, operation),
            "Location": _address(request, location, operation, monitor="true"),
            "Retry-After": wait,
        },
    )


def get_operation(request: ArmRequest) -> Response:
    """Return an operation's progress as JSON.

    With the query parameter `monitor`, the HTTP status shows the progress instead.
    """
    with request.snapshot() as snapshot:
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
    """Return how many seconds a client should wait before its next poll.

    The operation is expected to progress at `until`, which is None if unknown.
    """
    if clock.name != "system":
        return _MIN_WAIT  # hours may pass within a real second
    if until is None:
        return _MAX_WAIT
    return min(max(ceil((until - now).total_seconds()), _MIN_WAIT), _MAX_WAIT)


def next_poll_at(
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    outages: Sequence[Outage] = (),
) -> datetime | None:
    """Return when `maintenance` may progress, or None if time does not affect it."""
    alone = policy.next_moment(maintenance, now, rules, outages)
    if alone is not None or maintenance.phase is not Phase.STARTED:
        return alone
    end = policy.ends_at(maintenance, rules)  # if the work is done by then
    return end if end is None or end > now else now + _OVERDUE_WAIT


def _slowest(maintenances: Sequence[Maintenance]) -> Maintenance:
    """Return the maintenance operation that determines the status."""
    order = [*_STATUS]
    return min(maintenances, key=lambda maintenance: order.index(maintenance.phase))


def _retry_after(
    request: ArmRequest, snapshot: Snapshot, maintenances: Sequence[Maintenance]
) -> str:
    engine = request.services.engine
    now = engine.now(snapshot)
    outages = snapshot.outages(min(item.announced_at for item in maintenances))
    moments = [next_poll_at(item, now, engine.rules, outages) for item in maintenances]
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


def _view(
    request: ArmRequest, maintenances: Sequence[Maintenance], state: _State
) -> Json:
    path = request.path
    view: Json = {
        "id": _path(request, path.location, path.operation),
        "name": path.operation,
        "startTime": rfc3339(maintenances[0].announced_at),
        "status": state.status,
    }
    ends = [item.ended_at for item in maintenances if item.ended_at is not None]
    if not state.is_live and ends:
        view["endTime"] = rfc3339(max(ends))
    if state.error is not None:
        view["error"] = arm_error_view(*state.error)
    return view


def _error(
    request: ArmRequest, snapshot: Snapshot, maintenance: Maintenance
) -> tuple[str, str] | None:
    if maintenance.phase not in _UNSUCCESSFUL:
        return None
    code, what = _UNSUCCESSFUL[maintenance.phase]
    share = shown_to(request.holder, maintenance)
    reasons = [
        entry.fact.reason
        for entry in snapshot.facts_of(maintenance.id)
        if isinstance(entry.fact, Canceled | Closed) and entry.fact.reason
    ]
    # A caller that sees only some of the VMs must not see the operator's reason.
    is_whole = share.events == maintenance.events
    summary = f"the {maintenance.type} of {', '.join(share.vms)} {what}"
    return code, ": ".join([summary, *(reasons if is_whole else ())])
