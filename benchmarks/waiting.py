"""Long-poll benchmark: wake-up latency and cost of many waiting requests.

Run by `scripts/bench waiting`. If there is a compiler, a plain epoll server in C serves
the same number of waiters and bytes in the same run. Compare only with this server.
"""

import re
import resource
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.program import resident
from benchmarks.service import Program, program, receive, send

_WAITERS = 10_000
_ROUNDS = 3
_QUIET = 1.0  # seconds until a server has read all requests
_PATIENCE = 30.0  # seconds; a longer wait is a failure
_SOURCES = 8  # source addresses, so that there are enough ports
_FILES = 512  # open files for other purposes
_GET = (
    "GET /vm/db-0/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    "Host: vm\r\nMetadata: true\r\n{more}\r\n"
)
_HOLD = 'If-None-Match: "{tag}"\r\nPrefer: wait=60\r\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeTimes:
    """Seconds from the change to each response, in order."""

    seconds: Sequence[float]
    busy: float  # CPU seconds of the server
    memory: float  # kB per waiter

    @property
    def last(self) -> float:
        """Seconds until the last response."""
        return self.seconds[-1]

    def __str__(self) -> str:
        """Format first, median and last."""
        half = statistics.median(self.seconds)
        shown = {"first": self.seconds[0], "p50": half, "all": self.last}
        times = [f"{name} {value * 1000:6.1f} ms" for name, value in shown.items()]
        times += [
            f"CPU {self.busy * 1000:6.1f} ms",
            f"{self.memory:5.2f} kB each",
        ]
        return "   ".join(times)


def _connect(where: tuple[str, int], number: int) -> socket.socket:
    return socket.create_connection(
        where, timeout=_PATIENCE, source_address=(f"127.0.0.{2 + number % _SOURCES}", 0)
    )


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in tasks) / 1e9


def _measure(
    where: tuple[str, int], held: bytes, change: Callable[[], None], pid: int
) -> WakeTimes:
    """Open many long polls, make a change, and time each response."""
    before = resident(pid)
    with ExitStack() as stack, select.epoll() as watched:
        waiters = {}
        for number in range(_WAITERS):
            waiter = stack.enter_context(_connect(where, number))
            waiter.sendall(held)
            waiters[waiter.fileno()] = waiter
            watched.register(waiter, select.EPOLLIN)
        time.sleep(_QUIET)
        memory, busy = (resident(pid) - before) / _WAITERS, _cpu_seconds(pid)
        seconds = _response_times(waiters, watched, change)
        return WakeTimes(seconds=seconds, busy=_cpu_seconds(pid) - busy, memory=memory)


def _response_times(
    waiters: dict[int, socket.socket], watched: select.epoll, change: Callable[[], None]
) -> Sequence[float]:
    if watched.poll(0):
        raise RuntimeError("a long poll got a response before the change")
    seconds: list[float] = []
    begun = time.perf_counter()
    change()
    while waiters:
        ready = watched.poll(_PATIENCE)
        if not ready:
            raise RuntimeError(f"{len(waiters)} long polls got no response")
        for file, _ in ready:
            if not waiters.pop(file).recv(65536):
                raise RuntimeError("the server closed a long poll")
            seconds.append(time.perf_counter() - begun)
            watched.unregister(file)
    return seconds


# --- forewarn ----------------------------------------------------------------


def _request(where: tuple[str, int], request: str) -> bytes:
    with socket.create_connection(where, timeout=_PATIENCE) as connection:
        connection.sendall(request.encode())
        return connection.recv(65536)


def _announce(service: Program, vm: str) -> None:
    """Request a change; the responses to the long polls show that it was made."""
    body = {"type": "Reboot", "vms": [vm]}
    send(service.control, "POST", "/v1/maintenances", body)


def _of_forewarn() -> tuple[WakeTimes, int]:
    """Measure forewarn; return the figures and the length of a response."""
    with tempfile.TemporaryDirectory() as folder, program(Path(folder)) as service:
        where = service.metadata.host, service.metadata.port
        match = re.search(rb'ETag: "([^"]+)"', _request(where, _GET.format(more="")))
        if match is None:
            raise RuntimeError("the document has no tag")
        held = _GET.format(more=_HOLD.format(tag=match[1].decode()))
        _announce(service, "web-0")  # another group: the first announcement is slower
        receive(service.control)
        pid = service.process.pid
        taken = _measure(where, held.encode(), lambda: _announce(service, "db-0"), pid)
        receive(service.control)
        return taken, len(_request(where, held))


# --- the yardstick -----------------------------------------------------------


@contextmanager
def _yardstick(folder: Path, length: int) -> Iterator[subprocess.Popen[str]]:
    """Compile and run the server in C."""
    source, binary = Path(__file__).with_suffix(".c"), folder / "waiting"
    subprocess.run(["cc", "-O2", "-o", str(binary), str(source)], check=True)
    process = subprocess.Popen(
        [str(binary), str(length)], stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()


def _of_yardstick(length: int) -> WakeTimes:
    with (
        tempfile.TemporaryDirectory() as folder,
        _yardstick(Path(folder), length) as process,
    ):
        if process.stdout is None:
            raise RuntimeError("the C server has no output")
        where = ("127.0.0.1", int(process.stdout.readline()))
        held = _GET.format(more="").encode()
        with socket.create_connection(where, timeout=_PATIENCE) as changing:
            return _measure(where, held, lambda: changing.sendall(b"POST"), process.pid)


def main() -> None:
    """Run the benchmark and print its figures."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < _WAITERS + _FILES:
        sys.exit(
            f"{_WAITERS} connections need a higher limit of open files (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    has_compiler = shutil.which("cc") is not None
    for _ in range(_ROUNDS):
        taken, length = _of_forewarn()
        sys.stdout.write(f"{'forewarn':<10}{taken}\n")
        if has_compiler:
            least = _of_yardstick(length)
            ratio = taken.last / least.last
            sys.stdout.write(f"{'C':<10}{least}\n{'ratio':<10}{ratio:.2f}\n")


if __name__ == "__main__":
    main()
