"""Request bodies: Content-Length, chunked, too large, and `Expect: 100-continue`."""

import pytest
from tests.server.support.dialogs import (
    a_post,
    a_request,
    byte_by_byte,
    exchange,
    in_chunks,
)

from forewarn.server.metadata.transport.http1 import ConnectionState
from forewarn.server.metadata.transport.requests import MAX_BODY, MAX_HEAD


def body_of(data: bytes) -> bytes:
    """Parse `data`, which must be one valid request, and return its body."""
    ((_, body),) = exchange(data).echo.requests
    return body


def test_body_ends_at_content_length() -> None:
    assert body_of(a_post(b"abc") + b"\r\n") == b"abc"


def test_body_may_contain_any_bytes() -> None:
    content = bytes(range(256)) + b"\r\n\r\n"
    assert body_of(a_post(content)) == content


def test_get_may_have_a_body() -> None:
    with_body = a_request("/a", "Content-Length: 3", body=b"abc")
    assert exchange(with_body + a_request("/b")).statuses == [200, 200]


def test_head_response_has_a_length_but_no_body() -> None:
    response = exchange(a_request(method="HEAD")).responses[0]
    assert response.body == b""
    assert response.header(b"content-length") == str(len("HEAD /a ")).encode()


def test_connection_continues_after_a_head_request() -> None:
    assert exchange(a_request(method="HEAD") + a_request()).statuses == [200, 200]


# --- too large ---------------------------------------------------------------


def test_body_at_the_limit_is_read() -> None:
    assert len(body_of(a_post(b"x" * MAX_BODY))) == MAX_BODY


def test_body_over_the_limit_is_refused_before_it_arrives() -> None:
    head = a_request("/a", f"Content-Length: {MAX_BODY + 1}", method="POST")
    refused = exchange(head)
    assert refused.statuses == [413]
    assert refused.echo.requests == []


@pytest.mark.parametrize("length", ["9999999999999999999", "0000000000000065537"])
def test_content_length_over_the_limit_gets_413_in_any_spelling(length: str) -> None:
    head = a_request("/a", f"Content-Length: {length}", method="POST")
    assert exchange(head).statuses == [413]


def test_content_length_may_have_leading_zeros() -> None:
    length = f"Content-Length: {3:020}"
    assert body_of(a_request("/a", length, method="POST", body=b"abc")) == b"abc"


def test_body_over_the_limit_is_discarded() -> None:
    large = exchange(a_post(b"x" * 70_000), b"more", a_request())
    assert large.statuses == [413]
    assert large.connection.state is ConnectionState.DRAIN


def test_oversized_body_of_a_head_request_is_refused_without_a_body() -> None:
    length = f"Content-Length: {MAX_BODY + 1}"
    refused = exchange(a_request("/a", length, method="HEAD"))
    assert refused.statuses == [413]
    assert refused.responses[0].body == b""


@pytest.mark.parametrize("size", [MAX_BODY + 1, 0xFFFFFFFF, 2**64 + 3])
def test_chunk_over_the_limit_is_refused_before_it_arrives(size: int) -> None:
    assert exchange(in_chunks(b"%x\r\n" % size)).statuses == [413]


def test_chunks_over_the_limit_in_total_are_refused() -> None:
    half = b"8001\r\n" + b"x" * 0x8001 + b"\r\n"
    assert exchange(in_chunks(half + half)).statuses == [413]


def test_chunks_up_to_the_limit_in_total_are_read() -> None:
    half = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    assert len(body_of(in_chunks(half + half + b"0\r\n\r\n"))) == MAX_BODY


# --- chunks ------------------------------------------------------------------

CHUNKS = {
    "one": b"3\r\nabc\r\n0\r\n\r\n",
    "several": b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
    "leading zeros": b"003\r\nabc\r\n000\r\n\r\n",
    "an extension": b"3;a=b\r\nabc\r\n0;c\r\n\r\n",
    "twenty digits": b"00000000000000000003\r\nabc\r\n0\r\n\r\n",
    "several extensions": b"3;a;b=c;d\r\nabc\r\n0\r\n\r\n",
    "a quoted extension": b'3;a="b; \\" \xe9"\r\nabc\r\n0\r\n\r\n',
    "a trailer that is ignored": b"3\r\nabc\r\n0\r\nConnection: close\r\n\r\n",
    "trailers": b"3\r\nabc\r\n0\r\nA: b\r\nC:\r\n\r\n",
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS.keys())
def test_chunked_body_is_assembled(chunks: bytes) -> None:
    assert body_of(in_chunks(chunks)) == b"abc"


def test_chunk_sizes_are_hexadecimal_in_any_case() -> None:
    body = b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"
    assert body_of(in_chunks(body)) == b"0123456789" * 2


def test_zero_chunks_are_an_empty_body() -> None:
    assert body_of(in_chunks(b"0\r\n\r\n")) == b""


def test_chunk_may_contain_the_end_marker() -> None:
    assert body_of(in_chunks(b"5\r\n0\r\n\r\n\r\n0\r\n\r\n")) == b"0\r\n\r\n"


def test_request_may_follow_a_chunked_body() -> None:
    assert exchange(in_chunks(CHUNKS["trailers"]) + a_request()).statuses == [200, 200]


def test_transfer_encoding_is_case_insensitive() -> None:
    coding = "Transfer-Encoding: Chunked"
    data = a_request("/a", coding, method="POST", body=CHUNKS["one"])
    assert body_of(data) == b"abc"


BROKEN = {
    "no size": b"\r\nabc\r\n0\r\n\r\n",
    "a size that is not a number": b"x\r\nabc\r\n0\r\n\r\n",
    "a size with a sign": b"+3\r\nabc\r\n0\r\n\r\n",
    "a negative size": b"-1\r\nabc\r\n0\r\n\r\n",
    "a size with a prefix": b"0x3\r\nabc\r\n0\r\n\r\n",
    "a size with an underscore": b"0_3\r\nabc\r\n0\r\n\r\n",
    "a space before the size": b" 3\r\nabc\r\n0\r\n\r\n",
    "more than twenty digits": b"000000000000000000003\r\nabc\r\n0\r\n\r\n",
    "a space after the size": b"3 \r\nabc\r\n0\r\n\r\n",
    "a space before an extension": b"3 ;a\r\nabc\r\n0\r\n\r\n",
    "a space in an extension": b"3;a =b\r\nabc\r\n0\r\n\r\n",
    "an extension without name": b"3;\r\nabc\r\n0\r\n\r\n",
    "an extension with an empty value": b"3;a=\r\nabc\r\n0\r\n\r\n",
    "an extension with two values": b"3;a=b=c\r\nabc\r\n0\r\n\r\n",
    "an open quote": b'3;a="b\r\nabc\r\n0\r\n\r\n',
    "something behind a quote": b'3;a="b"c\r\nabc\r\n0\r\n\r\n',
    "a bare carriage return in an extension": b"3;a\rb\r\nabc\r\n0\r\n\r\n",
    "more than its size": b"3\r\nabcd\r\n0\r\n\r\n",
    "less than its size": b"4\r\nabc\r\n0\r\n\r\n",
    "a bare line feed after the size": b"3\nabc\r\n0\r\n\r\n",
    "a bare line feed after the chunk": b"3\r\nabc\n0\r\n\r\n",
    "a bare line feed in an extension": b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "a line that does not end": b"3;" + b"x" * 20_000,
    "a trailer without colon": b"0\r\nA\r\n\r\n",
    "a trailer with a space before the colon": b"0\r\nA : b\r\n\r\n",
    "a trailer with a bare line feed": b"0\r\nA: b\nc: d\r\n\r\n",
    "a folded trailer": b"0\r\nA: b\r\n c\r\n\r\n",
    "a length in a trailer": b"0\r\nContent-Length: 5\r\n\r\n",
    "a coding in a trailer": b"0\r\ntransfer-encoding: chunked\r\n\r\n",
    "endless trailers": b"0\r\n" + b"A: b\r\n" * 5000,
    "endless extensions": (b"1;" + b"x" * 1000 + b"\r\na\r\n") * 20,
}


@pytest.mark.parametrize("chunks", BROKEN.values(), ids=BROKEN.keys())
def test_malformed_chunks_get_400(chunks: bytes) -> None:
    stream = in_chunks(chunks) + b"\r\n" * 8
    for broken in (exchange(stream), exchange(*byte_by_byte(stream))):
        assert broken.statuses == [400]
        assert broken.echo.requests == []
        assert broken.connection.state is ConnectionState.DRAIN


LINES = {
    "a size": b"3;%s\r\nabc\r\n0\r\n\r\n",
    "a trailer": b"3\r\nabc\r\n0\r\nA: %s\r\n\r\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
@pytest.mark.parametrize("length", [*range(MAX_HEAD - 6, MAX_HEAD + 20, 2), 20_000])
def test_long_line_gets_the_same_status_however_it_is_split(
    line: bytes, length: int
) -> None:
    data = in_chunks(line % (b"x" * length))
    assert (
        exchange(data[:-40], *byte_by_byte(data[-40:])).statuses
        == exchange(data).statuses
    )


@pytest.mark.parametrize("chunks", [b"3\n", b"0\r\n\n", b"0\r\nA: b\n"])
def test_bare_line_feed_among_chunks_is_refused_immediately(chunks: bytes) -> None:
    assert exchange(in_chunks(chunks)).statuses == [400]


# --- Expect: 100-continue ----------------------------------------------------


def test_expectation_gets_100_continue() -> None:
    head = a_request("/a", "Content-Length: 3", "Expect: 100-continue", method="POST")
    assert exchange(head).statuses == [100]
    assert exchange(head, b"abc").statuses == [100, 200]


def test_expectation_with_chunked_body_gets_100_continue() -> None:
    assert exchange(in_chunks(b"", "Expect: 100-continue")).statuses == [100]


def test_body_sent_without_waiting_gets_no_100() -> None:
    assert exchange(a_post(b"abc", "Expect: 100-continue")).statuses == [200]


def test_expectation_with_oversized_body_gets_413_immediately() -> None:
    expect = "Expect: 100-continue"
    length = f"Content-Length: {MAX_BODY + 1}"
    assert exchange(a_request("/a", length, expect, method="POST")).statuses == [413]


def test_expectation_without_a_body_gets_no_100() -> None:
    assert exchange(a_post(b"", "Expect: 100-continue")).statuses == [200]


def test_http_1_0_expectation_gets_no_100() -> None:
    head = a_request(
        "/a", "Content-Length: 3", "Expect: 100-continue", method="POST", version="1.0"
    )
    assert exchange(head).statuses == []


EXPECTING = ("Expect: 100-Continue", "Expect: x, 100-continue", "expect:100-continue,")


@pytest.mark.parametrize("line", EXPECTING)
def test_expectation_is_recognized_in_any_spelling(line: str) -> None:
    assert exchange(a_request("/a", line, "Content-Length: 3")).statuses == [100]


def test_unknown_expectation_is_ignored() -> None:
    assert exchange(a_post(b"abc", "Expect: miracles")).statuses == [200]
