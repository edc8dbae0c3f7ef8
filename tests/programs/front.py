"""A server in front of the real one, which is out of order for a while."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

#: What is answered in the service's stead: a status, and a body.
Fault = tuple[int, bytes]

_LONG = 70.0  # seconds; a request that may wait is held for 60 at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Where VMs ask, and what they have asked for."""

    url: str
    #: Each question, as `GET scheduledevents`, with its body.
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    #: What is answered next to each question; when that is over, the service answers.
    faults: dict[str, list[Fault]] = field(default_factory=dict)

    def count(self, question: str) -> int:
        """Tell how often `question` was asked."""
        return len([each for each, _ in self.asked if each == question])

    @property
    def approvals(self) -> list[bytes]:
        """What was posted."""
        return [body for each, body in self.asked if each == "POST scheduledevents"]


@contextmanager
def a_front(
    behind: str, vm: str, faults: Mapping[str, Sequence[Fault]] | None = None
) -> Iterator[Front]:
    """Serve `vm` what the service `behind` has, after the `faults` of each question."""
    left = {each: list(given) for each, given in (faults or {}).items()}
    asked: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            question = f"{self.command} {urlsplit(self.path).path.rpartition('/')[2]}"
            asked.append((question, body))
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
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.block_on_close = False  # a request that is held would be waited for
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            yield Front(url=url, asked=asked, faults=left)
        finally:
            server.shutdown()
            thread.join()


def _relayed(
    behind: str, vm: str, handler: BaseHTTPRequestHandler, body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    """Ask the service the same question."""
    connection = HTTPConnection(urlsplit(behind).netloc, timeout=_LONG)
    headers = {
        name: value
        for name, value in handler.headers.items()
        if name.lower() not in {"host", "connection"}
    }
    try:
        connection.request(handler.command, f"/vm/{vm}{handler.path}", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        ours = {"content-length", "connection"}
        told = answer.headers.items()
        kept = {name: value for name, value in told if name.lower() not in ours}
        return answer.status, kept, text
    finally:
        connection.close()
