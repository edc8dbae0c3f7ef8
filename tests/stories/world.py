"""A service at noon, and what people and programs do with it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.server.support.service import YEAR, Answer, RunningService, a_service
from tests.stories.connection import Line, Seen, a_line

FLEET = Path(__file__).with_name("fleet.toml")
NOON = datetime(YEAR, 1, 1, 12, tzinfo=UTC)
NEWEST = "2020-07-01"


def rfc3339(moment: datetime) -> str:
    """Write a time as the control API does."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A running service, spoken to as its people do."""

    service: RunningService
    line: Line

    # --- time ----------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """What time it is."""
        return datetime.fromisoformat(self.service.get("/v1/clock")["now"])

    def wait(self, seconds: int = 0, *, minutes: int = 0, days: int = 0) -> None:
        """Let time pass."""
        gap = timedelta(seconds=seconds, minutes=minutes, days=days)
        self.service.advance(int(gap.total_seconds()))

    def wait_until(self, moment: datetime) -> None:
        """Let time pass until `moment`."""
        answer = self.post("clock/advance", {"to": rfc3339(moment)})
        assert answer.status == 200, answer.body

    # --- VMs -----------------------------------------------------------------

    def look(self, vm: str, tag: str | None = None) -> Seen:
        """Let `vm` ask for its events, or whether they are still those of `tag`."""
        (seen,) = self.looks(vm, [NEWEST], tag)
        return seen

    def looks(
        self, vm: str, versions: Sequence[str], tag: str | None = None
    ) -> Sequence[Seen]:
        """Let `vm` ask for its events in several versions."""
        path = f"/vm/{vm}/metadata/scheduledevents?api-version="
        return self.line.ask([path + version for version in versions], tag)

    def sees(self, vm: str) -> list[str]:
        """What `vm` is shown, one line for each event."""
        return [
            f"{each['EventType']} of {' '.join(each['Resources'])}:"
            f" {each['EventStatus']}"
            for each in self.events(vm)
        ]

    def events(self, vm: str) -> Any:
        """The events that `vm` is shown."""
        return json.loads(self.look(vm).body)["Events"]

    def approves(self, vm: str, made: Any) -> Answer:
        """Let `vm` approve all that it is shown of a maintenance."""
        ids = {each["id"] for each in made["events"]}
        mine = [e["EventId"] for e in self.events(vm) if e["EventId"] in ids]
        answer = self.service.approve_as(vm, *mine)
        assert answer.status == 200, answer.body
        return answer

    # --- the operator --------------------------------------------------------

    def post(
        self,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        **headers: str,
    ) -> Answer:
        """Ask for a change, at `path` below /v1."""
        return self.service.ask("POST", f"/v1/{path}", body, raw=raw, **headers)

    def put(self, path: str, body: object) -> Answer:
        """Change a thing of the fleet."""
        return self.service.ask("PUT", f"/v1/{path}", body)

    def delete(self, path: str) -> Answer:
        """Take a thing out of the fleet."""
        return self.service.ask("DELETE", f"/v1/{path}")

    def does(self, path: str, **body: object) -> Any:
        """Do what makes one maintenance."""
        answer = self.post(path, body or None)
        assert answer.status == 201, answer.body
        (made,) = answer.json["maintenances"]
        return made

    def tells(self, made: Any, what: str) -> Any:
        """Tell something of a maintenance, such as that it is complete."""
        answer = self.post(f"maintenances/{made['id']}/{what}")
        assert answer.status == 200, answer.body
        return answer.json

    def moves(self, vm: str, **where: object) -> Answer:
        """Change some of what is known of `vm`."""
        known = self.service.get(f"/v1/vms/{vm}")
        return self.put(f"vms/{vm}", {**known, **where})

    def again(self, made: Any) -> Any:
        """Look at a maintenance again."""
        return self.service.get(f"/v1/maintenances/{made['id']}")

    def phase(self, made: Any) -> str:
        """The phase of a maintenance."""
        return str(self.again(made)["phase"])

    def explains(self, made: Any) -> Any:
        """What a maintenance waits for."""
        return self.service.get(f"/v1/maintenances/{made['id']}/explain")

    def story(self, made: Any) -> Any:
        """The life of a maintenance."""
        return self.service.get(f"/v1/maintenances/{made['id']}/story")


@contextmanager
def a_world(folder: Path, fleet: Path = FLEET, **flags: object) -> Iterator[World]:
    """Serve `fleet`; the clock stands where it was left, or at noon."""
    with (
        a_service(folder, fleet=str(fleet), **flags) as service,
        a_line(service.metadata) as line,
    ):
        world = World(service=service, line=line)
        if world.now < NOON:
            world.wait_until(NOON)
        yield world
