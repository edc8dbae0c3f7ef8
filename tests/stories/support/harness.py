"""A running service at noon, with the actions of operators and VMs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.server.support.service import (
    YEAR,
    ReceivedResponse,
    RunningService,
    a_service,
)
from tests.stories.support.connection import PollConnection, PollResponse, a_connection

FLEET = Path(__file__).with_name("fleet.toml")
NOON = datetime(YEAR, 1, 1, 12, tzinfo=UTC)
NEWEST = "2020-07-01"


def rfc3339(moment: datetime) -> str:
    """Format a time like the control API."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHarness:
    """A running service, and methods for what operators and VMs do."""

    service: RunningService
    connection: PollConnection

    # --- time ----------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """Return the time of the service's clock."""
        return datetime.fromisoformat(self.service.get("/v1/clock")["now"])

    def wait(self, seconds: int = 0, *, minutes: int = 0, days: int = 0) -> None:
        """Advance the clock."""
        gap = timedelta(seconds=seconds, minutes=minutes, days=days)
        self.service.advance(int(gap.total_seconds()))

    def wait_until(self, moment: datetime) -> None:
        """Advance the clock to `moment`."""
        response = self.post("clock/advance", {"to": rfc3339(moment)})
        assert response.status == 200, response.body

    # --- VMs -----------------------------------------------------------------

    def poll(self, vm: str, tag: str | None = None) -> PollResponse:
        """Poll as `vm`, with `tag` as If-None-Match."""
        (seen,) = self.poll_versions(vm, [NEWEST], tag)
        return seen

    def poll_versions(
        self, vm: str, versions: Sequence[str], tag: str | None = None
    ) -> Sequence[PollResponse]:
        """Poll as `vm` in several API versions."""
        path = f"/vm/{vm}/metadata/scheduledevents?api-version="
        return self.connection.poll([path + version for version in versions], tag)

    def event_lines(self, vm: str) -> list[str]:
        """Return what `vm` is shown, one line per event."""
        return [
            f"{event['EventType']} of {' '.join(event['Resources'])}:"
            f" {event['EventStatus']}"
            for event in self.events(vm)
        ]

    def events(self, vm: str) -> Any:
        """Return the events that `vm` is shown."""
        return json.loads(self.poll(vm).body)["Events"]

    def approve(self, vm: str, made: Any) -> ReceivedResponse:
        """Approve, as `vm`, all of its events of a maintenance."""
        ids = {event["id"] for event in made["events"]}
        mine = [e["EventId"] for e in self.events(vm) if e["EventId"] in ids]
        response = self.service.approve_as(vm, *mine)
        assert response.status == 200, response.body
        return response

    # --- the operator --------------------------------------------------------

    def post(
        self,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        **headers: str,
    ) -> ReceivedResponse:
        """Send a POST request to `path` below /v1."""
        return self.service.request("POST", f"/v1/{path}", body, raw=raw, **headers)

    def put(self, path: str, body: object) -> ReceivedResponse:
        """Create or change a part of the fleet."""
        return self.service.request("PUT", f"/v1/{path}", body)

    def create(self, path: str, **body: object) -> Any:
        """Send a request that creates one maintenance, and return it."""
        response = self.post(path, body or None)
        assert response.status == 201, response.body
        (maintenance,) = response.json["maintenances"]
        return maintenance

    def send_command(self, made: Any, what: str) -> Any:
        """Send a command or report for a maintenance, such as complete."""
        response = self.post(f"maintenances/{made['id']}/{what}")
        assert response.status == 200, response.body
        return response.json

    def change_vm(self, vm: str, **where: object) -> ReceivedResponse:
        """Change some properties of `vm`."""
        current = self.service.get(f"/v1/vms/{vm}")
        return self.put(f"vms/{vm}", {**current, **where})

    def reload(self, made: Any) -> Any:
        """Return the current view of a maintenance."""
        return self.service.get(f"/v1/maintenances/{made['id']}")

    def phase(self, made: Any) -> str:
        """Return the phase of a maintenance."""
        return str(self.reload(made)["phase"])

    def explanation(self, made: Any) -> Any:
        """Return the explanation of a maintenance."""
        return self.service.get(f"/v1/maintenances/{made['id']}/explain")

    def story(self, made: Any) -> Any:
        """Return the story of a maintenance."""
        return self.service.get(f"/v1/maintenances/{made['id']}/story")


@contextmanager
def a_harness(
    folder: Path, fleet: Path = FLEET, **flags: object
) -> Iterator[ServiceHarness]:
    """Serve `fleet`; the clock continues where it was, or starts at noon."""
    with (
        a_service(folder, fleet=str(fleet), **flags) as service,
        a_connection(service.metadata) as line,
    ):
        harness = ServiceHarness(service=service, connection=line)
        if harness.now < NOON:
            harness.wait_until(NOON)
        yield harness
