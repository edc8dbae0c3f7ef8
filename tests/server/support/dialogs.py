"""Dialogs with an HTTP/1 connection without a socket; h11 parses the responses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import h11

from forewarn.server.metadata.transport.http1 import HeadCache, Http1Connection
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import CLOSE, Response, ResponseHead

STAMP = ResponseHead(datetime(2026, 1, 1, 12, tzinfo=UTC), "system")


@dataclass(slots=True)
class EchoHandler:
    """Responds to each request with its path and body; /later is deferred."""

    requests: list[tuple[Request, bytes]] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)  # including refused requests

    def handle(self, request: Request, body: bytes) -> bytes | str:
        self.requests.append((request, body))
        self.methods.append(request.method)
        if request.path == "/later":
            return f"what {body.decode(errors='replace')} waits for"
        return self.render(request, body)

    def render(self, request: Request, body: bytes) -> bytes:
        text = b" ".join([request.method.encode(), request.path.encode(), body])
        response = Response(200, text)
        return STAMP.render(response, request.connection, is_head=request.is_head)

    def may_proceed(self) -> bool:
        return True

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        self.methods.append("HEAD" if is_head else "GET")
        return STAMP.render(response, CLOSE, is_head=is_head)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedResponse:
    """One response as a client reads it."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def header(self, name: bytes) -> bytes | None:
        return dict(self.headers).get(name)


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """A connection, its handler, and all responses."""

    connection: Http1Connection[str]
    echo: EchoHandler
    responses: list[ParsedResponse]

    @property
    def statuses(self) -> list[int]:
        return [response.status for response in self.responses]

    @property
    def final(self) -> list[ParsedResponse]:
        """Return all responses except 100, which depends on what has arrived."""
        return [response for response in self.responses if response.status != 100]


def a_connection(echo: EchoHandler) -> Http1Connection[str]:
    return Http1Connection(echo, HeadCache())


def exchange(*pieces: bytes) -> ConnectionResult:
    """Send `pieces` over one connection and parse the responses."""
    echo = EchoHandler()
    connection = a_connection(echo)
    written = b"".join(connection.receive(piece) for piece in pieces)
    return ConnectionResult(connection, echo, read(written, echo.methods))


def the_request(data: bytes) -> Request:
    """Parse `data`, which must be one valid request."""
    ((request, _),) = exchange(data).echo.requests
    return request


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


def a_request(
    target: str = "/a",
    *headers: str,
    method: str = "GET",
    version: str = "1.1",
    host: str | None = "Host: vm",
    body: bytes = b"",
) -> bytes:
    """Return a request; the length of a body must be given as a header."""
    first = f"{method} {target} HTTP/{version}"
    lines = [first, *([host] if host else []), *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def a_post(body: bytes, *headers: str, target: str = "/a") -> bytes:
    """Return a POST of `body` with its Content-Length."""
    length = f"Content-Length: {len(body)}"
    return a_request(target, length, *headers, method="POST", body=body)


def in_chunks(body: bytes, *headers: str) -> bytes:
    """Return a chunked POST; `body` contains the chunks as sent on the wire."""
    coding = "Transfer-Encoding: chunked"
    return a_request("/a", coding, *headers, method="POST", body=body)


def read(written: bytes, methods: Sequence[str]) -> list[ParsedResponse]:
    """Parse responses to requests with `methods`; fail if they are not valid HTTP."""
    responses: list[ParsedResponse] = []
    pending = list(methods)
    while written:
        method = pending.pop(0) if pending else "GET"
        parsed, written = _read_one(written, method)
        responses += parsed
    return responses


def _read_one(written: bytes, method: str) -> tuple[list[ParsedResponse], bytes]:
    """Parse one response with the informational ones before it, or only those."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "vm")]))
    client.send(h11.EndOfMessage())
    client.receive_data(written)
    responses: list[ParsedResponse] = []
    while isinstance(event := client.next_event(), h11.InformationalResponse):
        responses.append(_parsed_response(event, b""))
    if event is h11.NEED_DATA and responses:
        assert client.trailing_data[0] == b""
        return responses, b""
    assert isinstance(event, h11.Response), event
    head, body = event, b""
    while isinstance(event := client.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage), event
    return [*responses, _parsed_response(head, body)], client.trailing_data[0]


def _parsed_response(
    head: h11.Response | h11.InformationalResponse, body: bytes
) -> ParsedResponse:
    headers = tuple((bytes(name), bytes(value)) for name, value in head.headers)
    return ParsedResponse(status=head.status_code, body=body, headers=headers)
