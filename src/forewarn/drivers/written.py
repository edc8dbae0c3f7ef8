"""How a driver and what belongs to it are written in the settings."""

import tomllib
from shlex import split

from forewarn.errors import InvalidInput

#: The drivers that come with forewarn.
OURS = ("nothing", "operator", "script")


def read_driver(value: object, place: str) -> str:
    """Read the name of a driver that there is."""
    if isinstance(value, str) and value.lower() in OURS:
        return value.lower()
    from forewarn.drivers.choice import names  # looking for others takes time

    known = {each.lower(): each for each in names()}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    listed = ", ".join(known.values())
    raise InvalidInput(f"{place}: expected one of {listed}, not {value!r}")


def read_command(value: object, place: str) -> tuple[str, ...]:
    """Read a command: a list of words, or text that is split as a shell does it."""
    try:
        words = split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"{place}: {error} in {value!r}") from None
    if (
        isinstance(words, list)
        and words
        and all(isinstance(each, str) for each in words)
    ):
        return tuple(words)
    raise InvalidInput(
        f"{place}: expected a command, as text or as a list of words, not {value!r}"
    )


def read_options(value: object, place: str) -> dict[str, object]:
    """Read a table, which in the environment is written as TOML does in a line.

    What is refused is not shown: there may be a password in it.
    """
    try:
        table = tomllib.loads(f"_ = {value}")["_"] if isinstance(value, str) else value
    except tomllib.TOMLDecodeError:
        table = None
    if isinstance(table, dict) and all(isinstance(each, str) for each in table):
        return table
    raise InvalidInput(f'{place}: expected a table, such as {{ key = "value" }}')
