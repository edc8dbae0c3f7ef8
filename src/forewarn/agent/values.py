"""How values are written in the agent's file.

A reader takes a value and its place. It raises InvalidInput with what was expected, or
complains of a part of the value at that part's own place.
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

#: How a string of the shell's language is run.
SHELL = ("/bin/sh", "-c")

Reader = Callable[[object, Place], Any]

_Enum = TypeVar("_Enum", bound=StrEnum)
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")


def wrong(expected: str, value: object) -> InvalidInput:
    """Say what was expected instead of `value`."""
    return InvalidInput(f"expected {expected}, not {written(value)}")


def written(value: object) -> str:
    """Write a value as TOML has it, if it is short."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return "an endless number"


# --- text and words ----------------------------------------------------------


def read_text(value: object, _: Place) -> str:
    """Read text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise wrong("text", value)
    if _UNPRINTED.search(value):
        raise InvalidInput("expected text without characters that cannot be printed")
    return value


def read_flag(value: object, _: Place) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    raise wrong("true or false", value)


def one_of(*known: str) -> Reader:
    """Make a reader of one of the words `known`, in any case."""

    def read(value: object, _: Place) -> str:
        if isinstance(value, str) and value.lower() in known:
            return value.lower()
        words = ", ".join(f'"{each}"' for each in known)
        near = meant(value, known) if isinstance(value, str) else ""
        raise InvalidInput(f"expected one of {words}, not {written(value)}{near}")

    return read


def member_of(kind: type[_Enum]) -> Reader:
    """Make a reader of one of the members of `kind`."""
    read_word = one_of(*kind)

    def read(value: object, place: Place) -> _Enum:
        return kind(read_word(value, place))

    return read


def read_version(value: object, place: Place) -> str:
    """Read an api-version."""
    return str(one_of(*VERSIONS)(value, place))


def texts(value: object, place: Place) -> list[tuple[str, Place]]:
    """Read a list of texts, each with its place; no text twice."""
    if not isinstance(value, list):
        near = f"; write [{written(value)}]" if isinstance(value, str) else ""
        raise InvalidInput(f"expected a list of texts, not {written(value)}{near}")
    found: dict[str, Place] = {}
    for number, each in enumerate(value):
        at = place.below(number)
        if not isinstance(each, str) or not each:
            at.refuse(str(wrong("text", each)))
        elif each in found:
            at.refuse(f"{written(each)} stands here twice")
        else:
            found[each] = at
    return [*found.items()]


def read_names(value: object, place: Place) -> tuple[str, ...]:
    """Read a list of names."""
    return tuple(each for each, _ in texts(value, place))


def some_of(kind: type[StrEnum], what: str) -> Reader:
    """Make a reader of a list of words of the wire, in any case.

    A word that is not known is refused: a rule for it would never match.
    """

    def read(value: object, place: Place) -> frozenset[str]:
        words = texts(value, place)
        if not value:
            raise InvalidInput("an empty list matches no event; leave the key out")
        return frozenset(_known(each, at, kind, what) for each, at in words)

    return read


def _known(word: str, place: Place, kind: type[StrEnum], what: str) -> str:
    exact = {each.lower(): each.value for each in kind}.get(word.lower())
    if exact is not None:
        return exact
    near = nearest(word, kind)
    known = f'did you mean "{near}"?' if near else f"known are {', '.join(kind)}"
    place.refuse(f"{written(word)} is no {what}; {known}")
    return word


read_types = some_of(EventType, "event type")
read_sources = some_of(EventSource, "event source")


# --- numbers -----------------------------------------------------------------


def a_number(of: str, least: float, most: float, *, is_whole: bool = False) -> Reader:
    """Make a reader of numbers from `least` to `most`."""
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
    """Read where the metadata service answers."""
    text = read_text(value, place)
    endpoint.parse(text)
    return text


def read_address(value: object, place: Place) -> str:
    """Read an address to listen on."""
    if not isinstance(value, str) or address_of(value) is None:
        raise wrong('an address to listen on such as "127.0.0.1:9254"', value)
    return value


def address_of(text: str) -> tuple[str, int] | None:
    """Take HOST:PORT or [HOST]:PORT apart; None if it is none."""
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
    """Read a path; one that does not begin at the root begins beside the file."""
    return place.folder / read_text(value, place)


def read_command(value: object, place: Place) -> tuple[str, ...]:
    """Read a list of words, or text for the shell."""
    if isinstance(value, str) and value.strip():
        return _without_zeros((*SHELL, value))
    if not isinstance(value, list) or not value:
        raise wrong('text for /bin/sh, or a list such as ["drain", "--now"]', value)
    for number, each in enumerate(value):
        if not isinstance(each, str):
            place.below(number).refuse(str(wrong("text", each)))
    words = tuple(str(each) for each in value)
    if not words[0].strip():
        raise InvalidInput("the first word, which is to be run, is empty")
    first = str(place.folder / words[0]) if "/" in words[0] else words[0]
    return _without_zeros((first, *words[1:]))


def _without_zeros(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in each for each in words):
        raise InvalidInput("no command has a zero character in it")
    return words


def read_function(value: object, place: Place) -> str:
    """Read the name of a function of Python's."""
    text = read_text(value, place)
    if _FUNCTION.fullmatch(text):
        return text
    raise wrong('a function such as "package.module:function"', value)
