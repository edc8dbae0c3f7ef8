"""Kinds of values in a scenario file: each parses and describes its values.

A reader takes a value and the names known so far. It raises InvalidInput with what was
expected instead. The description is JSON Schema; both accept the same values.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from forewarn.agent.complaints import meant
from forewarn.agent.values import written, wrong
from forewarn.core.durations import duration_of
from forewarn.core.fleet import NAME as FLEET_NAME
from forewarn.core.policy import LONGEST
from forewarn.errors import InvalidInput
from forewarn.testing.known import Known

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
class Kind(Generic[_Value]):
    """One kind of value."""

    read: Callable[[object, Known], _Value]
    schema: Schema
    shown: str  # wording on the reference page
    words: tuple[str, ...] = ()  # all possible values, if there are few


# --- text and words ----------------------------------------------------------


def _text(value: object, _: Known) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise wrong("text", value)


def _flag(value: object, _: Known) -> bool:
    if isinstance(value, bool):
        return value
    raise wrong("true or false", value)


def _id(value: object, _: Known) -> str:
    if isinstance(value, str) and FLEET_NAME.fullmatch(value):
        return value
    raise wrong("a name of 1 to 80 of A-Z a-z 0-9 . _ -", value)


def one_of(*words: _Word) -> Kind[_Word]:
    """Return the kind of value that is one of `words`."""
    texts = tuple(item.value for item in words)
    by_text = {item.value: item for item in words}

    def read(value: object, _: Known) -> _Word:
        if isinstance(value, str) and value in by_text:
            return by_text[value]
        raise _no_word(value, texts)

    shown = " or ".join(f'`"{item}"`' for item in texts)
    return Kind(read=read, schema=_enum(texts), shown=shown, words=texts)


def word(*texts: str) -> Kind[str]:
    """Return the kind of value that is one of `texts`."""

    def read(value: object, _: Known) -> str:
        if isinstance(value, str) and value in texts:
            return value
        raise _no_word(value, texts)

    shown = " or ".join(f'`"{text}"`' for text in texts)
    return Kind(read=read, schema=_enum(texts), shown=shown, words=texts)


def _enum(texts: tuple[str, ...]) -> Schema:
    return {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}


def _no_word(value: object, texts: tuple[str, ...]) -> InvalidInput:
    listed = ", ".join(f'"{text}"' for text in texts)
    near = meant(value, texts) if isinstance(value, str) else ""
    expected = listed if len(texts) == 1 else f"one of {listed}"
    return InvalidInput(f"expected {expected}, not {written(value)}{near}")


TEXT = Kind(
    read=_text, schema={"type": "string", "pattern": r"\S"}, shown="text, not empty"
)
FLAG = Kind(read=_flag, schema={"type": "boolean"}, shown="`true` or `false`")
_ID_SCHEMA: Schema = {"type": "string", "pattern": f"^{_ID}$"}
ID = Kind(read=_id, schema=_ID_SCHEMA, shown="a name of your choice")


# --- names -------------------------------------------------------------------


def _named(find: Callable[[Known, str], str], shown: str) -> Kind[str]:
    def read(value: object, known: Known) -> str:
        return find(known, _id(value, known))

    return Kind(read=read, schema=_ID_SCHEMA, shown=shown)


VM = _named(Known.vm_called, "a VM")
HOST = _named(Known.host_called, "a host")
GROUP = _named(Known.group_called, "a group")
EVENT = _named(Known.event_called, "a name given by `as` in an earlier step")


def several(one: Kind[_T], shown: str, least: int = 1) -> Kind[tuple[_T, ...]]:
    """Return the kind of value that is a list of `one`, without duplicates."""

    def read(value: object, known: Known) -> tuple[_T, ...]:
        if not isinstance(value, list) or len(value) < least:
            near = f"; write [{written(value)}]" if isinstance(value, str) else ""
            raise InvalidInput(f"expected {shown}, not {written(value)}{near}")
        items = tuple(one.read(item, known) for item in value)
        twice = next((item for item in items if items.count(item) > 1), None)
        if twice is not None:
            raise InvalidInput(f"{written(twice)} stands here twice")
        return items

    schema = {"type": "array", "items": one.schema, "uniqueItems": True}
    return Kind(read=read, schema={**schema, "minItems": least}, shown=shown)


VMS = several(VM, "a list of VMs")


# --- durations and numbers ---------------------------------------------------


def _number(value: object) -> float | None:
    """Return a number; None if the value is not one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]  # just checked


def _duration(longest: timedelta, spoken: str) -> Kind[timedelta]:
    most = longest.total_seconds()

    def read(value: object, _: Known) -> timedelta:
        seconds = _number(value)
        if isinstance(value, str) and re.fullmatch(_DURATION, value):
            seconds = _seconds(value)
        if seconds is None or not seconds >= 0:
            raise wrong("a duration such as 90, 90s, 20m, 1h30m, 1d or 250ms", value)
        if seconds > most:
            raise wrong(f"at most {spoken}", value)
        return timedelta(seconds=seconds)

    return Kind(
        read=read,
        schema={
            "anyOf": [
                {"type": "string", "pattern": f"^{_DURATION}$"},
                {"type": "number", "minimum": 0, "maximum": most},
            ]
        },
        shown="a duration",
    )


def _seconds(text: str) -> float:
    try:
        return duration_of(text).total_seconds()
    except InvalidInput:  # valid, but out of range
        return float("inf")


#: A duration on the service's clock.
PROMISE = _duration(LONGEST, "ten years")
_REAL = _duration(timedelta(seconds=_DAY), "a day")
#: A duration in real time, in seconds.
REAL: Kind[float] = Kind(
    read=lambda value, known: _REAL.read(value, known).total_seconds(),
    schema=_REAL.schema,
    shown="a duration, in real time",
)


def whole(least: int, most: int) -> Kind[int]:
    """Return the kind of integers from `least` to `most`."""
    shown = f"a whole number from {least} to {most}"

    def read(value: object, _: Known) -> int:
        number = _number(value)
        if number is not None and least <= number <= most and number == int(number):
            return int(number)
        raise wrong(shown, value)

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind(read=read, schema=schema, shown=shown)


def _share(value: object, _: Known) -> float:
    number = _number(value)
    if number is not None and 0 < number <= 1:
        return float(number)
    raise wrong("a number above 0 and up to 1", value)


SHARE = Kind(
    read=_share,
    schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    shown="a number above 0 and up to 1",
)
