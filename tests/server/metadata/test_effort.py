"""Effort limits: time and memory grow no faster than the size of a stream."""

import time
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from tests.server.support.dialogs import (
    EchoHandler,
    a_connection,
    a_post,
    a_request,
    byte_by_byte,
    in_chunks,
)

from forewarn.server.metadata.transport.http1 import ConnectionState

_PIECE = 64 * 1024


def seconds(pieces: Iterable[bytes]) -> float:
    """Return the shortest of three processing times for `pieces`, in seconds."""
    chunks, measured = [*pieces], list[float]()
    for _ in range(3):
        connection = a_connection(EchoHandler())
        started = time.process_time()
        for piece in chunks:
            connection.receive(piece)
        measured.append(time.process_time() - started)
    return min(measured)


#: Streams of a given size whose effort could grow faster than their size.
GROWING: dict[str, Callable[[int], Iterable[bytes]]] = {
    "small chunks": lambda n: [in_chunks(b"1\r\nx\r\n" * (5 * n))],
    "pipelined requests": lambda n: [a_request("/a", "A: " + "x" * 60) * n],
    "a head, byte by byte": lambda n: byte_by_byte(a_request("/" + "a" * n)),
    "a body, byte by byte": lambda n: byte_by_byte(a_post(b"x" * n)),
    "an extension, byte by byte": lambda n: byte_by_byte(in_chunks(b"1;" + b"x" * n)),
}


@pytest.mark.parametrize("stream", GROWING.values(), ids=GROWING.keys())
def test_time_grows_about_linearly_with_size(
    stream: Callable[[int], Iterable[bytes]],
) -> None:
    small, large = seconds(stream(1_500)), seconds(stream(12_000))
    assert large < 48 * small


#: First bytes of streams that could go on forever, and how they continue.
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
def test_endless_stream_is_dropped_and_not_stored(begin: bytes, more: bytes) -> None:
    connection = a_connection(EchoHandler())
    piece = more * (_PIECE // len(more))
    connection.receive(begin)
    tracemalloc.start()
    for _ in range(50):
        connection.receive(piece)
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert connection.state in (ConnectionState.DRAIN, ConnectionState.CLOSED)
    assert current < _PIECE
    assert peak < 20 * _PIECE
