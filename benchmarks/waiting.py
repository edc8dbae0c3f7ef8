"""How soon many held requests are answered, and what they cost while they wait.

Run by `scripts/bench waiting`. A plain epoll server in C answers as many waiters with
as many bytes in the same run, if there is a compiler: compare with that only.
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
_QUIET = 1.0  # seconds after which a server has taken in what was sent
_PATIENCE = 30.0  # seconds; then something is broken
_SOURCES = 8  # addresses that connections come from, lest ports run short
_FILES = 512  # that are needed for other things
_GET = (
    "GET /vm/db-0/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    "Host: vm\r\nMetadata: true\r\n{more}\r\n"
)
_HOLD = 'If-None-Match: "{tag}"\r\nPrefer: wait=60\r\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How long after the change the waiters were answered, in order."""

    seconds: Sequence[float]
    busy: float  # seconds of processor time that the server took
    memory: float  # kB of each waiter

    @property
    def last(self) -> float:
        """When all were answered."""
        return self.seconds[-1]

    def __str__(self) -> str:
        """Show the first, the middle and the last."""
        half = statistics.median(self.seconds)
        shown = {"first": self.seconds[0], "p50": half, "all": self.last}
        times = [f"{name} {each * 1000:6.1f} ms" for name, each in shown.items()]
        times += [
            f"processor {self.busy * 1000:6.1f} ms",
            f"{self.memory:5.2f} kB each",
        ]
        return "   ".join(times)


def _connect(where: tuple[str, int], number: int) -> socket.socket:
    return socket.create_connection(
        where, timeout=_PATIENCE, source_address=(f"127.0.0.{2 + number % _SOURCES}", 0)
    )


def _busy(pid: int) -> float:
    """How many seconds of processor time a process has taken."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9


def _measure(
    where: tuple[str, int], held: bytes, change: Callable[[], None], pid: int
) -> Round:
    """Let many wait, change what they wait for, and see when each is answered."""
    before = resident(pid)
    with ExitStack() as stack, select.epoll() as watched:
        waiters = {}
        for number in range(_WAITERS):
            waiter = stack.enter_context(_connect(where, number))
            waiter.sendall(held)
            waiters[waiter.fileno()] = waiter
            watched.register(waiter, select.EPOLLIN)
        time.sleep(_QUIET)
        memory, busy = (resident(pid) - before) / _WAITERS, _busy(pid)
        seconds = _answered(waiters, watched, change)
        return Round(seconds=seconds, busy=_busy(pid) - busy, memory=memory)


def _answered(
    waiters: dict[int, socket.socket], watched: select.epoll, change: Callable[[], None]
) -> Sequence[float]:
    if watched.poll(0):
        raise RuntimeError("somebody was answered before the change")
    seconds: list[float] = []
    begun = time.perf_counter()
    change()
    while waiters:
        ready = watched.poll(_PATIENCE)
        if not ready:
            raise RuntimeError(f"{len(waiters)} were never answered")
        for file, _ in ready:
            if not waiters.pop(file).recv(65536):
                raise RuntimeError("somebody was sent away")
            seconds.append(time.perf_counter() - begun)
            watched.unregister(file)
    return seconds


# --- forewarn ----------------------------------------------------------------


def _answer(where: tuple[str, int], request: str) -> bytes:
    with socket.create_connection(where, timeout=_PATIENCE) as asking:
        asking.sendall(request.encode())
        return asking.recv(65536)


def _announce(service: Program, vm: str) -> None:
    """Ask for a change; that it was made is seen by those who wait for it."""
    body = {"type": "Reboot", "vms": [vm]}
    send(service.control, "POST", "/v1/maintenances", body)


def _of_forewarn() -> tuple[Round, int]:
    """Measure the real program; answer the length of its answers too."""
    with tempfile.TemporaryDirectory() as folder, program(Path(folder)) as service:
        where = service.metadata.host, service.metadata.port
        found = re.search(rb'ETag: "([^"]+)"', _answer(where, _GET.format(more="")))
        if found is None:
            raise RuntimeError("the document has no tag")
        held = _GET.format(more=_HOLD.format(tag=found[1].decode()))
        _announce(service, "web-0")  # of another group: the first of all takes longer
        receive(service.control)
        pid = service.process.pid
        made = _measure(where, held.encode(), lambda: _announce(service, "db-0"), pid)
        receive(service.control)
        return made, len(_answer(where, held))


# --- the yardstick -----------------------------------------------------------


@contextmanager
def _yardstick(folder: Path, length: int) -> Iterator[subprocess.Popen[str]]:
    """Compile and run the server in C."""
    source, made = Path(__file__).with_suffix(".c"), folder / "waiting"
    subprocess.run(["cc", "-O2", "-o", str(made), str(source)], check=True)
    process = subprocess.Popen(
        [str(made), str(length)], stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()


def _of_yardstick(length: int) -> Round:
    with (
        tempfile.TemporaryDirectory() as folder,
        _yardstick(Path(folder), length) as process,
    ):
        if process.stdout is None:
            raise RuntimeError("the yardstick has no output")
        where = ("127.0.0.1", int(process.stdout.readline()))
        held = _GET.format(more="").encode()
        with socket.create_connection(where, timeout=_PATIENCE) as changing:
            return _measure(where, held, lambda: changing.sendall(b"POST"), process.pid)


def main() -> None:
    """Measure and print."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < _WAITERS + _FILES:
        sys.exit(f"{_WAITERS} connections need more open files than ulimit -Hn allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    has_compiler = shutil.which("cc") is not None
    for _ in range(_ROUNDS):
        made, length = _of_forewarn()
        sys.stdout.write(f"{'forewarn':<10}{made}\n")
        if has_compiler:
            least = _of_yardstick(length)
            ratio = made.last / least.last
            sys.stdout.write(f"{'C':<10}{least}\n{'ratio':<10}{ratio:.2f}\n")


if __name__ == "__main__":
    main()
