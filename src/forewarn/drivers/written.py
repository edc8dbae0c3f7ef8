"""Parsers of driver settings."""

import tomllib
from shlex import split

from forewarn.errors import InvalidInput

#: The built-in drivers.
OURS = ("nothing", "operator", "script")


def read_driver(value: object, place: str) -> str:
    """Parse the name of an available driver."""
    if isinstance(value, str) and value.lower() in OURS:
        return value.lower()
    from forewarn.drivers.choice import names  # finding plugins is slow

    spellings = {name.lower(): name for name in names()}
    if isinstance(value, str) and value.lower() in spellings:
        return spellings[value.lower()]
    listed = ", ".join(spellings.values())
    raise InvalidInput(f"{place}: expected one of {listed}, not {value!r}")


def read_command(value: object, place: str) -> tuple[str, ...]:
    """Parse a command: a list of words, or text split as in a shell."""
    try:
        words = split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"{place}: {error} in {value!r}") from None
    if (
        isinstance(words, list)
        and words
        and all(isinstance(word, str) for word in words)
    ):
        return tuple(words)
    raise InvalidInput(
        f"{place}: expected a command, as text or as a list of words, not {value!r}"
    )


def read_options(value: object, place: str) -> dict[str, object]:
    """Parse a table; in the environment, a TOML inline table.

    Errors do not quote the value, because it may contain a password.
    """
    try:
        table = tomllib.loads(f"_ = {value}")["_"] if isinstance(value, str) else value
    except tomllib.TOMLDecodeError:
        table = None
    if isinstance(table, dict) and all(isinstance(name, str) for name in table):
        return table
    raise InvalidInput(f'{place}: expected a table, such as {{ key = "value" }}')
