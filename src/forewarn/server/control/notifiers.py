"""Notifier endpoint: how far each target is, and what delays it."""

from fastapi import APIRouter

from forewarn.core.views import Json, rfc3339
from forewarn.engine.notifying import Standing
from forewarn.server.control.asked import Caller, Service

router = APIRouter(tags=["notifiers"])


@router.get("/v1/notifiers")
def list_notifiers(service: Service, by: Caller) -> Json:
    """Tell of each target how far it is, and what keeps it."""
    del by
    standings = service.notifying.targets()
    return {"items": [_view(standing) for standing in standings], "next": None}


def _view(standing: Standing) -> Json:
    return {
        "name": standing.name,
        "kind": standing.kind,
        "url": standing.url,
        "position": standing.position,
        "behind": standing.behind,
        "lag_seconds": round(standing.lag_seconds, 3),
        "state": standing.state.value,
        "failures": standing.failures,
        "last_error": standing.last_error,
        "last_success": rfc3339(standing.last_success),
        "next_attempt": rfc3339(standing.next_attempt),
    }
