"""Fault injection endpoints: set, list and clear faults of the metadata plane.

Faults are kept in memory and end with the service; the journal does not record them.
"""

import logging
import time

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.views import Json, rfc3339
from forewarn.server.fault_set import Faults, Standing
from forewarn.server.faults import ASKING_TO_WAIT, LATE, fault_of

_log = logging.getLogger(__name__)

router = APIRouter(tags=["faults"])


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


@router.get("/v1/faults")
def list_faults(service: Service, by: Caller) -> Json:
    """List the faults in force, the oldest first."""
    del by
    return faults_view(service.plane.faults)


@router.post("/v1/faults", status_code=201)
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
    return _view(standing)


@router.delete("/v1/faults", status_code=204)
def clear_faults(service: Service, by: Caller) -> Response:
    """End all faults."""
    service.plane.clear_faults()
    _log.warning("%s has cleared all faults", by.name)
    return Response(status_code=204)


@router.delete("/v1/faults/{id}", status_code=204)
def clear_fault(service: Service, by: Caller, id: str) -> Response:
    """End one fault."""
    service.plane.clear_faults(id)
    _log.warning("%s has cleared the fault %s", by.name, id)
    return Response(status_code=204)


def faults_view(faults: Faults) -> Json:
    """Return the active faults as JSON, oldest first."""
    return {"items": [_view(standing) for standing in faults.listed()], "next": None}


def _view(standing: Standing) -> Json:
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
        "delay_seconds": fault.delay if fault.kind in LATE else None,
        "retry_after_seconds": (
            fault.retry_after if fault.kind in ASKING_TO_WAIT else None
        ),
        "set_by": standing.set_by,
        "set_at": rfc3339(standing.set_at),
    }
