"""Keys of the agent's configuration file and parsers for their values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    HookPoint,
    NumberRange,
    RuleScope,
    SharedApproval,
    Window,
)
from forewarn.agent.rules import DAYS
from forewarn.client import endpoint
from forewarn.configfile.values import (
    InvalidParts,
    Problem,
    Reader,
    invalid_value,
    list_of,
    matching,
    number,
    one_of,
    read_address,
    read_flag,
    read_parts,
    suggestion,
    toml_value,
    unknown_key,
    whole_number,
)
from forewarn.configfile.values import read_text as read_any_text
from forewarn.errors import InvalidInput
from forewarn.logs import FORMATS, LEVELS
from forewarn.protocol.types import EventSource, EventType
from forewarn.protocol.versions import VERSIONS

#: The command that runs a shell command line.
SHELL = ("/bin/sh", "-c")

_DAY = 86_400
_YEAR = 366 * _DAY
_A_RANGE = "a range such as {min = 0, max = 9}"
_A_WINDOW = 'a window such as {from = "22:00", to = "06:00"}'
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The parser for one key and the field of the plan that stores its value."""

    read: Reader[Any]
    field: str


Keys = Mapping[str, ConfigKey]


def read_fields(table: object, keys: Keys) -> tuple[dict[str, Any], list[Problem]]:
    """Parse a table; return the valid plan fields and the problems."""
    readers = {name: key.read for name, key in keys.items()}
    values, problems = read_parts(table, readers, unknown=_unknown)
    return {keys[name].field: value for name, value in values.items()}, problems


def _unknown(name: str, known: Iterable[str]) -> str:
    homes = [home for home, others in TABLES.items() if name in others]
    if homes:
        return f"unknown key; it belongs {' or '.join(homes)}"
    return unknown_key(name, known)


def _fields(table: object, keys: Keys, expected: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise invalid_value(expected, table)
    values, problems = read_fields(table, keys)
    if problems:
        raise InvalidParts(problems)
    return values


# --- text --------------------------------------------------------------------


def _read_text(value: object) -> str:
    text = read_any_text(value)
    if _UNPRINTED.search(text):
        raise InvalidInput("expected a string without control characters")
    return text


_read_names = list_of(read_any_text, "a list of strings", is_unique=True)


def _some_of(enum: type[StrEnum]) -> Reader[frozenset[str]]:
    """Return a case-insensitive reader for a list of protocol words.

    An unknown word is an error, because a rule that uses it would never match.
    """
    read_words = list_of(one_of(*enum), "a list of strings", is_unique=True)

    def read(value: object) -> frozenset[str]:
        words = read_words(value)
        if not words:
            raise InvalidInput(
                "an empty list matches no events; to match all, omit the key"
            )
        return frozenset(word.value for word in words)

    return read


# --- numbers and ranges ------------------------------------------------------


RANGE: Keys = MappingProxyType(
    {
        "min": ConfigKey(number("seconds", 0, _YEAR), "least"),
        "max": ConfigKey(number("seconds", 0, _YEAR), "most"),
    }
)


def _read_range(value: object) -> NumberRange:
    bounds = NumberRange(**_fields(value, RANGE, _A_RANGE))
    if bounds.least is not None and bounds.most is not None:
        if bounds.least > bounds.most:
            raise InvalidInput(
                f"min ({bounds.least:g}) is greater than max ({bounds.most:g})"
            )
    elif bounds == NumberRange():
        raise InvalidInput(
            "expected min, max or both; to accept any value, omit the key"
        )
    return bounds


# --- time windows ------------------------------------------------------------

_read_day_names = list_of(one_of(*DAYS), "a list of strings", is_unique=True)


def _read_days(value: object) -> frozenset[int]:
    """Parse weekdays by their first three letters, ignoring case."""
    days = _read_day_names(value)
    if not days:
        raise InvalidInput("with an empty list, the window is never open; omit the key")
    return frozenset(DAYS.index(day) for day in days)


def _read_clock(value: object) -> time:
    """Parse a time of day, HH:MM; 24:00 means the end of the day."""
    if isinstance(value, time):
        return value
    if value == "24:00":
        return time()
    parts = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise invalid_value('a time of day such as "22:00"', value)
    return time(int(parts[1]), int(parts[2]))


def _read_zone(value: object) -> str:
    """Parse the name of a time zone."""
    name = _read_text(value)
    if name.upper() == "UTC":
        return "UTC"
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        raise InvalidInput(_no_zone(name, available_timezones())) from None


def _no_zone(name: str, known: Iterable[str]) -> str:
    if not known:
        return (
            f"cannot look up {toml_value(name)}, because this machine has no time zone"
            " database; install tzdata, or use UTC"
        )
    return f"unknown time zone {toml_value(name)}{suggestion(name, known)}"


WINDOW: Keys = MappingProxyType(
    {
        "days": ConfigKey(_read_days, "days"),
        "from": ConfigKey(_read_clock, "begins"),
        "to": ConfigKey(_read_clock, "ends"),
        "zone": ConfigKey(_read_zone, "zone"),
    }
)


def _read_window(value: object) -> Window:
    return Window(**_fields(value, WINDOW, _A_WINDOW))


# --- addresses, paths, commands ----------------------------------------------


def _read_endpoint(value: object) -> str:
    """Parse the URL of the metadata service."""
    text = _read_text(value)
    endpoint.parse(text)
    return text


def _read_path(value: object) -> Path:
    return Path(_read_text(value))


def _read_word(value: object) -> str:
    if isinstance(value, str):
        return value
    raise invalid_value("text", value)


_read_words = list_of(
    _read_word, 'a string for /bin/sh, or a list such as ["drain", "--now"]', least=1
)


def _read_command(value: object) -> tuple[str, ...]:
    """Parse a list of words or a command line for the shell."""
    is_line = isinstance(value, str) and bool(value.strip())
    words = _read_words([*SHELL, value] if is_line else value)
    if not words[0].strip():
        raise InvalidInput("the first word, which names the program, is empty")
    if any("\0" in word for word in words):
        raise InvalidInput("a command cannot contain a null character")
    return words


_read_function = matching(_FUNCTION, 'a function such as "package.module:function"')


# --- keys of each table ------------------------------------------------------


TOP: Keys = MappingProxyType(
    {
        "endpoint": ConfigKey(_read_endpoint, "endpoint"),
        "discover": ConfigKey(read_flag, "discover"),
        "name": ConfigKey(_read_text, "name"),
        "state": ConfigKey(_read_path, "state"),
        "api_version": ConfigKey(one_of(*VERSIONS), "api_version"),
        "poll_seconds": ConfigKey(number("seconds", 0.01, _DAY), "poll"),
        "wait": ConfigKey(read_flag, "wait"),
        "blind_after_seconds": ConfigKey(number("seconds", 0.1, _DAY), "blind_after"),
        "reserve_seconds": ConfigKey(number("seconds", 0, _DAY), "reserve"),
        "kill_after_seconds": ConfigKey(number("seconds", 0, _DAY), "kill_after"),
        "ready_every_seconds": ConfigKey(number("seconds", 0.01, _DAY), "ready_every"),
        "hooks_at_once": ConfigKey(whole_number(1, 100, unit="hooks"), "hooks_at_once"),
        "scripts": ConfigKey(_read_path, "scripts"),
        "log_format": ConfigKey(one_of(*FORMATS), "log_format"),
        "log_level": ConfigKey(one_of(*LEVELS), "log_level"),
    }
)

METRICS: Keys = MappingProxyType(
    {
        "listen": ConfigKey(read_address, "metrics"),
        "textfile": ConfigKey(_read_path, "textfile"),
    }
)

HOOK: Keys = MappingProxyType(
    {
        "command": ConfigKey(_read_command, "command"),
        "python": ConfigKey(_read_function, "python"),
        "timeout_seconds": ConfigKey(number("seconds", 0.01, _YEAR), "timeout"),
        "tries": ConfigKey(whole_number(1, 1000, unit="tries"), "tries"),
        "retry_after_seconds": ConfigKey(number("seconds", 0, _DAY), "retry_after"),
    }
)

#: The keys of a rule that name hooks; each field corresponds to a step.
STEPS: Keys = MappingProxyType(
    {step.replace("-", "_"): ConfigKey(_read_names, step) for step in HookPoint}
)

RULE: Keys = MappingProxyType(
    {
        "name": ConfigKey(_read_text, "name"),
        "types": ConfigKey(_some_of(EventType), "types"),
        "sources": ConfigKey(_some_of(EventSource), "sources"),
        "duration_seconds": ConfigKey(_read_range, "duration"),
        "notice_seconds": ConfigKey(_read_range, "notice"),
        "concerns": ConfigKey(one_of(*RuleScope), "concerns"),
        "description": ConfigKey(_read_text, "description"),
        "window": ConfigKey(_read_window, "window"),
        **STEPS,
        "parallel": ConfigKey(read_flag, "parallel"),
        "approve": ConfigKey(one_of(*ApprovalPolicy), "approve"),
        "together": ConfigKey(one_of(*SharedApproval), "together"),
        "ready": ConfigKey(_read_text, "ready"),
    }
)

#: Tables and their keys, as named in error messages.
TABLES: Mapping[str, Keys] = MappingProxyType(
    {
        "at the top, before the first table": TOP,
        "in [metrics]": METRICS,
        "in [hooks.NAME]": HOOK,
        "in [[rules]]": RULE,
        "in a window": WINDOW,
    }
)
