"""Real sockets: split, half-closed and reset connections keep responses in order."""

import json
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.server.support.dialogs import ParsedResponse, a_post, a_request, read
from tests.server.support.service import RunningService
from tests.server.support.stream_driver import cut_anywhere

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
MARK = "Metadata: true"
LISTENING, TIME_WAIT = "0A", "06"  # codes of /proc/net/tcp

seeds = st.integers(min_value=0, max_value=2**64 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its expected response."""

    wire: bytes
    method: str
    status: int
    name: str  # appears in the response


def draw_exchange(random: Random, number: int) -> Exchange:
    """Draw a request that is handled at once or needs the engine."""
    name = f"N{number:03}"
    body = json.dumps({"StartRequests": [{"EventId": name}]}).encode()
    mine, nobodys = f"/vm/web-0{EVENTS}", f"/vm/{name}{EVENTS}"
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    chunked = (MARK, "Transfer-Encoding: chunked")
    drawn = (
        ("POST", 400, a_post(body, MARK, target=mine)),
        ("POST", 400, a_request(mine, *chunked, method="POST", body=chunks)),
        ("POST", 404, a_post(body, MARK, target=nobodys)),
        ("GET", 404, a_request(nobodys, MARK)),
        ("GET", 404, a_request(nobodys, MARK, "Connection: keep-alive", version="1.0")),
    )
    method, status, wire = random.choice(drawn)
    return Exchange(wire=wire, method=method, status=status, name=name)


class SocketClient:
    """A connection, the data sent over it, and how it ends."""

    def __init__(self, service: RunningService, random: Random) -> None:
        self.requests = [
            draw_exchange(random, number) for number in range(random.randint(1, 8))
        ]
        self.end = random.choice(ENDS)
        stream = b"".join(request.wire for request in self.requests)
        if self.end is send_last_request:  # after that request, the service may close
            self.pieces = [*cut_anywhere(random, stream), TAILS[self.end]]
        else:
            self.pieces = cut_anywhere(random, stream + TAILS.get(self.end, b""))
        if self.end is reset:
            del self.pieces[random.randint(0, len(self.pieces)) :]
        place = urlsplit(service.metadata)
        self.socket = socket.create_connection(
            (place.hostname, place.port), timeout=PATIENCE
        )
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> None:
        """Send the next piece."""
        if self.pieces:
            self.socket.sendall(self.pieces.pop(0))

    def receive(self) -> list[ParsedResponse]:
        """Read all responses until the service closes the connection."""
        written = b"".join(iter(lambda: self.socket.recv(65536), b""))
        return read(written, [request.method for request in self.requests])

    def check(self, *more: int) -> None:
        """Check that all responses arrive in order, then those with statuses `more`."""
        responses = self.receive()
        statuses = [message.status for message in self.requests]
        # Of more than two approvals at once, the others are refused.
        received = [
            400 if message.status == 429 else message.status for message in responses
        ]
        assert received == [*statuses, *more]
        for response, request in zip(responses, self.requests, strict=False):
            assert response.status == 429 or request.name in response.body.decode()


# --- ends of a connection ----------------------------------------------------


def half_close(client: SocketClient) -> None:
    """Half-close the connection; earlier requests still get responses."""
    client.socket.shutdown(socket.SHUT_WR)
    client.check()


def leave_unfinished(client: SocketClient) -> None:
    """Half-close the connection in the middle of a request."""
    half_close(client)


def send_last_request(client: SocketClient) -> None:
    """Send a last request and data after it."""
    client.check(200)


def send_garbage(client: SocketClient) -> None:
    """Send invalid data and a request after it."""
    client.check(400)


def reset(client: SocketClient) -> None:
    """Reset the connection, so that the service sees an error."""
    linger = struct.pack("ii", 1, 0)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def disconnect(client: SocketClient) -> None:
    """Close the connection without reading."""
    del client


VERSIONS = "/metadata/versions"
TAILS: dict[Callable[[SocketClient], None], bytes] = {
    leave_unfinished: a_post(b"abc", MARK, target=EVENTS)[:-1],
    send_last_request: a_request(VERSIONS, MARK, "Connection: close") + a_request("/x"),
    send_garbage: b"nonsense\r\n\r\n" + a_request("/x"),
}
ENDS: Sequence[Callable[[SocketClient], None]] = (
    half_close,
    leave_unfinished,
    send_last_request,
    send_garbage,
    reset,
    disconnect,
)


@given(seeds)
@settings(max_examples=300)
def test_responses_keep_their_order_for_any_use_and_end(
    shared: RunningService, seed: int
) -> None:
    random = Random(seed)
    with ExitStack() as stack:
        clients = [
            SocketClient(shared, random) for _ in range(random.choice((1, 2, 4)))
        ]
        for client in clients:
            stack.enter_context(client.socket)
        while waiting := [
            waiting_client for waiting_client in clients if waiting_client.pieces
        ]:
            random.choice(waiting).send()
        for client in clients:
            client.end(client)
    assert shared.as_vm("web-0").status == 200


def test_no_connection_remains_open(shared: RunningService) -> None:
    port = urlsplit(shared.metadata).port or 0
    request_count = 0
    while (
        connections(port) and request_count < 500
    ):  # closing takes the service a moment
        shared.as_vm("web-0")
        request_count += 1
    assert connections(port) == []


def connections(port: int) -> list[str]:
    """Return the remote addresses of the service's open connections."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [row for row in rows if row[1].endswith(f":{port:04X}")]
    return [row[2] for row in mine if row[3] not in (LISTENING, TIME_WAIT)]


def test_request_after_an_approval_sees_its_effect(service: RunningService) -> None:
    event = service.announce(vms=["web-0"])["events"][0]["id"]
    path = f"/vm/web-0{EVENTS}"
    body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
    get, post = a_request(path, MARK), a_post(body, MARK, target=path)
    place = urlsplit(service.metadata)
    with socket.create_connection(
        (place.hostname, place.port), timeout=PATIENCE
    ) as client:
        client.sendall(get + post + get)
        client.shutdown(socket.SHUT_WR)
        written = b"".join(iter(lambda: client.recv(65536), b""))
    before, approved, after = read(written, ["GET", "POST", "GET"])
    assert [before.status, approved.status, after.status] == [200, 200, 200]
    assert b'"Scheduled"' in before.body
    assert b'"Started"' in after.body
