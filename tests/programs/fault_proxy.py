"""A proxy in front of the service that injects errors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

#: A response instead of the service's: status and body.
Fault = tuple[int, bytes]

_LONG = 70.0  # seconds; a long poll is held for at most 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingProxy:
    """The address of the proxy, and the requests it received."""

    url: str
    #: Each request, such as `GET scheduledevents`, with its body.
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    #: The next responses to each request; after them, the service responds.
    faults: dict[str, list[Fault]] = field(default_factory=dict)

    def count(self, question: str) -> int:
        """Return how often `question` was requested."""
        return len([request for request, _ in self.requests if request == question])

    @property
    def approvals(self) -> list[bytes]:
        """Return the bodies of all posts."""
        return [
            body for request, body in self.requests if request == "POST scheduledevents"
        ]


@contextmanager
def a_front(
    behind: str, vm: str, faults: Mapping[str, Sequence[Fault]] | None = None
) -> Iterator[RecordingProxy]:
    """Relay requests of `vm` to the service `behind`, after the `faults` of each
    request.
    """
    left = {request: list(responses) for request, responses in (faults or {}).items()}
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            question = f"{self.command} {urlsplit(self.path).path.rpartition('/')[2]}"
            received.append((question, body))
            if left.get(question):
                status, text = left[question].pop(0)
                self._answer(status, {}, text)
            else:
                self._answer(*_relayed(behind, vm, self, body))

        do_POST = do_GET

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.block_on_close = False  # do not wait for pending long polls
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            yield RecordingProxy(url=url, requests=received, faults=left)
        finally:
            server.shutdown()
            thread.join()


def _relayed(
    behind: str, vm: str, handler: BaseHTTPRequestHandler, body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    """Send the same request to the service."""
    connection = HTTPConnection(urlsplit(behind).netloc, timeout=_LONG)
    headers = {
        name: value
        for name, value in handler.headers.items()
        if name.lower() not in {"host", "connection"}
    }
    try:
        connection.request(handler.command, f"/vm/{vm}{handler.path}", body, headers)
        response = connection.getresponse()
        text = response.read()
        ours = {"content-length", "connection"}
        sent = response.headers.items()
        kept = {name: value for name, value in sent if name.lower() not in ours}
        return response.status, kept, text
    finally:
        connection.close()
