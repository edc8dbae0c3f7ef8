"""Program stop: orderly, quick, and with exit code 0."""

import os
import resource
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.program import SOON, serving
from tests.patience import PATIENCE

HEAD = (
    b"GET /vm/web-0/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    b"Host: vm\r\nMetadata: true\r\n"
)


def connect(address: str) -> socket.socket:
    where = urlsplit(address)
    return socket.create_connection((where.hostname, where.port), timeout=PATIENCE)


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


def test_connected_clients_do_not_block_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        follow = Request(
            f"{program.service.control}/v1/stream",
            headers={"Authorization": "Bearer t", "Last-Event-ID": "0"},
        )
        with (
            connect(program.metadata[0]) as idle,
            connect(program.metadata[0]) as halfway,
            connect(program.service.control) as silent,
            urlopen(follow, timeout=PATIENCE) as stream,
        ):
            idle.sendall(HEAD + b"\r\n")
            assert idle.recv(65536).startswith(b"HTTP/1.1 200 OK")
            halfway.sendall(HEAD)
            silent.sendall(b"GET /healthz HTTP/1.1\r\n")
            line = stream.readline()
            code, seconds = program.stop(signal.SIGTERM)
            assert code == 0
            assert seconds < SOON
            assert "Traceback" not in program.log
            assert idle.recv(65536) == b""
            assert (line + stream.read()).endswith(b"\n\n")
