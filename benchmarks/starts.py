"""What starts and stops of the whole service leave behind in one process: nothing.

Run by `scripts/bench starts`. Every tenth service is asked on both planes, and has an
event under way when it is stopped. Exit code 1 when anything is left or grows.
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

from forewarn.config.load import Config, SettingSources, load
from forewarn.service.service import Service

_DEMO = Path(__file__).parents[1] / "src" / "forewarn" / "demo.toml"
_EVENTS = "/vm/web-1/metadata/scheduledevents?api-version=2020-07-01"
_TOKEN = "benchmark"  # of a service that lives for an instant
_ASKED = 10  # every tenth service is asked
_WARM = 20  # starts, until every cache is filled

#: Files of a store; what SQLite keeps beside it is gone after a stop.
_KEPT = {"forewarn.db", "forewarn.db-lock"}

#: What may be more at the end, in all; caches of libraries are filled by then.
_MOST_OBJECTS = 500
_MOST_MEMORY = 2048  # kB


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What this process holds at one moment."""

    files: frozenset[str]
    threads: frozenset[str]
    objects: int
    memory: int  # kB


def holdings() -> Holdings:
    """Look at this process after a collection of garbage."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    memory = next(int(x.split()[1]) for x in status.splitlines() if "VmRSS" in x)
    return Holdings(
        files=frozenset(_open_files()),
        threads=frozenset(each.name for each in threading.enumerate()),
        objects=len(gc.get_objects()),
        memory=memory,
    )


def _open_files() -> Iterator[str]:
    """Name each open file by its number and what it is, sockets included."""
    for number in os.listdir("/proc/self/fd"):
        try:
            yield f"{number} {os.readlink(f'/proc/self/fd/{number}')}"
        except FileNotFoundError:
            continue  # it was open to list this folder


def _config(folder: Path, number: int) -> Config:
    """Settings of one service: every other one keeps its store in a file."""
    store = f"sqlite:///{folder / 'forewarn.db'}" if number % 2 else "memory"
    flags = {
        "metadata": ["127.0.0.1:0"],
        "control": "127.0.0.1:0",
        "store": store,
        "fleet": str(_DEMO),
    }
    environment = {"FOREWARN_STATE_DIR": str(folder)}
    return load(SettingSources(flags=flags, environment=environment))


def _ask(system: Service) -> None:
    """Announce, and see the event on the metadata plane."""
    order = {"type": "Reboot", "vms": ["web-0"]}
    made = _answer(system.control, "POST", "/v1/maintenances", json.dumps(order))
    event = json.loads(made)["maintenances"][0]["events"][0]["id"]
    if event.encode() not in _answer(system.metadata[0], "GET", _EVENTS):
        raise RuntimeError(f"the VM was not shown {event}")


def _answer(plane: str, method: str, path: str, body: str | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {_TOKEN}", "Metadata": "true"}
    headers["Content-Type"] = "application/json"
    connection = HTTPConnection(plane.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request(method, path, body, headers)
        return connection.getresponse().read()


def _start_and_stop(folder: Path, numbers: range) -> None:
    for number in numbers:
        if number % _ASKED == 0:  # a new store, lest the benchmark measure its growth
            (folder / "forewarn.db").unlink(missing_ok=True)
        with Service(_config(folder, number), _TOKEN) as system:
            if number % _ASKED in (0, 1):  # one in memory, one in a file
                _ask(system)


def complaints(
    before: Holdings, after: Holdings, starts: int, folder: Path
) -> Iterator[str]:
    """Say what was left behind by `starts` services."""
    for what, left in (
        ("open files", after.files - before.files),
        ("threads", after.threads - before.threads),
        ("files", {each.name for each in folder.iterdir()} - _KEPT),
    ):
        if left:
            yield f"{what} were left: {', '.join(sorted(left))}"
    for what, more, most in (
        ("objects", after.objects - before.objects, _MOST_OBJECTS),
        ("kB of memory", after.memory - before.memory, _MOST_MEMORY),
    ):
        if more > most:
            yield f"{more} {what} were left, {more / starts:.1f} by each start"


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
    return [*complaints(before, after, starts, folder)]


def main() -> int:
    """Start and stop, look, and say what was left behind."""
    parser = argparse.ArgumentParser(prog="scripts/bench starts", description=__doc__)
    parser.add_argument("--starts", type=int, default=1000, help="default: 1000")
    starts: int = parser.parse_args().starts
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # so that what is made there is seen
        found = _run(starts, Path(folder))
    for each in found:
        sys.stdout.write(f"MISSED: {each}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
