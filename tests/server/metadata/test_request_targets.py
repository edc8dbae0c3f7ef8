"""Request targets: parsed paths and queries, and refused targets."""

import pytest
from tests.server.support.dialogs import a_request, exchange, the_request


def test_path_is_percent_decoded() -> None:
    assert the_request(a_request("/a%20b%2Dc")).path == "/a b-c"


def test_path_is_percent_decoded_only_once() -> None:
    assert the_request(a_request("/a%2520b")).path == "/a%20b"


def test_query_is_percent_decoded_only_once() -> None:
    assert the_request(a_request("/a?b=%2520")).query == (("b", "%20"),)


def test_escaped_question_mark_starts_the_query() -> None:
    request = the_request(a_request("/a%3Fapi-version=2017-08-01"))
    assert request.path == "/a"
    assert request.query == (("api-version", "2017-08-01"),)


def test_query_after_an_escaped_question_mark_is_decoded_only_once() -> None:
    assert the_request(a_request("/a%3Fb=%2520")).query == (("b", "%20"),)


def test_double_escaped_question_mark_is_part_of_the_path() -> None:
    assert the_request(a_request("/a%253Fb=1")).path == "/a%3Fb=1"


def test_parameters_after_both_kinds_of_question_mark_are_parsed() -> None:
    query = the_request(a_request("/a%3Fb=1?c=2")).query
    assert query == (("b", "1"), ("c", "2"))


def test_parameter_without_a_value_is_kept() -> None:
    assert the_request(a_request("/a?b&c=")).query == (("b", ""), ("c", ""))


def test_query_has_at_most_100_parameters() -> None:
    query = "&".join(f"a{i}=" for i in range(101))
    assert (
        len(the_request(a_request(f"/a?{query.removesuffix('&a100=')}")).query) == 100
    )
    assert exchange(a_request(f"/a?{query}")).statuses == [400]


def test_target_may_be_an_absolute_url() -> None:
    request = the_request(a_request("http://169.254.169.254/a?b=1"))
    assert (request.path, request.query) == ("/a", (("b", "1"),))


def test_absolute_url_without_a_path_is_the_root() -> None:
    assert the_request(a_request("HTTP://vm:80")).path == "/"


def test_invalid_utf_8_is_replaced() -> None:
    assert the_request(a_request("/%FF%C3%28")).path == "/��("


ADDRESSES = (
    "http://vm/a",
    "http://vm:80/a",
    "http://vm:/a",
    "HTTP://VM/a",
    "http://[fd00::1]:80/a",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_host_of_an_absolute_url_is_ignored(address: str) -> None:
    assert the_request(a_request(address)).path == "/a"


def test_absolute_url_with_only_a_query_is_the_root() -> None:
    request = the_request(a_request("http://vm?b=1"))
    assert (request.path, request.query) == ("/", (("b", "1"),))


def test_path_with_two_leading_slashes_is_a_path() -> None:
    assert the_request(a_request("//vm/a")).path == "//vm/a"


@pytest.mark.parametrize("path", ["/./a", "/a/../b", "/a//b", "/a/."])
def test_dots_and_double_slashes_are_kept(path: str) -> None:
    assert the_request(a_request(path)).path == path


def test_escaped_slash_is_a_slash() -> None:
    assert the_request(a_request("/a%2Fb%2f")).path == "/a/b/"


def test_unescaped_special_characters_are_accepted() -> None:
    assert the_request(a_request('/a"<>\\^`{|}[]')).path == '/a"<>\\^`{|}[]'


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
    "an address with a port that is no number": "http://vm:x/a",
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
