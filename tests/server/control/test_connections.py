"""Connection limits of the control plane: count, size of heads, timeouts."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email.parser import Parser

import pytest
from starlette.types import Receive, Scope, Send
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.control.test_security_headers import ALWAYS
from tests.server.support.certificates import CertificateAuthority

from forewarn.server.control.http.connection import ConnectionTimeouts
from forewarn.server.control.http.server import ControlPlane
from forewarn.server.control.http.tls import tls_context
from forewarn.server.control.routes.journal import JournalStreams

Place = tuple[str, int]
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK = b"HTTP/1.1 200 OK"


async def respond_ok(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond without reading the body."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def a_plane(
    *,
    connections: int = 10,
    tls: ssl.SSLContext | None = None,
    timeouts: ConnectionTimeouts | None = None,
) -> Iterator[Place]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        plane = ControlPlane(
            [listening],
            respond_ok,
            JournalStreams().close,
            connections=connections,
            tls=tls,
            timeouts=timeouts or ConnectionTimeouts(),
        )
        place: Place = listening.getsockname()
        plane.start()
        try:
            yield place
        finally:
            plane.stop()


def first_line(client: socket.socket) -> bytes:
    """Return the first line received, or nothing if the connection is closed."""
    try:
        return client.recv(65536).split(b"\r\n")[0]
    except ConnectionResetError:
        return b""


def status_line_of(place: Place, sent: bytes = GET) -> bytes:
    with socket.create_connection(place, PATIENCE) as client:
        client.sendall(sent)
        return first_line(client)


def all_of(client: socket.socket) -> bytes:
    """Read until the connection is closed."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


# --- connection count and TLS handshakes -------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def tls(authority: CertificateAuthority) -> ssl.SSLContext:
    pair = authority.sign("127.0.0.1")
    return tls_context(pair.cert, pair.key)


def status_line_over_tls(place: Place, authority: CertificateAuthority) -> bytes:
    context = ssl.create_default_context(cafile=authority.file)
    try:
        with (
            socket.create_connection(place, PATIENCE) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as client,
        ):
            client.sendall(GET)
            return first_line(client)
    except OSError:
        return b""


def test_unfinished_handshakes_count_as_connections(
    tls: ssl.SSLContext, authority: CertificateAuthority
) -> None:
    with a_plane(connections=2, tls=tls) as place, ExitStack() as stack:
        assert status_line_over_tls(place, authority) == OK
        for _ in range(2):
            stack.enter_context(socket.create_connection(place, PATIENCE))
        assert status_line_over_tls(place, authority) == b""
        stack.close()
        until(lambda: status_line_over_tls(place, authority) == OK)


def test_failed_handshakes_free_their_connections(
    tls: ssl.SSLContext, authority: CertificateAuthority
) -> None:
    with a_plane(connections=2, tls=tls) as place:
        for _ in range(5):
            assert OK not in status_line_of(place)  # no TLS
        until(lambda: status_line_over_tls(place, authority) == OK)


def test_slow_handshake_is_closed(tls: ssl.SSLContext) -> None:
    with (
        a_plane(tls=tls, timeouts=ConnectionTimeouts(handshake=0.2)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        assert first_line(client) == b""


def test_plane_stops_during_a_handshake(tls: ssl.SSLContext) -> None:
    with ExitStack() as stack:
        with a_plane(tls=tls) as place:
            client = stack.enter_context(socket.create_connection(place, PATIENCE))
        assert first_line(client) == b""


# --- heads -------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 1_000_000,
        b"GET / HTTP/1.1\r\n" + b"X-Many: a\r\n" * 100_000,
        b"\r\n" * 1_000_000,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        + b"X-Trailer: a\r\n" * 100_000,
    ],
    ids=["target", "header", "headers", "nothing", "trailers"],
)
def test_oversized_head_or_trailer_gets_431(sent: bytes) -> None:
    with (
        a_plane(timeouts=ConnectionTimeouts(linger=PATIENCE)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        response = all_of(client)
    assert response.startswith((b"HTTP/1.1 431 Request Header Fields Too Large", OK))
    assert len(response) < 1000


def test_oversized_head_gets_a_problem_document() -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"a" * 500_000)
        head, _, body = client.recv(65536).partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["detail"] == "a request's head has 65536 bytes at most"


@pytest.mark.parametrize(
    "sent",
    [
        GET[:-2] + b"X-Long: " + b"a" * 66_000 + b"\r\n\r\n",
        GET[:-2] + b"X-Short: a\r\n" * 6_200 + b"\r\n",
        b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["header", "headers", "target"],
)
def test_oversized_head_in_one_packet_gets_431(sent: bytes) -> None:
    with a_plane() as place:
        status_line = status_line_of(place, sent)
    assert status_line == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_head_of_60_kilobytes_is_accepted() -> None:
    with a_plane() as place:
        assert (
            status_line_of(place, GET[:-2] + b"X-Long: " + b"a" * 60_000 + b"\r\n\r\n")
            == OK
        )


def test_slow_head_gets_408() -> None:
    with a_plane(timeouts=ConnectionTimeouts(head=0.2)) as place:
        assert status_line_of(place, GET[:-2]) == b"HTTP/1.1 408 Request Timeout"


def test_slow_second_head_gets_408() -> None:
    with (
        a_plane(timeouts=ConnectionTimeouts(head=0.2, linger=0.1)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(GET + GET[:-2])
        assert b"HTTP/1.1 408 Request Timeout" in all_of(client)


def test_non_http_data_gets_400_with_security_headers() -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(b"nonsense\r\n\r\n")
        status_line, _, rest = client.recv(65536).partition(b"\r\n")
    assert status_line == b"HTTP/1.1 400 Bad Request"
    assert b"not HTTP/1.1" in rest
    headers = Parser().parsestr(rest.decode())
    assert {name: headers[name] for name in ALWAYS} == ALWAYS
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        (b"no header\r\n\r\n", "BadRequest"),
        (b"X-Long: " + b"a" * 66_000, "RequestHeaderFieldsTooLarge"),
    ],
)
def test_malformed_arm_request_is_refused_in_arm_format(rest: bytes, code: str) -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(b"GET /%73ubscriptions/x?y HTTP/1.1\r\n" + rest)
        head, _, body = client.recv(65536).partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] == code


# --- unread bodies -----------------------------------------------------------


def test_connection_with_an_unread_body_is_closed_in_time() -> None:
    with (
        a_plane(timeouts=ConnectionTimeouts(linger=0.2)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nslow")
        assert all_of(client).startswith(OK)


def test_response_arrives_despite_an_unread_body() -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n")
        client.sendall(b"a" * 5_000_000)
        assert first_line(client) == OK


def test_connection_is_reused_after_an_unread_body() -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        for _ in range(3):
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            assert first_line(client) == OK
