"""Keys of the agent's configuration file, and how the value of each is read.

A reader gets a value and its location. It raises InvalidInput with what was expected,
or reports a problem with a part of the value at that part's own location.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    NumberRange,
    RuleScope,
    SharedApproval,
    Window,
)
from forewarn.agent.rules import DAYS
from forewarn.client import endpoint
from forewarn.configfile.diagnostics import Location, nearest, suggestion
from forewarn.configfile.values import invalid_value, toml_value
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType
from forewarn.protocol.versions import VERSIONS

#: Runs a shell command line.
SHELL = ("/bin/sh", "-c")

_DAY = 86_400
_YEAR = 366 * _DAY
_A_RANGE = "a range such as {min = 0, max = 9}"
_A_WINDOW = 'a window such as {from = "22:00", to = "06:00"}'
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")

Reader = Callable[[object, Location], Any]
_Enum = TypeVar("_Enum", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """Parser of one key, and the plan's field for its value."""

    read: Reader
    field: str


Keys = Mapping[str, ConfigKey]


def fields(
    table: object, keys: Keys, location: Location, *, expected: str = "a table"
) -> dict[str, Any]:
    """Parse the values of a table; report unknown keys and invalid values."""
    if not isinstance(table, dict):
        raise invalid_value(expected, table)
    values = {}
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            location.below(name, "").refuse(_unknown(name, keys, location))
            continue
        at = location.key(name)
        try:
            values[key.field] = key.read(value, at)
        except InvalidInput as error:
            at.refuse(str(error))
    return values


def _unknown(name: str, keys: Keys, location: Location) -> str:
    sentence = f'unknown key "{name}"{location.inside}'
    homes = [home for home, others in TABLES.items() if name in others]
    if homes:
        return f"{sentence}; it belongs {' or '.join(homes)}"
    near = nearest(name, keys)
    if near is None:
        return f"{sentence}; known are {', '.join(keys)}"
    return f'{sentence}; did you mean "{near}"?'


# --- text --------------------------------------------------------------------


def _read_text(value: object, _: Location) -> str:
    """Parse non-empty text."""
    if not isinstance(value, str) or not value.strip():
        raise invalid_value("text", value)
    if _UNPRINTED.search(value):
        raise InvalidInput("expected text without characters that cannot be printed")
    return value


def _read_flag(value: object, _: Location) -> bool:
    """Parse true or false."""
    if isinstance(value, bool):
        return value
    raise invalid_value("true or false", value)


def _one_of(*words: str) -> Reader:
    """Return a reader for one of `words`, in any case."""

    def read(value: object, _: Location) -> str:
        if isinstance(value, str) and value.lower() in words:
            return value.lower()
        expected = ", ".join(f'"{word}"' for word in words)
        near = suggestion(value, words) if isinstance(value, str) else ""
        raise InvalidInput(f"expected one of {expected}, not {toml_value(value)}{near}")

    return read


def _member_of(enum: type[_Enum]) -> Reader:
    """Return a reader for one member of `enum`."""
    read_word = _one_of(*enum)

    def read(value: object, location: Location) -> _Enum:
        return enum(read_word(value, location))

    return read


def _read_version(value: object, location: Location) -> str:
    """Parse an api-version."""
    return str(_one_of(*VERSIONS)(value, location))


def _texts(value: object, location: Location) -> list[tuple[str, Location]]:
    """Parse a list of texts, each with its location; duplicates are errors."""
    if not isinstance(value, list):
        near = f"; write [{toml_value(value)}]" if isinstance(value, str) else ""
        raise InvalidInput(f"expected a list of texts, not {toml_value(value)}{near}")
    locations: dict[str, Location] = {}
    for number, text in enumerate(value):
        at = location.below(number)
        if not isinstance(text, str) or not text:
            at.refuse(str(invalid_value("text", text)))
        elif text in locations:
            at.refuse(f"{toml_value(text)} stands here twice")
        else:
            locations[text] = at
    return [*locations.items()]


def _read_names(value: object, location: Location) -> tuple[str, ...]:
    """Parse a list of names."""
    return tuple(name for name, _ in _texts(value, location))


def _some_of(enum: type[StrEnum], what: str) -> Reader:
    """Return a reader for a list of protocol words, in any case.

    An unknown word is an error: a rule for it would never match.
    """

    def read(value: object, location: Location) -> frozenset[str]:
        words = _texts(value, location)
        if not value:
            raise InvalidInput("an empty list matches no event; leave the key out")
        return frozenset(_protocol_word(word, at, enum, what) for word, at in words)

    return read


def _protocol_word(
    word: str, location: Location, enum: type[StrEnum], what: str
) -> str:
    exact = {member.lower(): member.value for member in enum}.get(word.lower())
    if exact is not None:
        return exact
    near = nearest(word, enum)
    hint = f'did you mean "{near}"?' if near else f"known are {', '.join(enum)}"
    location.refuse(f"{toml_value(word)} is no {what}; {hint}")
    return word


_read_types = _some_of(EventType, "event type")
_read_sources = _some_of(EventSource, "event source")


# --- numbers and ranges ------------------------------------------------------


def _a_number(
    unit: str, least: float, most: float, *, is_whole: bool = False
) -> Reader:
    """Return a reader for numbers from `least` to `most`."""
    kind = "whole number" if is_whole else "number"
    expected = f"a {kind} of {unit} from {least:g} to {most:.0f}"

    def read(value: object, _: Location) -> float:
        is_odd = isinstance(value, bool) or (is_whole and isinstance(value, float))
        if not is_odd and isinstance(value, int | float) and least <= value <= most:
            return value
        raise invalid_value(expected, value)

    return read


RANGE: Keys = MappingProxyType(
    {
        "min": ConfigKey(_a_number("seconds", 0, _YEAR), "least"),
        "max": ConfigKey(_a_number("seconds", 0, _YEAR), "most"),
    }
)


def _read_range(value: object, location: Location) -> NumberRange:
    bounds = NumberRange(**fields(value, RANGE, location, expected=_A_RANGE))
    if bounds.least is not None and bounds.most is not None:
        if bounds.least > bounds.most:
            raise InvalidInput(
                f"min is {bounds.least:g}, which is more than max, {bounds.most:g}"
            )
    elif bounds == NumberRange() and not value:
        raise InvalidInput("it has neither min nor max; leave the key out")
    return bounds


# --- time windows ------------------------------------------------------------


def _read_days(value: object, location: Location) -> frozenset[int]:
    """Parse weekdays by their first three letters, in any case."""
    words = _texts(value, location)
    if not value:
        raise InvalidInput("an empty list is a window that is never open")
    return frozenset(_day(word, at) for word, at in words)


def _day(word: str, location: Location) -> int:
    numbers = [number for number, day in enumerate(DAYS) if day == word.capitalize()]
    if not numbers:
        location.refuse(str(invalid_value(f"one of {', '.join(DAYS)}", word)))
    return numbers[0] if numbers else 0


def _read_clock(value: object, _: Location) -> time:
    """Parse a time of day, to the minute; 24:00 is the end of the day."""
    if isinstance(value, time):
        return value
    if value == "24:00":
        return time()
    parts = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise invalid_value('a time of the day such as "22:00"', value)
    return time(int(parts[1]), int(parts[2]))


def _read_zone(value: object, location: Location) -> str:
    """Parse the name of a time zone."""
    name = _read_text(value, location)
    if name.upper() == "UTC":
        return "UTC"
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        raise InvalidInput(_no_zone(name, available_timezones())) from None


def _no_zone(name: str, known: Iterable[str]) -> str:
    if not known:
        return (
            f"this machine has no time zone database, so {toml_value(name)} cannot be"
            " looked up; install tzdata, or write UTC"
        )
    return f"{toml_value(name)} is no time zone{suggestion(name, known)}"


WINDOW: Keys = MappingProxyType(
    {
        "days": ConfigKey(_read_days, "days"),
        "from": ConfigKey(_read_clock, "begins"),
        "to": ConfigKey(_read_clock, "ends"),
        "zone": ConfigKey(_read_zone, "zone"),
    }
)


def _read_window(value: object, location: Location) -> Window:
    return Window(**fields(value, WINDOW, location, expected=_A_WINDOW))


# --- addresses, paths, commands ----------------------------------------------


def _read_endpoint(value: object, location: Location) -> str:
    """Parse the URL of the metadata service."""
    text = _read_text(value, location)
    endpoint.parse(text)
    return text


def _read_address(value: object, location: Location) -> str:
    """Parse an address to listen on."""
    if not isinstance(value, str) or address_of(value) is None:
        raise invalid_value('an address to listen on such as "127.0.0.1:9254"', value)
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


def _read_path(value: object, location: Location) -> Path:
    """Parse a path; relative paths start at the file's folder."""
    return location.folder / _read_text(value, location)


def _read_command(value: object, location: Location) -> tuple[str, ...]:
    """Parse a list of words, or a command line for the shell."""
    if isinstance(value, str) and value.strip():
        return _without_zeros((*SHELL, value))
    if not isinstance(value, list) or not value:
        raise invalid_value(
            'text for /bin/sh, or a list such as ["drain", "--now"]', value
        )
    for number, word in enumerate(value):
        if not isinstance(word, str):
            location.below(number).refuse(str(invalid_value("text", word)))
    words = tuple(str(word) for word in value)
    if not words[0].strip():
        raise InvalidInput("the first word, which is to be run, is empty")
    first = str(location.folder / words[0]) if "/" in words[0] else words[0]
    return _without_zeros((first, *words[1:]))


def _without_zeros(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise InvalidInput("no command has a zero character in it")
    return words


def _read_function(value: object, location: Location) -> str:
    """Parse the name of a Python function."""
    text = _read_text(value, location)
    if _FUNCTION.fullmatch(text):
        return text
    raise invalid_value('a function such as "package.module:function"', value)


# --- keys of each table ------------------------------------------------------


TOP: Keys = MappingProxyType(
    {
        "endpoint": ConfigKey(_read_endpoint, "endpoint"),
        "name": ConfigKey(_read_text, "name"),
        "state": ConfigKey(_read_path, "state"),
        "api_version": ConfigKey(_read_version, "api_version"),
        "poll_seconds": ConfigKey(_a_number("seconds", 0.01, _DAY), "poll"),
        "wait": ConfigKey(_read_flag, "wait"),
        "blind_after_seconds": ConfigKey(
            _a_number("seconds", 0.1, _DAY), "blind_after"
        ),
        "reserve_seconds": ConfigKey(_a_number("seconds", 0, _DAY), "reserve"),
        "kill_after_seconds": ConfigKey(_a_number("seconds", 0, _DAY), "kill_after"),
        "ready_every_seconds": ConfigKey(
            _a_number("seconds", 0.01, _DAY), "ready_every"
        ),
        "scripts": ConfigKey(_read_path, "scripts"),
        "log_format": ConfigKey(_one_of("text", "json"), "log_format"),
        "log_level": ConfigKey(
            _one_of("debug", "info", "warning", "error"), "log_level"
        ),
    }
)

METRICS: Keys = MappingProxyType(
    {
        "listen": ConfigKey(_read_address, "metrics"),
        "textfile": ConfigKey(_read_path, "textfile"),
    }
)

HOOK: Keys = MappingProxyType(
    {
        "command": ConfigKey(_read_command, "command"),
        "python": ConfigKey(_read_function, "python"),
        "timeout_seconds": ConfigKey(_a_number("seconds", 0.01, _YEAR), "timeout"),
        "tries": ConfigKey(_a_number("tries", 1, 1000, is_whole=True), "tries"),
        "retry_after_seconds": ConfigKey(_a_number("seconds", 0, _DAY), "retry_after"),
    }
)

#: The keys of a rule that name hooks; each field is a step.
STEPS: Keys = MappingProxyType(
    {
        "prepare": ConfigKey(_read_names, "prepare"),
        "started": ConfigKey(_read_names, "started"),
        "started_without_notice": ConfigKey(_read_names, "started-without-notice"),
        "recover": ConfigKey(_read_names, "recover"),
        "undo": ConfigKey(_read_names, "undo"),
    }
)

RULE: Keys = MappingProxyType(
    {
        "name": ConfigKey(_read_text, "name"),
        "types": ConfigKey(_read_types, "types"),
        "sources": ConfigKey(_read_sources, "sources"),
        "duration_seconds": ConfigKey(_read_range, "duration"),
        "notice_seconds": ConfigKey(_read_range, "notice"),
        "concerns": ConfigKey(_member_of(RuleScope), "concerns"),
        "description": ConfigKey(_read_text, "description"),
        "window": ConfigKey(_read_window, "window"),
        **STEPS,
        "parallel": ConfigKey(_read_flag, "parallel"),
        "approve": ConfigKey(_member_of(ApprovalPolicy), "approve"),
        "together": ConfigKey(_member_of(SharedApproval), "together"),
        "ready": ConfigKey(_read_text, "ready"),
    }
)

#: Tables and their keys, as error messages name them.
TABLES: Mapping[str, Keys] = MappingProxyType(
    {
        "at the top, before the first table": TOP,
        "in [metrics]": METRICS,
        "in a [hooks.NAME]": HOOK,
        "in a [[rules]]": RULE,
        "in a window": WINDOW,
    }
)
