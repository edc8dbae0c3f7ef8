"""Health checks: /healthz (liveness) and /readyz (readiness)."""

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse

from forewarn.core.queries.views import Json, rfc3339
from forewarn.engine.readers.notifications import TargetStatus
from forewarn.errors import ForewarnError
from forewarn.server.control.context import Caller, Service

health_router = APIRouter(tags=["health"])

_MOST_BEHIND = timedelta(seconds=5)


docs_router = APIRouter()

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h2 { margin-top: 2rem; text-transform: capitalize; }
code { font: 15px ui-monospace, monospace; }
dt { margin-top: .8rem; } dd { margin: 0 0 0 1rem; color: #444; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #16181d; } dd { color: #bbb; } a { color: #8ab4ff; }
}
"""

_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    f" style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
)


notifier_router = APIRouter(tags=["notifiers"])


@health_router.get("/healthz")
def healthz() -> Json:
    """Say that the service lives."""
    return {"status": "ok"}


@health_router.get("/readyz", response_model=None)
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


@docs_router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show the API."""
    spec = request.app.openapi()
    sections = "".join(_sections(spec["paths"]))
    title = escape(spec["info"]["title"])
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{title}</h1><p>{escape(spec['info']['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f"{sections}</html>",
        headers={"Content-Security-Policy": _POLICY},
    )


def _sections(paths: dict[str, dict[str, dict[str, object]]]) -> Iterator[str]:
    tags: dict[str, list[str]] = {}
    for path, methods in paths.items():
        for method, operation in methods.items():
            tag = str((operation.get("tags") or ["other"])[0])  # type: ignore[index]  # a list by the specification
            text = escape(str(operation.get("description", "")))
            line = (
                f'<dt><code><span class="method">{method.upper()}</span>'
                f"{escape(path)}</code></dt><dd>{text}</dd>"
            )
            tags.setdefault(tag, []).append(line)
    for tag, lines in tags.items():
        yield f"<h2>{escape(tag)}</h2><dl>{''.join(lines)}</dl>"


@notifier_router.get("/v1/notifiers")
def list_notifiers(service: Service, by: Caller) -> Json:
    """Tell of each target how far it is, and what keeps it."""
    del by
    standings = service.notifying.targets()
    return {"items": [_view(standing) for standing in standings], "next": None}


def _view(standing: TargetStatus) -> Json:
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
