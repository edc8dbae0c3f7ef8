"""Client options: values that are refused."""

import pytest

from forewarn.client import Client
from forewarn.errors import InvalidInput


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": "inf"},
        {"first_timeout": -1},
        {"first_timeout": 1e10},
        {"patience": -1},
        {"patience": "nan"},
    ],
)
def test_invalid_numbers_are_refused(options: dict[str, float]) -> None:
    numbers = {name: float(value) for name, value in options.items()}
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:1", **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["", "2020-07-01&x=1", "a b", "a\r\nb"])
def test_a_version_that_would_break_the_request_is_refused(version: str) -> None:
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:1", api_version=version)
