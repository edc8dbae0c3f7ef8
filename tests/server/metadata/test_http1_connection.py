"""HTTP/1 connection: responses in order, however the bytes arrive."""

import pytest
from tests.server.support.dialogs import (
    EchoHandler,
    a_connection,
    a_post,
    a_request,
    exchange,
    in_chunks,
    read,
)

from forewarn.server.metadata.transport.http1 import ConnectionState, HeadCache
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import error

CHUNKS = b"3\r\nabc\r\n2;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\n"

#: Valid and invalid streams of clients.
STREAMS = {
    "a GET": a_request(),
    "a POST": a_post(b"abc"),
    "an empty POST": a_post(b""),
    "a HEAD": a_request(method="HEAD"),
    "chunks": in_chunks(CHUNKS),
    "three pipelined": a_post(b"1") + in_chunks(CHUNKS) + a_request("/b"),
    "empty lines between": b"\r\n" + a_request() + b"\r\n\r\n" + a_request("/b"),
    "an old client": a_request(version="1.0", host=None),
    "an old client that stays": a_request("/a", "Connection: keep-alive", version="1.0")
    + a_request("/b", version="1.0"),
    "a last one": a_request("/a", "Connection: close") + a_request("/b"),
    "one that expects 100": a_post(b"abc", "Expect: 100-continue") + a_request("/b"),
    "a body too large": a_request("/a", "Content-Length: 65537") + a_request("/b"),
    "broken chunks": in_chunks(b"3\r\nabcd\r\n0\r\n\r\n") + a_request("/b"),
    "a request after a broken one": b"GET\r\n\r\n" + a_request("/b"),
    "no host": a_request(host=None) + a_request("/b"),
    "a bare line feed": b"GET / HTTP/1.1\nHost: vm\r\n\r\n",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_stream_split_anywhere_gets_the_same_responses(stream: bytes) -> None:
    whole = exchange(stream)
    for place in range(len(stream)):
        cut = exchange(stream[:place], stream[place:])
        assert cut.final == whole.final, place


def test_pipelined_requests_get_responses_in_order() -> None:
    responses = exchange(
        a_request("/a") + a_post(b"two", target="/b") + a_request("/c")
    ).responses
    assert [response.body for response in responses] == [
        b"GET /a ",
        b"POST /b two",
        b"GET /c ",
    ]


def test_incomplete_request_gets_no_response() -> None:
    unfinished = exchange(a_request()[:-1])
    assert unfinished.responses == []
    assert unfinished.connection.state is ConnectionState.HEAD


def test_connection_is_idle_after_a_response() -> None:
    assert exchange(a_request()).connection.state is ConnectionState.IDLE


# --- deferred responses ------------------------------------------------------


def test_deferred_response_is_named_but_not_sent() -> None:
    waiting = exchange(a_post(b"tea", target="/later"))
    assert waiting.connection.deferred == "what tea waits for"
    assert waiting.connection.state is ConnectionState.BUSY
    assert waiting.responses == []


def test_deferred_request_and_body_are_available() -> None:
    connection = exchange(a_post(b"tea", target="/later")).connection
    assert (connection.request.path, connection.body) == ("/later", b"tea")


def test_request_is_unavailable_without_a_deferred_response() -> None:
    with pytest.raises(LookupError):
        _ = exchange(a_request()).connection.request


def test_requests_after_a_deferred_response_wait_for_it() -> None:
    echo = EchoHandler()
    connection = a_connection(echo)
    assert connection.receive(a_request("/later")) == b""
    assert connection.receive(a_request("/b")) == b""
    assert [request.path for request, _ in echo.requests] == ["/later"]


def test_responses_keep_their_order_if_one_is_deferred() -> None:
    echo = EchoHandler()
    connection = a_connection(echo)
    written = connection.receive(a_request("/a") + a_request("/later"))
    written += connection.receive(a_request("/b"))
    written += connection.resume(echo.render(connection.request, b"now"))
    written += connection.proceed()
    bodies = [response.body for response in read(written, ["GET"] * 3)]
    assert bodies == [b"GET /a ", b"GET /later now", b"GET /b "]


def test_two_deferred_responses_are_sent_in_order() -> None:
    echo = EchoHandler()
    connection = a_connection(echo)
    connection.receive(a_request("/later") + a_request("/later"))
    first = connection.resume(echo.render(connection.request, b"1"))
    assert connection.is_behind
    assert connection.proceed() == b""
    assert connection.state is ConnectionState.BUSY
    second = connection.resume(echo.render(connection.request, b"2"))
    bodies = [response.body for response in read(first + second, ["GET"] * 2)]
    assert bodies == [b"GET /later 1", b"GET /later 2"]


def test_deferred_response_may_be_deferred_again() -> None:
    connection = exchange(a_request("/later")).connection
    assert connection.resume("something else") == b""
    assert connection.deferred == "something else"
    assert connection.state is ConnectionState.BUSY


def test_one_turn_writes_a_bounded_number_of_bytes() -> None:
    class LargeResponses(EchoHandler):
        def render(self, request: Request, body: bytes) -> bytes:
            return super().render(request, b"x" * 20_000)

    handler = LargeResponses()
    connection = a_connection(handler)
    written = connection.receive(a_request("/a") * 10)
    assert len(handler.requests) == 4
    while connection.is_behind:
        written += connection.proceed()
    responses = read(written, ["GET"] * 10)
    assert [len(response.body) for response in responses] == [20_007] * 10


def test_one_turn_parses_a_bounded_number_of_requests() -> None:
    echo = EchoHandler()
    connection = a_connection(echo)
    connection.receive(a_request() * 100)
    assert len(echo.requests) == 16
    connection.receive(a_request())  # waits behind the others
    assert len(echo.requests) == 16
    connection.proceed()
    assert len(echo.requests) == 32


def test_one_turn_parses_a_bounded_number_of_bytes() -> None:
    echo = EchoHandler()
    connection = a_connection(echo)
    connection.receive(a_request("/a", "A: " + "x" * 10_000) * 5)
    assert len(echo.requests) == 2
    connection.proceed()
    assert len(echo.requests) == 4


def test_connection_that_waits_for_its_turn_buffers_a_bounded_amount() -> None:
    connection = a_connection(EchoHandler())
    connection.receive(a_request() * 100)
    for _ in range(5):
        connection.receive(b"x" * 64 * 1024)
    assert connection.state is ConnectionState.CLOSED
    assert not connection.is_behind


def test_body_has_a_bounded_number_of_chunks() -> None:
    allowed = exchange(in_chunks(b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n"))
    assert [response.status for response in allowed.responses] == [200]
    refused = exchange(in_chunks(b"1\r\nx\r\n" * 1001))
    assert [response.status for response in refused.responses] == [413]


def test_cached_head_is_parsed_once_and_dropped_when_unused() -> None:
    cache, used, unused = HeadCache(), a_request("/used"), a_request("/unused")
    first = {head: cache.read(head) for head in (used, unused)}
    cache.drop_unused()
    assert cache.whole == {}
    assert cache.read(used) is first[used]
    assert cache.whole == {used: first[used]}
    cache.drop_unused()
    assert cache.read(used) is first[used]
    assert cache.read(unused) is not first[unused]


def test_cache_of_heads_is_bounded() -> None:
    cache = HeadCache()
    requests = [cache.read(a_request(f"/{number}")) for number in range(6000)]
    cached = [cache.read(a_request(f"/{number}")) for number in range(5999, -1, -1)]
    kept = sum(
        first is last for first, last in zip(requests, reversed(cached), strict=True)
    )
    assert 2048 <= kept <= 2 * 2048


def test_unexpected_response_is_dropped() -> None:
    connection = exchange(a_request()).connection
    assert connection.resume(b"HTTP/1.1 200 OK\r\n\r\n") == b""


def test_client_that_sends_too_much_while_waiting_is_closed() -> None:
    connection = exchange(a_request("/later")).connection
    for _ in range(5):
        connection.receive(bytes(64 * 1024))
    assert connection.state is ConnectionState.CLOSED


def test_deferred_last_request_closes_the_connection() -> None:
    connection = exchange(a_request("/later", "Connection: close")).connection
    connection.resume(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert connection.state is ConnectionState.CLOSED


# --- closing -----------------------------------------------------------------


def test_connection_close_is_echoed() -> None:
    response = exchange(a_request("/a", "Connection: close")).responses[0]
    assert response.header(b"connection") == b"close"


def test_connection_close_closes_the_connection() -> None:
    assert (
        exchange(a_request("/a", "Connection: close")).connection.state
        is ConnectionState.CLOSED
    )


def test_requests_after_connection_close_are_ignored() -> None:
    last = exchange(a_request("/a", "Connection: close") + a_request("/b"))
    assert [response.body for response in last.responses] == [b"GET /a "]
    assert last.connection.state is ConnectionState.DRAIN


def test_http_1_0_connection_is_closed_after_the_response() -> None:
    old = exchange(a_request(version="1.0"))
    assert old.responses[0].header(b"connection") == b"close"
    assert old.connection.state is ConnectionState.CLOSED


def test_http_1_0_client_may_request_keep_alive() -> None:
    old = exchange(a_request("/a", "Connection: keep-alive", version="1.0"))
    assert old.responses[0].header(b"connection") == b"keep-alive"
    assert old.connection.state is ConnectionState.IDLE


def test_requests_after_an_error_are_ignored() -> None:
    broken = exchange(b"GET / HTTP/1.1\r\n\r\n" + a_request(), a_request())
    assert broken.statuses == [400]
    assert broken.connection.state is ConnectionState.DRAIN


def test_requests_before_an_error_get_responses() -> None:
    assert exchange(a_request() + b"nonsense\r\n\r\n").statuses == [200, 400]


def test_error_response_closes_the_connection() -> None:
    assert exchange(b"nonsense\r\n\r\n").responses[0].header(b"connection") == b"close"


def test_owner_of_the_socket_may_end_the_connection() -> None:
    connection = exchange(a_request()[:-1]).connection
    written = connection.fail(error(408, "too slow"))
    assert [response.status for response in read(written, [])] == [408]
    assert connection.receive(a_request()) == b""
