"""Health checks: /healthz (liveness) and /readyz (readiness)."""

from datetime import timedelta

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from forewarn.errors import ForewarnError
from forewarn.server.control.asked import Service
from forewarn.server.control.views import Json

router = APIRouter(tags=["health"])

_MOST_BEHIND = timedelta(seconds=5)


@router.get("/healthz")
def healthz() -> Json:
    """Say that the service lives."""
    return {"status": "ok"}


@router.get("/readyz", response_model=None)
def readyz(service: Service) -> JSONResponse:
    """Say whether VMs are shown what the journal says."""
    try:
        reason = _reason(service)
    except ForewarnError as error:
        reason = str(error)
    if reason is not None:
        return JSONResponse({"status": "not ready", "reason": reason}, 503)
    kinds = service.plane.faults.kinds
    return JSONResponse({"status": "ready", **({"faults": kinds} if kinds else {})})


def _reason(service: Service) -> str | None:
    engine = service.engine
    unread = engine.store.facts(service.documents_position(), 1)
    late = _MOST_BEHIND * engine.clock.rate
    if unread and engine.clock.now() - unread[0].fact.at > late:
        return f"documents are behind the journal, at {service.documents_position()}"
    return None
