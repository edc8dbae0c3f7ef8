"""Over real sockets: cut, half-closed and reset, answers come in order, or none."""

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
from tests.server.support.dialogs import Said, a_post, a_request, read
from tests.server.support.service import RunningService
from tests.server.support.stream_driver import cut_anywhere

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
MARK = "Metadata: true"
LISTENING, TIME_WAIT = "0A", "06"  # as /proc/net/tcp has them

seeds = st.integers(min_value=0, max_value=2**64 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, and how its answer is known."""

    wire: bytes
    method: str
    status: int
    name: str  # it stands in the answer


def ask(random: Random, number: int) -> Asked:
    """Draw a request that is answered at once, or by the engine."""
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
    return Asked(wire=wire, method=method, status=status, name=name)


class Client:
    """A connection, what is sent over it, and how it ends."""

    def __init__(self, service: RunningService, random: Random) -> None:
        self.asked = [ask(random, number) for number in range(random.randint(1, 8))]
        self.end = random.choice(ENDS)
        stream = b"".join(each.wire for each in self.asked)
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

    def receive(self) -> list[Said]:
        """Read all answers until the service closes."""
        written = b"".join(iter(lambda: self.socket.recv(65536), b""))
        return read(written, [each.method for each in self.asked])

    def check(self, *more: int) -> None:
        """Read all answers: to what was asked, in order, and `more`."""
        said = self.receive()
        statuses = [each.status for each in self.asked]
        assert [each.status for each in said] == [*statuses, *more]
        for answer, request in zip(said, self.asked, strict=False):
            assert request.name in answer.body.decode()


# --- how it ends -------------------------------------------------------------


def half_close(client: Client) -> None:
    """Say that nothing more will come; what has come is answered."""
    client.socket.shutdown(socket.SHUT_WR)
    client.check()


def leave_unfinished(client: Client) -> None:
    """Do the same in the middle of a request."""
    half_close(client)


def ask_to_close(client: Client) -> None:
    """Send a last request, and something behind it."""
    client.check(200)


def talk_nonsense(client: Client) -> None:
    """Send what is no request, and one behind it."""
    client.check(400)


def reset(client: Client) -> None:
    """End without a word, so that the service meets an error."""
    linger = struct.pack("ii", 1, 0)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def go(client: Client) -> None:
    """Read nothing at all."""
    del client


VERSIONS = "/metadata/versions"
TAILS: dict[Callable[[Client], None], bytes] = {
    leave_unfinished: a_post(b"abc", MARK, target=EVENTS)[:-1],
    ask_to_close: a_request(VERSIONS, MARK, "Connection: close") + a_request("/x"),
    talk_nonsense: b"nonsense\r\n\r\n" + a_request("/x"),
}
ENDS: Sequence[Callable[[Client], None]] = (
    half_close,
    leave_unfinished,
    ask_to_close,
    talk_nonsense,
    reset,
    go,
)


@given(seeds)
@settings(max_examples=300)
def test_answers_come_in_order_however_connections_are_used_and_ended(
    shared: RunningService, seed: int
) -> None:
    random = Random(seed)
    with ExitStack() as stack:
        clients = [Client(shared, random) for _ in range(random.choice((1, 2, 4)))]
        for client in clients:
            stack.enter_context(client.socket)
        while waiting := [each for each in clients if each.pieces]:
            random.choice(waiting).send()
        for client in clients:
            client.end(client)
    assert shared.as_vm("web-0").status == 200


def test_of_all_connections_none_is_left(shared: RunningService) -> None:
    port = urlsplit(shared.metadata).port or 0
    asked = 0
    while connections(port) and asked < 500:  # each takes the service a moment
        shared.as_vm("web-0")
        asked += 1
    assert connections(port) == []


def connections(port: int) -> list[str]:
    """Find the service's ends of connections that have not ended."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [row for row in rows if row[1].endswith(f":{port:04X}")]
    return [row[2] for row in mine if row[3] not in (LISTENING, TIME_WAIT)]


def test_a_request_behind_an_approval_sees_what_it_did(service: RunningService) -> None:
    event = service.announce(vms=["web-0"])["events"][0]["id"]
    path = f"/vm/web-0{EVENTS}"
    body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
    get, post = a_request(path, MARK), a_post(body, MARK, target=path)
    place = urlsplit(service.metadata)
    with socket.create_connection(
        (place.hostname, place.port), timeout=PATIENCE
    ) as made:
        made.sendall(get + post + get)
        made.shutdown(socket.SHUT_WR)
        written = b"".join(iter(lambda: made.recv(65536), b""))
    before, approved, after = read(written, ["GET", "POST", "GET"])
    assert [before.status, approved.status, after.status] == [200, 200, 200]
    assert b'"Scheduled"' in before.body
    assert b'"Started"' in after.body
