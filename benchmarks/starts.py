"""Leak check: starts and stops the whole service many times in one process.

Run by `scripts/bench starts`. Every tenth service gets requests on both planes, and
stops during an event. The exit code is 1 if anything is left behind or grows.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.program import DEMO, TOKEN, resident

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import Config
from forewarn.service.service import Service

_EVENTS = "/vm/web-1/metadata/scheduledevents?api-version=2020-07-01"
_POLLED = 10  # every tenth service receives requests
_WARM = 20  # starts until all caches are filled

#: Files of a store; SQLite removes its other files on a clean stop.
_KEPT = {"forewarn.db", "forewarn.db-lock"}

#: Allowed growth in total, for caches of libraries and fragmentation of the heap. The
#: growth levels off: about 2 MB in the first 100 starts, and 1 MB in the next 500.
_MOST_OBJECTS = 500
_MOST_MEMORY = 4096  # kB


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldResources:
    """Resources that this process holds."""

    files: frozenset[str]
    threads: frozenset[str]
    objects: int
    memory: int  # kB


def holdings() -> HeldResources:
    """Return the resources of this process after a garbage collection."""
    gc.collect()
    return HeldResources(
        files=frozenset(_open_files()),
        threads=frozenset(thread.name for thread in threading.enumerate()),
        objects=len(gc.get_objects()),
        memory=resident(os.getpid()),
    )


def _open_files() -> Iterator[str]:
    """Yield the number and target of each open file, including sockets."""
    for number in os.listdir("/proc/self/fd"):
        try:
            yield f"{number} {os.readlink(f'/proc/self/fd/{number}')}"
        except FileNotFoundError:
            continue  # the descriptor that listed this folder


def _config(folder: Path, number: int) -> Config:
    """Return the settings of a service; every other one has a store in a file."""
    store = f"sqlite:///{folder / 'forewarn.db'}" if number % 2 else "memory"
    flags = {
        "metadata": ["127.0.0.1:0"],
        "control": "127.0.0.1:0",
        "store": store,
        "fleet": str(DEMO),
    }
    environment = {"FOREWARN_STATE_DIR": str(folder)}
    return load(SettingSources(flags=flags, environment=environment))


def _announce_and_poll(system: Service) -> None:
    """Announce a reboot, and check that the metadata plane shows it."""
    order = {"type": "Reboot", "vms": ["web-0"]}
    created = _request(system.control, "POST", "/v1/maintenances", json.dumps(order))
    event = json.loads(created)["maintenances"][0]["events"][0]["id"]
    if event.encode() not in _request(system.metadata[0], "GET", _EVENTS):
        raise RuntimeError(f"the VM does not see {event}")


def _request(plane: str, method: str, path: str, body: str | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {TOKEN}", "Metadata": "true"}
    headers["Content-Type"] = "application/json"
    connection = HTTPConnection(plane.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request(method, path, body, headers)
        return connection.getresponse().read()


def _start_and_stop(folder: Path, numbers: range) -> None:
    for number in numbers:
        if number % _POLLED == 0:  # a new store, to exclude its growth
            for name in _KEPT:
                (folder / name).unlink(missing_ok=True)
        with Service(_config(folder, number), TOKEN) as system:
            if number % _POLLED in (0, 1):  # one in memory, one in a file
                _announce_and_poll(system)


def leaks(
    before: HeldResources, after: HeldResources, starts: int, folder: Path
) -> Iterator[str]:
    """Describe what `starts` services have left behind."""
    for what, left in (
        ("open files", after.files - before.files),
        ("threads", after.threads - before.threads),
        ("files", {file.name for file in folder.iterdir()} - _KEPT),
    ):
        if left:
            yield f"{what} left behind: {', '.join(sorted(left))}"
    for what, more, most in (
        ("objects", after.objects - before.objects, _MOST_OBJECTS),
        ("kB of memory", after.memory - before.memory, _MOST_MEMORY),
    ):
        if more > most:
            yield f"{more} {what} left behind, {more / starts:.1f} per start"


def _run(starts: int, folder: Path) -> Sequence[str]:
    _start_and_stop(folder, range(_WARM))
    before, begun = holdings(), time.perf_counter()
    _start_and_stop(folder, range(_WARM, _WARM + starts))
    took, after = time.perf_counter() - begun, holdings()
    for line in (
        f"{'starts and stops':<28} {starts}, {took / starts * 1000:.0f} ms each",
        f"{'open files':<28} {len(before.files)} before, {len(after.files)} after",
        f"{'threads':<28} {len(before.threads)} before, {len(after.threads)} after",
        f"{'objects':<28} {before.objects} before, {after.objects} after",
        f"{'resident memory':<28} {before.memory} kB before, {after.memory} kB after",
    ):
        sys.stdout.write(f"{line}\n")
    return [*leaks(before, after, starts, folder)]


def main() -> int:
    """Start and stop services; return 1 if anything is left behind."""
    parser = argparse.ArgumentParser(prog="scripts/bench starts", description=__doc__)
    parser.add_argument("--starts", type=int, default=1000, help="default: 1000")
    starts: int = parser.parse_args().starts
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # to notice leftover temporary files
        problems = _run(starts, Path(folder))
    for problem in problems:
        sys.stdout.write(f"MISSED: {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
