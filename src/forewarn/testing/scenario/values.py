"""Kinds of values in a scenario file, with a parser and a JSON Schema for each.

The JSON Schema accepts the same values as the parser.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Any, Generic, TypeAlias, TypeVar, cast

from forewarn.configfile.diagnostics import Location
from forewarn.configfile.values import (
    Reader,
    as_number,
    invalid_value,
    list_of,
    read_flag,
    read_parts,
    read_text,
    whole_number,
)
from forewarn.configfile.values import one_of as read_one_of
from forewarn.core.fleet import NAME as FLEET_NAME
from forewarn.core.fleet_file import read_name
from forewarn.core.lifecycle.policy import LONGEST
from forewarn.errors import InvalidInput
from forewarn.formats import parse_duration
from forewarn.testing.scenario.model import Step
from forewarn.testing.scenario.names import StepNames

Schema: TypeAlias = Mapping[str, object]

_T = TypeVar("_T")
_Value = TypeVar("_Value", covariant=True)
_Word = TypeVar("_Word", bound=str)

_DAY = timedelta(days=1)
_UNITS = ("[dD]", "[hH]", "[mM]", "[sS]", "[mM][sS]")
#: Examples are 90, 1.5, 90s, 20m, 1h30m and 250ms.
_DURATION = (
    r"(?:[0-9]{1,9}(?:\.[0-9]{1,3})?|(?=[0-9])"
    + "".join(f"(?:[0-9]{{1,9}}{unit})?" for unit in _UNITS)
    + ")"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind(Generic[_Value]):
    """A kind of value."""

    reader: Callable[[StepNames], Reader[_Value]]  # depends on the names known so far
    schema: Schema
    shown: str  # the description on the reference page
    words: tuple[str, ...] = ()  # all possible values, if there are few


def _plain(
    read: Reader[_T], schema: Schema, shown: str, words: tuple[str, ...] = ()
) -> ValueKind[_T]:
    """Return a value kind that does not depend on names."""
    return ValueKind(reader=lambda _: read, schema=schema, shown=shown, words=words)


# --- text and words ----------------------------------------------------------


def one_of(*words: _Word) -> ValueKind[_Word]:
    """Return a value kind that accepts only `words`."""
    texts = tuple(map(str, words))
    schema = {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}
    shown = _either(f'`"{text}"`' for text in texts)
    return _plain(read_one_of(*words, is_exact=True), schema, shown, texts)


def _either(texts: Iterable[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


TEXT = _plain(read_text, {"type": "string", "pattern": r"\S"}, "a non-empty string")
FLAG = _plain(read_flag, {"type": "boolean"}, "`true` or `false`")
_ID_SCHEMA: Schema = {"type": "string", "pattern": f"^{FLEET_NAME.pattern}$"}
ID = _plain(read_name, _ID_SCHEMA, "any name")


# --- names -------------------------------------------------------------------


def _name_of(find: Callable[[StepNames, str], str], shown: str) -> ValueKind[str]:
    def reader(names: StepNames) -> Reader[str]:
        return lambda value: find(names, read_name(value))

    return ValueKind(reader=reader, schema=_ID_SCHEMA, shown=shown)


VM = _name_of(StepNames.find_vm, "a VM")
HOST = _name_of(StepNames.find_host, "a host")
GROUP = _name_of(StepNames.find_group, "a group")
EVENT = _name_of(StepNames.find_event, "a name set with `as` in an earlier step")


def several(
    one: ValueKind[_T], shown: str, least: int = 1
) -> ValueKind[tuple[_T, ...]]:
    """Return a value kind for lists whose items are unique and of the kind `one`."""

    def reader(names: StepNames) -> Reader[tuple[_T, ...]]:
        return list_of(one.reader(names), shown, least=least, is_unique=True)

    schema = {"type": "array", "items": one.schema, "uniqueItems": True}
    return ValueKind(reader=reader, schema={**schema, "minItems": least}, shown=shown)


VMS = several(VM, "a list of VMs")


# --- durations and numbers ---------------------------------------------------


def _duration(longest: timedelta, spoken: str) -> Reader[timedelta]:
    def read(value: object) -> timedelta:
        seconds = _seconds(value)
        if not seconds >= 0:
            raise invalid_value(
                "a duration such as 90, 90s, 20m, 1h30m, 1d or 250ms", value
            )
        if seconds > longest.total_seconds():
            raise invalid_value(f"at most {spoken}", value)
        return timedelta(seconds=seconds)

    return read


def _seconds(value: object) -> float:
    """Return a duration in seconds, or NaN if the value is not a duration."""
    if not isinstance(value, str) or not re.fullmatch(_DURATION, value):
        return as_number(value)
    try:
        return parse_duration(value).total_seconds()
    except InvalidInput:  # valid but out of range
        return inf


def _duration_schema(longest: timedelta) -> Schema:
    text = {"type": "string", "pattern": f"^{_DURATION}$"}
    limit = longest.total_seconds()
    return {"anyOf": [text, {"type": "number", "minimum": 0, "maximum": limit}]}


_read_real_duration = _duration(_DAY, "a day")

#: A duration on the service's clock.
SERVICE_DURATION = _plain(
    _duration(LONGEST, "ten years"), _duration_schema(LONGEST), "a duration"
)
#: A duration in seconds of real time.
REAL_DURATION: ValueKind[float] = _plain(
    lambda value: _read_real_duration(value).total_seconds(),
    _duration_schema(_DAY),
    "a duration in real time",
)


def whole(least: int, limit: int) -> ValueKind[int]:
    """Return a value kind for integers from `least` to `limit`."""
    schema = {"type": "integer", "minimum": least, "maximum": limit}
    shown = f"a whole number from {least} to {limit}"
    return _plain(whole_number(least, limit), schema, shown)


def _read_probability(value: object) -> float:
    probability = as_number(value)
    if 0 < probability <= 1:
        return float(probability)
    raise invalid_value("a number above 0 and at most 1", value)


PROBABILITY = _plain(
    _read_probability,
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "a number above 0 and at most 1",
)


# --- keys, tables and forms of steps -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKey(Generic[_Value]):
    """A key of a step and the step field that receives the key's value."""

    name: str
    kind: ValueKind[_Value]
    help: str
    is_needed: bool = False  # verbs are always required
    field: str = ""  # empty if the same as the key's name

    @property
    def target(self) -> str:
        """The name of the field."""
        return self.field or self.name


@dataclass(frozen=True, slots=True)
class StepTable:
    """A parsed table of the file, with values keyed by field."""

    fields: Mapping[str, Any]

    def get(self, key: StepKey[_T]) -> _T | None:
        """Return the value of `key`, or None if it is absent."""
        return cast("_T | None", self.fields.get(key.target))

    def must(self, key: StepKey[_T]) -> _T:
        """Return the value of a required key."""
        return cast("_T", self.fields[key.target])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm:
    """A form of a step, with a verb, other keys and a factory for the step.

    `make` raises InvalidInput if the values contradict each other.
    """

    verb: StepKey[object]
    keys: tuple[StepKey[object], ...] = ()
    one_of: tuple[StepKey[object], ...] = ()  # exactly one of these is also required
    touches: Callable[[StepTable, StepNames], frozenset[str] | None] | None = None
    make: Callable[[StepTable, StepNames], Step]

    @property
    def all_keys(self) -> tuple[StepKey[object], ...]:
        """All keys that a step of this form can have, starting with the verb."""
        return (self.verb, *self.one_of, *self.keys)


def making(step: Callable[..., Step]) -> Callable[[StepTable, StepNames], Step]:
    """Return the `make` function of a form whose keys are the fields of `step`."""
    return lambda row, _: step(**row.fields)


def read_table(
    table: object, keys: Sequence[StepKey[object]], location: Location, names: StepNames
) -> StepTable | None:
    """Read a table; if it is invalid, report all errors and return None."""
    readers = {key.name: key.kind.reader(names) for key in keys}
    values, problems = read_parts(table, readers)
    location.refuse_parts(problems)
    missing = [
        key
        for key in keys
        if isinstance(table, dict) and key.is_needed and key.name not in table
    ]
    for key in missing:
        location.refuse(f"missing key `{key.name}`: {key.help}")
    if problems or missing:
        return None
    given = [key for key in keys if key.name in values]
    return StepTable({key.target: values[key.name] for key in given})
