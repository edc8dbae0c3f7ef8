"""Endpoints for rehearsals: the clock (/v1/clock) and faults (/v1/faults)."""

import logging
import time
from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from forewarn.core.faults import FaultKind, FaultOn, FaultTrait, fault_of, takers
from forewarn.core.queries.views import Json, rfc3339
from forewarn.engine.engine import Engine
from forewarn.engine.timers import LONGEST_ADVANCE
from forewarn.errors import InvalidInput
from forewarn.ports import Snapshot
from forewarn.server.control import models as m
from forewarn.server.control.context import (
    Caller,
    FinalWrite,
    ServicesDep,
    ViewRoute,
)
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults

_log = logging.getLogger(__name__)

clock_router = APIRouter(tags=["clock"], route_class=ViewRoute)
fault_router = APIRouter(tags=["faults"], route_class=ViewRoute)

_MAX_SECONDS = int(LONGEST_ADVANCE.total_seconds())

# --- the clock ---------------------------------------------------------------


class ClockStep(BaseModel):
    """How far to move the clock: by seconds, or to a time."""

    model_config = ConfigDict(extra="forbid")

    seconds: StrictInt | None = Field(None, ge=0, le=_MAX_SECONDS)
    to: StrictStr | None = Field(None, description="RFC 3339 with a time zone")


@clock_router.get("/v1/clock", response_model=m.ClockView)
def show_clock(services: ServicesDep, by: Caller) -> Json:
    """Show the service's time."""
    del by
    return clock_view(services.engine)


@clock_router.post("/v1/clock/advance", response_model=m.ClockView)
def advance(services: ServicesDep, write: FinalWrite, body: ClockStep) -> Json:
    """Advance a manual clock, stopping at every deadline."""
    once = write.idempotency_key(200, _advanced_view)
    if (body.seconds is None) == (body.to is None):
        raise InvalidInput("specify either seconds or to")
    if body.seconds is not None:
        now = services.advance.by(timedelta(seconds=body.seconds), once)
    else:
        now = services.advance.to(m.parse_time(body.to or "", "to"), once)
    return _advanced_view(now)


def clock_view(engine: Engine) -> Json:
    """Return the kind of clock and the service's time as JSON."""
    clock, until = engine.clock, engine.health.standstill
    if until is None:
        return {"clock": clock.name, "now": rfc3339(clock.now())}
    return {
        "clock": clock.name,
        "now": rfc3339(until),
        "system_now": rfc3339(clock.now()),
        "stands_still_until": rfc3339(until),
    }


def _advanced_view(now: datetime, snapshot: Snapshot | None = None) -> Json:
    del snapshot
    return {"clock": "manual", "now": rfc3339(now)}


# --- faults ------------------------------------------------------------------


class NewFault(BaseModel):
    """A fault to inject."""

    model_config = ConfigDict(extra="forbid")

    kind: StrictStr = Field(description=", ".join(FaultKind))
    on: StrictStr | None = Field(None, description=", ".join(FaultOn))
    vms: m.VmNames | None = Field(
        None, description="VMs that the fault affects; default: all"
    )
    count: StrictInt | None = Field(
        None, description="number of requests that the fault affects; default: no limit"
    )
    probability: StrictFloat | StrictInt | None = Field(
        None,
        description=(
            "probability that a request is affected, above 0 and at most 1; default: 1"
        ),
    )
    duration_seconds: StrictFloat | StrictInt | None = Field(
        None,
        description="how long the fault lasts, in real time; default: until cleared",
    )
    delay_seconds: StrictFloat | StrictInt | None = Field(
        None,
        description=f"delay in real time, for {takers(FaultTrait.DELAY)}; default: 5",
    )
    retry_after_seconds: StrictInt | None = Field(
        None,
        description="value of the Retry-After header, for"
        f" {takers(FaultTrait.RETRY_AFTER)}; default: 1",
    )


@fault_router.get("/v1/faults", response_model=m.page_of("Faults", m.FaultView))
def list_faults(services: ServicesDep, by: Caller) -> Json:
    """List active faults, oldest first."""
    del by
    return {"items": fault_views(services.plane.faults), "next": None}


@fault_router.post("/v1/faults", response_model=m.FaultView, status_code=201)
def set_fault(services: ServicesDep, by: Caller, body: NewFault) -> Json:
    """Inject a fault into the metadata plane, for rehearsals."""
    fault = fault_of(
        body.kind,
        on=body.on,
        vms=body.vms or (),
        count=body.count,
        probability=body.probability,
        duration=body.duration_seconds,
        delay=body.delay_seconds,
        retry_after=body.retry_after_seconds,
    )
    active = services.plane.add_fault(fault, by=by.name)
    _log.warning(
        "%s injected fault %s (%s): VMs will receive intentionally faulty responses",
        by.name,
        active.id,
        fault.kind,
    )
    return _fault_view(active)


@fault_router.delete("/v1/faults", status_code=204)
def clear_faults(services: ServicesDep, by: Caller) -> None:
    """Clear all faults."""
    services.plane.clear_faults()
    _log.warning("%s cleared all faults", by.name)


@fault_router.delete("/v1/faults/{id}", status_code=204)
def clear_fault(services: ServicesDep, by: Caller, id: str) -> None:
    """Clear one fault."""
    services.plane.clear_faults(id)
    _log.warning("%s cleared fault %s", by.name, id)


def fault_views(faults: ActiveFaults) -> list[Json]:
    """Return the active faults as JSON, oldest first."""
    return [_fault_view(active) for active in faults.all()]


def _fault_view(active: ActiveFault) -> Json:
    fault, until, trait = active.fault, active.until, active.fault.kind.trait
    left = None if until is None else max(until - time.monotonic(), 0.0)
    return {
        "id": active.id,
        "kind": fault.kind.value,
        "on": fault.on.value,
        "vms": [*fault.vms],
        "count": fault.count,
        "left": active.left,
        "probability": fault.probability,
        "duration_seconds": fault.duration,
        "left_seconds": None if left is None else round(left, 3),
        "delay_seconds": fault.delay if trait is FaultTrait.DELAY else None,
        "retry_after_seconds": (
            fault.retry_after if trait is FaultTrait.RETRY_AFTER else None
        ),
        "text": fault.text,
        "set_by": active.set_by,
        "set_at": rfc3339(active.set_at),
    }
