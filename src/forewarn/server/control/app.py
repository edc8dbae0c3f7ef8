"""The ASGI application of the control plane."""

from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from forewarn import __version__
from forewarn.server.arm.app import Arm
from forewarn.server.control import (
    causes,
    clock,
    docs,
    faults,
    fleet,
    fleet_map,
    health,
    journal,
    maintenances,
    metrics,
    notifiers,
    overview,
    portal,
    problems,
    reports,
    session,
    tokens,
)
from forewarn.server.control.asked import Parts
from forewarn.server.control.callers import Callers, Names
from forewarn.server.control.guard import Guard
from forewarn.server.control.headers import SafeHeaders
from forewarn.server.control.journal import Streams
from forewarn.server.control.metrics import make_registry
from forewarn.server.control.openapi import Described
from forewarn.server.control.sizes import Allowances, Sizes
from forewarn.server.metrics.traffic import Counter, Traffic

_DESCRIPTION = (
    "Announce maintenance, see who was told and who has approved, change the fleet."
    " Every request but those for health carries a bearer token, or the cookie of a"
    " session that began with one. Times are RFC 3339"
    " in UTC, durations whole seconds; errors are RFC 9457 problems."
)


def make_app(
    parts: Parts, streams: Streams, portal_folder: Path = portal.FOLDER
) -> FastAPI:
    """Return the application with all its routes and middleware."""
    app = Described(
        title="forewarn control API",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Arm, parts=parts)
    traffic = Traffic()
    app.add_middleware(Sizes, allowances=Allowances())  # runs after the guard
    app.add_middleware(Guard, parts=parts)
    app.add_middleware(Counter, traffic=traffic)  # added last, so it runs first
    app.state.parts = parts
    app.state.registry = make_registry(lambda: parts.sources, traffic)
    app.state.streams = streams
    app.state.portal = portal.read_portal(portal_folder)
    problems.install(app)
    for module in (
        health,
        maintenances,
        overview,
        causes,
        fleet,
        fleet_map,
        journal,
        reports,
        notifiers,
        clock,
        faults,
        tokens,
        session,
        metrics,
        docs,
        portal,
    ):
        app.include_router(module.router)
    return app


def in_public(app: FastAPI, names: Names) -> ASGIApp:
    """Restrict `app` to requests for `names`, and add security headers.

    This wraps the whole application, because its own middleware does not see the
    responses to its failures.
    """
    return SafeHeaders(Callers(app, names))
