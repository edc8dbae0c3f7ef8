"""Durations, counts, lists of names and printable text."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.errors import InvalidInput
from forewarn.formats import (
    clean,
    count,
    escape_controls,
    exact_duration,
    format_duration,
    join_all,
    join_names,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14m", 840),
        ("1h30m", 5400),
        ("90s", 90),
        ("90", 90),
        ("0.5", 0.5),
        ("250ms", 0.25),
        ("1s500ms", 1.5),
        ("1d", 86_400),
        (" 2H ", 7200),
        (3, 3),
        (0.1 + 0.2, 0.3),
        (1e-05, 0.00001),
        (1e10, 10_000_000_000),
        (timedelta(minutes=2), 120),
    ],
)
def test_human_notation_is_parsed(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "m", "soon", "-5m", "5 minutes", "1m1h", "1e3"])
def test_an_invalid_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput, match="1h30m"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**12))
def test_a_formatted_duration_parses_to_the_same_value(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(exact_duration(duration)) == duration


@pytest.mark.parametrize("number", [-1, -0.5, float("nan"), True])
def test_an_invalid_number_is_refused(number: float) -> None:
    with pytest.raises(InvalidInput, match="is not a duration"):
        parse_duration(number)


@pytest.mark.parametrize("much", ["999999999d999999999h", 1e300, float("inf")])
def test_an_excessive_duration_is_refused(much: str | float) -> None:
    with pytest.raises(InvalidInput, match="is out of range"):
        parse_duration(much)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0, "0 s"),
        (0.04, "0 s"),
        (0.25, "0.2 s"),
        (4.0, "4 s"),
        (9.96, "10 s"),
        (59.7, "1 min"),
        (777, "12 min 57 s"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_duration_is_shown_in_its_two_largest_units(
    seconds: float, text: str
) -> None:
    assert format_duration(seconds) == text


def test_a_timedelta_is_shown_in_whole_seconds() -> None:
    assert format_duration(timedelta(seconds=3, milliseconds=900)) == "3 s"


def test_a_count_has_its_noun() -> None:
    assert [count(number, "VM") for number in (0, 1, 2)] == ["0 VMs", "1 VM", "2 VMs"]


def test_a_long_list_of_names_is_cut() -> None:
    assert join_names(list("abcdef")) == "a, b, c, d, e, f"
    assert join_names(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_names_are_joined_with_commas_and_and() -> None:
    assert [join_all([*"abc"[:n]]) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


CONTROLS = [
    *(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069",
]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_controls_are_replaced_or_escaped(control: str) -> None:
    assert clean(f"a{control}{control}b") == "a b"
    escaped = escape_controls(f'"a{control}b"')
    if control in "\n\t":
        assert escaped == f'"a{control}b"'
    else:
        assert json.loads(escaped) == f"a{control}b"
        assert control not in escaped


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Zl", "Zp"])))
def test_other_text_stays(text: str) -> None:
    assert clean(text) == escape_controls(text) == text
