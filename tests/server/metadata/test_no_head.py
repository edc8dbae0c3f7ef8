"""Malformed start of a request: empty lines and wrong line ends."""

import pytest
from tests.server.support.dialogs import a_post, a_request, byte_by_byte, exchange, read

from forewarn.server.metadata.transport.http1 import ConnectionState
from forewarn.server.metadata.transport.responses import error


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
