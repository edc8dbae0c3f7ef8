"""Whatever arrives, and however it is cut, is answered alike and in valid HTTP."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.talk import a_post, a_request, in_chunks, talk

#: Pieces of requests, good and bad, to be put together in any order.
PIECES = (
    b"GET / HTTP/1.1\r\n",
    b"POST /a%3Fb=c HTTP/1.1\r\n",
    b"HEAD http://vm/ HTTP/1.0\r\n",
    b"GET /later HTTP/1.1\r\n",
    b"Host: vm\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 65537\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\nConnection: upgrade\r\n",
    b"A: b\r\n",
    b"\r\n",
    b"\r",
    b"\n",
    b"abc",
    b"3\r\n",
    b"3\r\nabc\r\n",
    b"0\r\n",
    b"0\r\n\r\n",
    b":",
    b"\0",
    b"\xff",
)

bodies = st.binary(max_size=40)
chunks = st.lists(st.binary(min_size=1, max_size=20), max_size=4).map(
    lambda parts: (
        b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    )
)
requests = st.one_of(
    st.sampled_from(["/a", "/%41?b=c", "/later", "http://vm/"]).map(a_request),
    st.just(a_request(method="HEAD")),
    st.just(a_request("/a", "Connection: close")),
    st.just(a_request("/a", "Connection: keep-alive", version="1.0")),
    bodies.map(a_post),
    bodies.map(lambda body: a_post(body, "Expect: 100-continue")),
    chunks.map(in_chunks),
)
streams_of_requests = st.lists(requests, min_size=1, max_size=5).map(b"".join)
streams_of_pieces = st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)
places = st.lists(st.integers(min_value=0, max_value=600), max_size=12)


def cut(stream: bytes, at: Sequence[int]) -> list[bytes]:
    ends = sorted({min(place, len(stream)) for place in at} | {0, len(stream)})
    return [stream[a:b] for a, b in pairwise(ends)]


def check_alike(stream: bytes, at: Sequence[int]) -> None:
    whole, pieces = talk(stream), talk(*cut(stream, at))
    assert pieces.final == whole.final
    assert pieces.echo.asked == whole.echo.asked


@given(streams_of_requests, places)
@settings(max_examples=300, deadline=None)
def test_requests_are_answered_alike_however_they_are_cut(
    stream: bytes, at: list[int]
) -> None:
    check_alike(stream, at)


@given(streams_of_pieces, places)
@settings(max_examples=500, deadline=None)
def test_pieces_of_requests_are_answered_alike_however_they_are_cut(
    stream: bytes, at: list[int]
) -> None:
    check_alike(stream, at)


@given(st.binary(max_size=300), places)
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_answered_alike_however_they_are_cut(
    stream: bytes, at: list[int]
) -> None:
    check_alike(stream, at)


@given(st.binary(max_size=200), st.integers(0, 100), st.integers(0, 20))
@settings(max_examples=300, deadline=None)
def test_a_request_with_a_hole_filled_by_any_bytes_never_raises(
    filling: bytes, start: int, length: int
) -> None:
    good = a_post(b"abc", "Metadata: true", "Transfer-Encoding: chunked")
    talk(good[:start] + filling + good[start + length :], a_request())
