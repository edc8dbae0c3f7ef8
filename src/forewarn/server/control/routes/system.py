"""Endpoints about the service: /healthz, /readyz, /v1/notifiers and /docs."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from forewarn import __version__
from forewarn.core.queries.views import Json
from forewarn.engine.readers.notifications import TargetStatus
from forewarn.server.control import models as m
from forewarn.server.control.context import (
    Caller,
    Services,
    ServicesDep,
    ViewRoute,
    json_response,
)

health_router = APIRouter(tags=["health"])
notifier_router = APIRouter(tags=["notifiers"], route_class=ViewRoute)
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

# --- health ------------------------------------------------------------------


# On the event loop and from memory, so that they respond while all worker threads
# are busy or waiting for the store.


@health_router.get("/healthz", response_model=m.AliveView)
async def healthz() -> Response:
    """Report that the service is running."""
    return json_response({"status": "ok"}, 200)


@health_router.get(
    "/readyz", response_model=m.ReadyView, responses={503: {"model": m.NotReadyView}}
)
async def readyz(request: Request) -> Response:
    """Report whether writes succeed and VMs see current documents.

    `warnings` lists problems that do not make the service unready.
    """
    services: Services = request.app.state.services
    health = services.health()
    if health.problems:
        reason = "; ".join(str(problem) for problem in health.problems)
        plain = {"status": "not ready", "version": __version__, "reason": reason}
        return json_response(plain, 503)
    lists = {"faults": services.plane.faults.kinds, "warnings": health.warnings}
    shown = {name: items for name, items in lists.items() if items}
    return json_response({"status": "ready", "version": __version__, **shown}, 200)


# --- notifiers ---------------------------------------------------------------


@notifier_router.get(
    "/v1/notifiers", response_model=m.page_of("Notifiers", TargetStatus)
)
def list_notifiers(services: ServicesDep, by: Caller) -> Json:
    """Show the delivery status of each notification target."""
    del by
    targets = [
        replace(target, lag_seconds=round(target.lag_seconds, 3))
        for target in services.notifications.targets()
    ]
    return {"items": targets, "next": None}


# --- the description of the API ----------------------------------------------


@docs_router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Show a page about the API; on the event loop, because it needs no token."""
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
