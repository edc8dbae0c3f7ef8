"""Request targets: parsed paths and queries, and refused targets."""

import pytest
from tests.server.support.dialogs import a_request, exchange, the_request

PATHS = {
    "percent-decoded": ("/a%20b%2Dc", "/a b-c"),
    "percent-decoded only once": ("/a%2520b", "/a%20b"),
    "with a double-escaped question mark": ("/a%253Fb=1", "/a%3Fb=1"),
    "with an escaped slash": ("/a%2Fb%2f", "/a/b/"),
    "with invalid UTF-8, which is replaced": ("/%FF%C3%28", "/\ufffd\ufffd("),
    "with special characters": ('/a"<>\\^`{|}[]', '/a"<>\\^`{|}[]'),
    "with two leading slashes": ("//vm/a", "//vm/a"),
    "with a dot": ("/./a", "/./a"),
    "with two dots": ("/a/../b", "/a/../b"),
    "with a double slash": ("/a//b", "/a//b"),
    "that ends with a dot": ("/a/.", "/a/."),
    "of an absolute URL": ("http://vm/a", "/a"),
    "of an absolute URL with a port": ("http://vm:80/a", "/a"),
    "of an absolute URL with an empty port": ("http://vm:/a", "/a"),
    "of an absolute URL in capitals": ("HTTP://VM/a", "/a"),
    "of an absolute URL with an address": ("http://[fd00::1]:80/a", "/a"),
    "that an absolute URL does not have": ("HTTP://vm:80", "/"),
}


@pytest.mark.parametrize(("target", "path"), PATHS.values(), ids=PATHS.keys())
def test_path_is_parsed(target: str, path: str) -> None:
    request = the_request(a_request(target))
    assert (request.path, request.query) == (path, ())


QUERIES = {
    "percent-decoded only once": ("/a?b=%2520", "/a", (("b", "%20"),)),
    "after an escaped question mark": ("/a%3Fb=1", "/a", (("b", "1"),)),
    "after it, decoded only once": ("/a%3Fb=%2520", "/a", (("b", "%20"),)),
    "after both question marks": ("/a%3Fb=1?c=2", "/a", (("b", "1"), ("c", "2"))),
    "without a value": ("/a?b&c=", "/a", (("b", ""), ("c", ""))),
    "of an absolute URL": ("http://169.254.169.254/a?b=1", "/a", (("b", "1"),)),
    "of an absolute URL without a path": ("http://vm?b=1", "/", (("b", "1"),)),
}


@pytest.mark.parametrize(
    ("target", "path", "query"), QUERIES.values(), ids=QUERIES.keys()
)
def test_query_is_parsed(
    target: str, path: str, query: tuple[tuple[str, str], ...]
) -> None:
    request = the_request(a_request(target))
    assert (request.path, request.query) == (path, query)


def test_query_has_at_most_100_parameters() -> None:
    query = "&".join(f"a{i}=" for i in range(101))
    shorter = query.removesuffix("&a100=")
    assert len(the_request(a_request(f"/a?{shorter}")).query) == 100
    assert exchange(a_request(f"/a?{query}")).statuses == [400]


def test_options_of_the_whole_server_is_accepted() -> None:
    assert the_request(a_request("*", method="OPTIONS")).path == "*"


REFUSED = {
    "no path": "a",
    "only a query": "?a=b",
    "a host and a port": "vm:80",
    "the whole server": "*",
    "an address without host": "http:///a",
    "an address without anything": "http://",
    "an address with only a port": "http://:80/a",
    "an address with a user": "http://user@vm/a",
    "an address with a port that is not a number": "http://vm:x/a",
    "an address that is not spoken here": "https://vm/a",
    "an address of another kind": "ftp://vm/a",
    "a fragment": "/a#b",
    "a fragment of a query": "/a?b#c",
    "a fragment of an address": "http://vm#a",
    "a space": "/a b",
    "a tab": "/a\tb",
    "a NUL": "/a\0b",
    "a control character": "/a\x7f",
    "a byte above ASCII": "/\xe9",
    "an escape that is none": "/%zz",
    "half an escape": "/a%4",
    "an escape that is none in the query": "/a?b=%",
    "an escaped NUL": "/a%00",
}


@pytest.mark.parametrize("target", REFUSED.values(), ids=REFUSED.keys())
def test_invalid_target_gets_400(target: str) -> None:
    refused = exchange(a_request(target))
    assert refused.statuses == [400]
    assert refused.echo.requests == []
