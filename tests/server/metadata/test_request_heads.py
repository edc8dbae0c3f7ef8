"""Request heads: parsed headers, and refused heads that could smuggle a request."""

import pytest
from tests.server.support.dialogs import (
    a_post,
    a_request,
    byte_by_byte,
    exchange,
    in_chunks,
    read,
    the_request,
)

from forewarn.server.metadata.transport.http1 import ConnectionState
from forewarn.server.metadata.transport.requests import MAX_HEAD
from forewarn.server.metadata.transport.responses import error

# --- headers -----------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["Metadata: true", "metadata:True", "METADATA:  TRUE "]
)
def test_metadata_header_is_case_insensitive(line: str) -> None:
    assert the_request(a_request("/a", line)).has_metadata_header


@pytest.mark.parametrize("line", ["Metadata: false", "Metadata:", "Metadata: 1"])
def test_other_value_of_the_metadata_header_counts_as_missing(line: str) -> None:
    assert not the_request(a_request("/a", line)).has_metadata_header


@pytest.mark.parametrize("value", ["10.0.0.1", "", " "])
def test_forwarded_request_is_recognized_for_any_value(value: str) -> None:
    assert the_request(a_request("/a", f"X-Forwarded-For: {value}")).is_forwarded


def test_repeated_if_none_match_headers_are_joined() -> None:
    request = a_request("/a", 'If-None-Match: "a"', 'If-None-Match: "b"')
    assert the_request(request).if_none_match == '"a","b"'


# --- refusals ----------------------------------------------------------------

#: A parser that reads one of these heads in another way would see this request.
HIDDEN = a_request("/hidden")

BROKEN = {
    "no request at all": b"nonsense\r\n\r\n",
    "a method in lower case": a_request(method="get"),
    "a method that nobody knows": a_request(method="BREW"),
    "two spaces after the method": a_request(method="GET "),
    "two spaces after the target": a_request("/a "),
    "a space before the method": a_request(method=" GET"),
    "a space after the version": a_request(version="1.1 "),
    "another protocol": b"DESCRIBE / RTSP/1.0\r\nHost: vm\r\n\r\n",
    "yet another protocol": b"SOURCE / ICE/1.0\r\nHost: vm\r\n\r\n",
    "a tunnel": a_request("vm:80", method="CONNECT"),
    "a tunnel to a path": a_request("/a", method="CONNECT"),
    "no host": a_request(host=None),
    "two hosts": a_request("/a", "Host: vm"),
    "two hosts from an old client": a_request("/a", "Host: vm", version="1.0"),
    "a host with a space": a_request(host="Host: a b"),
    "a host with a path": a_request(host="Host: a/b"),
    "a host with a user": a_request(host="Host: u@a"),
    "a host with a broken escape": a_request(host="Host: a%4"),
    "a port that is not a number": a_request(host="Host: a:b"),
    "a host of an old client with a space": a_request(host="Host: a b", version="1.0"),
    "a bare line feed": b"GET / HTTP/1.1\nHost: vm\r\n\r\n",
    "a bare carriage return": b"GET / HTTP/1.1\rHost: vm\r\n\r\n",
    "a line feed in a value": a_request("/a", "A: b\nMetadata: true"),
    "a carriage return in a value": a_request("/a", "A: b\rMetadata: true"),
    "a NUL in a value": a_request("/a", "A: b\0c"),
    "a folded line": a_request("/a", "A: b", " c"),
    "a folded first line": a_request(host=" Host: vm"),
    "a line of spaces": a_request("/a", "  "),
    "a control character in a value": a_request("/a", "A: b\x01c"),
    "a name with eight bits": a_request("/a", "\xe9: b"),
    "a space before the colon": a_request("/a", "Metadata : true"),
    "a header without colon": a_request("/a", "Metadata"),
    "a header without name": a_request("/a", ": true"),
    "two lengths": a_request("/a", "Content-Length: 0", "Content-Length: 1"),
    "the same length twice": a_request("/a", "Content-Length: 0", "Content-Length: 0"),
    "a list of lengths": a_request("/a", "Content-Length: 0, 0"),
    "a negative length": a_request("/a", "Content-Length: -1"),
    "a length with a sign": a_request("/a", "Content-Length: +1"),
    "a length that is not a number": a_request("/a", "Content-Length: one"),
    "an empty length": a_request("/a", "Content-Length:"),
    "a length in hexadecimal": a_request("/a", "Content-Length: 0x1"),
    "an absurd length": a_request("/a", f"Content-Length: {'9' * 40}"),
    "a length beyond 64 bits": a_request("/a", f"Content-Length: {2**64}"),
    "length and chunks": a_request(
        "/a", "Content-Length: 3", "Transfer-Encoding: chunked"
    ),
    "chunks and length": a_request(
        "/a", "Transfer-Encoding: chunked", "Content-Length: 3"
    ),
    "a length with an underscore": a_request("/a", "Content-Length: 0_0"),
    "a length in other digits": a_request("/a", "Content-Length: \xb2"),
    "a length behind a space": a_request("/a", "Content-Length : 40"),
    "a length in a folded line": a_request("/a", "A: b", " Content-Length: 40"),
    "a length behind a line feed": a_request("/a", "A: b\nContent-Length: 40"),
    "a length behind a carriage return": a_request("/a", "A: b\rContent-Length: 40"),
    "a length whose name has a NUL": a_request("/a", "Content-Length\0: 40"),
    "an unknown coding": a_request("/a", "Transfer-Encoding: gzip"),
    "an unknown coding of an old client": a_request(
        "/a", "Transfer-Encoding: cow", "Content-Length: 4", version="1.0"
    ),
    "a coding behind a space": a_request("/a", "Transfer-Encoding : chunked"),
    "a coding in a folded line": a_request("/a", "Transfer-Encoding:", " chunked"),
    "a coding behind a vertical tab": a_request("/a", "Transfer-Encoding: \x0bchunked"),
    "a coding and a NUL": a_request("/a", "Transfer-Encoding: chunked\0"),
    "a coding in quotes": a_request("/a", 'Transfer-Encoding: "chunked"'),
    "a coding with a parameter": a_request("/a", "Transfer-Encoding: chunked;a"),
    "a coding that is not the last": a_request(
        "/a", "Transfer-Encoding: chunked, identity"
    ),
    "two codings": a_request("/a", "Transfer-Encoding: gzip, chunked"),
    "a coding twice": a_request(
        "/a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"
    ),
    "a coding in disguise": a_request("/a", "Transfer-Encoding: xchunked"),
    "a coding and nothing": a_request("/a", "Transfer-Encoding: chunked,"),
    "a coding behind a space of another kind": a_request(
        "/a", "Transfer-Encoding: \xa0chunked"
    ),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_malformed_head_gets_400_and_hides_no_request(data: bytes) -> None:
    for pieces in ([data], [data + HIDDEN], byte_by_byte(data + HIDDEN)):
        broken = exchange(*pieces)
        (response,) = broken.responses
        assert response.status == 400
        assert response.header(b"content-type") == b"application/json; charset=utf-8"
        assert response.body.startswith(b'{ "error": "Bad request. ')
        assert broken.echo.requests == []


#: Valid streams that only seem to contain a second request.
HARMLESS = {
    "in a body": a_request("/a", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
    "in a chunk": in_chunks(b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)),
    "behind the last request": a_request("/a", "Connection: close") + HIDDEN,
    "behind chunks of an old client": a_request(
        "/a", "Transfer-Encoding: chunked", version="1.0"
    )
    + b"0\r\n\r\n"
    + HIDDEN,
    "in an offer": a_request(
        "/a", "Connection: upgrade", "Upgrade: x", f"Content-Length: {len(HIDDEN)}"
    )
    + HIDDEN,
}


@pytest.mark.parametrize("stream", HARMLESS.values(), ids=HARMLESS.keys())
def test_seeming_second_request_is_ignored(stream: bytes) -> None:
    harmless = exchange(stream)
    assert harmless.statuses == [200]
    assert [request.path for request, _ in harmless.echo.requests] == ["/a"]


VERSIONS = (
    b"GET /",
    b"GET / HTTP/0.9",
    b"GET / HTTP/1.2",
    b"GET / HTTP/2.0",
    b"PRI * HTTP/2.0",
)


@pytest.mark.parametrize("line", VERSIONS)
def test_other_http_versions_get_505(line: bytes) -> None:
    assert exchange(line + b"\r\nHost: vm\r\n\r\n").statuses == [505]


def test_upgrade_offer_is_ignored() -> None:
    offer = a_request("/a", "Connection: Upgrade", "Upgrade: h2c")
    assert exchange(offer + a_request("/b")).statuses == [200, 200]


def test_request_after_a_head_is_parsed_separately() -> None:
    hidden = a_request("/a", "Content-Length: 0") + a_request("/b")
    assert [request.path for request, _ in exchange(hidden).echo.requests] == [
        "/a",
        "/b",
    ]


CLOSING = (
    "Connection: close",
    "connection:Close",
    "Connection: x, close",
    "Connection: ,close,",
    "Connection: close\t, keep-alive",
)


@pytest.mark.parametrize("line", CLOSING)
def test_connection_close_is_recognized_in_any_form(line: str) -> None:
    assert the_request(a_request("/a", line)).is_last


def test_connection_close_in_one_of_several_headers_counts() -> None:
    lines = ("Connection: close", "Connection: keep-alive")
    assert the_request(a_request("/a", *lines)).is_last


@pytest.mark.parametrize("value", ["\xa0close", "close;x", "closed"])
def test_similar_connection_values_do_not_close(value: str) -> None:
    assert not the_request(a_request("/a", f"Connection: {value}")).is_last


HOSTS = (
    "",
    "vm",
    "169.254.169.254:80",
    "[fd00::1]",
    "[fd00::1]:80",
    "a_b",
    "a%20b",
    "a:",
)


@pytest.mark.parametrize("host", HOSTS)
def test_any_valid_host_is_accepted(host: str) -> None:
    assert the_request(a_request(host=f"Host: {host}")).path == "/a"


def test_http_1_0_request_needs_no_host() -> None:
    assert the_request(a_request(host=None, version="1.0")).is_last


# --- size limit --------------------------------------------------------------


def a_head_of(size: int) -> bytes:
    filler = size - len(a_request("/a", "A: "))
    return a_request("/a", f"A: {'x' * filler}")


def test_head_below_the_limit_is_read() -> None:
    assert exchange(a_head_of(MAX_HEAD - 1)).statuses == [200]


def test_head_over_the_limit_gets_431() -> None:
    assert exchange(a_head_of(MAX_HEAD + 100)).statuses == [431]


def test_endless_head_gets_431() -> None:
    assert exchange(a_head_of(MAX_HEAD + 100)[:-2]).statuses == [431]


@pytest.mark.parametrize("over", range(-4, 8))
def test_head_near_the_limit_gets_the_same_status_however_it_is_split(
    over: int,
) -> None:
    head = a_head_of(MAX_HEAD + over)
    slowly = exchange(head[:-8], *byte_by_byte(head[-8:]))
    assert slowly.statuses == exchange(head).statuses


def test_small_request_before_a_large_one_is_served() -> None:
    assert exchange(a_request() + a_head_of(MAX_HEAD + 100)).statuses == [200, 431]


def test_body_does_not_count_toward_the_head_limit() -> None:
    assert exchange(a_post(b"x" * (MAX_HEAD + 100))).statuses == [200]


# --- empty lines and wrong line ends -----------------------------------------


@pytest.mark.parametrize("part", [b"GET /a HTTP/1.1\nHost", b"GET /a\rHTTP", b"GE\0"])
def test_wrong_line_end_gets_400_before_the_head_is_complete(
    part: bytes,
) -> None:
    assert exchange(part).statuses == [400]
    assert exchange(*byte_by_byte(part)).statuses == [400]


def test_line_feed_is_not_joined_with_the_previous_body() -> None:
    assert exchange(a_post(b"\r") + b"\nGET").statuses == [200, 400]


def test_up_to_four_empty_lines_before_a_request_are_ignored() -> None:
    assert exchange(b"\r\n" * 4 + a_request()).statuses == [200]
    assert exchange(b"\r\n" * 5 + a_request()).statuses == [400]


def test_empty_lines_are_counted_however_they_arrive() -> None:
    assert exchange(*byte_by_byte(b"\r\n" * 4)).statuses == []
    assert exchange(*byte_by_byte(b"\r\n" * 5)).statuses == [400]


def test_each_request_may_have_empty_lines_before_it() -> None:
    pieces = [b"\r\n\r\n", a_request()] * 5
    assert exchange(*pieces).statuses == [200] * 5
    assert exchange(b"".join(pieces)).statuses == [200] * 5


def test_connection_is_idle_after_an_empty_line() -> None:
    assert exchange(a_post(b"abc") + b"\r\n").connection.state is ConnectionState.IDLE


def test_bare_line_feed_before_a_request_gets_400() -> None:
    assert exchange(b"\n" + a_request()).statuses == [400]


BROKEN_HEADS = {
    "broken": a_request(method="HEAD", host=None),
    "broken at once": b"HEAD /a\nHTTP/1.1",
    "after empty lines": b"\r\n\r\n" + a_request(method="HEAD", host=None),
    "too large": a_request(f"/{'a' * 20_000}", method="HEAD"),
    "not the first": a_request() + a_request(method="HEAD", host=None),
}


@pytest.mark.parametrize("data", BROKEN_HEADS.values(), ids=BROKEN_HEADS.keys())
def test_invalid_head_request_is_refused_without_a_body(data: bytes) -> None:
    assert exchange(data).responses[-1].status in (400, 431)
    assert exchange(data).responses[-1].body == b""


def test_slow_head_request_is_refused_without_a_body() -> None:
    connection = exchange(b"HEAD /a HT").connection
    (response,) = read(connection.fail(error(408, "too slow")), ["HEAD"])
    assert response.body == b""
