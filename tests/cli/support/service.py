"""A fake service: real HTTP with canned responses."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request that the service received."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: object


@dataclass(slots=True)
class Service:
    """The canned replies of the fake service, and the requests it received.

    Its clock shows noon until a test sets it.
    """

    url: str
    replies: dict[tuple[str, str], list[Reply]] = field(default_factory=dict)
    requests: list[ReceivedRequest] = field(default_factory=list)

    def respond(self, method: str, path: str, plain: object, status: int = 200) -> None:
        """Reply with JSON; the last reply added for a path is repeated."""
        self.replies.setdefault((method, path), []).append(json_reply(plain, status))

    def refuse(self, method: str, path: str, status: int, detail: str) -> None:
        """Reply with a problem document."""
        problem = {
            "type": "about:blank",
            "title": "No",
            "status": status,
            "detail": detail,
        }
        self.respond(method, path, problem, status)

    def reply_with(self, method: str, path: str, reply: Reply) -> None:
        """Call `reply` to respond."""
        self.replies.setdefault((method, path), []).append(reply)

    def set_clock(self, now: str, clock: str = "manual") -> None:
        """Report this time."""
        self.respond("GET", "/v1/clock", {"clock": clock, "now": now})

    def only(self, method: str) -> ReceivedRequest:
        """Return the only request with that method."""
        [match] = [request for request in self.requests if request.method == method]
        return match


def json_reply(plain: object, status: int = 200) -> Reply:
    """Make a reply with a JSON body."""
    return text_reply(json.dumps(plain), status, "application/json")


def text_reply(text: str, status: int = 200, kind: str = "text/html") -> Reply:
    """Make a reply with a text body."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def stream_reply(text: str) -> Reply:
    """Make a reply whose body ends when the connection closes."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(text.encode())

    return reply


def close_connection(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a response."""
    handler.close_connection = True


@contextmanager
def a_service(tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """Listen on a free port until the test ends, with TLS if `tls` is given."""
    service = Service(url="")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _handle(self, service)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        if tls is not None:
            service.url = service.url.replace("http:", "https:")
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def _handle(handler: BaseHTTPRequestHandler, service: Service) -> None:
    parts = urlsplit(handler.path)
    body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    method = handler.command
    service.requests.append(
        ReceivedRequest(
            method=method,
            path=parts.path,
            query=parse_qsl(parts.query),
            headers=dict(handler.headers),
            body=json.loads(body) if body else None,
        )
    )
    replies = service.replies.get((method, parts.path))
    if not replies and parts.path == "/v1/clock":
        json_reply({"clock": "manual", "now": "2026-01-01T12:00:00Z"})(handler)
    elif not replies and parts.path == "/readyz":
        json_reply({"status": "ready", "version": "0.1.0"})(handler)
    elif not replies:
        refusal = {"status": 404, "detail": f"the test has no {method} {handler.path}"}
        json_reply(refusal, 404)(handler)
    else:
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        reply(handler)
