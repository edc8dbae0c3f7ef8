"""Readers for values: text, words, numbers, addresses, lists and tables.

1. A value comes from a file, an option, an environment variable or a request. A reader
   returns the typed value or raises InvalidInput with the expected form.
2. A reader does not know the location of its value. The caller adds the location, using
   `at` or the paths in `InvalidParts`.
3. Readers of lists and tables report problems in all parts together.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import SplitResult, urlsplit

from forewarn.errors import InvalidInput

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_LONGEST = 60  # characters of a value in an error
_SIMILAR = 0.6  # minimum similarity, out of 1, for a suggestion
_SWITCHES: Mapping[str, bool] = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_HOST = re.compile(r"\w[\w.-]*")
_PORT = re.compile(r"[0-9]{1,5}")
_URL = re.compile(r"[!-~]+")  # printable ASCII without spaces

#: New names of renamed keys and words, for errors about the old names.
RENAMED: Mapping[str, tuple[str, ...]] = {
    "listening": ("enabled", "enabling"),  # a group's field; a settings table
    "listening_since": ("enabled_since",),
    "ListeningBegan": ("Enabled",),
    "ignore_gates": ("ignore_blockers",),
    "for": ("duration_seconds", "duration"),  # of a fault; the API's name is first
    "for_seconds": ("duration_seconds", "duration"),
    "lasts": ("duration_seconds", "duration"),
}

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=str)

#: Keys and list indexes, outermost first: ("rules", 0, "approve").
KeyPath: TypeAlias = tuple[str | int, ...]

#: Parses a value; raises `InvalidInput` with the expected form.
Reader: TypeAlias = Callable[[object], _T]

#: A problem with part of a value: the path to the part, and a sentence.
Problem: TypeAlias = tuple[KeyPath, str]


# --- errors ------------------------------------------------------------------


class InvalidParts(InvalidInput):
    """Parts of a list or table are invalid; the message describes the first problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Create the error for one or more problems."""
        path, sentence = problems[0]
        keys = ".".join(key for key in path if isinstance(key, str))
        super().__init__(f"{keys}: {sentence}" if keys else sentence)
        self.problems = problems


@contextmanager
def at(place: str) -> Iterator[None]:
    """Add `place` to any `InvalidInput`."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _problems_of(error: InvalidInput, part: str | int) -> Iterator[Problem]:
    """Yield the problems with `part` of a value, with paths from that value."""
    inner = error.problems if isinstance(error, InvalidParts) else [((), str(error))]
    return (((part, *path), sentence) for path, sentence in inner)


def invalid_value(expected: str, value: object) -> InvalidInput:
    """Return an error that names what was expected instead of `value`."""
    return InvalidInput(f"expected {expected}, not {toml_value(value)}")


def toml_value(value: object) -> str:
    """Format a value as short TOML; only the kind of a table or list is named."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    try:
        is_json = value is None or isinstance(value, str | bool)
        text = json.dumps(value, ensure_ascii=False) if is_json else str(value)
    except ValueError:  # more digits than Python can format
        return "a very long number"
    text = text.encode(errors="backslashreplace").decode()  # JSON may hold surrogates
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to `word`, or None if none is similar."""
    from difflib import get_close_matches  # imported late, because only errors need it

    by_lower = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(word.lower(), by_lower, 1, _SIMILAR)
    return by_lower[matches[0]] if matches else None


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return a "did you mean" suffix for a sentence, or "" if no word is similar."""
    near = nearest(word, known) if isinstance(word, str) else None
    return "" if near is None else f'; did you mean "{near}"?'


def renamed(word: str, known: Iterable[str]) -> str:
    """Return a suffix with the new name of `word`, or "" if it was not renamed."""
    now = next((name for name in known if name in RENAMED.get(word, ())), None)
    return "" if now is None else f'; it is now called "{now}"'


def unknown_key(name: str, known: Iterable[str]) -> str:
    """Return the sentence for an unknown key of a table."""
    known = [*known]
    if now := renamed(name, known):
        return f"unknown key{now}"
    instead = suggestion(name, known) or f"; expected one of: {', '.join(known)}"
    return f"unknown key{instead}"


# --- text and words ----------------------------------------------------------


def read_text(value: object) -> str:
    """Parse text that is not blank."""
    if isinstance(value, str) and value.strip():
        return value
    raise invalid_value("text", value)


def matching(pattern: re.Pattern[str], expected: str) -> Reader[str]:
    """Return a reader for text that fully matches `pattern`."""

    def read(value: object) -> str:
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        raise invalid_value(expected, value)

    return read


def one_of(*words: _Word, is_exact: bool = False) -> Reader[_Word]:
    """Return a reader for one of `words`, ignoring case unless `is_exact`."""
    by_text = {word if is_exact else word.lower(): word for word in words}
    listed = ", ".join(f'"{word}"' for word in words)
    expected = listed if len(words) == 1 else f"one of {listed}"

    def read(value: object) -> _Word:
        text = value if is_exact or not isinstance(value, str) else value.lower()
        if isinstance(text, str) and text in by_text:
            return by_text[text]
        raise InvalidInput(
            f"{invalid_value(expected, value)}{suggestion(value, words)}"
        )

    return read


def read_choice(words: Iterable[_Word], value: object, name: str) -> _Word:
    """Parse one of `words`, ignoring case; errors begin with `name`."""
    with at(name):
        return one_of(*words)(value)


def read_flag(value: object) -> bool:
    """Parse true or false."""
    if isinstance(value, bool):
        return value
    raise invalid_value("true or false", value)


def read_switch(value: object) -> bool:
    """Parse true, false, or an equivalent word such as "yes" or "off"."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return _SWITCHES[word] if word in _SWITCHES else read_flag(value)


def secret(read: Reader[_T], expected: str) -> Reader[_T]:
    """Return a reader whose errors do not show the value."""

    def read_secret(value: object) -> _T:
        try:
            return read(value)
        except InvalidInput:
            raise InvalidInput(f"expected {expected}") from None

    return read_secret


# --- numbers -----------------------------------------------------------------


def number(
    unit: str, least: float, most: float, *, is_text: bool = False
) -> Reader[float]:
    """Return a reader for numbers from `least` to `most`; `is_text` allows strings."""
    expected = f"a number of {unit} from {least:g} to {most:.0f}"

    def read(value: object) -> float:
        found = as_number(value, is_text=is_text)
        if least <= found <= most:
            return float(found)
        raise invalid_value(expected, value)

    return read


def whole_number(
    least: int, most: int, *, unit: str = "", is_text: bool = False
) -> Reader[int]:
    """Return a reader for integers from `least` to `most`; 3.0 counts as 3."""
    expected = f"a whole number{unit and f' of {unit}'} from {least} to {most}"

    def read(value: object) -> int:
        found = as_number(value, is_text=is_text)
        if least <= found <= most and found == int(found):
            return int(found)
        raise invalid_value(expected, value)

    return read


def as_number(value: object, *, is_text: bool = False) -> float:
    """Return a number, or NaN if the value is not a number."""
    if isinstance(value, str) and is_text:
        try:
            return float(value)
        except ValueError:
            return nan
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else nan  # type: ignore[return-value]  # just checked


# --- addresses ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        """Format as HOST:PORT, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can connect to this address."""
        ip = parse_ip(self.host)
        return self.host == "localhost" if ip is None else ip.is_loopback


def read_address(value: object) -> Address:
    """Parse an address to listen on."""
    text = value.strip() if isinstance(value, str) else ""
    host, _, port = text.rpartition(":")
    ip = parse_ip(host.removeprefix("[").removesuffix("]"))
    is_port = _PORT.fullmatch(port) is not None and int(port) <= 65_535
    if is_port and (ip or _HOST.fullmatch(host)):
        return Address(host if ip is None else str(ip), int(port))
    raise invalid_value("an address such as 127.0.0.1:8080", value)


def parse_ip(text: object) -> "IPv4Address | IPv6Address | None":
    """Parse an IP address; return None for any other text."""
    from ipaddress import ip_address  # imported late: large and not always needed

    try:
        return ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None


def split_url(value: object) -> SplitResult | None:
    """Split an http or https URL; return None for any other value."""
    if not isinstance(value, str) or not _URL.fullmatch(value):
        return None
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:  # the port is not a number
        return None
    return parts if is_valid and parts.hostname else None


# --- lists and tables --------------------------------------------------------


def list_of(
    read: Reader[_T],
    expected: str,
    *,
    least: int = 0,
    is_unique: bool = False,
    split: Callable[[str], Sequence[str]] | None = None,
) -> Reader[tuple[_T, ...]]:
    """Return a reader for a list; `split` converts a string to a list, if allowed."""

    def read_list(value: object) -> tuple[_T, ...]:
        items = split(value) if split and isinstance(value, str) else value
        if not isinstance(items, list | tuple) or len(items) < least:
            near = f"; use [{toml_value(value)}]" if isinstance(items, str) else ""
            raise InvalidInput(f"{invalid_value(expected, value)}{near}")
        values: list[_T] = []
        problems: list[Problem] = []
        for number, item in enumerate(items):
            try:
                found = read(item)
                if is_unique and found in values:
                    raise InvalidInput(f"{toml_value(item)} appears twice")
                values.append(found)
            except InvalidInput as error:
                problems += _problems_of(error, number)
        if problems:
            raise InvalidParts(problems)
        return tuple(values)

    return read_list


def read_parts(
    table: object,
    readers: Mapping[str, Reader[Any]],
    *,
    unknown: Callable[[str, Iterable[str]], str] = unknown_key,
) -> tuple[dict[str, Any], list[Problem]]:
    """Read a table; return the valid values and the problems with the others."""
    if not isinstance(table, dict):
        return {}, [((), str(invalid_value("a table", table)))]
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, value in table.items():
        try:
            if name not in readers:
                raise InvalidInput(unknown(name, readers))
            values[name] = readers[name](value)
        except InvalidInput as error:
            problems += _problems_of(error, name)
    return values, problems


def read_table(table: object, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    """Read a table whose keys and values are all valid."""
    values, problems = read_parts(table, readers)
    if problems:
        raise InvalidParts(problems)
    return values


def inline_toml(value: object) -> object:
    """Parse TOML text, as used in the environment; return any other value unchanged."""
    import tomllib  # imported late, because most values are not TOML

    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"_ = {value}")["_"]
    except tomllib.TOMLDecodeError:
        return None
