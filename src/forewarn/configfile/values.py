"""Readers of setting values: text, words, booleans, numbers and host names.

A value comes from a file, an option or an environment variable.
"""

import json
import re
from collections.abc import Callable
from math import nan
from typing import Any

from forewarn.errors import InvalidInput

_LONGEST = 60  # characters of a value in an error
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\*")

#: Parses a value; raises `InvalidInput` naming the place and what was expected.
Reader = Callable[[object, str], Any]


def invalid_value(expected: str, value: object, place: str = "") -> InvalidInput:
    """Return an error that names what was expected instead of `value`, and where."""
    at = f"{place}: " if place else ""
    return InvalidInput(f"{at}expected {expected}, not {toml_value(value)}")


def toml_value(value: object) -> str:
    """Format a value as in TOML, shortened; a table or a list by its kind only."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    try:
        is_json = value is None or isinstance(value, str | bool)
        text = json.dumps(value, ensure_ascii=False) if is_json else str(value)
    except ValueError:  # more digits than Python formats
        return "an endless number"
    text = text.encode(errors="backslashreplace").decode()  # JSON may hold surrogates
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def read_text(value: object, place: str) -> str:
    """Parse text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise invalid_value("text", value, place)


def one_of(*words: str) -> Reader:
    """Return a reader for one of `words`, ignoring case."""

    def read(value: object, place: str) -> str:
        if isinstance(value, str) and value.lower() in words:
            return value.lower()
        raise invalid_value("one of " + ", ".join(words), value, place)

    return read


def read_flag(value: object, place: str) -> bool:
    """Parse a boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise invalid_value("true or false", value, place)


def a_number(unit: str, least: float, most: float, *, is_whole: bool = False) -> Reader:
    """Return a reader for numbers from `least` to `most`."""

    def read(value: object, place: str) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) else nan
        except ValueError:
            number = nan
        is_odd = isinstance(value, bool) or (is_whole and not number.is_integer())
        if is_odd or not least <= number <= most:
            raise invalid_value(
                f"a number of {unit} from {least} to {most}", value, place
            )
        return int(number) if is_whole else number

    return read


#: Parses a number of seconds, up to a day.
read_seconds = a_number("seconds", 0, 86_400)
#: Parses a number of connections.
read_connections = a_number("connections", 1, 10_000_000, is_whole=True)


def read_names(value: object, place: str) -> tuple[str, ...]:
    """Parse host names: a list, or text separated by commas; `*` matches any name."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise invalid_value("one or more names", value, place)
    return tuple(_read_name(name, place) for name in names)


def _read_name(value: object, place: str) -> str:
    name = value.strip().lower().removesuffix(".") if isinstance(value, str) else ""
    if _NAME.fullmatch(name):
        return name
    raise invalid_value(
        "a name such as forewarn.example.org, without a port", value, place
    )
