"""Resource benchmark of an idle agent: memory, CPU time, requests and import time.

Run by `scripts/bench agent`. The real agent polls the real service, first every second,
then with long polls. Measurements begin once its startup is complete.
"""

import argparse
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

from benchmarks.figures import line
from benchmarks.program import ServeProcess, resident, serving

_SETTLING = 5.0  # seconds until startup is complete
_HOUR = 3_600.0  # seconds
_IMPORTS = 10
_IMPORTED = {
    "import of the client": "from forewarn.client.client import Client",
    "import of the agent": "import forewarn.agent.main",
}

#: Ways of polling, and the setting of each.
_WAYS = {"polling every second": "wait = false", "long polling": "wait = true"}

_FILE = """\
endpoint = "http://{metadata}/vm/web-0"
name = "web-0"
state = "{state}"
poll_seconds = 1.0
{way}

[[rules]]
name = "all"
"""

_IMPORT = """\
from time import perf_counter, process_time
wall, busy = perf_counter(), process_time()
{code}
print(perf_counter() - wall, process_time() - busy)
"""

_COUNT = "forewarn_metadata_requests_total"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUsage:
    """Resources that an agent used during a measurement."""

    seconds: float
    processor: float  # seconds
    memory: int  # kB, at the end
    memory_before: int  # kB, at the start
    requests: float


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="scripts/bench agent", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="per way of polling"
    )
    parser.add_argument("--archive", help="run this file, built by scripts/zipapp")
    arguments = parser.parse_args()
    program = [sys.executable, "-m", "forewarn"]
    if arguments.archive:
        program = [sys.executable, "-I", "-S", arguments.archive]
    for what, code in _IMPORTED.items():
        sys.stdout.write(line(what, _import_time(code)))
    for what, way in _WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            use = _measure(Path(folder), program, way, arguments.seconds)
        sys.stdout.write(line(what, _format(use)))


def _format(use: ResourceUsage) -> str:
    hours = _HOUR / use.seconds
    grown = use.memory - use.memory_before
    return (
        f"{use.memory / 1024:.1f} MB ({grown:+} kB)"
        f"   {use.processor * hours:6.1f} s CPU per hour"
        f"   {use.requests * hours:6,.0f} requests per hour"
    )


# --- imports -----------------------------------------------------------------


def _import_time(code: str) -> str:
    """Time `code` in fresh interpreters, without their own startup."""
    outputs = [
        subprocess.check_output([sys.executable, "-c", _IMPORT.format(code=code)])
        for _ in range(_IMPORTS)
    ]
    pairs = [[float(text) * 1000 for text in output.split()] for output in outputs]
    taken, busy = (statistics.median(column) for column in zip(*pairs, strict=True))
    least = min(pairs)[0]
    return f"p50 {taken:5.0f} ms   CPU {busy:5.0f} ms   min {least:5.0f} ms"


# --- the agent ---------------------------------------------------------------


def _measure(
    folder: Path, program: list[str], way: str, seconds: float
) -> ResourceUsage:
    with serving(folder / "service") as service:
        text = _FILE.format(metadata=service.metadata, state=folder / "state", way=way)
        (folder / "agent.toml").write_text(text)
        with _running(
            [*program, "agent", "--config", str(folder / "agent.toml")]
        ) as pid:
            time.sleep(_SETTLING)
            before, begun = _processor(pid), time.perf_counter()
            requests, memory = _count_requests(service), resident(pid)
            time.sleep(seconds)
            return ResourceUsage(
                seconds=time.perf_counter() - begun,
                processor=_processor(pid) - before,
                memory=resident(pid),
                memory_before=memory,
                requests=_count_requests(service) - requests,
            )


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    """Run an agent until the block ends; yield its process id."""
    process = subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL)
    try:
        yield process.pid
        if process.poll() is not None:
            raise RuntimeError(f"the agent exited with {process.returncode}")
    finally:
        process.terminate()
        process.wait(10)


def _processor(pid: int) -> float:
    """Return the CPU seconds of all threads, from nanosecond counters."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in threads) / 1e9


def _count_requests(service: ServeProcess) -> float:
    """Return how many metadata requests the service has handled."""
    connection = HTTPConnection(service.control, timeout=10)
    connection.request("GET", "/metrics", headers=service.authorization)
    metrics = connection.getresponse().read().decode()
    connection.close()
    return sum(
        float(sample.rpartition(" ")[2])
        for sample in metrics.splitlines()
        if sample.startswith(_COUNT)
    )


if __name__ == "__main__":
    main()
