"""Kinds of values in a scenario file: each parses and describes its values.

A reader takes a value and the names known so far. It raises InvalidInput with what was
expected instead. The description is JSON Schema; both accept the same values.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar, cast

from forewarn.configfile.diagnostics import Location, nearest, suggestion
from forewarn.configfile.values import invalid_value, toml_value
from forewarn.core.fleet import NAME as FLEET_NAME
from forewarn.core.lifecycle.policy import LONGEST
from forewarn.errors import InvalidInput
from forewarn.formats import parse_duration
from forewarn.testing.scenario.model import Step
from forewarn.testing.scenario.names import StepNames

Schema: TypeAlias = Mapping[str, object]

_T = TypeVar("_T")
_Value = TypeVar("_Value", covariant=True)
_Word = TypeVar("_Word", bound=StrEnum)

_DAY = 86_400
_UNITS = ("[dD]", "[hH]", "[mM]", "[sS]", "[mM][sS]")
#: 90, 1.5, 90s, 20m, 1h30m, 250ms; not empty.
_DURATION = (
    r"(?:[0-9]{1,9}(?:\.[0-9]{1,3})?|(?=[0-9])"
    + "".join(f"(?:[0-9]{{1,9}}{unit})?" for unit in _UNITS)
    + ")"
)
_ID = FLEET_NAME.pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind(Generic[_Value]):
    """One kind of value."""

    read: Callable[[object, StepNames], _Value]
    schema: Schema
    shown: str  # wording on the reference page
    words: tuple[str, ...] = ()  # all possible values, if there are few


# --- text and words ----------------------------------------------------------


def _text(value: object, _: StepNames) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise invalid_value("text", value)


def _flag(value: object, _: StepNames) -> bool:
    if isinstance(value, bool):
        return value
    raise invalid_value("true or false", value)


def _id(value: object, _: StepNames) -> str:
    if isinstance(value, str) and FLEET_NAME.fullmatch(value):
        return value
    raise invalid_value("a name of 1 to 80 of A-Z a-z 0-9 . _ -", value)


def one_of(*words: _Word) -> ValueKind[_Word]:
    """Return the kind of value that is one of `words`."""
    return _choice({item.value: item for item in words})


def word(*texts: str) -> ValueKind[str]:
    """Return the kind of value that is one of `texts`."""
    return _choice({text: text for text in texts})


def _choice(by_text: Mapping[str, _T]) -> ValueKind[_T]:
    texts = tuple(by_text)

    def read(value: object, _: StepNames) -> _T:
        if isinstance(value, str) and value in by_text:
            return by_text[value]
        raise _no_word(value, texts)

    schema = {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}
    shown = " or ".join(f'`"{text}"`' for text in texts)
    return ValueKind(read=read, schema=schema, shown=shown, words=texts)


def _no_word(value: object, texts: tuple[str, ...]) -> InvalidInput:
    listed = ", ".join(f'"{text}"' for text in texts)
    near = suggestion(value, texts) if isinstance(value, str) else ""
    expected = listed if len(texts) == 1 else f"one of {listed}"
    return InvalidInput(f"expected {expected}, not {toml_value(value)}{near}")


TEXT = ValueKind(
    read=_text, schema={"type": "string", "pattern": r"\S"}, shown="text, not empty"
)
FLAG = ValueKind(read=_flag, schema={"type": "boolean"}, shown="`true` or `false`")
_ID_SCHEMA: Schema = {"type": "string", "pattern": f"^{_ID}$"}
ID = ValueKind(read=_id, schema=_ID_SCHEMA, shown="a name of your choice")


# --- names -------------------------------------------------------------------


def _name_of(find: Callable[[StepNames, str], str], shown: str) -> ValueKind[str]:
    def read(value: object, names: StepNames) -> str:
        return find(names, _id(value, names))

    return ValueKind(read=read, schema=_ID_SCHEMA, shown=shown)


VM = _name_of(StepNames.find_vm, "a VM")
HOST = _name_of(StepNames.find_host, "a host")
GROUP = _name_of(StepNames.find_group, "a group")
EVENT = _name_of(StepNames.find_event, "a name given by `as` in an earlier step")


def several(
    one: ValueKind[_T], shown: str, least: int = 1
) -> ValueKind[tuple[_T, ...]]:
    """Return the kind of value that is a list of `one`, without duplicates."""

    def read(value: object, names: StepNames) -> tuple[_T, ...]:
        if not isinstance(value, list) or len(value) < least:
            near = f"; write [{toml_value(value)}]" if isinstance(value, str) else ""
            raise InvalidInput(f"expected {shown}, not {toml_value(value)}{near}")
        items = tuple(one.read(item, names) for item in value)
        twice = next((item for item in items if items.count(item) > 1), None)
        if twice is not None:
            raise InvalidInput(f"{toml_value(twice)} stands here twice")
        return items

    schema = {"type": "array", "items": one.schema, "uniqueItems": True}
    return ValueKind(read=read, schema={**schema, "minItems": least}, shown=shown)


VMS = several(VM, "a list of VMs")


# --- durations and numbers ---------------------------------------------------


def _number(value: object) -> float | None:
    """Return a number; None if the value is not one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]  # just checked


def _duration(longest: timedelta, spoken: str) -> ValueKind[timedelta]:
    limit = longest.total_seconds()

    def read(value: object, _: StepNames) -> timedelta:
        seconds = _number(value)
        if isinstance(value, str) and re.fullmatch(_DURATION, value):
            seconds = _seconds(value)
        if seconds is None or not seconds >= 0:
            raise invalid_value(
                "a duration such as 90, 90s, 20m, 1h30m, 1d or 250ms", value
            )
        if seconds > limit:
            raise invalid_value(f"at most {spoken}", value)
        return timedelta(seconds=seconds)

    return ValueKind(
        read=read,
        schema={
            "anyOf": [
                {"type": "string", "pattern": f"^{_DURATION}$"},
                {"type": "number", "minimum": 0, "maximum": limit},
            ]
        },
        shown="a duration",
    )


def _seconds(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except InvalidInput:  # valid, but out of range
        return float("inf")


#: A duration on the service's clock.
SERVICE_DURATION = _duration(LONGEST, "ten years")
_REAL_DURATION = _duration(timedelta(seconds=_DAY), "a day")
#: A duration in real time, in seconds.
REAL_DURATION: ValueKind[float] = ValueKind(
    read=lambda value, names: _REAL_DURATION.read(value, names).total_seconds(),
    schema=_REAL_DURATION.schema,
    shown="a duration, in real time",
)


def whole(least: int, limit: int) -> ValueKind[int]:
    """Return the kind of integers from `least` to `limit`."""
    shown = f"a whole number from {least} to {limit}"

    def read(value: object, _: StepNames) -> int:
        number = _number(value)
        if number is not None and least <= number <= limit and number == int(number):
            return int(number)
        raise invalid_value(shown, value)

    schema = {"type": "integer", "minimum": least, "maximum": limit}
    return ValueKind(read=read, schema=schema, shown=shown)


def _probability(value: object, _: StepNames) -> float:
    number = _number(value)
    if number is not None and 0 < number <= 1:
        return float(number)
    raise invalid_value("a number above 0 and up to 1", value)


PROBABILITY = ValueKind(
    read=_probability,
    schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    shown="a number above 0 and up to 1",
)


# --- keys, tables and forms of steps -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKey(Generic[_Value]):
    """One key: its kind of value and its help text."""

    name: str
    kind: ValueKind[_Value]
    help: str
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class StepTable:
    """One table of the file, parsed."""

    values: Mapping[str, object]

    def get(self, key: StepKey[_T]) -> _T | None:
        """Return the value of `key`; None if it is absent."""
        return cast("_T | None", self.values.get(key.name))

    def must(self, key: StepKey[_T]) -> _T:
        """Return the value of a required key."""
        return cast("_T", self.values[key.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm:
    """One form of a step: its verb, its other keys, and the step it makes.

    `make` raises InvalidInput if the values do not fit together.
    """

    verb: StepKey[object]
    keys: tuple[StepKey[object], ...] = ()
    one_of: tuple[StepKey[object], ...] = ()  # exactly one of these is required as well
    touches: Callable[[StepTable, StepNames], frozenset[str] | None] | None = None
    make: Callable[[StepTable, StepNames], Step]

    @property
    def all_keys(self) -> tuple[StepKey[object], ...]:
        """Every key that such a step can have, the verb first."""
        return (self.verb, *self.one_of, *self.keys)


def read_table(
    table: object, keys: Sequence[StepKey[object]], location: Location, names: StepNames
) -> StepTable | None:
    """Read a table; report everything that is wrong with it and return None then."""
    if not isinstance(table, dict):
        location.refuse(str(invalid_value("a table", table)))
        return None
    by_name = {key.name: key for key in keys}
    before = len(location.diagnostics.errors)
    values: dict[str, object] = {}
    for name, value in table.items():
        if name not in by_name:
            location.below(name).refuse(_unknown(name, by_name))
            continue
        try:
            values[name] = by_name[name].kind.read(value, names)
        except InvalidInput as error:
            location.key(name).refuse(str(error))
    for key in keys:
        if key.is_needed and key.name not in table:
            location.refuse(f"`{key.name}` is missing: {key.help}")
    return StepTable(values) if len(location.diagnostics.errors) == before else None


def _unknown(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    instead = f'did you mean "{near}"?' if near else f"known are {', '.join(names)}"
    return f'unknown key "{name}"; {instead}'
