"""A complete service in this process, accessed over real HTTP."""

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

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import Config
from forewarn.service.service import Service

TOKEN = "t"

#: A year after the manual clock's start, which is the system time.
YEAR = time.gmtime().tm_year + 2

#: The groups web and db share host-a; lone is separate.
FLEET = """\
[[hosts]]
name = "host-a"
[[hosts]]
name = "host-b"
[[groups]]
name = "web"
kind = "availability-set"
enabled = "always"
[[groups]]
name = "db"
kind = "availability-set"
enabled = "always"
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
class ReceivedResponse:
    """An HTTP response."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """Return the detail of a problem, which must follow RFC 9457."""
        assert self.headers.get_content_type() == "application/problem+json"
        problem = self.json
        assert problem["status"] == self.status
        assert {"type", "title", "detail"} <= problem.keys()
        return str(problem["detail"])


def send_request(
    method: str, url: str, body: bytes | None = None, **headers: str
) -> ReceivedResponse:
    """Send a request; underscores in the names of `headers` become dashes."""
    renamed = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(url, body, renamed, method=method)
    try:
        with urlopen(request, timeout=PATIENCE) as response:
            return ReceivedResponse(
                status=response.status, headers=response.headers, body=response.read()
            )
    except HTTPError as error:
        with error:
            return ReceivedResponse(
                status=error.code, headers=error.headers, body=error.read()
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """A running service as seen from outside."""

    metadata: str
    control: str
    token: str = TOKEN

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        **headers: str,
    ) -> ReceivedResponse:
        """Send a request to the control plane; `body` is sent as JSON, `raw` unchanged.

        The response must match the OpenAPI description.
        """
        data = raw if body is None else json.dumps(body).encode()
        all_headers = {"Authorization": f"Bearer {self.token}", **headers}
        if data is not None:
            all_headers.setdefault("Content_Type", "application/json")
        answer = send_request(method, self.control + path, data, **all_headers)
        kind = answer.headers.get_content_type()
        assert not faults(method, path, answer.status, kind, answer.body), answer
        return answer

    def get(self, path: str) -> Any:
        """Return the JSON at `path`, which must exist."""
        answer = self.request("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def announce(self, **body: object) -> Any:
        """Announce a single maintenance, by default a Reboot, and return it."""
        answer = self.request("POST", "/v1/maintenances", {"type": "Reboot", **body})
        assert answer.status == 201, answer.body
        (maintenance,) = answer.json["maintenances"]
        return maintenance

    def advance(self, seconds: int) -> None:
        """Advance the clock."""
        answer = self.request("POST", "/v1/clock/advance", {"seconds": seconds})
        assert answer.status == 200, answer.body

    def facts(self, *kinds: str) -> list[Any]:
        """Return the journal, or only its entries of `kinds`."""
        entries = self.get("/v1/journal?limit=1000")["items"]
        return [entry for entry in entries if not kinds or entry["fact"] in kinds]

    def as_vm(
        self,
        vm: str,
        body: bytes | None = None,
        *,
        version: str = "2020-07-01",
        **headers: str,
    ) -> ReceivedResponse:
        """Read the document of `vm`, or approve with `body`."""
        path = f"/vm/{vm}/metadata/scheduledevents?api-version={version}"
        method = "GET" if body is None else "POST"
        return send_request(
            method, self.metadata + path, body, Metadata="true", **headers
        )

    def approve_as(
        self, vm: str, *events: str, version: str = "2020-07-01"
    ) -> ReceivedResponse:
        """Approve `events` as `vm`."""
        requests = [{"EventId": event} for event in events]
        body = json.dumps({"StartRequests": requests}).encode()
        return self.as_vm(vm, body, version=version)

    def document(self, vm: str) -> Any:
        """Return the document of `vm`."""
        return self.as_vm(vm).json


def a_config(folder: Path, **flags: object) -> Config:
    """Return the settings of a service in memory with a manual clock."""
    file = folder / "fleet.toml"
    file.write_text(FLEET)
    values: Mapping[str, object] = {
        "metadata": ["127.0.0.1:0"],
        "control": "127.0.0.1:0",
        "store": "memory",
        "clock": "manual",
        "fleet": str(file),
        **flags,
    }
    environment = {"FOREWARN_STATE_DIR": str(folder)}
    return load(SettingSources(flags=values, environment=environment))


@contextmanager
def a_service(folder: Path, **flags: object) -> Iterator[RunningService]:
    """Serve the fleet until the block ends; `flags` override the settings.

    The service runs as a guest, because a full garbage collection of the test process
    takes far longer than the rest of the start.
    """
    with Service(a_config(folder, **flags), TOKEN, is_guest=True) as system:
        system.open_control()
        yield RunningService(metadata=system.metadata[0], control=system.control)


def simulate_outage(store: Path, gap: timedelta) -> datetime:
    """Simulate an outage of `gap` for a stopped service; return its start.

    A manual clock stands still while the service is stopped, and no test waits for
    minutes. So this moves the clock in the file and leaves the heartbeat unchanged.
    """
    with closing(sqlite3.connect(store)) as database:
        (heartbeat,) = database.execute(
            "SELECT value FROM settings WHERE name = 'heartbeat'"
        ).fetchone()
        since = datetime.fromisoformat(heartbeat)
        database.execute(
            "INSERT OR REPLACE INTO settings (name, value) VALUES ('clock', ?)",
            ((since + gap).isoformat(),),
        )
        database.commit()
    return since
