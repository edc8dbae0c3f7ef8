"""Values in error messages."""

import pytest

from forewarn.configfile.values import invalid_value, toml_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb é", '"a\\nb é"'),
        ("\ud800", '"\\ud800"'),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        pytest.param(10**5000, "an endless number", id="endless"),
        ({"a": 1}, "a table"),
        ([1], "a list"),
        ("x" * 99, f'"{"x" * 56}...'),
    ],
)
def test_a_value_is_shown_as_in_toml_and_in_one_line(value: object, text: str) -> None:
    assert toml_value(value) == text


def test_an_error_names_the_place_if_there_is_one() -> None:
    assert str(invalid_value("text", 1)) == "expected text, not 1"
    assert str(invalid_value("text", 1, "--clock")) == "--clock: expected text, not 1"
