"""A connection: answers come in order, however the bytes arrive."""

import pytest
from tests.server.support.dialogs import (
    Echo,
    a_connection,
    a_post,
    a_request,
    byte_by_byte,
    in_chunks,
    read,
    talk,
)

from forewarn.server.metadata.transport.http1 import ConnectionState
from forewarn.server.metadata.transport.responses import error

CHUNKS = b"3\r\nabc\r\n2;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\n"

#: What clients send, and what they should not.
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
    "one that asks first": a_post(b"abc", "Expect: 100-continue") + a_request("/b"),
    "a body too large": a_request("/a", "Content-Length: 65537") + a_request("/b"),
    "broken chunks": in_chunks(b"3\r\nabcd\r\n0\r\n\r\n") + a_request("/b"),
    "a request after a broken one": b"GET\r\n\r\n" + a_request("/b"),
    "no host": a_request(host=None) + a_request("/b"),
    "a bare line feed": b"GET / HTTP/1.1\nHost: vm\r\n\r\n",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_bytes_one_by_one_are_answered_as_all_at_once(stream: bytes) -> None:
    whole, cut = talk(stream), talk(*byte_by_byte(stream))
    assert cut.final == whole.final
    assert cut.echo.asked == whole.echo.asked


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_cut_anywhere_is_answered_as_all_at_once(stream: bytes) -> None:
    whole = talk(stream)
    for place in range(len(stream)):
        cut = talk(stream[:place], stream[place:])
        assert cut.final == whole.final, place


def test_pipelined_requests_are_answered_in_order() -> None:
    said = talk(a_request("/a") + a_post(b"two", target="/b") + a_request("/c")).said
    assert [each.body for each in said] == [b"GET /a ", b"POST /b two", b"GET /c "]


def test_a_request_that_is_not_whole_is_not_answered() -> None:
    unfinished = talk(a_request()[:-1])
    assert unfinished.said == []
    assert unfinished.connection.state is ConnectionState.HEAD


def test_after_an_answer_the_connection_waits_for_the_next_request() -> None:
    assert talk(a_request()).connection.state is ConnectionState.IDLE


# --- deferred answers --------------------------------------------------------


def test_a_deferred_answer_is_named_and_not_given() -> None:
    waiting = talk(a_post(b"tea", target="/later"))
    assert waiting.connection.deferred == "what tea waits for"
    assert waiting.connection.state is ConnectionState.BUSY
    assert waiting.said == []


def test_whoever_makes_the_answer_finds_the_request_and_its_body() -> None:
    connection = talk(a_post(b"tea", target="/later")).connection
    assert (connection.request.path, connection.body) == ("/later", b"tea")


def test_without_a_deferred_answer_there_is_no_request() -> None:
    with pytest.raises(LookupError):
        _ = talk(a_request()).connection.request


def test_requests_behind_a_deferred_answer_wait_for_it() -> None:
    echo = Echo()
    connection = a_connection(echo)
    assert connection.receive(a_request("/later")) == b""
    assert connection.receive(a_request("/b")) == b""
    assert [request.path for request, _ in echo.asked] == ["/later"]


def test_answers_keep_their_order_when_one_was_deferred() -> None:
    echo = Echo()
    connection = a_connection(echo)
    written = connection.receive(a_request("/a") + a_request("/later"))
    written += connection.receive(a_request("/b"))
    written += connection.resume(echo.say(connection.request, b"now"))
    bodies = [said.body for said in read(written, ["GET"] * 3)]
    assert bodies == [b"GET /a ", b"GET /later now", b"GET /b "]


def test_two_deferred_answers_are_given_one_after_the_other() -> None:
    echo = Echo()
    connection = a_connection(echo)
    connection.receive(a_request("/later") + a_request("/later"))
    first = connection.resume(echo.say(connection.request, b"1"))
    assert connection.state is ConnectionState.BUSY
    second = connection.resume(echo.say(connection.request, b"2"))
    bodies = [said.body for said in read(first + second, ["GET"] * 2)]
    assert bodies == [b"GET /later 1", b"GET /later 2"]


def test_what_was_waited_for_may_lead_to_more_waiting() -> None:
    connection = talk(a_request("/later")).connection
    assert connection.resume("something else") == b""
    assert connection.deferred == "something else"
    assert connection.state is ConnectionState.BUSY


def test_of_many_requests_some_are_answered_at_once_and_the_rest_on_demand() -> None:
    echo = Echo()
    connection = a_connection(echo)
    written = connection.receive(a_post(b"x" * 20_000) * 10)
    assert len(echo.asked) == 4
    while connection.is_behind:
        written += connection.proceed()
    assert [len(said.body) for said in read(written, ["POST"] * 10)] == [20_008] * 10


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    connection = talk(a_request()).connection
    assert connection.resume(b"HTTP/1.1 200 OK\r\n\r\n") == b""


def test_a_client_that_sends_without_end_while_it_waits_is_left() -> None:
    connection = talk(a_request("/later")).connection
    for _ in range(5):
        connection.receive(bytes(64 * 1024))
    assert connection.state is ConnectionState.CLOSED


def test_a_last_request_that_was_deferred_ends_the_connection() -> None:
    connection = talk(a_request("/later", "Connection: close")).connection
    connection.resume(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert connection.state is ConnectionState.CLOSED


# --- the end -----------------------------------------------------------------


def test_a_request_to_close_is_echoed() -> None:
    said = talk(a_request("/a", "Connection: close")).said[0]
    assert said.header(b"connection") == b"close"


def test_after_a_request_to_close_the_connection_is_closed() -> None:
    assert (
        talk(a_request("/a", "Connection: close")).connection.state
        is ConnectionState.CLOSED
    )


def test_what_follows_a_request_to_close_is_not_answered() -> None:
    last = talk(a_request("/a", "Connection: close") + a_request("/b"))
    assert [each.body for each in last.said] == [b"GET /a "]
    assert last.connection.state is ConnectionState.DRAIN


def test_an_old_client_is_left_after_its_answer() -> None:
    old = talk(a_request(version="1.0"))
    assert old.said[0].header(b"connection") == b"close"
    assert old.connection.state is ConnectionState.CLOSED


def test_an_old_client_may_ask_to_stay() -> None:
    old = talk(a_request("/a", "Connection: keep-alive", version="1.0"))
    assert old.said[0].header(b"connection") == b"keep-alive"
    assert old.connection.state is ConnectionState.IDLE


def test_after_an_error_nothing_more_is_answered() -> None:
    broken = talk(b"GET / HTTP/1.1\r\n\r\n" + a_request(), a_request())
    assert broken.statuses == [400]
    assert broken.connection.state is ConnectionState.DRAIN


def test_the_answers_before_an_error_are_given() -> None:
    assert talk(a_request() + b"nonsense\r\n\r\n").statuses == [200, 400]


def test_an_error_says_that_the_connection_ends() -> None:
    assert talk(b"nonsense\r\n\r\n").said[0].header(b"connection") == b"close"


def test_whoever_owns_the_socket_may_end_the_talk() -> None:
    connection = talk(a_request()[:-1]).connection
    written = connection.fail(error(408, "too slow"))
    assert [each.status for each in read(written, [])] == [408]
    assert connection.receive(a_request()) == b""
