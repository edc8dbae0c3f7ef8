"""A real service in this process, asked over real HTTP."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.patience import PATIENCE
from tests.server.support.api_description import faults

from forewarn.config.load import Config, SettingSources, load
from forewarn.service.service import Service

TOKEN = "t"

#: A year that lies ahead of the manual clock, which begins at the system's time.
YEAR = time.gmtime().tm_year + 2

#: The groups web and db share host-a; lone stands apart.
FLEET = """\
[[hosts]]
name = "host-a"
[[hosts]]
name = "host-b"
[[groups]]
name = "web"
kind = "availability-set"
listening = "always"
[[groups]]
name = "db"
kind = "availability-set"
listening = "always"
[[groups]]
name = "empty"
kind = "scale-set"
[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
[[vms]]
name = "web-1"
group = "web"
host = "host-b"
update_domain = 1
[[vms]]
name = "web-2"
group = "web"
update_domain = 2
[[vms]]
name = "db-0"
group = "db"
host = "host-a"
update_domain = 0
[[vms]]
name = "lone"
addresses = ["10.0.0.9"]
tags = { role = "spare" }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """The sentence of a problem, which must be one as RFC 9457 has it."""
        assert self.headers.get_content_type() == "application/problem+json"
        problem = self.json
        assert problem["status"] == self.status
        assert {"type", "title", "detail"} <= problem.keys()
        return str(problem["detail"])


def ask(method: str, url: str, body: bytes | None = None, **headers: str) -> Answer:
    """Send one request; underscores in the names of `headers` are dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(url, body, named, method=method)
    try:
        with urlopen(request, timeout=PATIENCE) as response:
            return Answer(
                status=response.status, headers=response.headers, body=response.read()
            )
    except HTTPError as error:
        with error:
            return Answer(status=error.code, headers=error.headers, body=error.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """A running service, from outside."""

    metadata: str
    control: str
    token: str = TOKEN

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        **headers: str,
    ) -> Answer:
        """Ask the control plane; `body` is sent as JSON, `raw` as it is.

        Whatever it answers must be what the API says of itself.
        """
        data = raw if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}", **headers}
        if data is not None:
            given.setdefault("Content_Type", "application/json")
        answer = ask(method, self.control + path, data, **given)
        kind = answer.headers.get_content_type()
        assert not faults(method, path, answer.status, kind, answer.body), answer
        return answer

    def get(self, path: str) -> Any:
        """Read what is at `path`, which must be there."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def announce(self, **body: object) -> Any:
        """Announce what is one act: by default a Reboot."""
        answer = self.ask("POST", "/v1/maintenances", {"type": "Reboot", **body})
        assert answer.status == 201, answer.body
        (made,) = answer.json["maintenances"]
        return made

    def advance(self, seconds: int) -> None:
        """Move the clock."""
        answer = self.ask("POST", "/v1/clock/advance", {"seconds": seconds})
        assert answer.status == 200, answer.body

    def facts(self, *kinds: str) -> list[Any]:
        """Read the journal, or what it has of `kinds`."""
        entries = self.get("/v1/journal?limit=1000")["items"]
        return [each for each in entries if not kinds or each["fact"] in kinds]

    def as_vm(
        self,
        vm: str,
        body: bytes | None = None,
        *,
        version: str = "2020-07-01",
        **headers: str,
    ) -> Answer:
        """Read the document of `vm`, or approve with `body`."""
        path = f"/vm/{vm}/metadata/scheduledevents?api-version={version}"
        method = "GET" if body is None else "POST"
        return ask(method, self.metadata + path, body, Metadata="true", **headers)

    def approve_as(self, vm: str, *events: str, version: str = "2020-07-01") -> Answer:
        """Approve `events` as `vm` does."""
        requests = [{"EventId": each} for each in events]
        body = json.dumps({"StartRequests": requests}).encode()
        return self.as_vm(vm, body, version=version)

    def document(self, vm: str) -> Any:
        """Read the document of `vm`."""
        return self.as_vm(vm).json


def a_config(folder: Path, **flags: object) -> Config:
    """Settings of a service in memory, whose clock is moved by hand."""
    file = folder / "fleet.toml"
    file.write_text(FLEET)
    given: Mapping[str, object] = {
        "metadata": ["127.0.0.1:0"],
        "control": "127.0.0.1:0",
        "store": "memory",
        "clock": "manual",
        "fleet": str(file),
        **flags,
    }
    environment = {"FOREWARN_STATE_DIR": str(folder)}
    return load(SettingSources(flags=given, environment=environment))


@contextmanager
def a_service(folder: Path, **flags: object) -> Iterator[RunningService]:
    """Serve the fleet, with other `flags` if need be, until the block ends.

    It is a guest: a full garbage collection of the process that runs the tests
    takes far longer than the rest of a start.
    """
    with Service(a_config(folder, **flags), TOKEN, is_guest=True) as system:
        system.open_control()
        yield RunningService(metadata=system.metadata[0], control=system.control)


def be_away(store: Path, gap: timedelta) -> datetime:
    """Let a service that does not run have been away for `gap`; answer since when.

    A manual clock stands still while nobody runs it, and no test waits for minutes:
    so its hand is moved in the file, and only the heartbeat is as it was left.
    """
    with closing(sqlite3.connect(store)) as database:
        (left,) = database.execute(
            "SELECT value FROM settings WHERE name = 'heartbeat'"
        ).fetchone()
        since = datetime.fromisoformat(left)
        database.execute(
            "INSERT OR REPLACE INTO settings (name, value) VALUES ('clock', ?)",
            ((since + gap).isoformat(),),
        )
        database.commit()
    return since
