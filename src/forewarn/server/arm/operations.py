"""What was asked for, and is under way: each operation is a maintenance.

Its id is the maintenance's, and nothing else is kept: whoever waits for it may go on
waiting after a restart of the service.
"""

from collections.abc import Mapping
from datetime import datetime
from math import ceil
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response

from forewarn.core import policy
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.ports import Clock, Snapshot
from forewarn.server.arm.asked import Asked
from forewarn.server.arm.errors import Refusal, error_view
from forewarn.server.arm.finding import find_operation
from forewarn.server.control.views import Json, rfc3339

_STATUS: Mapping[Phase, str] = {
    Phase.SCHEDULED: "InProgress",
    Phase.STARTED: "InProgress",
    Phase.COMPLETED: "Succeeded",
    Phase.CANCELED: "Canceled",
    Phase.FAILED: "Failed",
}
#: Why an operation did not succeed: a code, and what became of it.
_UNSUCCESSFUL: Mapping[Phase, tuple[str, str]] = {
    Phase.CANCELED: ("OperationCanceled", "was called off before it started"),
    Phase.FAILED: ("OperationFailed", "was given up"),
}
_SOONEST, _LATEST = 1, 15  # seconds until it is worth asking again


def accepted(asked: Asked, made: Maintenance, location: str) -> Response:
    """Say that it will be done, and where to ask whether it is."""
    with asked.parts.engine.store.snapshot() as snapshot:
        wait = _retry_after(asked, snapshot, made)
    return Response(
        status_code=202,
        headers={
            "Azure-AsyncOperation": _address(asked, made, location),
            "Location": _address(asked, made, location, monitor="true"),
            "Retry-After": wait,
        },
    )


def get_operation(asked: Asked) -> Response:
    """Tell how far an operation is; by its status, or if asked to monitor, by code."""
    with asked.parts.engine.store.snapshot() as snapshot:
        found = find_operation(asked, snapshot)
        wait = {"Retry-After": _retry_after(asked, snapshot, found)}
    is_live = found.phase.is_live
    if asked.query.get("monitor", "").lower() != "true":
        return JSONResponse(_view(asked, found), headers=wait if is_live else {})
    if is_live:
        here = _address(asked, found, asked.path.location, monitor="true")
        return Response(status_code=202, headers={"Location": here, **wait})
    if found.phase in _UNSUCCESSFUL:
        code, message = _why(found)
        raise Refusal(409, message, code)
    return Response(status_code=200)


def seconds_to_wait(clock: Clock, until: datetime | None, now: datetime) -> int:
    """Say how long to wait before asking again; `until` then it cannot change alone."""
    if clock.name != "system":
        return _SOONEST  # hours may pass in a second
    if until is None:
        return _LATEST
    return min(max(ceil((until - now).total_seconds()), _SOONEST), _LATEST)


def _retry_after(asked: Asked, snapshot: Snapshot, found: Maintenance) -> str:
    engine = asked.parts.engine
    now = engine.now(snapshot)
    outages = snapshot.outages(found.announced_at)
    until = policy.next_moment(found, now, engine.rules, outages)
    return str(seconds_to_wait(engine.clock, until, now))


def _address(asked: Asked, found: Maintenance, location: str, **more: str) -> str:
    query = urlencode({**more, "api-version": asked.version})
    return f"{asked.origin}{quote(_path(asked, found, location))}?{query}"


def _path(asked: Asked, found: Maintenance, location: str) -> str:
    return (
        f"/subscriptions/{asked.path.subscription}/providers/Microsoft.Compute"
        f"/locations/{location}/operations/{found.id}"
    )


def _view(asked: Asked, found: Maintenance) -> Json:
    view: Json = {
        "id": _path(asked, found, asked.path.location),
        "name": found.id,
        "startTime": rfc3339(found.announced_at),
        "status": _STATUS[found.phase],
    }
    if found.ended_at is not None:
        view["endTime"] = rfc3339(found.ended_at)
    if found.phase in _UNSUCCESSFUL:
        view["error"] = error_view(*_why(found))
    return view


def _why(found: Maintenance) -> tuple[str, str]:
    code, what = _UNSUCCESSFUL[found.phase]
    reason = f": {found.reason}" if found.reason else ""
    return code, f"the {found.type} of {', '.join(found.vms)} {what}{reason}"
