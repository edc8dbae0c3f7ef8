"""Scripted HTTP server on loopback: each act serves one request, well or badly."""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Semaphore, Thread

from tests.patience import PATIENCE

#: Serves one request; returns whether the connection stays open.
Act = Callable[[socket.socket], bool]

EMPTY: dict[str, object] = {"DocumentIncarnation": 0, "Events": []}
DATE = "Sat, 31 Jan 2026 12:00:00 GMT"
_LONG = PATIENCE


@dataclass(slots=True)
class Service:
    """Requests received so far, and the acts for those to come."""

    port: int
    acts: list[Act]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    ended: Event = field(default_factory=Event)
    questions: Semaphore = field(default_factory=lambda: Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def headers(self, number: int = -1) -> dict[str, str]:
        """Return the headers of a request, names in lower case."""
        lines = self.requests[number].split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        pairs = [line.split(": ", 1) for line in lines]
        return {name.lower(): value for name, value in pairs}

    def wait(self, count: int = 1) -> None:
        """Wait for `count` more requests."""
        for _ in range(count):
            assert self.questions.acquire(timeout=_LONG)

    def line(self, number: int = -1) -> str:
        return self.requests[number].split(b"\r\n")[0].decode()

    def body(self, number: int = -1) -> bytes:
        return self.requests[number].split(b"\r\n\r\n", 1)[1]


@contextmanager
def a_service(*acts: Act) -> Iterator[Service]:
    """Serve one request after another with `acts`, then close the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = Service(port=listener.getsockname()[1], acts=[*acts])
        threads: list[Thread] = []
        listening = Thread(target=_accept, args=(listener, service, threads))
        listening.start()
        try:
            yield service
        finally:
            service.ended.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for thread in (listening, *threads):
                thread.join(_LONG)


def _accept(listener: socket.socket, service: Service, threads: list[Thread]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            service.connections += 1
            thread = Thread(target=_serve, args=(connection, service))
            threads.append(thread)
            thread.start()


def _serve(connection: socket.socket, service: Service) -> None:
    with connection, suppress(OSError):
        while (request := _request(connection, service)) is not None:
            act = service.acts.pop(0) if service.acts else hang_up
            service.requests.append(request)
            service.questions.release()  # from now on, others may take the next act
            connection.settimeout(_LONG)  # a busy client may read slowly
            if not act(connection):
                return


def _request(connection: socket.socket, service: Service) -> bytes | None:
    received = b""
    connection.settimeout(0.05)  # to notice the end of the test
    while not service.ended.is_set():
        try:
            piece = connection.recv(65_536)
        except TimeoutError:
            continue
        if not piece:
            return None
        received += piece
        head, end, body = received.partition(b"\r\n\r\n")
        length = head.partition(b"Content-Length: ")[2].split(b"\r\n")[0]
        if end and len(body) >= int(length or b"0"):
            return received
    return None


# --- acts --------------------------------------------------------------------


def sends(*pieces: bytes, stays: bool = False) -> Act:
    """Send bytes unchanged."""

    def act(connection: socket.socket) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        return stays

    return act


def respond(
    body: object = None, status: int = 200, headers: Sequence[str] = (), **more: str
) -> Act:
    """Send a valid response: `body` unchanged if it is bytes, otherwise as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    lines = [f"HTTP/1.1 {status} Something", *headers, *named]
    lines += [] if status == 304 else [f"Content-Length: {len(data)}"]
    head = "\r\n".join([*lines, "", ""]).encode()
    return sends(head if status == 304 else head + data, stays=True)


def hang_up(connection: socket.socket) -> bool:
    """Close the connection without a response."""
    return False


def is_disabled(connection: socket.socket) -> bool:
    """Never respond."""
    with suppress(TimeoutError):
        return bool(connection.recv(1))
    return False


def drip(head: bytes, piece: bytes) -> Act:
    """Send `piece` again and again, forever."""

    def act(connection: socket.socket) -> bool:
        connection.sendall(head)
        pause = Event()
        while True:
            connection.sendall(piece)  # until the client closes the connection
            pause.wait(0.01)

    return act
