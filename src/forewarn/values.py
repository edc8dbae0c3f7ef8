"""Parsers of setting values: text, numbers, addresses, store URLs and names."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from math import nan
from typing import Any

from forewarn.clocks import rate_of
from forewarn.errors import InvalidInput

#: Prefix of a SQLite store URL.
SQLITE = "sqlite:///"

#: Prefixes of a PostgreSQL store URL.
POSTGRES = ("postgresql://", "postgres://")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\*")


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
        """Whether only this machine can connect to this address."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


#: Parses a value; raises `InvalidInput` naming the place and what was expected.
Reader = Callable[[object, str], Any]


def _wrong(place: str, expected: str, value: object) -> InvalidInput:
    return InvalidInput(f"{place}: expected {expected}, not {value!r}")


def read_text(value: object, place: str) -> str:
    """Parse text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise _wrong(place, "text", value)


def read_clock(value: object, place: str) -> str:
    """Parse the name of a clock."""
    text = read_text(value, place)
    try:
        rate_of(text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
    return text


def read_store(value: object, place: str) -> str:
    """Parse a store URL, or `memory`."""
    text = read_text(value, place)
    is_file = text.startswith(SQLITE) and len(text) > len(SQLITE)
    if is_file or text == "memory" or text.startswith(POSTGRES):
        return text
    expected = f"{SQLITE}PATH, postgresql://USER@HOST/DATABASE or memory"
    if "@" in text or "=" in text:  # may contain a password
        raise InvalidInput(f"{place}: expected {expected}")
    raise _wrong(place, expected, value)


def one_of(*known: str) -> Reader:
    """Return a parser for one of the words `known`, ignoring case."""

    def read(value: object, place: str) -> str:
        if isinstance(value, str) and value.lower() in known:
            return value.lower()
        raise _wrong(place, "one of " + ", ".join(known), value)

    return read


def read_flag(value: object, place: str) -> bool:
    """Parse a boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise _wrong(place, "true or false", value)


def a_number(of: str, least: float, most: float, *, is_whole: bool = False) -> Reader:
    """Return a parser for numbers from `least` to `most`."""

    def read(value: object, place: str) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) else nan
        except ValueError:
            number = nan
        is_odd = isinstance(value, bool) or (is_whole and not number.is_integer())
        if is_odd or not least <= number <= most:
            raise _wrong(place, f"a number of {of} from {least} to {most}", value)
        return int(number) if is_whole else number

    return read


#: Parses a number of seconds, up to a day.
read_seconds = a_number("seconds", 0, 86_400)
#: Parses a number of connections.
read_connections = a_number("connections", 1, 10_000_000, is_whole=True)


def read_address(value: object, place: str) -> Address:
    """Parse an address to listen on."""
    host, colon, port = str(value).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = int(port) if port.isascii() and port.isdigit() else -1
    is_host = bool(host) and "/" not in host  # a URL is not an address
    if isinstance(value, str) and colon and is_host and 0 <= number <= 65535:
        return Address(host, number)
    raise _wrong(place, "an address such as 127.0.0.1:8254", value)


def read_addresses(value: object, place: str) -> tuple[Address, ...]:
    """Parse one or more addresses: a list, or text separated by commas."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list | tuple) or not several:
        raise _wrong(place, "one or more addresses", value)
    return tuple(
        read_address(item.strip() if isinstance(item, str) else item, place)
        for item in several
    )


def read_names(value: object, place: str) -> tuple[str, ...]:
    """Parse host names: a list, or text separated by commas; `*` matches any name."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list | tuple):
        raise _wrong(place, "one or more names", value)
    return tuple(_read_name(item, place) for item in several)


def _read_name(value: object, place: str) -> str:
    name = value.strip().lower().removesuffix(".") if isinstance(value, str) else ""
    if _NAME.fullmatch(name):
        return name
    raise _wrong(place, "a name such as forewarn.example.org, without a port", value)
