"""How the program ends: in order, soon, and with exit code 0."""

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from tests.end_to_end.program import serving

HEAD = (
    b"GET /vm/web-0/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    b"Host: vm\r\nMetadata: true\r\n"
)


def connect(address: str) -> socket.socket:
    where = urlsplit(address)
    return socket.create_connection((where.hostname, where.port), timeout=5)


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        code, seconds = program.stop(signal.SIGINT)
        assert (code, program.rest_of_stdout(), program.log) == (0, b"", "")
        assert seconds < 5


def test_whoever_is_connected_does_not_keep_the_program(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        follow = Request(
            f"{program.service.control}/v1/stream",
            headers={"Authorization": "Bearer t", "Last-Event-ID": "0"},
        )
        with (
            connect(program.metadata[0]) as idle,
            connect(program.metadata[0]) as halfway,
            connect(program.service.control) as silent,
            urlopen(follow, timeout=5) as stream,
        ):
            idle.sendall(HEAD + b"\r\n")
            assert idle.recv(65536).startswith(b"HTTP/1.1 200 OK")
            halfway.sendall(HEAD)
            silent.sendall(b"GET /healthz HTTP/1.1\r\n")
            stream.readline()
            code, seconds = program.stop(signal.SIGTERM)
            assert code == 0
            assert seconds < 5
            assert "Traceback" not in program.log
            assert idle.recv(65536) == b""
            assert stream.read().endswith(b"\n\n")
