"""HTTP response parser, fed with arbitrary bytes."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forewarn.client.transport.http1 import HttpResponse, ResponseParser, request_bytes
from forewarn.errors import Lost, Misunderstood

LINES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 304 Not Modified\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"\r\n",
        b"3\r\n",
        b"abc",
        b"0\r\n\r\n",
    ]
)
STREAMS = st.one_of(st.binary(max_size=60), st.lists(LINES, max_size=9).map(b"".join))


def read(pieces: Sequence[bytes]) -> HttpResponse | str:
    """Feed pieces until the response is complete or the stream has ended."""
    parser = ResponseParser()
    try:
        for piece in (*pieces, b""):
            if not parser.is_complete:
                parser.feed(piece)
    except (Lost, Misunderstood) as error:
        return type(error).__name__
    return parser.response(0.0)


@given(STREAMS, st.integers(1, 9))
@example(
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 1
)
def test_any_bytes_give_a_response_or_an_error_regardless_of_fragments(
    stream: bytes, size: int
) -> None:
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert read(pieces) == read([stream] if stream else [])


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "repeated", "most"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 100),
        (CHUNKED + b"0\r\n", b"a" * 1022 + b"\r\n", 1023),
        (CHUNKED, b"1;" + b"x" * 1020 + b"\r\na\r\n", 1024),
    ],
    ids=["interim responses", "trailers", "chunk extensions"],
)
def test_an_endless_response_is_refused_after_a_bounded_number_of_parts(
    head: bytes, repeated: bytes, most: int
) -> None:
    parser = ResponseParser()
    for _ in range(most):
        assert not parser.is_complete
        parser.feed(head + repeated)
        head = b""
    with pytest.raises(Misunderstood, match="too many"):
        parser.feed(repeated)


def test_some_interim_responses_and_trailers_are_accepted() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100
    response = read(
        [interim + CHUNKED + b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 99 + b"\r\n"]
    )
    assert isinstance(response, HttpResponse)
    assert response.body == b"abc"


def test_a_request_with_a_body_has_a_content_length() -> None:
    assert request_bytes("POST", "/x", {"Host": "h"}, b"{}") == (
        b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
    )
