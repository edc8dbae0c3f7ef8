"""What was asked for, and is under way: each operation is a maintenance or several.

Its id is theirs, and nothing else is kept: whoever waits for it may go on
waiting after a restart of the service.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response

from forewarn.core import policy
from forewarn.core.facts import Canceled, Closed
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.core.outages import Outage
from forewarn.core.policy import Rules
from forewarn.ports import Clock, Snapshot
from forewarn.server.arm.asked import Asked
from forewarn.server.arm.errors import Refusal, error_view
from forewarn.server.arm.finding import JOINT, find_operation
from forewarn.server.control.reach import shown_to
from forewarn.server.control.views import Json, rfc3339

#: How a phase reads as a status. Of several maintenances the one whose phase stands
#: first here tells what has become of the operation.
_STATUS: Mapping[Phase, str] = {
    Phase.SCHEDULED: "InProgress",
    Phase.STARTED: "InProgress",
    Phase.FAILED: "Failed",
    Phase.CANCELED: "Canceled",
    Phase.COMPLETED: "Succeeded",
}
#: Why an operation did not succeed: a code, and what became of it.
_UNSUCCESSFUL: Mapping[Phase, tuple[str, str]] = {
    Phase.FAILED: ("OperationFailed", "was given up"),
    Phase.CANCELED: ("OperationCanceled", "was called off before it started"),
}
_SOONEST, _LATEST = 1, 15  # seconds until it is worth asking again
_WORKING = timedelta(seconds=5)  # until then whoever is at work may be done


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """How far an operation is."""

    status: str
    error: tuple[str, str] | None  # None: it has not failed, or not yet
    wait: Mapping[str, str]

    @property
    def is_live(self) -> bool:
        return self.status == "InProgress"


def accepted(asked: Asked, made: Sequence[Maintenance], location: str) -> Response:
    """Say that it will be done, and where to ask whether it is."""
    with asked.parts.engine.store.snapshot() as snapshot:
        wait = _retry_after(asked, snapshot, made)
    operation = JOINT.join(each.id for each in made)
    return Response(
        status_code=202,
        headers={
            "Azure-AsyncOperation": _address(asked, location, operation),
            "Location": _address(asked, location, operation, monitor="true"),
            "Retry-After": wait,
        },
    )


def get_operation(asked: Asked) -> Response:
    """Tell how far an operation is; by its status, or if asked to monitor, by code."""
    with asked.parts.engine.store.snapshot() as snapshot:
        found = find_operation(asked, snapshot)
        state = _State(
            status=_STATUS[_slowest(found).phase],
            error=_error(asked, snapshot, _slowest(found)),
            wait={"Retry-After": _retry_after(asked, snapshot, found)},
        )
    if asked.query.get("monitor", "").lower() == "true":
        return _monitored(asked, state)
    view = _view(asked, found, state)
    return JSONResponse(view, headers=state.wait if state.is_live else {})


def seconds_to_wait(clock: Clock, until: datetime | None, now: datetime) -> int:
    """Say how long to wait before asking again; None: nobody knows `until` when."""
    if clock.name != "system":
        return _SOONEST  # hours may pass in a second
    if until is None:
        return _LATEST
    return min(max(ceil((until - now).total_seconds()), _SOONEST), _LATEST)


def worth_asking_at(
    found: Maintenance, now: datetime, rules: Rules, outages: Sequence[Outage] = ()
) -> datetime | None:
    """Say when `found` may have moved on; None: that is up to others."""
    alone = policy.next_moment(found, now, rules, outages)
    if alone is not None or found.phase is not Phase.STARTED:
        return alone
    end = policy.ends_at(found, rules)  # if the work is done by then
    return end if end is None or end > now else now + _WORKING


def _slowest(found: Sequence[Maintenance]) -> Maintenance:
    """Find the one that tells what has become of all."""
    order = [*_STATUS]
    return min(found, key=lambda each: order.index(each.phase))


def _retry_after(asked: Asked, snapshot: Snapshot, found: Sequence[Maintenance]) -> str:
    engine = asked.parts.engine
    now = engine.now(snapshot)
    outages = snapshot.outages(min(each.announced_at for each in found))
    moments = [worth_asking_at(each, now, engine.rules, outages) for each in found]
    until = min((each for each in moments if each is not None), default=None)
    return str(seconds_to_wait(engine.clock, until, now))


def _address(asked: Asked, location: str, operation: str, **more: str) -> str:
    query = urlencode({**more, "api-version": asked.version})
    return f"{asked.origin}{quote(_path(asked, location, operation))}?{query}"


def _path(asked: Asked, location: str, operation: str) -> str:
    return (
        f"/subscriptions/{asked.path.subscription}/providers/Microsoft.Compute"
        f"/locations/{location}/operations/{operation}"
    )


def _monitored(asked: Asked, state: _State) -> Response:
    if state.is_live:
        path = asked.path
        here = _address(asked, path.location, path.operation, monitor="true")
        return Response(status_code=202, headers={"Location": here, **state.wait})
    if state.error is not None:
        code, message = state.error
        raise Refusal(409, message, code)
    return Response(status_code=200)


def _view(asked: Asked, found: Sequence[Maintenance], state: _State) -> Json:
    path = asked.path
    view: Json = {
        "id": _path(asked, path.location, path.operation),
        "name": path.operation,
        "startTime": rfc3339(found[0].announced_at),
        "status": state.status,
    }
    ends = [each.ended_at for each in found if each.ended_at is not None]
    if not state.is_live and ends:
        view["endTime"] = rfc3339(max(ends))
    if state.error is not None:
        view["error"] = error_view(*state.error)
    return view


def _error(
    asked: Asked, snapshot: Snapshot, found: Maintenance
) -> tuple[str, str] | None:
    if found.phase not in _UNSUCCESSFUL:
        return None
    code, what = _UNSUCCESSFUL[found.phase]
    share = shown_to(asked.holder, found)
    reasons = [
        entry.fact.reason
        for entry in snapshot.facts_of(found.id)
        if isinstance(entry.fact, Canceled | Closed) and entry.fact.reason
    ]
    is_whole = share.events == found.events  # else the reason is the operator's
    said = f"the {found.type} of {', '.join(share.vms)} {what}"
    return code, ": ".join([said, *(reasons if is_whole else ())])
