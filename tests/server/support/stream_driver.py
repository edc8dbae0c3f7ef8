"""Driver that sends a stream to a connection in arbitrary pieces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tests.server.support.dialogs import EchoHandler

from forewarn.server.metadata.transport.http1 import (
    ConnectionState,
    HeadCache,
    Http1Connection,
)
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import CONTINUE

OVER = (ConnectionState.DRAIN, ConnectionState.CLOSED)


class RecordingHeadCache(HeadCache):
    """A head cache that records the parsed heads and caches none."""

    def __init__(self) -> None:
        super().__init__()
        self.read_so_far: list[bytes] = []

    def read(self, head: bytes) -> Request:
        self.read_so_far.append(head)
        request = super().read(head)
        self.whole.clear()
        return request


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOutcome:
    """What a connection did with a stream."""

    requests: Sequence[tuple[Request, bytes]]
    ends: Sequence[int]  # bytes received when each request was complete
    written: bytes  # without 100 Continue, which depends on what has arrived
    methods: tuple[str, ...]  # of the requests with a response
    state: (
        ConnectionState | None
    )  # None if it is over; the exact state depends on what has arrived
    is_deaf: bool  # it ignores one more request


def drive(
    pieces: Iterable[bytes], memo: HeadCache | None = None, *, is_lazy: bool = False
) -> ConnectionOutcome:
    """Send `pieces`; send deferred responses at once or, if lazy, at the end."""
    echo, sent, written, ends = EchoHandler(), 0, b"", list[int]()
    connection = Http1Connection(echo, memo or HeadCache())
    for piece in pieces:
        sent += len(piece)
        written += connection.receive(piece)
        if not is_lazy:
            written += catch_up(connection, echo)
        ends += [sent] * (len(echo.requests) - len(ends))
        if connection.state in OVER:
            break
    written += catch_up(connection, echo)
    ends += [sent] * (len(echo.requests) - len(ends))
    requests, methods, is_over = (
        [*echo.requests],
        tuple(echo.methods),
        connection.state in OVER,
    )
    more = connection.receive(b"GET / HTTP/1.0\r\n\r\n") if is_over else b""
    return ConnectionOutcome(
        requests=requests,
        ends=ends,
        written=written.replace(CONTINUE, b""),
        methods=methods,
        state=None if is_over else connection.state,
        is_deaf=not more and echo.requests == requests,
    )


def catch_up(connection: Http1Connection[str], echo: EchoHandler) -> bytes:
    """Return the deferred responses and those held back for lack of room."""
    written = b""
    while connection.state is ConnectionState.BUSY or connection.is_behind:
        if connection.is_behind:
            written += connection.proceed()
        else:
            written += connection.resume(
                echo.render(connection.request, connection.body)
            )
    return written


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    """Split `stream` at `places`."""
    ends = sorted({min(place, len(stream)) for place in places} | {0, len(stream)})
    return [stream[a:b] for a, b in pairwise(ends)]


def cut_anywhere(random: Random, stream: bytes) -> list[bytes]:
    """Split `stream` at random places."""
    count = random.choice((1, 2, 5, 20))
    return cut(stream, [random.randint(0, len(stream)) for _ in range(count)])
