"""Heads of requests: what is read out of them, and which are refused."""

import pytest
from tests.server.talk import a_post, a_request, byte_by_byte, talk

from forewarn.server.requests import MOST_HEAD, Request


def the_request(data: bytes) -> Request:
    """Read `data`, which must be one good request."""
    asked = talk(data).echo.asked
    assert len(asked) == 1, talk(data).said
    return asked[0][0]


# --- targets -----------------------------------------------------------------


def test_the_path_is_percent_decoded() -> None:
    assert the_request(a_request("/a%20b%2Dc")).path == "/a b-c"


def test_the_path_is_percent_decoded_only_once() -> None:
    assert the_request(a_request("/a%2520b")).path == "/a%20b"


def test_the_query_is_percent_decoded_only_once() -> None:
    assert the_request(a_request("/a?b=%2520")).query == (("b", "%20"),)


def test_an_escaped_question_mark_begins_the_query() -> None:
    request = the_request(a_request("/a%3Fapi-version=2017-08-01"))
    assert request.path == "/a"
    assert request.query == (("api-version", "2017-08-01"),)


def test_a_query_behind_an_escaped_question_mark_is_decoded_only_once() -> None:
    assert the_request(a_request("/a%3Fb=%2520")).query == (("b", "%20"),)


def test_a_question_mark_escaped_twice_is_part_of_the_path() -> None:
    assert the_request(a_request("/a%253Fb=1")).path == "/a%3Fb=1"


def test_parameters_behind_both_kinds_of_question_mark_are_found() -> None:
    query = the_request(a_request("/a%3Fb=1?c=2")).query
    assert query == (("b", "1"), ("c", "2"))


def test_a_parameter_without_value_is_kept() -> None:
    assert the_request(a_request("/a?b&c=")).query == (("b", ""), ("c", ""))


def test_a_target_may_be_an_absolute_address() -> None:
    request = the_request(a_request("http://169.254.169.254/a?b=1"))
    assert (request.path, request.query) == ("/a", (("b", "1"),))


def test_an_absolute_address_without_path_is_the_root() -> None:
    assert the_request(a_request("HTTP://vm:80")).path == "/"


def test_bytes_that_are_no_text_do_not_hurt() -> None:
    assert the_request(a_request("/%FF%C3%28")).path == "/��("


# --- headers -----------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["Metadata: true", "metadata:True", "METADATA:  TRUE "]
)
def test_the_metadata_header_is_read_in_any_case(line: str) -> None:
    assert the_request(a_request("/a", line)).is_marked


@pytest.mark.parametrize("line", ["Metadata: false", "Metadata:", "Metadata: 1"])
def test_any_other_value_of_the_metadata_header_is_none(line: str) -> None:
    assert not the_request(a_request("/a", line)).is_marked


@pytest.mark.parametrize("value", ["10.0.0.1", "", " "])
def test_a_forwarded_request_is_known_whatever_the_value(value: str) -> None:
    assert the_request(a_request("/a", f"X-Forwarded-For: {value}")).is_forwarded


def test_several_lists_of_tags_are_one() -> None:
    request = a_request("/a", 'If-None-Match: "a"', 'If-None-Match: "b"')
    assert the_request(request).if_none_match == '"a","b"'


# --- refused -----------------------------------------------------------------

BROKEN = {
    "no request at all": b"nonsense\r\n\r\n",
    "no host": a_request(host=None),
    "two hosts": a_request("/a", "Host: vm"),
    "two hosts from an old client": a_request("/a", "Host: vm", version="1.0"),
    "a bare line feed": b"GET / HTTP/1.1\nHost: vm\r\n\r\n",
    "a bare carriage return": b"GET / HTTP/1.1\rHost: vm\r\n\r\n",
    "a line feed in a value": a_request("/a", "A: b\nMetadata: true"),
    "a carriage return in a value": a_request("/a", "A: b\rMetadata: true"),
    "a NUL in a value": a_request("/a", "A: b\0c"),
    "a NUL in the target": a_request("/a\0b"),
    "a folded line": a_request("/a", "A: b", " c"),
    "a space before the colon": a_request("/a", "Metadata : true"),
    "a header without colon": a_request("/a", "Metadata"),
    "a header without name": a_request("/a", ": true"),
    "a space in the target": a_request("/a b"),
    "two lengths": a_request("/a", "Content-Length: 0", "Content-Length: 1"),
    "the same length twice": a_request("/a", "Content-Length: 0", "Content-Length: 0"),
    "a list of lengths": a_request("/a", "Content-Length: 0, 0"),
    "a negative length": a_request("/a", "Content-Length: -1"),
    "a length with a sign": a_request("/a", "Content-Length: +1"),
    "a length that is no number": a_request("/a", "Content-Length: one"),
    "an empty length": a_request("/a", "Content-Length:"),
    "a length in hexadecimal": a_request("/a", "Content-Length: 0x1"),
    "an absurd length": a_request("/a", f"Content-Length: {'9' * 40}"),
    "length and chunks": a_request(
        "/a", "Content-Length: 3", "Transfer-Encoding: chunked"
    ),
    "chunks and length": a_request(
        "/a", "Transfer-Encoding: chunked", "Content-Length: 3"
    ),
    "an unknown coding": a_request("/a", "Transfer-Encoding: gzip"),
    "two codings": a_request("/a", "Transfer-Encoding: gzip, chunked"),
    "a coding twice": a_request(
        "/a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"
    ),
    "a coding in disguise": a_request("/a", "Transfer-Encoding: xchunked"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_head_is_refused(data: bytes) -> None:
    broken = talk(data)
    assert broken.statuses == [400]
    assert broken.echo.asked == []


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_head_is_refused_with_an_error_in_json(data: bytes) -> None:
    said = talk(data).said[0]
    assert said.header(b"content-type") == b"application/json; charset=utf-8"
    assert said.body.startswith(b'{ "error": "Bad request. ')


@pytest.mark.parametrize("line", [b"GET /", b"GET / HTTP/0.9", b"GET / HTTP/2.0"])
def test_another_version_of_http_is_refused(line: bytes) -> None:
    assert talk(line + b"\r\nHost: vm\r\n\r\n").statuses == [505]


def test_the_offer_to_speak_another_protocol_is_not_taken_up() -> None:
    offer = a_request("/a", "Connection: Upgrade", "Upgrade: h2c")
    assert talk(offer + a_request("/b")).statuses == [200, 200]


def test_a_request_hidden_behind_a_head_is_not_read_as_part_of_it() -> None:
    hidden = a_request("/a", "Content-Length: 0") + a_request("/b")
    assert [request.path for request, _ in talk(hidden).echo.asked] == ["/a", "/b"]


@pytest.mark.parametrize(
    "line", ["Connection: close", "connection:Close", "Connection: x, close"]
)
def test_a_wish_to_close_is_read_in_any_form(line: str) -> None:
    assert the_request(a_request("/a", line)).is_last


# --- the limit ---------------------------------------------------------------


def a_head_of(size: int) -> bytes:
    filler = size - len(a_request("/a", "A: "))
    return a_request("/a", f"A: {'x' * filler}")


def test_a_head_below_the_limit_is_read() -> None:
    assert talk(a_head_of(MOST_HEAD - 1)).statuses == [200]


def test_a_head_over_the_limit_is_too_large() -> None:
    assert talk(a_head_of(MOST_HEAD + 100)).statuses == [431]


def test_a_head_that_does_not_end_is_too_large() -> None:
    assert talk(a_head_of(MOST_HEAD + 100)[:-2]).statuses == [431]


@pytest.mark.parametrize("over", range(-4, 8))
def test_a_head_around_the_limit_is_judged_alike_however_it_arrives(over: int) -> None:
    head = a_head_of(MOST_HEAD + over)
    slowly = talk(head[:-8], *byte_by_byte(head[-8:]))
    assert slowly.statuses == talk(head).statuses


def test_a_small_request_before_a_large_one_is_answered() -> None:
    assert talk(a_request() + a_head_of(MOST_HEAD + 100)).statuses == [200, 431]


def test_the_limit_of_a_head_does_not_count_the_body() -> None:
    assert talk(a_post(b"x" * (MOST_HEAD + 100))).statuses == [200]
