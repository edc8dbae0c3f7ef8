"""Readers of values: what each accepts, and what its error says."""

import re

import pytest

from forewarn.configfile.values import (
    Address,
    InvalidParts,
    Reader,
    at,
    inline_toml,
    list_of,
    matching,
    number,
    one_of,
    read_address,
    read_flag,
    read_parts,
    read_switch,
    read_table,
    read_text,
    secret,
    split_url,
    toml_value,
    whole_number,
)
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventType


def refusal(read: Reader[object], value: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb é", '"a\\nb é"'),
        ("\ud800", '"\\ud800"'),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        pytest.param(10**5000, "a very long number", id="endless"),
        ({"a": 1}, "a table"),
        ([1], "a list"),
        ("x" * 99, f'"{"x" * 56}...'),
    ],
)
def test_a_value_is_shown_as_in_toml_and_in_one_line(value: object, text: str) -> None:
    assert toml_value(value) == text


# --- text and words ----------------------------------------------------------


def test_text_is_not_blank() -> None:
    assert read_text(" a ") == " a "
    values: list[object] = ["", " ", 1, True, None, [], {}]
    for value in values:
        assert refusal(read_text, value).startswith("expected text, not ")


def test_text_may_have_to_match_a_pattern_as_a_whole() -> None:
    read = matching(re.compile("[a-z]+"), "letters")
    assert read("abc") == "abc"
    assert refusal(read, "abc\n") == 'expected letters, not "abc\\n"'
    assert refusal(read, 7) == "expected letters, not 7"


def test_words_are_read_in_any_case_unless_they_must_be_exact() -> None:
    assert one_of(*EventType)("rEBOOT") is EventType.REBOOT
    exact = one_of(*EventType, is_exact=True)
    assert exact("Reboot") is EventType.REBOOT
    assert refusal(exact, "reboot").endswith('not "reboot"; did you mean "Reboot"?')


def test_another_word_is_refused_with_the_valid_ones_and_the_nearest() -> None:
    read = one_of("me", "others", "anyone")
    known = 'expected one of "me", "others", "anyone", not '
    assert refusal(read, "other") == f'{known}"other"; did you mean "others"?'
    assert refusal(read, "quux") == f'{known}"quux"'
    assert refusal(read, ["me"]) == f"{known}a list"
    assert refusal(one_of("start"), "end") == 'expected "start", not "end"'


def test_a_switch_may_be_a_word_and_a_flag_may_not() -> None:
    assert read_flag(True)
    assert [read_switch(word) for word in ("1", "Yes", " on ", True)] == [True] * 4
    assert [read_switch(word) for word in ("0", "no", "OFF", False)] == [False] * 4
    assert refusal(read_switch, "maybe") == 'expected true or false, not "maybe"'
    for value in ("true", 1, 0, None):
        assert refusal(read_flag, value).startswith("expected true or false, not ")


def test_a_secret_is_not_shown() -> None:
    assert secret(read_text, "a secret")("hush") == "hush"
    assert refusal(secret(read_flag, "a secret"), "hush") == "expected a secret"


# --- numbers -----------------------------------------------------------------

ODD = ["", [], {}, True, None, float("nan"), float("inf"), -0.1, 86_401, 10**400]


@pytest.mark.parametrize("value", [*ODD, "5", "soon"])
def test_a_number_is_within_its_range(value: object) -> None:
    read = number("seconds", 0, 86_400)
    expected = "expected a number of seconds from 0 to 86400, not "
    assert (read(0), read(0.5), read(86_400)) == (0, 0.5, 86_400)
    assert refusal(read, value).startswith(expected)


@pytest.mark.parametrize("value", [*ODD, "soon", "nan", "inf", "-inf", "1e9", "-0.1"])
def test_a_number_may_be_text_where_that_is_allowed(value: object) -> None:
    read = number("seconds", 0, 86_400, is_text=True)
    assert (read("0.5"), read(0.5)) == (0.5, 0.5)
    assert "expected a number of seconds" in refusal(read, value)


def test_a_whole_number_has_no_fraction() -> None:
    read = whole_number(1, 1000, unit="tries")
    assert (read(1), read(3.0)) == (1, 3)
    for value in (0, 1.5, 1001, True, "3"):
        expected = "expected a whole number of tries from 1 to 1000, not "
        assert refusal(read, value).startswith(expected)
    assert whole_number(1, 9, is_text=True)("3") == 3
    assert "whole number from 1 to 9" in refusal(whole_number(1, 9), 0)


# --- addresses ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0, True),
        ("127.9.9.9:1", "127.9.9.9", 1, True),
        (" localhost:80", "localhost", 80, True),
        ("[::1]:9254", "::1", 9254, True),
        ("0.0.0.0:1", "0.0.0.0", 1, False),
        ("[::]:1", "::", 1, False),
        ("[fd00::1]:65535", "fd00::1", 65535, False),
        ("[::1:2]:1", "::1:2", 1, False),
        ("localhost.example.com:1", "localhost.example.com", 1, False),
        ("127.example.com.:1", "127.example.com.", 1, False),
        ("my_box:1", "my_box", 1, False),
    ],
)
def test_addresses_are_read(text: str, host: str, port: int, is_loopback: bool) -> None:
    address = read_address(text)
    assert address == Address(host, port)
    assert address.is_loopback is is_loopback
    assert str(address) == text.strip()


@pytest.mark.parametrize(
    "value",
    [
        *("", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:http", "vm:65536", 9254),
        *("vm:-1", "vm:+1", "vm:8_0", "vm:²", "http://vm:80", "a b:1", "[x]:1"),
        *("1:2:3", "vm:000080"),
    ],
)
def test_invalid_address_is_refused(value: object) -> None:
    assert refusal(read_address, value).startswith("expected an address such as")


@pytest.mark.parametrize("url", ["http://x", "https://me:you@[::1]:8/a?b#c"])
def test_urls_are_split(url: str) -> None:
    parts = split_url(url)
    assert parts is not None
    assert parts.geturl() == url


@pytest.mark.parametrize(
    "value",
    [
        *("", "x:80", "ftp://x/", "file:///etc", "http://", "http://x:0/", 7),
        *("http://x:port", "http://x/ y", "http://x\n", "http://[::1", "http://é"),
    ],
)
def test_other_urls_are_not_split(value: object) -> None:
    assert split_url(value) is None


# --- lists and tables --------------------------------------------------------


def test_a_list_reports_every_item_that_is_wrong() -> None:
    read = list_of(read_text, "texts", least=1, is_unique=True)
    assert read(["a", "b"]) == ("a", "b")
    with pytest.raises(InvalidParts) as refused:
        read(["a", 1, "a"])
    assert refused.value.problems == [
        ((1,), "expected text, not 1"),
        ((2,), '"a" appears twice'),
    ]
    assert str(refused.value) == "expected text, not 1"


def test_a_value_that_is_not_a_list_is_refused() -> None:
    read = list_of(read_text, "texts", least=1)
    assert read(["a", "a"]) == ("a", "a")
    assert refusal(read, []) == "expected texts, not a list"
    assert refusal(read, {}) == "expected texts, not a table"
    assert refusal(read, "a") == 'expected texts, not "a"; use ["a"]'


def test_text_may_be_split_into_a_list() -> None:
    read = list_of(read_text, "texts", split=str.split)
    assert read("a b") == read(["a", "b"]) == read(("a", "b")) == ("a", "b")
    assert refusal(read, 7) == "expected texts, not 7"


READERS = {"name": read_text, "more": list_of(read_flag, "flags")}


def test_a_table_gives_what_is_valid_and_what_is_wrong_with_the_rest() -> None:
    table = {"name": "n", "more": [True, 1], "nam": 2, "zzz": 3}
    assert read_parts(table, READERS) == (
        {"name": "n"},
        [
            (("more", 1), "expected true or false, not 1"),
            (("nam",), 'unknown key; did you mean "name"?'),
            (("zzz",), "unknown key; expected one of: name, more"),
        ],
    )
    assert read_parts(7, READERS) == ({}, [((), "expected a table, not 7")])


def test_the_message_about_a_table_has_the_place_and_the_first_problem() -> None:
    def read_inner(value: object) -> object:
        return read_table(value, READERS)

    def read(value: object) -> object:
        with at("file"):
            return read_table(value, {"outer": read_inner})

    assert read({"outer": {"name": "n"}}) == {"outer": {"name": "n"}}
    message = refusal(read, {"outer": {"more": [1], "name": ""}})
    assert message == "file: outer.more: expected true or false, not 1"
    assert refusal(read, 7) == "file: expected a table, not 7"


def test_text_in_the_environment_may_be_toml() -> None:
    assert inline_toml("{ a = [1] }") == {"a": [1]}
    assert inline_toml({"a": 1}) == {"a": 1}
    assert inline_toml("{") is None
