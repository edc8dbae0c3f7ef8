"""Schema of the agent's configuration file: every key, its parser and its field."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from forewarn.agent.complaints import Place, nearest
from forewarn.agent.plan import Approve, Concerns, Range, Together, Window
from forewarn.agent.values import (
    Reader,
    a_number,
    member_of,
    one_of,
    read_address,
    read_command,
    read_endpoint,
    read_flag,
    read_function,
    read_names,
    read_path,
    read_sources,
    read_text,
    read_types,
    read_version,
    wrong,
)
from forewarn.agent.windows import read_clock, read_days, read_zone
from forewarn.errors import InvalidInput

_DAY = 86_400
_YEAR = 366 * _DAY
_A_RANGE = "a range such as {min = 0, max = 9}"
_A_WINDOW = 'a window such as {from = "22:00", to = "06:00"}'


@dataclass(frozen=True, slots=True)
class Key:
    """Parser of one key, and the plan's field for its value."""

    read: Reader
    field: str


Keys = Mapping[str, Key]

RANGE: Keys = MappingProxyType(
    {
        "min": Key(a_number("seconds", 0, _YEAR), "least"),
        "max": Key(a_number("seconds", 0, _YEAR), "most"),
    }
)

WINDOW: Keys = MappingProxyType(
    {
        "days": Key(read_days, "days"),
        "from": Key(read_clock, "begins"),
        "to": Key(read_clock, "ends"),
        "zone": Key(read_zone, "zone"),
    }
)


def fields(
    table: object, keys: Keys, place: Place, *, expected: str = "a table"
) -> dict[str, Any]:
    """Parse the values of a table; report unknown keys and invalid values."""
    if not isinstance(table, dict):
        raise wrong(expected, table)
    values = {}
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            place.below(name, "").refuse(_unknown(name, keys, place))
            continue
        at = place.key(name)
        try:
            values[key.field] = key.read(value, at)
        except InvalidInput as error:
            at.refuse(str(error))
    return values


def _unknown(name: str, keys: Keys, place: Place) -> str:
    sentence = f'unknown key "{name}"{place.inside}'
    homes = [home for home, others in TABLES.items() if name in others]
    if homes:
        return f"{sentence}; it belongs {' or '.join(homes)}"
    near = nearest(name, keys)
    if near is None:
        return f"{sentence}; known are {', '.join(keys)}"
    return f'{sentence}; did you mean "{near}"?'


def _read_range(value: object, place: Place) -> Range:
    bounds = Range(**fields(value, RANGE, place, expected=_A_RANGE))
    if bounds.least is not None and bounds.most is not None:
        if bounds.least > bounds.most:
            raise InvalidInput(
                f"min is {bounds.least:g}, which is more than max, {bounds.most:g}"
            )
    elif bounds == Range() and not value:
        raise InvalidInput("it has neither min nor max; leave the key out")
    return bounds


def _read_window(value: object, place: Place) -> Window:
    return Window(**fields(value, WINDOW, place, expected=_A_WINDOW))


TOP: Keys = MappingProxyType(
    {
        "endpoint": Key(read_endpoint, "endpoint"),
        "name": Key(read_text, "name"),
        "state": Key(read_path, "state"),
        "api_version": Key(read_version, "api_version"),
        "poll_seconds": Key(a_number("seconds", 0.01, _DAY), "poll"),
        "wait": Key(read_flag, "wait"),
        "blind_after_seconds": Key(a_number("seconds", 0.1, _DAY), "blind_after"),
        "reserve_seconds": Key(a_number("seconds", 0, _DAY), "reserve"),
        "kill_after_seconds": Key(a_number("seconds", 0, _DAY), "kill_after"),
        "ready_every_seconds": Key(a_number("seconds", 0.01, _DAY), "ready_every"),
        "scripts": Key(read_path, "scripts"),
        "log_format": Key(one_of("text", "json"), "log_format"),
        "log_level": Key(one_of("debug", "info", "warning", "error"), "log_level"),
    }
)

METRICS: Keys = MappingProxyType(
    {
        "listen": Key(read_address, "metrics"),
        "textfile": Key(read_path, "textfile"),
    }
)

HOOK: Keys = MappingProxyType(
    {
        "command": Key(read_command, "command"),
        "python": Key(read_function, "python"),
        "timeout_seconds": Key(a_number("seconds", 0.01, _YEAR), "timeout"),
        "tries": Key(a_number("tries", 1, 1000, is_whole=True), "tries"),
        "retry_after_seconds": Key(a_number("seconds", 0, _DAY), "retry_after"),
    }
)

#: The keys of a rule that name hooks; each field is a step.
STEPS: Keys = MappingProxyType(
    {
        "prepare": Key(read_names, "prepare"),
        "started": Key(read_names, "started"),
        "started_without_notice": Key(read_names, "started-without-notice"),
        "recover": Key(read_names, "recover"),
        "undo": Key(read_names, "undo"),
    }
)

RULE: Keys = MappingProxyType(
    {
        "name": Key(read_text, "name"),
        "types": Key(read_types, "types"),
        "sources": Key(read_sources, "sources"),
        "duration_seconds": Key(_read_range, "duration"),
        "notice_seconds": Key(_read_range, "notice"),
        "concerns": Key(member_of(Concerns), "concerns"),
        "description": Key(read_text, "description"),
        "window": Key(_read_window, "window"),
        **STEPS,
        "parallel": Key(read_flag, "parallel"),
        "approve": Key(member_of(Approve), "approve"),
        "together": Key(member_of(Together), "together"),
        "ready": Key(read_text, "ready"),
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
