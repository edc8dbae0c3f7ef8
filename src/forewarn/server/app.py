"""ASGI application of the control plane: control API, ARM, metrics and portal."""

from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp

from forewarn import __version__
from forewarn.server.arm.app import ArmApp
from forewarn.server.control import problems
from forewarn.server.control.auth.guard import Guard, WorkTurns
from forewarn.server.control.context import Services
from forewarn.server.control.http.body_limits import BodyLimits, BodyLimitTable
from forewarn.server.control.http.origin import (
    AllowedHosts,
    OriginCheck,
    SecurityHeaders,
)
from forewarn.server.control.openapi import DescribedApp
from forewarn.server.control.routes import (
    access,
    fleet,
    journal,
    maintenances,
    operations,
    overview,
    portal,
    rehearsal,
    system,
)
from forewarn.server.control.routes.journal import JournalStreams
from forewarn.server.metrics import endpoint
from forewarn.server.metrics.endpoint import TrafficCounter, make_registry

_DESCRIPTION = (
    "Announce maintenance, see which VMs have seen and approved it, and manage the"
    " fleet. Every request except health checks needs a bearer token, or the cookie and"
    " key of a session that was started with one. Times are RFC 3339 in UTC, durations"
    " are whole seconds, and errors are RFC 9457 problems. With `?dry_run=true`, a"
    " request that announces, approves or changes maintenance, or that replaces the"
    " fleet, returns what it would do, but changes nothing."
)


def make_app(
    services: Services, streams: JournalStreams, portal_folder: Path = portal.FOLDER
) -> FastAPI:
    """Return the application with all its routes and middleware.

    The application handles only HTTP requests. `ControlPlane` disables WebSockets and
    lifespan events.
    """
    app = DescribedApp(
        title="forewarn control API",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(ArmApp, services=services)
    app.add_middleware(WorkTurns, services=services)
    app.add_middleware(BodyLimits, limits=BodyLimitTable())  # runs after the guard
    app.add_middleware(Guard, services=services)
    # Added last, so that it runs first.
    app.add_middleware(TrafficCounter, services=services)
    app.state.services = services
    app.state.registry = make_registry(lambda: services.sources)
    app.state.streams = streams
    app.state.portal = portal.read_portal(portal_folder)
    problems.install(app)
    for router in (
        system.health_router,
        maintenances.router,
        overview.router,
        operations.router,
        fleet.router,
        journal.router,
        system.notifier_router,
        rehearsal.clock_router,
        rehearsal.fault_router,
        access.token_router,
        access.session_router,
        endpoint.router,
        system.docs_router,
        portal.router,
    ):
        # Unlike `include_router`, this rebuilds no routes on the first request.
        app.router.routes.extend(router.routes)
    return app


def in_public(app: FastAPI, names: AllowedHosts) -> ASGIApp:
    """Restrict `app` to requests for `names` and add security headers.

    This wraps the whole application, because middleware inside the application does not
    see the responses to unexpected errors.
    """
    return SecurityHeaders(OriginCheck(app, names))
