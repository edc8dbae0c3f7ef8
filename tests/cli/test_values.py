"""Values in the form in which users write them."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime

import pytest

from forewarn.cli.values import read_duration, read_time, read_type, read_url


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("9s", 9),
        ("20m", 1200),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("1d2h3m4s", 93_784),
        ("0", 0),
    ],
)
def test_duration_is_parsed(text: str, seconds: int) -> None:
    assert read_duration(text) == seconds


def test_bare_number_is_refused_with_a_hint() -> None:
    hint = "'90' has no unit; use 90s, 90m or 90h"
    with pytest.raises(ArgumentTypeError, match=hint):
        read_duration("90")


@pytest.mark.parametrize(
    "text", ["", "m", "30m1h", "1.5h", "-5", "5 m", "٣m", "1w", "9" * 5000]
)
def test_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a duration"):
        read_duration(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:15:00Z",
        "2026-01-31 12:15:00Z",
        "2026-01-31t12:15:00z",
        "2026-01-31T14:15:00+02:00",
    ],
)
def test_times_are_read_in_any_zone(text: str) -> None:
    assert read_time(text) == datetime(2026, 1, 31, 12, 15, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-01-31T12:15:00", "2026-01-31"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="has no time zone; add Z"):
        read_time(text)


@pytest.mark.parametrize("text", ["tomorrow", "", "0001-01-01T00:00:00+14:00"])
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a valid time"):
        read_time(text)


def test_invalid_word_is_reported_by_argparse() -> None:
    assert read_type("rEBOOT") == "Reboot"
    with pytest.raises(ArgumentTypeError, match='expected one of "Freeze", "Reboot",'):
        read_type("explode")


@pytest.mark.parametrize("text", ["127.0.0.1:8255", "http://host/?a=b", "http://h/#a"])
def test_invalid_url_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a valid URL"):
        read_url(text)


def test_url_may_have_a_path_and_a_trailing_slash() -> None:
    assert read_url("https://ops.example/forewarn/") == "https://ops.example/forewarn"


def test_url_with_a_password_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="use --token"):
        read_url("http://admin:secret@127.0.0.1")
