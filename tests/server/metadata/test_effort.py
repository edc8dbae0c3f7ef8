"""No stream costs more than its size: neither time nor memory grow beyond it."""

import time
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from tests.server.support.dialogs import (
    Echo,
    a_connection,
    a_post,
    a_request,
    byte_by_byte,
    in_chunks,
)

from forewarn.server.metadata.transport.http1 import ConnectionState

_PIECE = 64 * 1024


def seconds(pieces: Iterable[bytes]) -> float:
    """Measure how long a connection works on `pieces`, at best."""
    given, measured = [*pieces], list[float]()
    for _ in range(3):
        connection = a_connection(Echo())
        begun = time.process_time()
        for piece in given:
            connection.receive(piece)
        measured.append(time.process_time() - begun)
    return min(measured)


#: Streams that grow with a number, each for an effort that could grow faster.
GROWING: dict[str, Callable[[int], Iterable[bytes]]] = {
    "small chunks": lambda n: [in_chunks(b"1\r\nx\r\n" * (5 * n))],
    "pipelined requests": lambda n: [a_request("/a", "A: " + "x" * 60) * n],
    "a head, byte by byte": lambda n: byte_by_byte(a_request("/" + "a" * n)),
    "a body, byte by byte": lambda n: byte_by_byte(a_post(b"x" * n)),
    "an extension, byte by byte": lambda n: byte_by_byte(in_chunks(b"1;" + b"x" * n)),
}


@pytest.mark.parametrize("stream", GROWING.values(), ids=GROWING.keys())
def test_eight_times_as_much_takes_about_eight_times_as_long(
    stream: Callable[[int], Iterable[bytes]],
) -> None:
    small, large = seconds(stream(1_500)), seconds(stream(12_000))
    assert large < 24 * small


#: How streams begin that could go on for ever, and how they go on.
ENDLESS = {
    "a head": (b"GET /a HTTP/1.1\r\nA: ", b"x"),
    "a target": (b"GET /", b"x"),
    "headers": (b"GET /a HTTP/1.1\r\n", b"A: b\r\n"),
    "empty lines": (b"", b"\r\n"),
    "a body": (a_request("/a", "Content-Length: 99999999999"), b"x"),
    "chunks": (in_chunks(b""), b"1\r\nx\r\n"),
    "an extension": (in_chunks(b"1;"), b"x"),
    "extensions": (in_chunks(b""), b"1;abc=" + b"x" * 500 + b"\r\nx\r\n"),
    "a size": (in_chunks(b""), b"0"),
    "trailers": (in_chunks(b"0\r\n"), b"A: b\r\n"),
    "requests behind one that waits": (a_request("/later"), a_request()),
    "noise behind the last request": (a_request("/a", "Connection: close"), b"x"),
}


@pytest.mark.parametrize(("begin", "more"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_stream_without_end_is_left_and_nothing_is_kept_of_it(
    begin: bytes, more: bytes
) -> None:
    connection = a_connection(Echo())
    piece = more * (_PIECE // len(more))
    connection.receive(begin)
    tracemalloc.start()
    for _ in range(50):
        connection.receive(piece)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert connection.state in (ConnectionState.DRAIN, ConnectionState.CLOSED)
    assert kept < _PIECE
    assert peak < 20 * _PIECE
