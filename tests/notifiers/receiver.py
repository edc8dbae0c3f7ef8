"""A receiver of webhooks on loopback: records requests, sends configurable replies."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Condition, Event, Thread
from typing import Any

from tests.patience import PATIENCE

_LONG = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """A received message."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def position(self) -> int:
        return int(self.event["id"])


Reply = Callable[[BaseHTTPRequestHandler], None]


def a_reply(status: int, text: str = "", **headers: str) -> Reply:
    """Send a complete response."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text.encode())))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text.encode())

    return reply


@dataclass(slots=True)
class Receiver:
    """The reply of the receiver, and the messages it has received."""

    url: str = ""
    reply: Reply = field(default_factory=lambda: a_reply(204))
    got: list[ReceivedMessage] = field(default_factory=list)
    came: Condition = field(default_factory=Condition)
    ends: Event = field(default_factory=Event)  # releases senders that are kept waiting

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Send no response until the test ends."""
        handler.close_connection = True
        self.ends.wait(_LONG)

    def trickle(self, handler: BaseHTTPRequestHandler) -> None:
        """Send one byte at a time, without ever finishing the response."""
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        with suppress(OSError):  # the sender has closed the connection
            for _ in range(500):
                handler.wfile.write(b"x")
                if self.ends.wait(0.02):
                    return

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so` holds; it is checked after every message."""
        with self.came:
            assert self.came.wait_for(is_so, _LONG), self.got

    @property
    def positions(self) -> list[int]:
        return [message.position for message in self.got]


@contextmanager
def a_receiver(tls: SSLContext | None = None, port: int = 0) -> Iterator[Receiver]:
    """Listen until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got = ReceivedMessage(path=self.path, headers=dict(self.headers), body=body)
            with receiver.came:
                receiver.got.append(got)
                receiver.came.notify_all()
            receiver.reply(self)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Log nothing: senders may close the connection."""

    with Server(("127.0.0.1", port), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        receiver.url = f"{scheme}://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.ends.set()
            server.shutdown()
            thread.join()
