"""Client of the control API, which creates fleets and events and advances the clock."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
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
class ControlResponse:
    """A response of the control plane."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        """Return the decoded body."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """Return status and code of an error of ARM, which must have a message."""
        error = self.json["error"]
        assert error["message"], "an error has a message"
        return self.status, str(error["code"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlClient:
    """The control API of the service under test."""

    url: str
    token: str

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send one request, which must succeed."""
        response = self.request(method, path, body)
        if response.status >= 400:
            text = response.body.decode()
            raise Refused(f"{method} {path}: {response.status} {text}")
        return response.json if response.body else None

    def request(self, method: str, path: str, body: object = None) -> ControlResponse:
        """Send one request, which may be refused."""
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
                status, headers, read = got.status, got.headers, got.read()
        except HTTPError as problem:
            with problem:
                status, headers, read = problem.code, problem.headers, problem.read()
        return ControlResponse(status=status, headers=headers, body=read)


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
