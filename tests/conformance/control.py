"""Client of the control API, which creates fleets and events and advances the clock."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from tests.patience import PATIENCE

_TIMEOUT = PATIENCE

#: Decoded JSON.
Plain = Mapping[str, Any]


class Refused(Exception):
    """The control API refused a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlClient:
    """The control API of the service under test."""

    url: str
    token: str

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send one request, which must succeed."""
        request = Request(
            self.url.rstrip("/") + path,
            None if body is None else json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
            method=method,
        )
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=_TIMEOUT) as got:
                read = got.read()
        except HTTPError as problem:
            with problem:
                text = problem.read().decode()
            raise Refused(f"{method} {path}: {problem.code} {text}") from None
        return json.loads(read) if read else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A clock that tests can advance."""

    control: ControlClient

    def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0
    ) -> None:
        """Advance the clock."""
        whole = int(seconds + 60 * minutes + 3600 * hours)
        self.control.send("POST", "/v1/clock/advance", {"seconds": whole})

    @property
    def now(self) -> datetime:
        """Return the current time."""
        return datetime.fromisoformat(self.control.send("GET", "/v1/clock")["now"])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedMaintenance:
    """The maintenance operations created by an announcement."""

    maintenances: tuple[Plain, ...]

    @property
    def events(self) -> list[str]:
        """Return the ids of all its events."""
        return [e["id"] for operation in self.maintenances for e in operation["events"]]

    @property
    def event(self) -> str:
        """Return the id of its only event."""
        (only,) = self.events
        return str(only)

    @property
    def maintenance(self) -> Plain:
        """Return its only maintenance."""
        (only,) = self.maintenances
        return only
