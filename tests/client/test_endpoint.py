"""Endpoint addresses: precedence and parsing."""

import pytest

from forewarn.client.endpoint import DEFAULT, VARIABLE, Endpoint, find, parse
from forewarn.errors import InvalidInput


def test_the_argument_overrides_the_environment_and_the_default() -> None:
    environment = {VARIABLE: "http://there"}
    assert str(find("http://here", environment)) == "http://here"
    assert str(find(None, environment)) == "http://there"
    assert str(find(None, {})) == DEFAULT
    assert str(find(None, {VARIABLE: ""})) == DEFAULT


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://10.0.0.1", Endpoint(host="10.0.0.1")),
        ("http://10.0.0.1:80/", Endpoint(host="10.0.0.1")),
        ("HTTP://Host:8254", Endpoint(host="host", port=8254)),
        ("http://[fd00::1]:81", Endpoint(host="fd00::1", port=81)),
        ("http://h/vm/web-0/", Endpoint(host="h", prefix="/vm/web-0")),
        ("http://h/vm/web-0/metadata", Endpoint(host="h", prefix="/vm/web-0")),
        ("http://h/metadata/", Endpoint(host="h")),
        (
            "http://h/metadata/scheduledEvents?api-version=2020-07-01",
            Endpoint(host="h"),
        ),
    ],
)
def test_an_address_is_parsed_with_or_without_a_path(
    written: str, meant: Endpoint
) -> None:
    assert parse(written) == meant


def test_an_address_is_formatted_for_the_host_header() -> None:
    assert parse("http://[fd00::1]:81/x").authority == "[fd00::1]:81"
    assert parse("http://10.0.0.1:80").authority == "10.0.0.1"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("https://h", "plain HTTP"),
        ("h:8254", "http://"),
        ("10.0.0.1", "http://"),
        ("/x", "http://"),
        ("http://", "not a valid endpoint"),
        ("http://h:99999", "invalid port"),
        ("http://h:0", "not a valid endpoint"),
        ("http://.", "not a valid endpoint"),
        ("http://a..b", "not a valid endpoint"),
        (f"http://{'a' * 64}.org", "not a valid endpoint"),
        ("http://me@h", "user name"),
        ("http://[", "not a valid URL"),
        ("http://h/\r\nX: y", "not a valid URL"),
        ("http://h /", "not a valid URL"),
        ("http://ḧ", "not a valid URL"),
    ],
)
def test_an_invalid_address_is_refused_with_a_reason(written: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse(written)
