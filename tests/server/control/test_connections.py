"""Connection limits of the control plane: count, size of heads, timeouts."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from email.parser import Parser
from threading import Event

import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.control.test_security_headers import ALWAYS
from tests.server.support.certificates import CertificateAuthority
from uvicorn.server import ServerState

from forewarn.server.control.http.body_limits import BodyLimits, BodyLimitTable
from forewarn.server.control.http.connection import (
    ConnectionTimeouts,
    ControlConnection,
    control_connection,
)
from forewarn.server.control.http.server import ControlPlane
from forewarn.server.control.http.shares import (
    ConnectionPlaces,
    ConnectionShares,
    InvalidRequests,
)
from forewarn.server.control.http.tls import tls_context
from forewarn.server.control.routes.journal import JournalStreams

Place = tuple[str, int]
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK = b"HTTP/1.1 200 OK"


async def respond_ok(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond without reading the body."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def respond_until_end(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond immediately; /accepted belongs to a token holder and ends at `end`."""
    is_accepted = scope["path"] == "/accepted"
    if is_accepted:
        scope["state"]["caller"] = "someone"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok", "more_body": is_accepted})
    while is_accepted and b"end" not in (await receive()).get("body", b"end"):
        pass
    if is_accepted:
        await send({"type": "http.response.body", "body": b"end"})


@contextmanager
def a_plane(
    app: ASGIApp = respond_ok,
    *,
    connections: int = 10,
    tls: ssl.SSLContext | None = None,
    timeouts: ConnectionTimeouts | None = None,
) -> Iterator[Place]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        plane = ControlPlane(
            [listening],
            app,
            JournalStreams().close,
            shares=ConnectionShares(ConnectionPlaces(total=connections)),
            invalid_requests=InvalidRequests(),
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


def test_unfinished_handshakes_count_as_connections_and_are_replaced(
    tls: ssl.SSLContext, authority: CertificateAuthority
) -> None:
    timeouts = ConnectionTimeouts(handshake=2 * PATIENCE)  # ends none of them
    with (
        a_plane(connections=2, tls=tls, timeouts=timeouts) as place,
        ExitStack() as stack,
    ):
        handshakes = [
            stack.enter_context(socket.create_connection(place, PATIENCE))
            for _ in range(3)
        ]
        assert first_line(handshakes[0]) == b""
        assert status_line_over_tls(place, authority) == OK
        assert first_line(handshakes[1]) == b""


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


# --- connections that are not used -------------------------------------------


def test_idle_connections_do_not_block_others() -> None:
    with a_plane(connections=4) as place, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(socket.create_connection(place, PATIENCE))
        assert status_line_of(place) == OK


ACCEPTED = b"POST /accepted HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"


def test_a_connection_of_a_token_holder_is_not_replaced() -> None:
    with (
        a_plane(respond_until_end, connections=1) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(ACCEPTED)
        assert first_line(client) == OK
        assert status_line_of(place) == b""
        client.sendall(b"end")
        until(lambda: status_line_of(place) == OK)
        assert b"end" in all_of(client)


@pytest.mark.parametrize("before", [b"", GET])
def test_a_pipelined_request_does_not_hide_the_one_in_progress(before: bytes) -> None:
    with (
        a_plane(respond_until_end, connections=1) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(before + ACCEPTED + b"   " + GET)
        received = b""
        while received.count(OK) < (2 if before else 1):
            received += client.recv(65536)
        assert status_line_of(place) == b""


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_without_a_request_is_closed(sent: bytes) -> None:
    with (
        a_plane(timeouts=ConnectionTimeouts(first_head=0.2)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(sent)
        assert all_of(client) == b""


def test_first_head_has_ten_seconds() -> None:
    assert ConnectionTimeouts().first_head == 10


def test_slow_first_head_gets_408() -> None:
    with a_plane(timeouts=ConnectionTimeouts(first_head=0.2)) as place:
        assert status_line_of(place, GET[:-2]) == b"HTTP/1.1 408 Request Timeout"


async def respond_at_length(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with more than the kernel buffers."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    part = {"type": "http.response.body", "body": b"a" * 65536, "more_body": True}
    for _ in range(500):
        await send(part)
    await send({"type": "http.response.body", "body": b""})


def test_a_client_that_reads_no_response_is_disconnected() -> None:
    has_ended = Event()

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await respond_at_length(scope, receive, send)
        has_ended.set()

    with (
        a_plane(respond, timeouts=ConnectionTimeouts(unread=0.2)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(GET)
        assert has_ended.wait(PATIENCE)


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
    assert json.loads(body)["detail"] == "the request head is larger than 65536 bytes"


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
    assert b"not valid HTTP/1.1" in rest
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


# --- log lines ---------------------------------------------------------------

UPGRADE = GET[:-2] + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"


def test_invalid_requests_are_logged_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with a_plane() as place:
        for _ in range(5):
            assert status_line_of(place, UPGRADE) == OK
            assert b" 400 " in status_line_of(place, b"nonsense\r\n\r\n")
        assert caplog.messages == []
    start = "invalid requests to the control plane in the last minute"
    assert caplog.messages == [f"{start}: 10 from 127.0.0.1"]


def test_invalid_requests_are_logged_a_minute_after_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    later: list[tuple[float, Callable[[], None]]] = []
    invalid = InvalidRequests()
    for number in range(1000):
        invalid.add(f"10.0.{number % 20}.1", lambda *timer: later.append(timer))
    ((seconds, log),) = later
    log()
    log()
    assert seconds == 60
    assert invalid.total == 1000
    (line,) = caplog.messages
    assert line.count("from 10.0.") == 10
    assert "500 from other addresses" in line


# --- stop --------------------------------------------------------------------


def test_an_incomplete_body_is_refused_at_a_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = BodyLimits(respond_until_end, BodyLimitTable())
    with ExitStack() as stack:
        with a_plane(app) as place:
            client = stack.enter_context(socket.create_connection(place, PATIENCE))
            client.sendall(
                b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
            )
            assert first_line(client) == b"HTTP/1.1 100 Continue"
            client.sendall(b"half")
        response = all_of(client)
    assert response.startswith(b"HTTP/1.1 503 Service Unavailable")
    assert b"the service is stopping" in response
    assert caplog.messages == []


def test_a_client_that_reads_nothing_is_disconnected_at_a_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ExitStack() as stack, a_plane(respond_at_length) as place:
        client = stack.enter_context(socket.create_connection(place, PATIENCE))
        client.sendall(GET)
        assert client.recv(1) == b"H"
    assert caplog.messages == []


# --- unread bodies -----------------------------------------------------------


def test_connection_with_an_unread_body_is_closed_in_time() -> None:
    with (
        a_plane(timeouts=ConnectionTimeouts(linger=0.2)) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nslow")
        assert all_of(client).startswith(OK)


@pytest.mark.parametrize("version", [b"1.1", b"1.1\r\nConnection: close", b"1.0"])
def test_response_arrives_although_the_body_is_unread(version: bytes) -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(b"POST / HTTP/%b\r\nContent-Length: 5000000\r\n\r\n" % version)
        client.sendall(b"a" * 5_000_000)
        assert first_line(client) == OK


def test_nothing_is_read_after_an_unread_body_if_the_client_wants_to_close() -> None:
    request = b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 8\r\n\r\n"
    timeouts = ConnectionTimeouts(linger=0.2)
    with (
        a_plane(timeouts=timeouts) as place,
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(request + b"half")
        assert first_line(client) == OK
        client.sendall(b"half" + GET)
        assert OK not in all_of(client)


def test_connection_is_closed_after_a_body_in_two_parts() -> None:
    app = BodyLimits(respond_ok, BodyLimitTable())
    request = b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 8\r\n"
    with a_plane(app) as place, socket.create_connection(place, PATIENCE) as client:
        client.sendall(request + b"Expect: 100-continue\r\n\r\n")
        assert first_line(client) == b"HTTP/1.1 100 Continue"
        client.sendall(b"complete")
        assert b"\r\nconnection: close\r\n" in all_of(client)


def test_connection_is_reused_after_an_unread_body() -> None:
    with a_plane() as place, socket.create_connection(place, PATIENCE) as client:
        for _ in range(3):
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            assert first_line(client) == OK


class FakeTransport(asyncio.Transport):
    """A transport that notes what is done with it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.reading: list[str] = []
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading.append("paused")

    def resume_reading(self) -> None:
        self.reading.append("resumed")

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


def a_connection(app: ASGIApp, transport: FakeTransport) -> ControlConnection:
    config = uvicorn.Config(app, log_config=None, lifespan="off")
    shares = ConnectionShares(ConnectionPlaces(total=1))
    make = control_connection(shares, ConnectionTimeouts(), InvalidRequests())
    connection = make(config=config, server_state=ServerState(), app_state={})
    connection.connection_made(transport)
    return connection


def test_at_most_one_read_of_an_unwanted_body_is_buffered() -> None:
    async def run() -> None:
        may_respond = asyncio.Event()

        async def respond_late(scope: Scope, receive: Receive, send: Send) -> None:
            await may_respond.wait()
            await respond_ok(scope, receive, send)

        transport = FakeTransport()
        connection = a_connection(respond_late, transport)
        connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: 999999\r\n\r\n")
        assert transport.reading == []
        connection.data_received(b"a" * 1000)
        assert transport.reading == ["paused"]
        assert len(connection.cycle.body) == 1000
        may_respond.set()
        await asyncio.gather(*connection.tasks)
        assert transport.written.endswith(b"\r\n0\r\n\r\n")
        assert transport.reading == ["paused", "resumed"]
        connection.data_received(b"a" * 100_000)
        assert len(connection.cycle.body) == 0
        connection.connection_lost(None)

    asyncio.run(run())


# --- disconnects -------------------------------------------------------------


def test_a_disconnect_ends_the_request_before_a_pipelined_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    received: list[str] = []

    async def respond_until_disconnect(
        scope: Scope, receive: Receive, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while received[-1:] != ["http.disconnect"]:
            received.append((await receive())["type"])

    async def run() -> None:
        connection = a_connection(respond_until_disconnect, FakeTransport())
        connection.data_received(GET + GET)
        await asyncio.sleep(0)
        connection.connection_lost(None)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*connection.tasks)

    asyncio.run(run())
    assert received == ["http.request", "http.disconnect"]
    assert caplog.messages == []


# --- stop --------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/maintenances", "/subscriptions/one"])
def test_request_that_outlasts_the_stop_gets_503(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    has_begun, is_saved = Event(), Event()

    async def save(scope: Scope, receive: Receive, send: Send) -> None:
        has_begun.set()
        await run_in_threadpool(is_saved.wait, PATIENCE)  # as a commit on a slow disk
        await respond_ok(scope, receive, send)

    with ExitStack() as stack:
        stack.callback(is_saved.set)
        with a_plane(save) as place:
            client = stack.enter_context(socket.create_connection(place, PATIENCE))
            client.sendall(GET.replace(b" / ", f" {path} ".encode()))
            assert has_begun.wait(PATIENCE)
        head, _, body = all_of(client).decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 503 ")
    assert "may have been saved" in body
    fields = Parser().parsestr(head.partition("\r\n")[2])
    assert {name: fields[name] for name in ALWAYS} == ALWAYS
    assert not [record for record in caplog.records if record.exc_info]
