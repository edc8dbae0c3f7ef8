"""Request smuggling: anything that two parsers could read differently is refused."""

import pytest
from tests.server.support.dialogs import a_request, byte_by_byte, exchange, in_chunks

HIDDEN = a_request("/hidden")
CHUNKED = "Transfer-Encoding: chunked"


def a_head(*headers: str, version: str = "1.1") -> bytes:
    return a_request("/a", *headers, method="POST", version=version)


#: Each hides a request from a parser that uses one framing or the other.
HIDING = {
    "a length before chunks": a_head("Content-Length: 4", CHUNKED) + b"0\r\n\r\n",
    "chunks before a length": a_head(CHUNKED, "Content-Length: 4") + b"0\r\n\r\n",
    "two lengths": a_head("Content-Length: 0", "Content-Length: 40"),
    "the same length twice": a_head("Content-Length: 0", "Content-Length: 0"),
    "a list of lengths": a_head("Content-Length: 0, 40"),
    "a length with a sign": a_head("Content-Length: +0"),
    "a length in hexadecimal": a_head("Content-Length: 0x28"),
    "a length with an underscore": a_head("Content-Length: 0_0"),
    "a length in other digits": a_head("Content-Length: \xb2"),
    "a length beyond 64 bits": a_head("Content-Length: 18446744073709551616"),
    "a space before the colon of a length": a_head("Content-Length : 40"),
    "a length in a folded line": a_head("A: b", " Content-Length: 40"),
    "a length behind a bare line feed": a_head("A: b\nContent-Length: 40"),
    "a length behind a bare carriage return": a_head("A: b\rContent-Length: 40"),
    "a space before the colon of a coding": a_head("Transfer-Encoding : chunked"),
    "a coding in a folded line": a_head("Transfer-Encoding:", " chunked"),
    "a coding behind a vertical tab": a_head("Transfer-Encoding: \x0bchunked"),
    "a coding and a NUL": a_head("Transfer-Encoding: chunked\0"),
    "a coding in quotes": a_head('Transfer-Encoding: "chunked"'),
    "a coding with a parameter": a_head("Transfer-Encoding: chunked;a"),
    "a coding that is not the last": a_head("Transfer-Encoding: chunked, identity"),
    "a coding twice": a_head(CHUNKED, "Transfer-Encoding: identity"),
    "a coding unknown": a_head("Transfer-Encoding: cow"),
    "a coding unknown to an old client": a_head(
        "Transfer-Encoding: cow", "Content-Length: 4", version="1.0"
    ),
    "a name with NUL": a_head("Content-Length\0: 40"),
    "a size with a sign": in_chunks(b"+0\r\n\r\n"),
    "a size in hexadecimal": in_chunks(b"0x0\r\n\r\n"),
    "a size beyond 64 bits": in_chunks(b"10000000000000000\r\n\r\n"),
    "a size and a space": in_chunks(b"0 \r\n\r\n"),
    "a size and a bare line feed": in_chunks(b"0\n\n"),
    "a line feed in an extension": in_chunks(b"2;\nxx\r\n4c\r\n"),
    "a carriage return in an extension": in_chunks(b"0;\rxx\r\n\r\n"),
    "a chunk without line end": in_chunks(b"1\r\nab\r\n0\r\n\r\n"),
    "a length in a trailer": in_chunks(b"0\r\nContent-Length: 40\r\n\r\n"),
    "a coding in a trailer": in_chunks(b"0\r\nTransfer-Encoding: x\r\n\r\n"),
    "an absurd method": a_request(method="GET\r\n"),
    "a host too much": a_request("/a", "Host: other"),
    "a tunnel": a_request("vm:80", method="CONNECT"),
}


@pytest.mark.parametrize("stream", HIDING.values(), ids=HIDING.keys())
def test_smuggling_attempt_is_refused(stream: bytes) -> None:
    hiding = exchange(stream + HIDDEN)
    assert hiding.statuses in ([400], [413])
    assert hiding.echo.requests == []


@pytest.mark.parametrize("stream", HIDING.values(), ids=HIDING.keys())
def test_smuggling_attempt_is_refused_byte_by_byte(stream: bytes) -> None:
    hiding = exchange(*byte_by_byte(stream + HIDDEN))
    assert hiding.statuses in ([400], [413])
    assert hiding.echo.requests == []


#: Valid streams that only seem to contain a second request.
HARMLESS = {
    "in a body": a_request("/a", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
    "in a chunk": in_chunks(b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)),
    "behind the last request": a_request("/a", "Connection: close") + HIDDEN,
    "behind chunks of an old client": a_head(CHUNKED, version="1.0")
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
