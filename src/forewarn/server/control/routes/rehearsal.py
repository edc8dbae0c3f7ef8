"""The service's clock: reading it, and advancing a manual one."""

import logging
import time
from datetime import datetime, timedelta

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from forewarn.engine.timers import LONGEST_ADVANCE
from forewarn.errors import InvalidInput
from forewarn.ports import Clock, Snapshot
from forewarn.server.control.context import Caller, Service, Write
from forewarn.server.control.models import Json, moment, rfc3339, written
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.faults.model import DELAYING, WITH_RETRY_AFTER, fault_of

clock_router = APIRouter(tags=["clock"])

_MOST_SECONDS = int(LONGEST_ADVANCE.total_seconds())


_log = logging.getLogger(__name__)

fault_router = APIRouter(tags=["faults"])


class ClockStep(BaseModel):
    """How far to move the clock: by seconds, or to a time."""

    model_config = ConfigDict(extra="forbid")

    seconds: StrictInt | None = Field(None, ge=0, le=_MOST_SECONDS)
    to: StrictStr | None = Field(None, description="RFC 3339 with a zone")


@clock_router.get("/v1/clock")
def show_clock(service: Service, by: Caller) -> Json:
    """Tell the time of the service."""
    del by
    return clock_view(service.engine.clock)


@clock_router.post("/v1/clock/advance")
def advance(service: Service, asked: Write, body: ClockStep) -> Json:
    """Move a manual clock, deadline by deadline."""

    def render(now: datetime, snapshot: Snapshot) -> str:
        del snapshot
        return written(_clock_view(now))

    once = asked.once(200, render)
    if (body.seconds is None) == (body.to is None):
        raise InvalidInput("give either seconds or to")
    if body.seconds is not None:
        return _clock_view(service.advance.by(timedelta(seconds=body.seconds), once))
    return _clock_view(service.advance.to(moment(body.to or "", "to"), once))


def clock_view(clock: Clock) -> Json:
    """Return the kind and the time of `clock` as JSON."""
    return {"clock": clock.name, "now": rfc3339(clock.now())}


def _clock_view(now: datetime) -> Json:
    return {"clock": "manual", "now": rfc3339(now)}


class NewFault(BaseModel):
    """What is to go wrong."""

    model_config = ConfigDict(extra="forbid")

    kind: StrictStr = Field(
        description="slow-first-call, slow, 429, 410, 500, 503, reset, truncated,"
        " empty, stale or refused"
    )
    on: StrictStr | None = Field(None, description="read, approve or any")
    vms: list[StrictStr] | None = Field(None, description="whom it befalls; all")
    count: StrictInt | None = Field(None, description="how many requests; all")
    probability: StrictFloat | StrictInt | None = Field(None, description="above 0; 1")
    for_seconds: StrictFloat | StrictInt | None = Field(
        None, description="real time that it lasts; until it is cleared"
    )
    delay_seconds: StrictFloat | StrictInt | None = Field(
        None, description="real time, of slow and slow-first-call; 5"
    )
    retry_after_seconds: StrictInt | None = Field(None, description="of 429 and 503; 1")


@fault_router.get("/v1/faults")
def list_faults(service: Service, by: Caller) -> Json:
    """List the faults in force, the oldest first."""
    del by
    return faults_view(service.plane.faults)


@fault_router.post("/v1/faults", status_code=201)
def set_fault(service: Service, by: Caller, body: NewFault) -> Json:
    """Let the metadata plane misbehave, for rehearsals."""
    fault = fault_of(
        body.kind,
        on=body.on,
        vms=body.vms or (),
        count=body.count,
        probability=body.probability,
        seconds=body.for_seconds,
        delay=body.delay_seconds,
        retry_after=body.retry_after_seconds,
    )
    standing = service.plane.add_fault(fault, by=by.name)
    _log.warning(
        "%s has set the fault %s, %s: VMs are answered wrongly on purpose",
        by.name,
        standing.id,
        fault.kind,
    )
    return _fault_view(standing)


@fault_router.delete("/v1/faults", status_code=204)
def clear_faults(service: Service, by: Caller) -> Response:
    """End all faults."""
    service.plane.clear_faults()
    _log.warning("%s has cleared all faults", by.name)
    return Response(status_code=204)


@fault_router.delete("/v1/faults/{id}", status_code=204)
def clear_fault(service: Service, by: Caller, id: str) -> Response:
    """End one fault."""
    service.plane.clear_faults(id)
    _log.warning("%s has cleared the fault %s", by.name, id)
    return Response(status_code=204)


def faults_view(faults: ActiveFaults) -> Json:
    """Return the active faults as JSON, oldest first."""
    return {
        "items": [_fault_view(standing) for standing in faults.all()],
        "next": None,
    }


def _fault_view(standing: ActiveFault) -> Json:
    fault, until = standing.fault, standing.until
    left = None if until is None else max(until - time.monotonic(), 0.0)
    return {
        "id": standing.id,
        "kind": fault.kind.value,
        "on": fault.on.value,
        "vms": [*fault.vms],
        "count": fault.count,
        "left": standing.left,
        "probability": fault.probability,
        "for_seconds": fault.seconds,
        "left_seconds": None if left is None else round(left, 3),
        "delay_seconds": fault.delay if fault.kind in DELAYING else None,
        "retry_after_seconds": (
            fault.retry_after if fault.kind in WITH_RETRY_AFTER else None
        ),
        "set_by": standing.set_by,
        "set_at": rfc3339(standing.set_at),
    }
