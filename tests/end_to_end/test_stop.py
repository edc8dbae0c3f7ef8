"""Program stop: orderly, quick, and with exit code 0."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.program import SOON, Program, serving, until
from tests.patience import PATIENCE
from tests.server.support.dialogs import a_request
from tests.server.support.pollers import Poller, events_of


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        code, seconds = program.stop(signal.SIGINT)
        assert (code, program.rest_of_stdout(), program.log) == (0, b"", "")
        assert seconds < SOON


def test_closing_the_terminal_ends_the_program(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        assert program.stop(signal.SIGHUP)[0] == 0


def test_nohup_keeps_the_program_running_when_the_terminal_closes(
    tmp_path: Path,
) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # children inherit it
    try:
        with serving(tmp_path) as program:
            program.process.send_signal(signal.SIGHUP)
            assert program.service.as_vm("web-0").status == 200
            assert program.stop()[0] == 0
    finally:
        signal.signal(signal.SIGHUP, ignored)


def test_many_signals_end_the_program_cleanly(tmp_path: Path) -> None:
    for _ in range(5):  # each round may hit another moment
        with serving(tmp_path) as program:
            for _ in range(300):
                program.process.send_signal(signal.SIGINT)
                program.process.send_signal(signal.SIGTERM)
            assert program.stop()[0] == 0
            assert program.log == ""


@pytest.mark.full
def test_a_stop_takes_little_cpu_time(tmp_path: Path) -> None:
    best = min(seconds_of_a_stop(tmp_path) for _ in range(3))
    assert best < 0.15  # finalizing the interpreter would double it


def seconds_of_a_stop(folder: Path) -> float:
    """Return the CPU time that a stop takes."""
    with serving(folder) as program:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before = seconds_used(program.process.pid)
        program.stop()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = ended.ru_utime + ended.ru_stime - used.ru_utime - used.ru_stime
    return total - before


def seconds_used(pid: int) -> float:
    """Return the CPU time that the process `pid` has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- connected clients -------------------------------------------------------

GET = a_request(events_of("web-0"), "Metadata: true")

#: Both groups are disabled until their first poll.
DISABLED = """\
[[groups]]
name = "web"
kind = "availability-set"
[[vms]]
name = "web-0"
group = "web"
[[vms]]
name = "lone"
"""


@contextmanager
def following(program: Program) -> Iterator[HTTPResponse]:
    """Follow the journal from its beginning."""
    bearer = {"Authorization": "Bearer t", "Last-Event-ID": "0"}
    request = Request(f"{program.service.control}/v1/stream", headers=bearer)
    with urlopen(request, timeout=PATIENCE) as stream:
        yield stream


def check_quick_stop(program: Program) -> None:
    code, seconds = program.stop()
    assert code == 0
    assert seconds < SOON


def test_connected_clients_do_not_block_a_stop(tmp_path: Path) -> None:
    with (
        serving(tmp_path) as program,
        Poller(program.metadata[0]) as idle,
        Poller(program.metadata[0]) as halfway,
        Poller(program.service.control) as silent,
        following(program) as stream,
    ):
        assert idle.request().status == 200
        halfway.socket.sendall(GET[:-2])
        silent.socket.sendall(b"GET /healthz HTTP/1.1\r\n")
        line = stream.readline()
        check_quick_stop(program)
        assert "Traceback" not in program.log
        assert idle.is_closed()
        assert (line + stream.read()).endswith(b"\n\n")


@pytest.mark.full
def test_clients_that_do_not_read_do_not_block_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        for _ in range(40):
            program.service.announce(vms=["web-0"])
        where = program.metadata[0]
        with Poller(where) as deaf, Poller(where) as late, following(program):
            for poller in (deaf, late):
                poller.socket.setblocking(False)
                poller.socket.send(GET * 3000)
            check_quick_stop(program)
            assert "Traceback" not in program.log


@pytest.mark.full
def test_an_incomplete_body_does_not_block_a_stop(tmp_path: Path) -> None:
    headers = ("Authorization: Bearer t", "Content-Length: 9")
    host = "Host: localhost"
    put = a_request("/v1/vms/web-0", *headers, host=host, method="PUT")
    with serving(tmp_path) as program, Poller(program.service.control) as writing:
        writing.socket.sendall(put + b"{")
        assert program.service.as_vm("web-0").status == 200
        check_quick_stop(program)
        assert program.log == ""


def test_a_thousand_long_polls_get_a_response_when_the_program_stops(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as program, ExitStack() as stack:
        where = program.metadata[0]
        pollers = [stack.enter_context(Poller(where)) for _ in range(1000)]
        tag = pollers[0].tag()
        for poller in pollers:
            poller.hold(tag=tag)
        check_quick_stop(program)
        assert program.log == ""
        for poller in pollers:
            response = poller.answer()
            assert (response.status, response.header(b"connection")) == (304, b"close")
            assert poller.is_closed()


def test_delayed_first_requests_do_not_block_a_stop(tmp_path: Path) -> None:
    options = ("--clock", "manual")
    delay = "120"  # seconds: longer than any test
    with (
        serving(
            tmp_path, *options, fleet=DISABLED, FOREWARN_FIRST_CALL_DELAY=delay
        ) as program,
        Poller(program.metadata[0]) as web,
        Poller(program.metadata[0], "lone") as lone,
    ):
        web.socket.sendall(GET)
        lone.socket.sendall(a_request(events_of("lone"), "Metadata: true"))
        until(lambda: len(program.service.facts("Enabled")) == 2)
        check_quick_stop(program)
        for poller in (web, lone):
            response = poller.answer()
            assert (response.status, response.header(b"connection")) == (200, b"close")
        assert program.log == ""
