"""Request counters of the control plane."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.engine.tallies import Spread, Tally
from forewarn.server.arm.paths import ROOT, is_arm

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Traffic:
    """Requests to the control plane, and their durations."""

    def __init__(self) -> None:
        """Start at zero."""
        self.requests = Tally()  # by method, route, status
        self.times = Spread(*_SECONDS)  # by method, route; until the response starts
        self.in_flight = 0  # changed only on the control plane's loop


class Counter:
    """Middleware that counts requests."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        """Wrap `app`."""
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request when its response starts; a failure is a 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, is_answered = time.monotonic(), False

        async def watch(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start" and not is_answered:
                is_answered = True
                self._count(scope, int(message["status"]), begun)
            await send(message)

        self._traffic.in_flight += 1
        try:
            await self._app(scope, receive, watch)
        except Exception:
            if not is_answered:  # an outer middleware responds
                self._count(scope, 500, begun)
            raise
        finally:
            self._traffic.in_flight -= 1

    def _count(self, scope: Scope, status: int, begun: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        default = f"/{ROOT}" if is_arm(scope["path"]) else "other"
        route = getattr(scope.get("route"), "path", default)  # a template, not names
        self._traffic.requests.add(method, route, str(status))
        self._traffic.times.see(time.monotonic() - begun, method, route)
