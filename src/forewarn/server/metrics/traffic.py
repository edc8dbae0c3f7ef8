"""Counts the requests of the control plane."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.engine.tallies import Spread, Tally
from forewarn.server.arm.paths import ROOT, is_arm

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Traffic:
    """What was asked of the control plane, and how long it took."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.requests = Tally()  # method, route, status
        self.times = Spread(*_SECONDS)  # method, route; until the answer begins
        self.in_flight = 0  # changed on the loop of the control plane alone


class Counter:
    """Lets every request pass, and counts it."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        """Stand before `app`."""
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request when its answer begins; one that fails is a 500."""
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
            if not is_answered:  # whoever stands before us answers it
                self._count(scope, 500, begun)
            raise
        finally:
            self._traffic.in_flight -= 1

    def _count(self, scope: Scope, status: int, begun: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        known = f"/{ROOT}" if is_arm(scope["path"]) else "other"
        route = getattr(scope.get("route"), "path", known)  # no names: a template
        self._traffic.requests.add(method, route, str(status))
        self._traffic.times.see(time.monotonic() - begun, method, route)
