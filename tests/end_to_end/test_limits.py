"""Limits of the real program: file descriptors and memory."""

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.end_to_end.program import Program, serving, until
from tests.patience import PATIENCE
from tests.server.support.dialogs import a_request
from tests.server.support.pollers import Poller, events_of

GET = a_request(events_of("web-0"), "Metadata: true")
HEALTH = a_request("/healthz", host="Host: localhost")


def status_line_of(where: str, request: bytes, patience: float = PATIENCE) -> bytes:
    """Send a request on a new connection; return the status line, empty if closed.

    Without free file descriptors, the system may also leave the connection waiting.
    """
    try:
        with connect(where) as client:
            client.sendall(request)
            client.settimeout(patience)
            return client.recv(65536).split(b"\r\n")[0]
    except (ConnectionResetError, TimeoutError):
        return b""


def connect(where: str) -> socket.socket:
    address = urlsplit(where)
    return socket.create_connection((address.hostname, address.port), PATIENCE)


OK = b"HTTP/1.1 200 OK"
FULL = "are closed immediately"  # logged when the first connection is closed


# --- files -------------------------------------------------------------------


@contextmanager
def open_connections(where: str, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connect(where))
        yield


@contextmanager
def regulars(program: Program) -> Iterator[Callable[[], None]]:
    """Keep a connection to each plane open, and yield a function that uses both."""
    health = f"{program.service.control}/healthz"
    operator = HTTPConnection(urlsplit(health).netloc, timeout=PATIENCE)

    def request_both() -> None:
        assert vm.request().status == 200
        operator.request("GET", "/healthz")
        with operator.getresponse() as answer:
            assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')

    with Poller(program.metadata[0]) as vm, closing(operator):
        request_both()
        yield request_both


@pytest.mark.parametrize("files", [64, 200])
def test_both_planes_share_few_file_descriptors(tmp_path: Path, files: int) -> None:
    with serving(tmp_path, within=["prlimit", f"--nofile={files}"]) as program:
        metadata, control = program.metadata[0], program.service.control
        with regulars(program) as ask_regulars:
            with open_connections(metadata, files):
                until(lambda: program.log.count(FULL) == 1)
                ask_regulars()
                assert status_line_of(control, HEALTH) == OK
            with open_connections(control, files):
                until(lambda: program.log.count(FULL) == 2)
                ask_regulars()
                assert status_line_of(metadata, GET) == OK
        until(
            lambda: (
                status_line_of(metadata, GET) == status_line_of(control, HEALTH) == OK
            )
        )
        assert program.stop()[0] == 0
        assert program.log.count(FULL) == 2
        assert program.log.count("\n") == 2


@contextmanager
def out_of_files(program: Program) -> Iterator[None]:
    """Leave the program two free file descriptors until the block ends."""
    pid = program.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(program.files) + 2, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_the_program_survives_running_out_of_files(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        metadata, control = program.metadata[0], program.service.control
        with regulars(program) as ask_regulars, out_of_files(program):
            with open_connections(metadata, 20), open_connections(control, 20):
                for _ in range(8):
                    ask_regulars()
                    time.sleep(0.1)
                answers = (
                    status_line_of(metadata, GET, patience=2),
                    status_line_of(control, HEALTH, patience=2),
                )
                assert b"" in answers
            until(lambda: status_line_of(metadata, GET, patience=2) == OK)
            until(lambda: status_line_of(control, HEALTH, patience=2) == OK)
        assert program.stop()[0] == 0
        assert program.log == ""


# --- memory ------------------------------------------------------------------


@pytest.mark.full
def test_clients_that_never_read_cost_little_memory(tmp_path: Path) -> None:
    with serving(tmp_path) as program, ExitStack() as stack:
        for _ in range(30):
            program.service.announce(vms=["web-0"])
        document = len(program.service.as_vm("web-0").body)
        assert document > 8000
        before = program.memory
        for _ in range(20):
            client = stack.enter_context(connect(program.metadata[0]))
            client.setblocking(False)
            client.send(GET * 20_000)
        with Poller(program.metadata[0]) as poller:
            for _ in range(20):
                assert poller.request().status == 200
        time.sleep(0.5)
        assert program.memory - before < 20 * 512 + 4096
