"""Latency benchmark of the service: start, announcement to visible, approval.

Run by `scripts/bench`. An approval waits for an fsync, so the fsync time of the disk is
measured in the same run. Compare only figures from the same run.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.program import TOKEN, resident, serving

_EVENTS = "/vm/{vm}/metadata/scheduledevents?api-version=2020-07-01"
_ROUNDS = 200
_STARTS = 5


@dataclass(frozen=True, slots=True)
class Program:
    """A running service."""

    process: subprocess.Popen[str]
    metadata: HTTPConnection
    control: HTTPConnection
    started_in: float


@contextmanager
def program(folder: Path) -> Iterator[Program]:
    """Run the service with its files in `folder`."""
    with serving(folder, FOREWARN_SHOWN_REBOOT="0") as running:
        metadata = HTTPConnection(running.metadata, timeout=10)
        control = HTTPConnection(running.control, timeout=10)
        _request(metadata, "GET", _EVENTS.format(vm="web-0"))
        _request(control, "GET", "/healthz")
        started_in = time.perf_counter() - running.begun
        yield Program(running.process, metadata, control, started_in)


def send(
    connection: HTTPConnection, method: str, path: str, body: object = None
) -> None:
    """Send a request; `receive` reads the response."""
    headers = {"Metadata": "true", "Authorization": f"Bearer {TOKEN}"}
    headers["Content-Type"] = "application/json"
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, headers)


def receive(connection: HTTPConnection) -> bytes:
    """Read a response; raise unless it was successful."""
    response = connection.getresponse()
    body = response.read()
    if response.status >= 300:
        raise RuntimeError(f"the service returned {response.status} {body!r}")
    return body


def _request(
    connection: HTTPConnection, method: str, path: str, body: object = None
) -> bytes:
    send(connection, method, path, body)
    return receive(connection)


def _announce_and_approve(service: Program) -> tuple[float, float]:
    """Announce a reboot and approve it; return both latencies in seconds."""
    body = {"type": "Reboot", "vms": ["db-0"]}
    path = _EVENTS.format(vm="db-0")
    begun = time.perf_counter()
    created = json.loads(_request(service.control, "POST", "/v1/maintenances", body))
    event = created["maintenances"][0]["events"][0]["id"]
    while event.encode() not in _request(service.metadata, "GET", path):
        pass
    seen = time.perf_counter()
    _request(service.metadata, "POST", path, {"StartRequests": [{"EventId": event}]})
    approved = time.perf_counter()
    while event.encode() in _request(service.metadata, "GET", path):
        time.sleep(0.001)
    return seen - begun, approved - seen


def _fsync_rate(folder: Path) -> list[float]:
    """Measure how long small writes with fsync take, in seconds."""
    taken = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            file.write(b"x" * 512)
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return taken


def _line(what: str, seconds: list[float]) -> str:
    in_order = sorted(seconds)
    half, most = statistics.median(in_order), in_order[int(len(in_order) * 0.99)]
    return f"{what:<28} p50 {half * 1000:8.2f} ms   p99 {most * 1000:8.2f} ms"


def main() -> None:
    """Run the benchmark and print its figures."""
    starts = []
    for _ in range(_STARTS):
        with tempfile.TemporaryDirectory() as folder, program(Path(folder)) as service:
            starts.append(service.started_in)
    with tempfile.TemporaryDirectory() as folder, program(Path(folder)) as service:
        pairs = [_announce_and_approve(service) for _ in range(_ROUNDS)]
        memory = resident(service.process.pid)
        synced = _fsync_rate(Path(folder))
    for line in (
        _line("start to both planes", starts),
        _line("announce to visible", [visible for visible, _ in pairs]),
        _line("approve to 200", [approved for _, approved in pairs]),
        _line("fsync of this disk", synced),
        f"{'resident memory':<28} {memory / 1024:.0f} MB",
    ):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
