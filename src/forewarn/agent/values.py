"""Parsers for values in the agent's configuration file.

A reader gets a value and its place. It raises InvalidInput with what was expected, or
reports a problem with a part of the value at that part's own place.
"""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

from forewarn.agent.complaints import Place, meant, nearest
from forewarn.client import endpoint
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType
from forewarn.protocol.versions import VERSIONS

#: Runs a shell command line.
SHELL = ("/bin/sh", "-c")

Reader = Callable[[object, Place], Any]

_Enum = TypeVar("_Enum", bound=StrEnum)
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")


def wrong(expected: str, value: object) -> InvalidInput:
    """Return an error that names what was expected instead of `value`."""
    return InvalidInput(f"expected {expected}, not {written(value)}")


def written(value: object) -> str:
    """Format a value as in TOML, or name its kind if it can be long."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    try:
        return str(value)
    except ValueError:  # more digits than Python formats
        return "an endless number"


# --- text --------------------------------------------------------------------


def read_text(value: object, _: Place) -> str:
    """Parse non-empty text."""
    if not isinstance(value, str) or not value.strip():
        raise wrong("text", value)
    if _UNPRINTED.search(value):
        raise InvalidInput("expected text without characters that cannot be printed")
    return value


def read_flag(value: object, _: Place) -> bool:
    """Parse true or false."""
    if isinstance(value, bool):
        return value
    raise wrong("true or false", value)


def one_of(*known: str) -> Reader:
    """Return a reader for one of the words `known`, in any case."""

    def read(value: object, _: Place) -> str:
        if isinstance(value, str) and value.lower() in known:
            return value.lower()
        words = ", ".join(f'"{word}"' for word in known)
        near = meant(value, known) if isinstance(value, str) else ""
        raise InvalidInput(f"expected one of {words}, not {written(value)}{near}")

    return read


def member_of(kind: type[_Enum]) -> Reader:
    """Return a reader for one member of `kind`."""
    read_word = one_of(*kind)

    def read(value: object, place: Place) -> _Enum:
        return kind(read_word(value, place))

    return read


def read_version(value: object, place: Place) -> str:
    """Parse an api-version."""
    return str(one_of(*VERSIONS)(value, place))


def texts(value: object, place: Place) -> list[tuple[str, Place]]:
    """Parse a list of texts, each with its place; duplicates are errors."""
    if not isinstance(value, list):
        near = f"; write [{written(value)}]" if isinstance(value, str) else ""
        raise InvalidInput(f"expected a list of texts, not {written(value)}{near}")
    places: dict[str, Place] = {}
    for number, text in enumerate(value):
        at = place.below(number)
        if not isinstance(text, str) or not text:
            at.refuse(str(wrong("text", text)))
        elif text in places:
            at.refuse(f"{written(text)} stands here twice")
        else:
            places[text] = at
    return [*places.items()]


def read_names(value: object, place: Place) -> tuple[str, ...]:
    """Parse a list of names."""
    return tuple(name for name, _ in texts(value, place))


def some_of(kind: type[StrEnum], what: str) -> Reader:
    """Return a reader for a list of protocol words, in any case.

    An unknown word is an error: a rule for it would never match.
    """

    def read(value: object, place: Place) -> frozenset[str]:
        words = texts(value, place)
        if not value:
            raise InvalidInput("an empty list matches no event; leave the key out")
        return frozenset(_known(word, at, kind, what) for word, at in words)

    return read


def _known(word: str, place: Place, kind: type[StrEnum], what: str) -> str:
    exact = {member.lower(): member.value for member in kind}.get(word.lower())
    if exact is not None:
        return exact
    near = nearest(word, kind)
    hint = f'did you mean "{near}"?' if near else f"known are {', '.join(kind)}"
    place.refuse(f"{written(word)} is no {what}; {hint}")
    return word


read_types = some_of(EventType, "event type")
read_sources = some_of(EventSource, "event source")


# --- numbers -----------------------------------------------------------------


def a_number(of: str, least: float, most: float, *, is_whole: bool = False) -> Reader:
    """Return a reader for numbers from `least` to `most`."""
    kind = "whole number" if is_whole else "number"
    expected = f"a {kind} of {of} from {least:g} to {most:.0f}"

    def read(value: object, _: Place) -> float:
        is_odd = isinstance(value, bool) or (is_whole and isinstance(value, float))
        if not is_odd and isinstance(value, int | float) and least <= value <= most:
            return value
        raise wrong(expected, value)

    return read


# --- addresses, paths, commands ----------------------------------------------


def read_endpoint(value: object, place: Place) -> str:
    """Parse the URL of the metadata service."""
    text = read_text(value, place)
    endpoint.parse(text)
    return text


def read_address(value: object, place: Place) -> str:
    """Parse an address to listen on."""
    if not isinstance(value, str) or address_of(value) is None:
        raise wrong('an address to listen on such as "127.0.0.1:9254"', value)
    return value


def address_of(text: str) -> tuple[str, int] | None:
    """Split HOST:PORT or [HOST]:PORT; None if it is neither."""
    host, colon, port = text.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) <= 65_535
    if not colon or not is_port or len(port) > 5:
        return None
    if host.startswith("[") and host.endswith("]"):
        return (host[1:-1], int(port)) if _is_ip(host[1:-1]) else None
    return (host, int(port)) if _HOST.fullmatch(host) else None


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def read_path(value: object, place: Place) -> Path:
    """Parse a path; relative paths start at the file's folder."""
    return place.folder / read_text(value, place)


def read_command(value: object, place: Place) -> tuple[str, ...]:
    """Parse a list of words, or a command line for the shell."""
    if isinstance(value, str) and value.strip():
        return _without_zeros((*SHELL, value))
    if not isinstance(value, list) or not value:
        raise wrong('text for /bin/sh, or a list such as ["drain", "--now"]', value)
    for number, word in enumerate(value):
        if not isinstance(word, str):
            place.below(number).refuse(str(wrong("text", word)))
    words = tuple(str(word) for word in value)
    if not words[0].strip():
        raise InvalidInput("the first word, which is to be run, is empty")
    first = str(place.folder / words[0]) if "/" in words[0] else words[0]
    return _without_zeros((first, *words[1:]))


def _without_zeros(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise InvalidInput("no command has a zero character in it")
    return words


def read_function(value: object, place: Place) -> str:
    """Parse the name of a Python function."""
    text = read_text(value, place)
    if _FUNCTION.fullmatch(text):
        return text
    raise wrong('a function such as "package.module:function"', value)
